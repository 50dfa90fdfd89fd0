/* Each law is a few lines: what a bundle gets while so many others are there. See run_law.h; formulas are in
 * share/doc/MODELS.md, Whole run, Sharing. */
#include "predictor/run/run_law.h"

#include <math.h>

#include "predictor/pattern/traffic.h"

enum way_kind { WAY_RECEIVER, WAY_SOCKET, WAY_NICS, WAY_ALONE };

static enum way_kind way_kind(const struct run_share *share, size_t class)
{
    bool network = share->rates->classes[class].level == LEVEL_INTER_NODE;
    switch (share->law) {
    case LAW_FLOW:
        return network ? WAY_NICS : WAY_RECEIVER;
    case LAW_FAIR:
        return network ? WAY_NICS : WAY_SOCKET;
    case LAW_POSTAL:
        return WAY_ALONE;
    case LAW_STAIRCASE:
    case LAW_COUNT:
        break;
    }
    return WAY_RECEIVER;
}

struct run_way run_law_way(const struct run_share *share, const struct run_mover *mover)
{
    enum level level = share->rates->classes[mover->class].level;
    bool network = level == LEVEL_INTER_NODE;
    enum way_kind kind = way_kind(share, mover->class);
    uint32_t socket = share->sockets.of[mover->dst];
    bool contends = share->memory != NULL && (share->memory->share.levels & LEVEL_BIT(level)) != 0;
    struct run_way way = {.key = {.a = (uint64_t)kind, .c = mover->class},
                          .src_node = share->nodes.of[mover->src],
                          .dst_node = share->nodes.of[mover->dst],
                          .passes_nics = kind == WAY_NICS,
                          .socket = contends ? socket : RUN_NO_SOCKET};
    switch (kind) {
    case WAY_RECEIVER: /* all classes together */
        way.group = network ? (uint32_t)share->sockets.n_groups + way.dst_node : socket;
        way.key = (struct map_key){kind, mover->dst, network};
        break;
    case WAY_SOCKET:
        way.group = socket;
        way.key.b = socket;
        break;
    case WAY_NICS:
        way.group = (uint32_t)share->n_groups - 1;
        way.key.b = (uint64_t)way.src_node << 32 | way.dst_node;
        break;
    case WAY_ALONE:
        way.group = (uint32_t)share->n_groups - 1;
        break;
    }
    if (contends && (kind == WAY_NICS || kind == WAY_ALONE)) /* the keys of the others tell the socket already */
        way.key.c |= ((uint64_t)socket + 1) << 8;
    return way;
}

/* Returns T12 over A_i n: the rate of each message of a receiver while n of the group have some. */
static double mixed_rate(const struct run_share *share, const struct run_bundle *bundle, size_t n)
{
    double bandwidth = 0;
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        double messages = 0, inverse = 0;
        for (size_t c = 0; c < share->rates->n_classes; c++) {
            const struct run_class *class = &share->rates->classes[c];
            if (class->level != level || bundle->of_class[c] == 0)
                continue;
            messages += bundle->of_class[c];
            inverse += bundle->of_class[c] / class->bytes_per_s[n];
        }
        if (messages > 0)
            bandwidth += messages / bundle->n * (messages / inverse);
    }
    return bandwidth / (double)n / bundle->n;
}

static void set_speed(struct run_share *share, uint32_t number, double speed)
{
    struct run_bundle *bundle = &share->bundles[number];
    run_bundle_catch_up(&share->groups[bundle->group], bundle);
    bundle->law_speed = speed;
    bundle->speed = speed * bundle->keeps;
}

static size_t only_class(const struct run_group *group, size_t n_classes)
{
    for (size_t c = 0; c < n_classes; c++)
        if (group->of_class[c] > 0)
            return group->of_class[c] == group->n ? c : RUN_NO_CLASS;
    return RUN_NO_CLASS;
}

