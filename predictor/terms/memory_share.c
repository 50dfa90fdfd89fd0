/* Data are taken as on the receiver's own socket and on one NUMA node of it, where the contention is the heaviest: no
 * trace says where a buffer lies. See memory_share.h. */
#include "predictor/terms/memory_share.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/pattern/traffic.h"
#include "share/base/memory.h"

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
