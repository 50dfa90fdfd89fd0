/* +memory adds to any model what cores that compute take from the memory's bandwidth while a message arrives.
 *
 * A. Denis, E. Jeannot and P. Swartvagher, Modeling Memory Contention between Communications and Computations in
 * Distributed HPC Systems (Extended Version), RR-9451, 2022 (D), equations 1-6 (memory_contention.c); how they enter a
 * model's time is ours:
 *
 *   r_k = B_par_comm(n) / B_seq_comm                     what message k keeps of its bandwidth
 *   a_k = s_k / BW_k(1)                                  what its bytes take alone
 *   F_i = max over in, out of sum(a_k / r_k) / sum(a_k)  by how much the bytes of rank i take longer, mean by time
 *   memory_i = (bandwidth_i + contention_i) (F_i - 1)
 *   slow_i = sum(a_k / r_k  c(n)) / sum(a_k / r_k)       over the messages that arrive at i's socket
 *   c(n) = B_seq_comp(n) / B_par_comp(n)
 *
 *   n          cores of each socket that compute meanwhile            options.compute_cores   -
 *   s_k        bytes of a message                                     pattern.bytes           B
 *   BW_k(1)    bandwidth of its class                                 traffic                 B/s
 *   memory_i   what the term adds                                     PART_MEMORY             s
 *   slow_i     how much longer computation takes meanwhile            prediction.memory       -
 *
 * Messages of a rank that all have one class count by their bytes. A rank waits for what it receives and for what it
 * sends, whose end its receiver's memory decides: the direction that takes longer counts. r_k is 1 for messages of a
 * level for which the table was not measured: by a NIC between nodes, or by a copy of the CPU within them
 * (memory_contention.h).
 *
 * Limits: data are on one NUMA node of the receiver's socket; D's kernel, which does nothing but store, and its message
 * of 64 MB give the most contention that there is. Messages below 1 MB are counted (prediction.memory). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/pattern/group.h"
#include "predictor/pattern/traffic.h"
#include "predictor/models/memory_contention.h"
#include "predictor/models/model.h"
#include "share/base/memory.h"

/* Sums of a_k of a rank, and of a_k / r_k. */
struct memory_sums {
    double alone_s[DIRECTION_COUNT], slowed_s[DIRECTION_COUNT];
};

/* Counts a message that contends with n cores for its receiver; socket_of numbers what shares a socket. */
static void count_arrival(struct prediction_memory *memory, const struct memory_share *share, uint32_t socket,
                          uint64_t bytes, double n, double slowed_s)
{
    memory->n_messages++;
    memory->n_small += bytes < MEMORY_LEAST_BYTES;
    memory->arriving_s[socket] += slowed_s;
    memory->slowed_s[socket] += slowed_s * memory_share_slows(share, n);
}

/* Adds up the messages: sums[n_ranks]; what arrives is summed by socket, at its number. */
static void memory_add_messages(const struct traffic *traffic, const struct memory_share *share, double cores,
                                const struct grouping *sockets, struct prediction_memory *memory,
                                struct memory_sums *sums)
{
    const struct pattern *pattern = traffic->pattern;
    double bytes_per_s[MAX_CLASSES];
    traffic_single_bandwidth(traffic, bytes_per_s);
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (traffic->class_of[k] == NO_CLASS || pattern_bytes(pattern, k) == 0)
            continue;
        double alone_s = (double)pattern_bytes(pattern, k) / bytes_per_s[traffic->class_of[k]], slowed_s = alone_s;
        if (traffic_class_in(traffic, traffic->class_of[k], share->levels)) {
            slowed_s /= memory_share_keeps(share, cores);
            count_arrival(memory, share, sockets->of[pattern->dst[k]], pattern_bytes(pattern, k), cores, slowed_s);
        } else {
            memory->n_other++;
        }
        const uint32_t ends[DIRECTION_COUNT] = {[INCOMING] = pattern->dst[k], [OUTGOING] = pattern->src[k]};
        for (size_t d = 0; d < DIRECTION_COUNT; d++) {
            sums[ends[d]].alone_s[d] += alone_s;
            sums[ends[d]].slowed_s[d] += slowed_s;
        }
    }
}

/* Returns F_i. */
static double factor_of(const struct memory_sums *sums)
{
    double factor = 1;
    for (size_t d = 0; d < DIRECTION_COUNT; d++)
        if (sums->alone_s[d] > 0)
            factor = fmax(factor, sums->slowed_s[d] / sums->alone_s[d]);
    return factor;
}

/* Gives every rank what arrives at its socket, which stands at the socket's number before: values[n_ranks]. */
static void spread(const struct grouping *sockets, double *values, size_t n_ranks)
{
    double *of_socket = xmalloc((sockets->n_groups + 1) * sizeof *of_socket);
    memcpy(of_socket, values, sockets->n_groups * sizeof *of_socket);
    for (size_t rank = 0; rank < n_ranks; rank++)
        values[rank] = of_socket[sockets->of[rank]];
    free(of_socket);
}

static bool between_nodes(const struct traffic *traffic)
{
    for (size_t k = 0; k < traffic->pattern->n_messages; k++)
        if (traffic->class_of[k] != NO_CLASS && pattern_bytes(traffic->pattern, k) > 0 &&
            traffic_class_in(traffic, traffic->class_of[k], LEVEL_BIT(LEVEL_INTER_NODE)))
            return true;
    return false;
}

static int memory_add(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    const struct traffic *traffic = input->traffic;
    const struct machine *machine = input->machine;
    double cores = input->options->compute_cores;
    struct memory_share share;
    if (memory_share_init(&share, machine, (size_t)cores, error) != 0)
        return -1;
    int result = 0;
    if ((share.levels & LEVEL_BIT(LEVEL_INTER_NODE)) == 0 && between_nodes(traffic))
        result = memory_share_refuse(machine, error);
    else if (cores > share.n_most)
        result = error_set(error, "--compute-cores %.0f: a socket of machine '%s' has %u cores", cores, machine->name,
                           share.n_most);
    if (result == 0) {
        struct grouping sockets;
        struct memory_sums *sums = xcalloc(traffic->n_ranks + 1, sizeof *sums);
        grouping_init(&sockets, input->placement, GROUP_BY_SOCKET);
        memory_add_messages(traffic, &share, cores, &sockets, &prediction->memory, sums);
        for (size_t rank = 0; rank < traffic->n_ranks; rank++)
            prediction->part_s[PART_MEMORY][rank] +=
                (prediction->part_s[PART_BANDWIDTH][rank] + prediction->part_s[PART_CONTENTION][rank]) *
                (factor_of(&sums[rank]) - 1);
        free(sums);
        spread(&sockets, prediction->memory.arriving_s, traffic->n_ranks);
        spread(&sockets, prediction->memory.slowed_s, traffic->n_ranks);
        grouping_release(&sockets);
    }
    memory_share_release(&share);
    return result;
}

const struct model_term memory_term = {.name = "memory",
                                       .summary = "memory bandwidth that cores which compute meanwhile take (D)",
                                       .computing = true,
                                       .add = memory_add};
