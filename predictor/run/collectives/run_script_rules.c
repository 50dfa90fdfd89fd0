/* Holds the switch points of Open MPI: which algorithm coll/tuned takes by number of ranks and bytes where no rule file
 * is given, as in ompi/mca/coll/tuned/coll_tuned_decision_fixed of versions 4.1.4 and 5.0.9, which agree in all of
 * them. The numbers are those of its parameters coll_tuned_..._algorithm; run_script_tuned.c says what they mean. Rules
 * for operations that do not commute are left out. */
#include "predictor/run/collectives/run_script_rules.h"

enum { MOST_RULE_STEPS = 10 };
#define ANY UINT32_MAX

/* Holds the algorithms of communicators below a number of ranks, each for sizes below a number of bytes. */
struct size_class {
    uint32_t below_n;
    struct {
        uint32_t below_bytes;
        uint8_t algorithm;
    } steps[MOST_RULE_STEPS];
};

static const struct size_class allreduce_rules[] = {
    {4, {{8, 4}, {4096, 3}, {8192, 4}, {16384, 3}, {65536, 4}, {262144, 5}, {ANY, 6}}},
    {8, {{16, 4}, {8192, 3}, {ANY, 6}}},
    {16, {{8192, 3}, {ANY, 6}}},
    {32, {{64, 5}, {4096, 3}, {ANY, 6}}},
    {64, {{128, 5}, {ANY, 6}}},
    {128, {{262144, 3}, {ANY, 6}}},
    {256, {{131072, 2}, {262144, 3}, {ANY, 6}}},
    {512, {{4096, 2}, {ANY, 6}}},
    {2048, {{2048, 2}, {16384, 3}, {ANY, 6}}},
    {4096, {{2048, 2}, {4096, 5}, {16384, 3}, {ANY, 6}}},
    {ANY, {{2048, 2}, {16384, 5}, {32768, 3}, {ANY, 6}}},
};
static const struct size_class alltoall_rules[] = {
    {3, {{2, 2}, {4, 5}, {16, 2}, {64, 5}, {256, 2}, {4096, 5}, {32768, 2}, {262144, 4}, {1048576, 5}, {ANY, 2}}},
    {8, {{8192, 4}, {16384, 1}, {65536, 4}, {524288, 1}, {1048576, 2}, {ANY, 1}}},
    {16, {{262144, 4}, {ANY, 1}}},
    {32, {{4, 4}, {512, 3}, {8192, 4}, {32768, 1}, {262144, 4}, {524288, 1}, {ANY, 4}}},
    {64, {{512, 3}, {524288, 1}, {ANY, 4}}},
    {128, {{1024, 3}, {2048, 1}, {4096, 4}, {262144, 1}, {ANY, 2}}},
    {256, {{1024, 3}, {2048, 4}, {262144, 1}, {ANY, 2}}},
    {512, {{1024, 3}, {8192, 4}, {32768, 1}, {ANY, 2}}},
    {1024, {{512, 3}, {8192, 4}, {16384, 1}, {131072, 4}, {262144, 1}, {ANY, 2}}},
    {2048, {{512, 3}, {1024, 4}, {2048, 1}, {16384, 4}, {262144, 1}, {ANY, 4}}},
    {4096, {{1024, 3}, {4096, 4}, {8192, 1}, {131072, 4}, {ANY, 1}}},
    {ANY, {{2048, 3}, {8192, 4}, {16384, 1}, {32768, 4}, {65536, 1}, {ANY, 4}}},
};
static const struct size_class alltoallv_rules[] = {
    {4, {{ANY, 2}}}, {64, {{ANY, 1}}}, {128, {{ANY, 2}}}, {256, {{ANY, 1}}}, {1024, {{ANY, 2}}}, {ANY, {{ANY, 1}}},
};
static const struct size_class barrier_rules[] = {
    {4, {{ANY, 3}}},   {8, {{ANY, 1}}},    {64, {{ANY, 3}}},   {256, {{ANY, 4}}},
    {512, {{ANY, 6}}}, {1024, {{ANY, 4}}}, {4096, {{ANY, 6}}}, {ANY, {{ANY, 4}}},
};
static const struct size_class bcast_rules[] = {
    {4,
     {{32, 3},
      {256, 5},
      {512, 3},
      {1024, 7},
      {32768, 1},
      {131072, 5},
      {262144, 2},
      {524288, 1},
      {1048576, 6},
      {ANY, 5}}},
    {8, {{64, 5}, {128, 6}, {2048, 5}, {8192, 6}, {1048576, 1}, {ANY, 2}}},
    {16, {{8, 7}, {64, 5}, {4096, 7}, {16384, 5}, {32768, 6}, {ANY, 1}}},
    {32, {{4096, 7}, {1048576, 6}, {ANY, 8}}},
    {64, {{2048, 6}, {ANY, 7}}},
    {128, {{ANY, 7}}},
    {256, {{2, 6}, {16384, 5}, {32768, 1}, {65536, 5}, {ANY, 7}}},
    {1024, {{16384, 7}, {32768, 4}, {ANY, 7}}},
    {2048, {{524288, 7}, {ANY, 8}}},
    {4096, {{262144, 7}, {ANY, 8}}},
    {ANY, {{8192, 7}, {16384, 5}, {262144, 7}, {ANY, 8}}},
};
static const struct size_class reduce_rules[] = {
    {4, {{8, 7}, {16, 4}, {32, 3}, {262144, 1}, {524288, 3}, {1048576, 2}, {ANY, 3}}},
    {8, {{4096, 4}, {65536, 2}, {262144, 5}, {524288, 1}, {1048576, 5}, {ANY, 1}}},
    {16, {{8192, 4}, {ANY, 5}}},
    {32, {{4096, 4}, {ANY, 5}}},
    {256, {{ANY, 5}}},
    {512, {{8192, 5}, {16384, 6}, {ANY, 5}}},
    {2048, {{ANY, 5}}},
    {4096, {{512, 5}, {1024, 6}, {8192, 5}, {16384, 6}, {ANY, 5}}},
    {ANY, {{16, 5}, {32, 6}, {1024, 5}, {2048, 6}, {8192, 5}, {16384, 6}, {ANY, 5}}},
};
static const struct size_class reduce_scatter_rules[] = {
    {4, {{65536, 3}, {131072, 4}, {ANY, 3}}},
    {8, {{8, 1}, {262144, 2}, {ANY, 3}}},
    {32, {{262144, 2}, {ANY, 3}}},
    {64, {{64, 1}, {2048, 2}, {524288, 4}, {ANY, 3}}},
    {128, {{256, 1}, {512, 2}, {2048, 4}, {4096, 2}, {ANY, 4}}},
    {256, {{256, 1}, {512, 2}, {ANY, 4}}},
    {512, {{256, 1}, {1024, 2}, {ANY, 4}}},
    {1024, {{512, 1}, {2048, 2}, {8192, 4}, {16384, 2}, {ANY, 4}}},
    {2048, {{512, 1}, {4096, 2}, {16384, 4}, {32768, 2}, {ANY, 4}}},
    {4096, {{512, 1}, {4096, 2}, {ANY, 4}}},
    {ANY, {{1024, 1}, {8192, 2}, {ANY, 4}}},
};
static const struct size_class reduce_scatter_block_rules[] = {
    {4, {{4, 2}, {8, 4}, {16, 3}, {128, 4}, {256, 3}, {4096, 4}, {8192, 3}, {131072, 4}, {ANY, 1}}},
    {8, {{8, 3}, {32, 2}, {256, 4}, {8192, 3}, {16384, 4}, {1048576, 3}, {ANY, 1}}},
    {16, {{4, 1}, {32, 3}, {128, 4}, {524288, 3}, {4194304, 1}, {ANY, 4}}},
    {32, {{32, 1}, {524288, 3}, {2097152, 1}, {4194304, 3}, {ANY, 4}}},
    {ANY, {{4, 3}, {16, 1}, {65536, 4}, {262144, 1}, {ANY, 4}}},
};
static const struct size_class allgather_rules[] = {
    {3, {{ANY, 6}}},
    {32, {{ANY, 3}}},
    {64, {{1024, 3}, {65536, 5}, {ANY, 4}}},
    {128, {{512, 3}, {65536, 5}, {ANY, 4}}},
    {256, {{512, 3}, {131072, 5}, {524288, 4}, {1048576, 5}, {ANY, 4}}},
    {512, {{32, 3}, {128, 2}, {1024, 3}, {131072, 5}, {524288, 4}, {1048576, 5}, {ANY, 4}}},
    {1024, {{64, 3}, {256, 2}, {2048, 3}, {ANY, 5}}},
    {2048, {{4, 3}, {8, 2}, {16, 3}, {32, 2}, {256, 3}, {512, 2}, {4096, 3}, {ANY, 5}}},
    {4096, {{32, 2}, {128, 3}, {512, 2}, {4096, 3}, {ANY, 5}}},
    {ANY, {{2, 3}, {8, 2}, {16, 3}, {512, 2}, {4096, 3}, {ANY, 5}}},
};
static const struct size_class allgatherv_rules[] = {
    {3, {{2048, 3}, {4096, 5}, {8192, 3}, {ANY, 5}}},
    {8, {{256, 1}, {4096, 4}, {8192, 3}, {16384, 4}, {262144, 2}, {ANY, 4}}},
    {16, {{1024, 1}, {ANY, 2}}},
    {32, {{128, 1}, {262144, 2}, {ANY, 3}}},
    {64, {{256, 1}, {8192, 2}, {ANY, 3}}},
    {128, {{256, 1}, {4096, 2}, {ANY, 3}}},
    {256, {{1024, 2}, {65536, 4}, {ANY, 3}}},
    {512, {{1024, 2}, {ANY, 3}}},
    {1024, {{512, 2}, {1024, 1}, {4096, 2}, {1048576, 4}, {ANY, 3}}},
    {ANY, {{4096, 2}, {ANY, 4}}},
};
static const struct size_class gather_rules[] = {
    {4, {{2, 3}, {4, 1}, {32768, 2}, {65536, 1}, {131072, 2}, {ANY, 3}}},
    {8, {{1024, 2}, {8192, 1}, {32768, 2}, {262144, 1}, {ANY, 3}}},
    {256, {{ANY, 2}}},
    {512, {{2048, 2}, {8192, 1}, {ANY, 2}}},
    {ANY, {{ANY, 2}}},
};
static const struct size_class scatter_rules[] = {
    {4, {{2, 3}, {131072, 1}, {262144, 3}, {ANY, 1}}},
    {8, {{2048, 2}, {4096, 1}, {8192, 2}, {32768, 1}, {1048576, 3}, {ANY, 1}}},
    {16, {{16384, 2}, {1048576, 3}, {ANY, 1}}},
    {32, {{16384, 2}, {32768, 1}, {ANY, 3}}},
    {64, {{512, 2}, {8192, 3}, {16384, 2}, {ANY, 3}}},
    {ANY, {{512, 2}, {ANY, 3}}},
};

uint8_t script_rule(enum script_rules rules, uint32_t n, double bytes)
{
    static const struct size_class *const all[] = {
        [RULES_ALLREDUCE] = allreduce_rules,
        [RULES_ALLTOALL] = alltoall_rules,
        [RULES_ALLTOALLV] = alltoallv_rules,
        [RULES_BARRIER] = barrier_rules,
        [RULES_BCAST] = bcast_rules,
        [RULES_REDUCE] = reduce_rules,
        [RULES_REDUCE_SCATTER] = reduce_scatter_rules,
        [RULES_REDUCE_SCATTER_BLOCK] = reduce_scatter_block_rules,
        [RULES_ALLGATHER] = allgather_rules,
        [RULES_ALLGATHERV] = allgatherv_rules,
        [RULES_GATHER] = gather_rules,
        [RULES_SCATTER] = scatter_rules,
    };
    const struct size_class *class = all[rules];
    while (class->below_n != ANY && n >= class->below_n)
        class ++;
    int step = 0;
    while (class->steps[step].below_bytes != ANY && bytes >= class->steps[step].below_bytes)
        step++;
    return class->steps[step].algorithm;
}
