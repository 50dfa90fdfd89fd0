/* staircase lets the receivers of a socket, or of a node for messages between nodes, share its bandwidth as the model
 * does (T7, T12; predictor/models/staircase.c), by who receives now. serial does so as well, but a receiver takes one
 * message after another. See run_law.h and
 * share/doc/MODELS.md. */
#include "predictor/run/laws/run_law.h"

/* A receiver is a bundle, of messages of all classes. */
static void staircase_find(const struct run_share *share, const struct run_mover *mover, struct run_way *way)
{
    bool network = share->rates->classes[mover->class].level == LEVEL_INTER_NODE;
    way->group = network ? (uint32_t)share->sockets.n_groups + way->dst_node : share->sockets.of[mover->dst];
    way->key.b = mover->dst;
    way->key.c = 0;
}

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

static void set(struct run_share *share, const struct run_mover *mover, int change)
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

const struct run_path law_staircase_path = {.find = staircase_find, .set = set};
const struct run_path law_serial_path = {.find = staircase_find, .set = set, .in_turn = true};
