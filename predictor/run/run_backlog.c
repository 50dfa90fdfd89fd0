/* Says how long what stands before a network card keeps others waiting (share/doc/MODELS.md, Whole run, Backlog).
 *
 * A law of sharing gives every message its part of the card at once. A card serves in order: what is sent waits for the
 * bytes that others have handed to it before. A long message hardly shows that, an announcement and a short one do. */
#include <math.h>
#include <stdlib.h>

#include "predictor/run/simulation.h"
#include "share/base/array.h"

/* Is less than any message that matters has left: those that are through at this moment do not count, whichever of them
 * the replay comes to first. */
#define LEFT_MIN_BYTES 1.0

static int compare(const void *a, const void *b)
{
    const struct run_ahead *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return (x->dst > y->dst) - (x->dst < y->dst);
}

/* Lists what moves out of the card, in sim->ahead. Returns how many there are. */
static size_t list_ahead(struct simulation *sim, const struct run_nic *nic)
{
    size_t n = 0;
    for (size_t i = 0; i < nic->n_bundles; i++) {
        const struct heap *marks = &sim->share.bundles[nic->bundles[i]].marks;
        for (size_t k = 0; k < marks->n; k++) {
            const struct flight *flight = flight_of_end(sim, marks->entries[k].id);
            if (flight == NULL)
                continue;
            double left = run_share_rest(&sim->share, sim->now_s, &flight->mover);
            if (!(left > LEFT_MIN_BYTES))
                continue;
            if (array_reserve(&sim->ahead, &sim->ahead_room, n + 1, sizeof *sim->ahead) != 0) {
                sim->no_memory = true;
                return 0;
            }
            sim->ahead[n++] = (struct run_ahead){flight->mover.src, flight->mover.dst, left};
        }
    }
    return n;
}

bool backlog_counts(const struct simulation *sim)
{
    return sim->options->law == LAW_FLOW && (sim->rates.backlog_bytes > 0 || sim->rates.backlog_pair_bytes > 0);
}

double backlog_s(struct simulation *sim, uint32_t src, uint32_t dst)
{
    double bytes = 0;
    const struct run_nic *nic = &sim->share.nics[2 * sim->share.nodes.of[src]];
    if (!backlog_counts(sim) || nic->n == 0 || placement_level(sim->placement, src, dst) != LEVEL_INTER_NODE)
        return 0;
    size_t n = list_ahead(sim, nic), n_ranks = 0;
    if (n == 0)
        return 0;
    qsort(sim->ahead, n, sizeof *sim->ahead, compare);
    for (size_t i = 0, end; i < n; i = end) {
        double left = 0;
        n_ranks += i == 0 || sim->ahead[i].src != sim->ahead[i - 1].src;
        for (end = i; end < n && compare(&sim->ahead[i], &sim->ahead[end]) == 0; end++)
            left += sim->ahead[end].left;
        bool own = sim->ahead[i].src == src && sim->ahead[i].dst == dst;
        bytes += fmin(left, own ? sim->rates.backlog_pair_bytes : sim->rates.backlog_bytes);
    }
    return run_law_pass_s(&sim->share, nic, sim->now_s, bytes, n_ranks);
}
