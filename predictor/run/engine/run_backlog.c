/* Says how long what stands before a network card keeps others waiting (share/doc/MODELS.md, Whole run, Backlog).
 *
 * A law of sharing gives every message its part of the card at once. A card serves in order: what is sent waits for the
 * bytes that others have handed to it before. A long message hardly shows that, an announcement and a short one do. */
#include "predictor/run/engine/simulation_state.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/order.h"

/* Is less than any message that matters has left: those that are through at this moment do not count, whichever of them
 * the replay comes to first. */
#define LEFT_MIN_BYTES 1.0

static int compare(const void *a, const void *b)
{
    const struct run_ahead *x = a, *y = b;
    return ORDER(x->src, y->src) ?: ORDER(x->dst, y->dst);
}

/* Lists what moves out of the card, in sim->ahead. Returns how many there are. */
static size_t list_ahead(struct simulation *sim, const struct run_nic *nic)
{
    size_t n = 0;
    for (size_t i = 0; i < nic->n_bundles; i++) {
        const struct heap *marks = &sim->share.bundles[nic->bundles[i]].marks;
        for (size_t k = 0; k < marks->n; k++) {
            uint32_t mark = marks->entries[k].id, number = run_mark_number(mark);
            const struct transfer *transfer = &sim->transfers[number];
            if (!run_mark_is_end(mark))
                continue;
            double left = run_share_rest(&sim->share, sim->events.now_s, &transfer->mover);
            if (!(left > LEFT_MIN_BYTES))
                continue;
            array_reserve(&sim->ahead, &sim->ahead_room, n + 1, sizeof *sim->ahead);
            sim->ahead[n++] = (struct run_ahead){transfer->mover.src, transfer->mover.dst, number, left};
        }
    }
    return n;
}

bool backlog_counts(const struct simulation *sim)
{
    return sim->share.law->cards_serve && (sim->rates.backlog_bytes > 0 || sim->rates.backlog_pair_bytes > 0);
}

/* Makes one entry of all of each pair, with the transfer of which most is left. Returns how many there are; they are in
 * order. */
static size_t sum_pairs(struct run_ahead *ahead, size_t n)
{
    size_t n_pairs = 0;
    double most = 0;
    qsort(ahead, n, sizeof *ahead, compare);
    for (size_t i = 0; i < n; i++) {
        struct run_ahead *last = n_pairs > 0 ? &ahead[n_pairs - 1] : NULL;
        double left = ahead[i].left;
        if (last == NULL || compare(last, &ahead[i]) != 0) {
            ahead[n_pairs++] = ahead[i];
            most = left;
            continue;
        }
        if (left > most) {
            last->transfer = ahead[i].transfer;
            most = left;
        }
        last->left += left;
    }
    return n_pairs;
}

double backlog_s(struct simulation *sim, uint32_t src, uint32_t dst, uint32_t *behind)
{
    const struct run_nic *nic = &sim->share.nics[2 * sim->share.nodes.of[src]];
    *behind = RUN_NOBODY;
    if (!backlog_counts(sim) || nic->n == 0 || placement_level(sim->placement, src, dst) != LEVEL_INTER_NODE)
        return 0;
    size_t n = list_ahead(sim, nic), n_ranks = 0;
    if (n == 0)
        return 0;
    n = sum_pairs(sim->ahead, n);
    const struct run_ahead pair = {src, dst, 0, 0}, *own = bsearch(&pair, sim->ahead, n, sizeof pair, compare);
    double own_bytes = own != NULL ? fmin(own->left, sim->rates.backlog_pair_bytes) : 0;
    if (own != NULL && own_bytes >= own->left)
        *behind = own->transfer;
    /* As many bytes of each other pair pass while those of the own one do. */
    double bytes = own_bytes, most = fmax(sim->rates.backlog_bytes, own_bytes);
    for (size_t i = 0; i < n; i++) {
        n_ranks += i == 0 || sim->ahead[i].src != sim->ahead[i - 1].src;
        bytes += &sim->ahead[i] != own ? fmin(sim->ahead[i].left, most) : 0;
    }
    return run_nics_pass_s(&sim->share, nic, sim->events.now_s, bytes, n_ranks);
}
