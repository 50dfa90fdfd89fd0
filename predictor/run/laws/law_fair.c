/* fair gives all messages of a socket, or at a NIC, even shares of its largest bandwidth. See run_law.h. */
#include <math.h>

#include "predictor/run/laws/run_law.h"

static void find_socket(const struct run_share *share, const struct run_mover *mover, struct run_way *way)
{
    way->group = share->sockets.of[mover->dst];
    way->key.b = way->group;
}

static void set_socket(struct run_share *share, const struct run_mover *mover, int change)
{
    struct run_group *group = &share->groups[share->bundles[mover->bundle].group];
    (void)change;
    run_bundle_place(share, mover->bundle);
    for (size_t i = 0; i < group->bundles.n; i++) {
        uint32_t id = group->bundles.entries[i].id;
        const struct run_class *class = &share->rates->classes[run_bundle_class(&share->bundles[id])];
        run_bundle_set_speed(share, id, fmin(class->bytes_per_s[1], class->most_bytes_per_s / group->n));
    }
    run_group_order(share, group);
}

static double fair_nic_rate(const struct run_share *share, const struct run_nic *nic, const struct run_class *class)
{
    (void)share;
    return fmin(class->bytes_per_s[1], class->most_bytes_per_s / nic->n);
}

const struct run_path law_fair_within = {.find = find_socket, .set = set_socket};
const struct run_path law_fair_between = {.find = run_nics_find, .set = run_nics_set, .nic_rate = fair_nic_rate};
