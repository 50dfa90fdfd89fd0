/* Predicts how computation and the messages of a node slow each other down: by a threshold of the memory's bandwidth.
 *
 * A. Denis, E. Jeannot and P. Swartvagher, Modeling Memory Contention between Communications and Computations in
 * Distributed HPC Systems (Extended Version), RR-9451, 2022 (D), equations 1-8 and Algorithms 1-4;
 * share/doc/MODELS.md, Memory contention.
 *
 *   T(n)     = T_par                        n <= N_par                                   D1
 *              T_par - d_l (n - N_par)      N_par < n <= N_seq
 *              T_par2 - d_r (n - N_seq)     else
 *   R(n)     = n B_comp + alpha B_comm                                                   D2
 *   comp(n)  = n B_comp                     R(n) < T(n), else T(n) - comm(n)             D3
 *   comm(n)  = min(T(n) - comp(n), B_comm)  R(n) < T(n), else alpha(n) B_comm            D4
 *   alpha(n) = v - (v - alpha) / (N_seq - i) (n - i)    N_seq - N_par > 1 and n < N_seq  D5
 *              alpha                                    else
 *              v = comm(i) / B_comm, i the last number of cores with R < T; v = 1, i = 0 if there is none
 *   alone(n) = min(n B_comp, T(n), T_seq)                                                D6
 *
 *   N_par, T_par    cores at which computation and message together   cores_par, total_par   -, B/s
 *                   reach the most, and that
 *   N_seq, T_seq    the same of computation alone                     cores_seq, total_seq   -, B/s
 *   T_par2          together at N_seq cores                           total_par2             B/s
 *   d_l, d_r        what a core more takes below and above N_seq      loss_left, loss_right  B/s
 *   B_comp, B_comm  of one core alone, of the message alone           computation, message   B/s
 *   alpha           share of B_comm that a message keeps at worst     alpha                  -
 *
 * The place of the data counts (D7, D8): computation and message on one remote NUMA node take the remote parameters;
 * else the message takes the local ones, with the remote B_comm if its data are remote (R included); computation
 * contends only with a message on its own NUMA node.
 *
 * Domain: cores of one socket that compute, a message that is received, the kernel and size of the measurement (the
 * heaviest: non-temporal stores, 64 MB). Limits: no sending; with more than two NUMA nodes a socket D7 is coarse (D,
 * 5). */
#include "predictor/models/memory_contention.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine.h"
#include "predictor/pattern/traffic.h"
#include "share/base/memory.h"

/* Says where a value of the table stands in a side. */
static const size_t offsets[MEMORY_PARAMETER_COUNT] = {
    [MEMORY_CORES_PAR] = offsetof(struct memory_side, cores_par),
    [MEMORY_TOTAL_PAR] = offsetof(struct memory_side, total_par),
    [MEMORY_CORES_SEQ] = offsetof(struct memory_side, cores_seq),
    [MEMORY_TOTAL_SEQ] = offsetof(struct memory_side, total_seq),
    [MEMORY_TOTAL_PAR2] = offsetof(struct memory_side, total_par2),
    [MEMORY_ALPHA] = offsetof(struct memory_side, alpha),
    [MEMORY_LOSS_LEFT] = offsetof(struct memory_side, loss_left),
    [MEMORY_LOSS_RIGHT] = offsetof(struct memory_side, loss_right),
    [MEMORY_ONE_CORE] = offsetof(struct memory_side, computation),
    [MEMORY_ONE_MESSAGE] = offsetof(struct memory_side, message),
};

/* Reads one side; *has says whether the machine has any of its values. */
static int read_side(const struct machine *machine, enum level level, struct memory_side *side, bool *has,
                     struct error *error)
{
    size_t n_read = 0, lacking = 0;
    for (size_t i = 0; i < MEMORY_PARAMETER_COUNT; i++) {
        double value = machine_value(machine, level, PROTOCOL_ANY, memory_quantity_name[i], NAN);
        if (isnan(value)) {
            lacking = i;
            continue;
        }
        memcpy((char *)side + offsets[i], &value, sizeof value);
        n_read++;
    }
    *has = n_read > 0;
    if (n_read > 0 && n_read < MEMORY_PARAMETER_COUNT)
        return error_set(error, "machine '%s' has no %s at level %s, beside others of memory contention there",
                         machine->name, memory_quantity_name[lacking], level_text(level));
    return 0;
}

