/* The laws: each says which messages always have the same rate, and sets the rates as messages come and go. What they
 * have in common stands at the end. See run_law.h and share/doc/MODELS.md. */
#include "predictor/run/laws/run_law.h"

#include <math.h>

#include "predictor/pattern/traffic.h"

/* Gives the messages of a bundle that nobody else shares anything with the rate of a single pair, or even parts of what
 * its own receiver or sender has. */
static void set_own(struct run_share *share, const struct run_mover *mover, int change)
{
    const struct run_bundle *bundle = &share->bundles[mover->bundle];
    uint32_t class = bundle->head != RUN_NO_MOVING ? share->moving[bundle->head].class : mover->class;
    (void)change;
    if (bundle->n > 0)
        run_bundle_set_speed(share, mover->bundle,
                             run_law_path(share, mover->class)->begun_rate != NULL
                                 ? 1.0 / bundle->n
                                 : share->rates->classes[class].bytes_per_s[1]);
    run_bundle_place(share, mover->bundle);
}

/* postal: messages that always have BW(1). */
static const struct run_path law_alone_path = {.group = GROUP_OF_ALL, .bundle = BUNDLE_OF_CLASS, .set = set_own};

/* max-rate lets the receivers of a group share a bandwidth up to a limit, as the model does (T10;
 * predictor/models/max_rate.c): a receiver's share is that of when its message began, and one that is done leaves
 * nothing to the others. A receiver's messages of a level are a bundle: its number grows by the seconds that each of
 * them has had the receiver's share for itself. The levels of a socket do not disturb each other. */
static double max_rate_begun(const struct run_class *class, size_t n)
{
    return class->bytes_per_s[n] / (double)n;
}

static const struct run_path law_max_rate_path = {
    .group = GROUP_OF_RECEIVER_LEVEL, .bundle = BUNDLE_OF_RECEIVER, .set = set_own, .begun_rate = max_rate_begun};

/* node-aware lets what a node sends to others share an injection limit, and takes what a rank sends within its node
 * one message after another, as the model does (B1, B2; predictor/models/node_aware.c). Receivers do not count. A
 * sender's messages within its node are a bundle; so are those to other nodes, whose number is as that of max-rate. */
static double node_aware_begun(const struct run_class *class, size_t n)
{
    return fmin(class->bytes_per_s[1], class->injection_bytes_per_s / (double)n);
}

static const struct run_path law_node_aware_within = {
    .group = GROUP_OF_ALL, .bundle = BUNDLE_OF_SENDER, .set = set_own, .in_turn = true};
static const struct run_path law_node_aware_between = {
    .group = GROUP_OF_SENDER, .bundle = BUNDLE_OF_SENDER, .set = set_own, .begun_rate = node_aware_begun};

/* staircase lets the receivers of a socket, or of a node for messages between nodes, share its bandwidth as the model
 * does (T7, T12; predictor/models/staircase.c), by who receives now. serial does so as well, but a receiver takes one
 * message after another. A receiver is a bundle, of messages of all classes. */
/* Returns T12 over A_i n: the rate of each message of a receiver while n of the group have some. */
static double mixed_rate(const struct run_share *share, const struct run_bundle *bundle, size_t n)
{
    const struct run_class *classes = share->rates->classes;
    double bandwidth = 0;
    for (size_t c = 0; c < share->rates->n_classes;) { /* they are in the order of their levels */
        enum level level = classes[c].level;
        double messages = 0, inverse = 0;
        for (; c < share->rates->n_classes && classes[c].level == level; c++) {
            if (bundle->of_class[c] == 0)
                continue;
            messages += bundle->of_class[c];
            inverse += bundle->of_class[c] / classes[c].bytes_per_s[n];
        }
        if (messages > 0)
            bandwidth += messages / bundle->n * (messages / inverse);
    }
    return bandwidth / (double)n / bundle->n;
}

static size_t only_class(const struct run_group *group, size_t n_classes)
{
    for (size_t c = 0; c < n_classes; c++)
        if (group->of_class[c] > 0)
            return group->of_class[c] == group->n ? c : RUN_NO_CLASS;
    return RUN_NO_CLASS;
}

static double receiver_speed(const struct run_share *share, const struct run_group *group, uint32_t number)
{
    const struct run_bundle *bundle = &share->bundles[number];
    if (bundle->head != RUN_NO_MOVING) { /* serial: one message has all */
        const struct run_class *class = &share->rates->classes[share->moving[bundle->head].class];
        return group->only_class != RUN_NO_CLASS ? 1 : class->bytes_per_s[group->bundles.n] / (double)group->bundles.n;
    }
    return group->only_class != RUN_NO_CLASS ? 1.0 / bundle->n : mixed_rate(share, bundle, group->bundles.n);
}

static void staircase_set(struct run_share *share, const struct run_mover *mover, int change)
{
    uint32_t number = mover->bundle;
    struct run_group *group = &share->groups[share->bundles[number].group];
    size_t only = only_class(group, share->rates->n_classes);
    bool even = only != RUN_NO_CLASS && only == group->only_class;
    (void)change;
    run_bundle_place(share, number); /* group->bundles.n is the number of receivers from here on */
    group->only_class = only;
    if (even) {
        if (share->bundles[number].n > 0) {
            run_bundle_set_speed(share, number, receiver_speed(share, group, number));
            run_bundle_place(share, number);
        }
    } else {
        for (size_t i = 0; i < group->bundles.n; i++) {
            uint32_t id = group->bundles.entries[i].id;
            run_bundle_set_speed(share, id, receiver_speed(share, group, id));
            share->bundles[id].at = 0;
        }
        group->clock = 0; /* bytes may become seconds, which are lost beside as many bytes */
        run_group_order(share, group);
    }
    if (group->bundles.n > 0)
        group->rate = only != RUN_NO_CLASS
                          ? share->rates->classes[only].bytes_per_s[group->bundles.n] / (double)group->bundles.n
                          : 1;
}