/* Puts all bundles of a group in order anew, after their speeds were set. */
static void order(struct run_share *share, struct run_group *group)
{
    size_t n = group->bundles.n;
    group->bundles.n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t number = group->bundles.entries[i].id;
        heap_push(&group->bundles, run_bundle_key(&share->bundles[number]), number);
    }
}

static double receiver_speed(const struct run_share *share, const struct run_group *group, uint32_t number)
{
    const struct run_bundle *bundle = &share->bundles[number];
    return group->only_class != RUN_NO_CLASS ? 1.0 / bundle->n : mixed_rate(share, bundle, group->bundles.n);
}

static void set_receivers(struct run_share *share, uint32_t number)
{
    struct run_group *group = &share->groups[share->bundles[number].group];
    size_t only = only_class(group, share->rates->n_classes);
    bool even = only != RUN_NO_CLASS && only == group->only_class;
    run_bundle_place(share, number); /* group->bundles.n is the number of receivers from here on */
    group->only_class = only;
    if (even) {
        if (share->bundles[number].n > 0) {
            set_speed(share, number, receiver_speed(share, group, number));
            run_bundle_place(share, number);
        }
    } else {
        for (size_t i = 0; i < group->bundles.n; i++) {
            uint32_t id = group->bundles.entries[i].id;
            set_speed(share, id, receiver_speed(share, group, id));
            share->bundles[id].at = 0;
        }
        group->clock = 0; /* bytes may become seconds, which are lost beside as many bytes */
        order(share, group);
    }
    if (group->bundles.n > 0)
        group->rate = only != RUN_NO_CLASS
                          ? share->rates->classes[only].bytes_per_s[group->bundles.n] / (double)group->bundles.n
                          : 1;
}

/* Returns the class of a bundle that has one. */
static size_t bundle_class(const struct run_bundle *bundle)
{
    size_t class = 0;
    while (class + 1 < RUN_MAX_CLASSES && bundle->of_class[class] == 0)
        class ++;
    return class;
}

static void set_socket(struct run_share *share, uint32_t number)
{
    struct run_group *group = &share->groups[share->bundles[number].group];
    run_bundle_place(share, number);
    for (size_t i = 0; i < group->bundles.n; i++) {
        uint32_t id = group->bundles.entries[i].id;
        const struct run_class *class = &share->rates->classes[bundle_class(&share->bundles[id])];
        set_speed(share, id, fmin(class->bytes_per_s[1], class->most_bytes_per_s / group->n));
    }
    order(share, group);
}

static bool has_bucket(const struct run_share *share)
{
    return share->law == LAW_FLOW && share->rates->burst_bytes > 0;
}

/* Returns what the wire carries of one direction of a NIC, which is also how fast its bucket fills. */
static double wire_rate(const struct run_share *share, const struct run_nic *nic)
{
    return share->rates->classes[share->rates->wire].bytes_per_s[nic->n_ranks > 0 ? nic->n_ranks : 1];
}

