/* Lists the laws, and does what they have in common. See run_law.h. */
#include "predictor/run/laws/run_law.h"

#include "predictor/pattern/traffic.h"

static void find_alone(const struct run_share *share, const struct run_mover *mover, struct run_way *way)
{
    (void)mover;
    way->group = (uint32_t)share->n_groups - 1;
}

static void set_alone(struct run_share *share, const struct run_mover *mover, int change)
{
    (void)change;
    run_bundle_set_speed(share, mover->bundle, share->rates->classes[mover->class].bytes_per_s[1]);
    run_bundle_place(share, mover->bundle);
}

const struct run_path law_alone_path = {.find = find_alone, .set = set_alone};

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

struct run_way run_law_way(const struct run_share *share, const struct run_mover *mover)
{
    enum level level = share->rates->classes[mover->class].level;
    uint32_t socket = share->sockets.of[mover->dst];
    bool contends = share->memory != NULL && (share->memory->share.levels & LEVEL_BIT(level)) != 0;
    struct run_way way = {.key = {.a = level == LEVEL_INTER_NODE, .c = mover->class},
                          .src_node = share->nodes.of[mover->src],
                          .dst_node = share->nodes.of[mover->dst],
                          .socket = contends ? socket : RUN_NO_SOCKET};
    run_law_path(share, mover->class)->find(share, mover, &way);
    if (contends)
        way.key.c |= ((uint64_t)socket + 1) << 8;
    return way;
}
