/* Each NIC counts what passes; a bucket is settled whenever that changes. See run_law.h. */
#include "predictor/run/laws/run_law.h"

#include <math.h>

/* Returns what the wire carries of one direction of a NIC, which is also how fast its bucket fills. */
static double wire_rate(const struct run_share *share, const struct run_nic *nic)
{
    return share->rates->classes[share->rates->wire].bytes_per_s[nic->n_ranks > 0 ? nic->n_ranks : 1];
}

/* Returns what a NIC's bucket lacks then. */
static double missing_bytes(const struct run_share *share, const struct run_nic *nic, double now_s)
{
    double missing = nic->missing_bytes + (nic->flow - wire_rate(share, nic)) * (now_s - nic->since_s);
    return fmin(fmax(missing, 0), share->rates->burst_bytes);
}

/* Brings what a NIC's bucket lacks up to now, which the clock of what passes NICs has been brought to. */
static void settle_bucket(const struct run_share *share, struct run_nic *nic)
{
    double now_s = share->groups[share->n_groups - 1].since_s;
    nic->missing_bytes = missing_bytes(share, nic, now_s);
    nic->since_s = now_s;
}

double run_nics_pass_s(const struct run_share *share, const struct run_nic *nic, double now_s, double bytes,
                       size_t n_ranks)
{
    double wire = share->rates->classes[share->rates->wire].bytes_per_s[n_ranks];
    if (!run_nics_have_buckets(share))
        return bytes / wire;
    double tokens = share->rates->burst_bytes - missing_bytes(share, nic, now_s);
    return fmax(bytes / fmax(share->rates->burst_bytes_per_s, wire), (bytes - tokens) / wire);
}

/* Schedules when a NIC's bucket is empty. */
static void place_bucket(struct run_share *share, size_t number)
{
    struct run_nic *nic = &share->nics[number];
    double surplus = nic->flow - wire_rate(share, nic);
    bool is_emptied = nic->n > 0 && !nic->is_empty && surplus > 0;
    double at_s = nic->since_s + (share->rates->burst_bytes - nic->missing_bytes) / surplus;
    heap_set(&share->emptied, at_s, (uint32_t)number, is_emptied);
}

/* Tells both NICs of a bundle how much of it passes. */
static void count_flow(struct run_share *share, struct run_bundle *bundle)
{
    double flow = bundle->n > 0 ? bundle->weight * bundle->speed : 0;
    for (size_t end = 0; end < 2; end++) {
        size_t number = 2 * (end == 0 ? bundle->src_node : bundle->dst_node) + end;
        struct run_nic *nic = &share->nics[number];
        settle_bucket(share, nic);
        nic->flow = nic->n > 0 ? nic->flow + flow - bundle->flow : 0;
        place_bucket(share, number);
    }
    bundle->flow = flow;
}

static void set_nic(struct run_share *share, const struct run_nic *nic)
{
    for (size_t i = 0; i < nic->n_bundles; i++) {
        uint32_t number = nic->bundles[i];
        struct run_bundle *bundle = &share->bundles[number];
        if (bundle->n == 0)
            continue;
        const struct run_class *class = &share->rates->classes[run_bundle_class(bundle)];
        run_bundle_set_speed(share, number,
                             fmin(share->law->between->nic_rate(share, &share->nics[2 * bundle->src_node], class),
                                  share->law->between->nic_rate(share, &share->nics[2 * bundle->dst_node + 1], class)));
        run_bundle_place(share, number);
        if (run_nics_have_buckets(share))
            count_flow(share, bundle);
    }
}

/* Adds a message to those of a NIC or takes it away. */
static void count_at_nic(const struct run_share *share, struct run_nic *nic, const struct run_mover *mover, int change)
{
    double weight = change * share->moving[mover->number].weight;
    nic->n += (uint32_t)change;
    nic->weight = nic->n > 0 ? nic->weight + weight : 0;
    nic->of_class[mover->class] = nic->n > 0 ? nic->of_class[mover->class] + weight : 0;
}

/* Sets what a NIC gives to all of its messages alike. */
static void set_nic_rate(const struct run_share *share, struct run_nic *nic)
{
    if (share->law->between->nic_set != NULL && nic->n > 0)
        nic->rate = share->law->between->nic_set(share, nic);
}

void run_nics_keep(struct run_share *share, struct run_bundle *bundle)
{
    if (bundle->group == share->n_groups - 1 && run_nics_have_buckets(share))
        count_flow(share, bundle);
}

void run_nics_set(struct run_share *share, const struct run_mover *mover, int change)
{
    struct run_bundle *bundle = &share->bundles[mover->bundle];
    for (size_t end = 0; end < 2; end++) {
        struct run_nic *nic = &share->nics[2 * (end == 0 ? bundle->src_node : bundle->dst_node) + end];
        uint32_t *rank_n = &share->rank_n[2 * (size_t)(end == 0 ? mover->src : mover->dst) + end];
        if (run_nics_have_buckets(share)) {
            settle_bucket(share, nic);
            nic->is_empty = share->rates->burst_bytes - nic->missing_bytes < 1;
        }
        nic->n_ranks += (change > 0 && *rank_n == 0) ? 1 : 0;
        nic->n_ranks -= (change < 0 && *rank_n == 1) ? 1 : 0;
        *rank_n += (uint32_t)change;
        count_at_nic(share, nic, mover, change);
        set_nic_rate(share, nic);
    }
    if (bundle->n == 0)
        run_bundle_place(share, mover->bundle);
    if (bundle->n == 0 && run_nics_have_buckets(share))
        count_flow(share, bundle);
    set_nic(share, &share->nics[2 * bundle->src_node]);
    set_nic(share, &share->nics[2 * bundle->dst_node + 1]);
}

void run_nics_emptied(struct run_share *share, size_t number)
{
    struct run_nic *nic = &share->nics[number];
    settle_bucket(share, nic);
    nic->is_empty = true;
    set_nic_rate(share, nic);
    set_nic(share, nic);
}

void run_nics_drain(struct run_share *share, size_t number, double bytes)
{
    struct run_nic *nic = &share->nics[number];
    settle_bucket(share, nic);
    nic->missing_bytes = fmin(nic->missing_bytes + bytes, share->rates->burst_bytes);
    if (!nic->is_empty && share->rates->burst_bytes - nic->missing_bytes < 1) {
        nic->is_empty = true;
        set_nic_rate(share, nic);
        set_nic(share, nic);
    }
    place_bucket(share, number);
}