static const struct run_path law_staircase_path = {
    .group = GROUP_OF_RECEIVER, .bundle = BUNDLE_OF_RECEIVER, .set = staircase_set};
static const struct run_path law_serial_path = {
    .group = GROUP_OF_RECEIVER, .bundle = BUNDLE_OF_RECEIVER, .set = staircase_set, .in_turn = true};

/* flow lets every message between nodes have what both NICs on its way give it, as the model does
 * (predictor/models/flow.c), by what moves there now. Within a node it is staircase.
 *
 * flow-window is flow over TCP, as the model is (predictor/models/flow_window.c, which says where its numbers come
 * from): NICs serve of each message in its turn what its connection's window lets through, and a send is over when
 * its buffer, which grows with the window, has room for the rest. Within a node it is serial. */
static double flow_nic_set(const struct run_share *share, const struct run_nic *nic)
{
    double inverse = 0;
    for (size_t c = 0; c < share->rates->n_classes; c++)
        if (nic->of_class[c] > 0)
            inverse += nic->of_class[c] / share->rates->classes[c].bytes_per_s[nic->n_ranks];
    if (run_nics_have_buckets(share) && !nic->is_empty)
        return fmax(share->rates->burst_bytes_per_s / nic->weight, 1 / inverse);
    return 1 / inverse;
}

static double flow_nic_rate(const struct run_share *share, const struct run_nic *nic, const struct run_class *class)
{
    (void)share;
    (void)class;
    return nic->rate;
}

static const struct run_path law_flow_path = {.group = GROUP_OF_ALL,
                                              .bundle = BUNDLE_OF_NICS,
                                              .set = run_nics_set,
                                              .nic_set = flow_nic_set,
                                              .nic_rate = flow_nic_rate};

static const struct run_path law_flow_window_path = {.group = GROUP_OF_ALL,
                                                     .bundle = BUNDLE_OF_NICS,
                                                     .set = run_nics_set,
                                                     .nic_set = flow_nic_set,
                                                     .nic_rate = flow_nic_rate,
                                                     .packet = &flow_window_packet,
                                                     .room = &flow_window_buffer};

/* fair gives all messages of a socket, or at a NIC, even shares of its largest bandwidth. */
static void fair_set(struct run_share *share, const struct run_mover *mover, int change)
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

static const struct run_path law_fair_within = {.group = GROUP_OF_RECEIVER, .bundle = BUNDLE_OF_CLASS, .set = fair_set};
static const struct run_path law_fair_between = {
    .group = GROUP_OF_ALL, .bundle = BUNDLE_OF_NICS, .set = run_nics_set, .nic_rate = fair_nic_rate};

const struct run_law_row run_laws[LAW_COUNT] = {
    [LAW_POSTAL] = {.within = &law_alone_path, .between = &law_alone_path},
    [LAW_MAX_RATE] = {.within = &law_max_rate_path, .between = &law_max_rate_path},
    [LAW_NODE_AWARE] = {.within = &law_node_aware_within, .between = &law_node_aware_between, .by_senders = true},
    [LAW_STAIRCASE] = {.within = &law_staircase_path, .between = &law_staircase_path},
    [LAW_SERIAL] = {.within = &law_serial_path, .between = &law_staircase_path},
    [LAW_FLOW] = {.within = &law_staircase_path, .between = &law_flow_path, .cards_serve = true},
    [LAW_FLOW_WINDOW] = {.within = &law_serial_path, .between = &law_flow_window_path, .cards_serve = true},
    [LAW_FAIR] = {.within = &law_fair_within, .between = &law_fair_between},
};

struct map_key run_law_bundle(const struct run_share *share, const struct run_mover *mover, uint32_t *group)
{
    const struct run_path *path = run_law_path(share, mover->class);
    enum level level = share->rates->classes[mover->class].level;
    uint32_t n_sockets = (uint32_t)share->sockets.n_groups, n_nodes = (uint32_t)share->nodes.n_groups;
    uint32_t src_node = share->nodes.of[mover->src], dst_node = share->nodes.of[mover->dst];
    *group = share->sockets.of[mover->dst];
    if (path->group == GROUP_OF_ALL)
        *group = 2 * n_sockets + n_nodes;
    else if (level == LEVEL_INTER_NODE)
        *group = n_sockets + (path->group == GROUP_OF_SENDER ? src_node : dst_node);
    else if (path->group == GROUP_OF_RECEIVER_LEVEL && level == LEVEL_INTER_SOCKET)
        *group += n_sockets + n_nodes;
    struct map_key key = {.a = level == LEVEL_INTER_NODE, .b = mover->src, .c = *group};
    if (path->bundle == BUNDLE_OF_RECEIVER) {
        key.b = mover->dst;
    } else if (path->bundle != BUNDLE_OF_SENDER) {
        key.b = path->bundle == BUNDLE_OF_NICS ? (uint64_t)src_node << 32 | dst_node : *group;
        key.c = mover->class;
    }
    key.c |= (uint64_t)(uint32_t)(run_law_socket(share, mover) + 1) << 32;
    return key;
}

uint32_t run_law_socket(const struct run_share *share, const struct run_mover *mover)
{
    enum level level = share->rates->classes[mover->class].level;
    bool contends = share->memory != NULL && (share->memory->share.levels & LEVEL_BIT(level)) != 0;
    return contends ? share->sockets.of[mover->dst] : RUN_NO_SOCKET;
}