static bool copied_by_cpu(const struct machine *machine)
{
    static const char begin[] = "memory_";
    bool copied = false;
    for (size_t i = 0; i < machine->n_parameters; i++)
        copied = copied || (strncmp(machine->parameters[i].quantity, begin, sizeof begin - 1) == 0 &&
                            strcmp(machine->parameters[i].method, "cpu-copy") == 0);
    return copied;
}

int memory_model_read(const struct machine *machine, struct memory_model *model, struct error *error)
{
    struct memory_model read = {.cpu_copy = copied_by_cpu(machine)};
    double numa_nodes = machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "numa_nodes", 1);
    double cores = machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "cores", 0);
    if (read_side(machine, LEVEL_INTRA_SOCKET, &read.local, &read.has_local, error) != 0 ||
        read_side(machine, LEVEL_INTER_SOCKET, &read.remote, &read.has_remote, error) != 0)
        return -1;
    if (!read.has_local && !read.has_remote)
        return error_set(error,
                         "machine '%s' has no %s at level intra_socket or inter_socket, which memory contention needs: "
                         "henri, bora and others have it ('mpistair machine list')",
                         machine->name, memory_quantity_name[0]);
    if (numa_nodes > MEMORY_MAX_CORES || cores > MEMORY_MAX_CORES)
        return error_set(error, "machine '%s': %g cores and %g NUMA nodes of a socket, expected at most %d",
                         machine->name, cores, numa_nodes, MEMORY_MAX_CORES);
    read.numa_nodes = (uint32_t)numa_nodes;
    read.cores = (uint32_t)cores;
    *model = read;
    return 0;
}

int memory_model_covers(const struct memory_model *model, const char *name, uint32_t computation_numa,
                        uint32_t message_numa, struct error *error)
{
    bool remote = computation_numa >= model->numa_nodes || message_numa >= model->numa_nodes;
    bool local = computation_numa != message_numa || !remote; /* D7 */
    if ((!remote || model->has_remote) && (!local || model->has_local))
        return 0;
    bool lacks_remote = remote && !model->has_remote;
    return error_set(error,
                     "machine '%s' has no memory_... at level %s, which data of computation in NUMA node %u and of the "
                     "message in %u ask for: only data on the NUMA nodes of %s were measured",
                     name, level_text(lacks_remote ? LEVEL_INTER_SOCKET : LEVEL_INTRA_SOCKET), computation_numa,
                     message_numa, lacks_remote ? "the socket that computes" : "the other socket");
}

static double smaller_bandwidth(double a, double b)
{
    return a < b ? a : b;
}

static double total(const struct memory_side *side, double n)
{
    if (n <= side->cores_par) /* D1 */
        return side->total_par;
    if (n <= side->cores_seq)
        return side->total_par - side->loss_left * (n - side->cores_par);
    return side->total_par2 - side->loss_right * (n - side->cores_seq);
}

/* Computes D2-D5, as Algorithm 2. */
static void together(const struct memory_side *side, uint32_t n_cores, double *computation, double *message)
{
    double share = 1, at = 0; /* beta_v, beta_i */
    *computation = 0;
    *message = side->message;
    for (uint32_t i = 1; i <= n_cores; i++) {
        double n = i, most = total(side, n);
        if (n * side->computation + side->alpha * side->message < most) { /* D2 */
            *computation = n * side->computation;
            *message = smaller_bandwidth(most - *computation, side->message);
            share = *message / side->message;
            at = n;
            continue;
        }
        double alpha = side->alpha; /* D5 */
        if (side->cores_seq - side->cores_par > 1 && n < side->cores_seq)
            alpha = share - (share - alpha) / (side->cores_seq - at) * (n - at);
        *message = alpha * side->message;
        *computation = most - *message;
    }
}