/* Returns the rate that one NIC gives to a message of a class. */
static double nic_rate(const struct run_share *share, const struct run_nic *nic, const struct run_class *class)
{
    if (share->law == LAW_FAIR)
        return fmin(class->bytes_per_s[1], class->most_bytes_per_s / nic->n);
    double inverse = 0;
    for (size_t c = 0; c < share->rates->n_classes; c++)
        if (nic->of_class[c] > 0)
            inverse += nic->of_class[c] / share->rates->classes[c].bytes_per_s[nic->n_ranks];
    if (has_bucket(share) && !nic->is_empty)
        return fmax(share->rates->burst_bytes_per_s / nic->n, 1 / inverse);
    return 1 / inverse;
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

double run_law_pass_s(const struct run_share *share, const struct run_nic *nic, double now_s, double bytes,
                      size_t n_ranks)
{
    double wire = share->rates->classes[share->rates->wire].bytes_per_s[n_ranks];
    if (!has_bucket(share))
        return bytes / wire;
    double tokens = share->rates->burst_bytes - missing_bytes(share, nic, now_s);
    return fmax(bytes / fmax(share->rates->burst_bytes_per_s, wire), (bytes - tokens) / wire);
}

/* Schedules when a NIC's bucket is empty. */
static void place_bucket(struct run_share *share, size_t number)
{
    struct run_nic *nic = &share->nics[number];
    size_t *place = &share->emptied.place[number];
    double surplus = nic->flow - wire_rate(share, nic);
    bool is_emptied = nic->n > 0 && !nic->is_empty && surplus > 0;
    double at_s = nic->since_s + (share->rates->burst_bytes - nic->missing_bytes) / surplus;
    if (is_emptied && *place == RUN_NOT_THERE)
        heap_push(&share->emptied, at_s, (uint32_t)number);
    else if (is_emptied)
        heap_change(&share->emptied, at_s, (uint32_t)number);
    else if (*place != RUN_NOT_THERE)
        heap_remove_at(&share->emptied, *place);
    if (!is_emptied)
        *place = RUN_NOT_THERE;
}

/* Tells both NICs of a bundle how much of it passes. */
static void count_flow(struct run_share *share, struct run_bundle *bundle)
{
    double flow = bundle->n > 0 ? bundle->n * bundle->speed : 0;
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
        const struct run_class *class = &share->rates->classes[bundle_class(bundle)];
        set_speed(share, number,
                  fmin(nic_rate(share, &share->nics[2 * bundle->src_node], class),
                       nic_rate(share, &share->nics[2 * bundle->dst_node + 1], class)));
        run_bundle_place(share, number);
        if (has_bucket(share))
            count_flow(share, bundle);
    }
}

void run_law_keep(struct run_share *share, uint32_t number, double keeps)
{
    struct run_bundle *bundle = &share->bundles[number];
    bundle->keeps = keeps;
    if (bundle->n == 0)
        return;
    set_speed(share, number, bundle->law_speed);
    run_bundle_place(share, number);
    if (bundle->group == share->n_groups - 1 && has_bucket(share))
        count_flow(share, bundle);
}

static void set_nics(struct run_share *share, const struct run_mover *mover, int change)
{
    struct run_bundle *bundle = &share->bundles[mover->bundle];
    for (size_t end = 0; end < 2; end++) {
        struct run_nic *nic = &share->nics[2 * (end == 0 ? bundle->src_node : bundle->dst_node) + end];
        uint32_t *rank_n = &share->rank_n[2 * (size_t)(end == 0 ? mover->src : mover->dst) + end];
        if (has_bucket(share)) {
            settle_bucket(share, nic);
            nic->is_empty = share->rates->burst_bytes - nic->missing_bytes < 1;
        }
        nic->n_ranks += (change > 0 && *rank_n == 0) ? 1 : 0;
        nic->n_ranks -= (change < 0 && *rank_n == 1) ? 1 : 0;
        *rank_n += (uint32_t)change;
        nic->n += (uint32_t)change;
        nic->of_class[mover->class] += (uint32_t)change;
    }
    if (bundle->n == 0)
        run_bundle_place(share, mover->bundle);
    if (bundle->n == 0 && has_bucket(share))
        count_flow(share, bundle);
    set_nic(share, &share->nics[2 * bundle->src_node]);
    set_nic(share, &share->nics[2 * bundle->dst_node + 1]);
}

void run_law_emptied(struct run_share *share, size_t number)
{
    struct run_nic *nic = &share->nics[number];
    share->emptied.place[number] = RUN_NOT_THERE;
    settle_bucket(share, nic);
    nic->is_empty = true;
    set_nic(share, nic);
}

void run_law_set(struct run_share *share, const struct run_mover *mover, int change)
{
    switch (way_kind(share, mover->class)) {
    case WAY_RECEIVER:
        set_receivers(share, mover->bundle);
        break;
    case WAY_SOCKET:
        set_socket(share, mover->bundle);
        break;
    case WAY_NICS:
        set_nics(share, mover, change);
        break;
    case WAY_ALONE:
        set_speed(share, mover->bundle, share->rates->classes[mover->class].bytes_per_s[1]);
        run_bundle_place(share, mover->bundle);
        break;
    }
}