void memory_predict(const struct memory_model *model, uint32_t n, uint32_t computation_numa, uint32_t message_numa,
                    struct memory_bandwidth *bandwidth)
{
    bool computation_remote = computation_numa >= model->numa_nodes, message_remote = message_numa >= model->numa_nodes;
    bool same = computation_numa == message_numa;
    const struct memory_side *computing = computation_remote ? &model->remote : &model->local;
    struct memory_side receiving = same ? *computing : model->local; /* D7 */
    double unused;
    if (message_remote)
        receiving.message = model->remote.message;
    together(&receiving, n, &unused, &bandwidth->message);
    bandwidth->message_alone = receiving.message;
    bandwidth->computation_alone = /* D6 */
        smaller_bandwidth(smaller_bandwidth(n * computing->computation, total(computing, n)), computing->total_seq);
    bandwidth->computation = bandwidth->computation_alone; /* D8 */
    if (same)
        together(computing, n, &bandwidth->computation, &unused);
}

int memory_share_init(struct memory_share *share, const struct machine *machine, size_t n_wanted, struct error *error)
{
    struct memory_model model;
    if (memory_model_read(machine, &model, error) != 0 || memory_model_covers(&model, machine->name, 0, 0, error) != 0)
        return -1;
    uint32_t most = model.cores > 0 ? model.cores : MEMORY_MAX_CORES;
    *share = (struct memory_share){.n_most = n_wanted < most ? (uint32_t)n_wanted : most};
    share->levels =
        model.cpu_copy ? LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET) : LEVEL_BIT(LEVEL_INTER_NODE);
    share->keeps = xmalloc(2 * ((size_t)share->n_most + 1) * sizeof *share->keeps); /* one block, which keeps owns */
    share->slows = share->keeps + share->n_most + 1;
    for (uint32_t n = 0; n <= share->n_most; n++) {
        struct memory_bandwidth bandwidth;
        memory_predict(&model, n, 0, 0, &bandwidth);
        share->keeps[n] = n > 0 ? fmin(bandwidth.message / bandwidth.message_alone, 1) : 1;
        share->slows[n] = n > 0 ? fmax(bandwidth.computation_alone / bandwidth.computation, 1) : 1;
        if (!(share->keeps[n] > 0) || !(bandwidth.computation > 0 || n == 0)) {
            memory_share_release(share);
            return error_set(error,
                             "machine '%s': by its memory_... rows %u cores and a message leave each other nothing: "
                             "expected bandwidths above 0 for all cores of a socket ('mpistair machine check')",
                             machine->name, n);
        }
    }
    return 0;
}

void memory_share_release(struct memory_share *share)
{
    free(share->keeps);
    *share = (struct memory_share){0};
}

static double between(const double *values, uint32_t n_most, double n)
{
    if (n >= n_most)
        return values[n_most];
    uint32_t below = (uint32_t)n;
    double above = n - below;
    return above > 0 ? values[below] * (1 - above) + values[below + 1] * above : values[below];
}

double memory_share_keeps(const struct memory_share *share, double n)
{
    return between(share->keeps, share->n_most, n);
}

double memory_share_slows(const struct memory_share *share, double n)
{
    return between(share->slows, share->n_most, n);
}

uint32_t memory_threads(double run_s, double inside_s, double outside_s)
{
    static const double OUTSIDE_LEAST = 0.01; /* of run_s; less says nothing against the errors of the other two */
    double threads = outside_s > OUTSIDE_LEAST * run_s ? floor((run_s - inside_s) / outside_s + 0.5) : 1;
    return threads > 1 && threads <= MEMORY_MAX_CORES ? (uint32_t)threads : 1;
}

int memory_share_refuse(const struct machine *machine, struct error *error)
{
    return error_set(error,
                     "machine '%s': its memory_... rows have the method cpu-copy, for messages that a core copies "
                     "within a node, but the run has messages between nodes: take a table that was measured between "
                     "nodes ('mpistair calibrate --memory')",
                     machine->name);
}
