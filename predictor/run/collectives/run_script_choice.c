/* Chooses the algorithms of a collective that its MPI would take: first what MPICH and Open MPI put theirs together of,
 * then the choices of each. Operations are taken as built in and commutative. */
#include "predictor/run/collectives/run_script.h"

#define NONE UINT32_MAX

/* Describes those who do a part of a collective. */
struct script_part {
    struct run_script *script;
    enum script_group group;
    uint32_t n; /* of nodes: the largest one */
    bool same;  /* nodes: all have so many */
    uint32_t only_node, except_node;
};

/* Holds the ways to divide a collective: all together, within nodes, between the nodes' leaders. */
struct script_parts {
    struct script_part all, node, leaders;
};

/* Makes the script of a kind of collective. */
typedef void script_chooser(const struct script_choice *choice, const struct script_parts *parts);

static struct script_parts parts_of(const struct script_choice *choice, struct run_script *script)
{
    struct script_parts parts = {{script, GROUP_ALL, choice->n, true, NONE, NONE},
                                 {script, GROUP_NODE, 0, true, NONE, NONE},
                                 {script, GROUP_LEADERS, 0, true, NONE, NONE}};
    const struct script_nodes *nodes = choice->nodes;
    if (nodes == NULL)
        return parts;
    parts.leaders.n = nodes->n_nodes;
    for (uint32_t i = 0; i < nodes->n_nodes; i++) {
        uint32_t n = nodes->first[i + 1] - nodes->first[i];
        parts.node.same = parts.node.same && (i == 0 || n == parts.node.n);
        parts.node.n = n > parts.node.n ? n : parts.node.n;
    }
    return parts;
}

static bool part_is_power_of_two(const struct script_part *part)
{
    return part->same && (part->n & (part->n - 1)) == 0;
}

/* Adds a phase of the part; its tree is TREE_BINOMIAL. */
static struct script_phase *part_add(const struct script_part *part, enum script_algorithm algorithm, uint32_t root,
                                     double bytes)
{
    struct script_phase *phase = script_add(part->script, algorithm, bytes);
    phase->group = (uint8_t)part->group;
    phase->root = root;
    phase->only_node = part->only_node;
    phase->except_node = part->except_node;
    phase->tree = TREE_BINOMIAL;
    return phase;
}

/* Scatters what the root has, then gathers it everywhere: by recursive doubling, or on a ring. */
static void part_add_scatter_allgather(const struct script_part *part, uint32_t root, bool doubles, double bytes)
{
    part_add(part, SCRIPT_BLOCKS_DOWN, root, bytes);
    part_add(part, doubles ? SCRIPT_DOUBLE : SCRIPT_RING, root, bytes);
}

/* Reduces the vector to blocks, and leaves them with those that have not dropped out. */
static void part_add_halving(const struct script_part *part, uint32_t target, bool own_blocks, double bytes)
{
    part_add(part, SCRIPT_FOLD, 0, bytes)->target = target;
    struct script_phase *phase = part_add(part, SCRIPT_HALVE, 0, bytes);
    phase->target = target;
    phase->near_first = !own_blocks;
    phase->own_blocks = own_blocks;
}

/* Reduce by halving. */
static void part_add_halved_reduce(const struct script_part *part, uint32_t root, double bytes)
{
    part_add_halving(part, root, false, bytes);
    struct script_phase *phase = part_add(part, SCRIPT_GATHER_HALVES, 0, bytes);
    phase->target = root;
    phase->near_first = true;
}

static void part_add_halved_allreduce(const struct script_part *part, double bytes)
{
    part_add_halving(part, NONE, false, bytes);
    part_add(part, SCRIPT_DOUBLE, 0, bytes)->near_first = true;
    part_add(part, SCRIPT_UNFOLD, 0, bytes);
}

static void part_add_halved_reduce_scatter(const struct script_part *part, double bytes)
{
    part_add_halving(part, NONE, true, bytes);
    part_add(part, SCRIPT_UNFOLD_BLOCK, 0, bytes);
}

/* Reduces by recursive doubling. */
static void part_add_doubled_allreduce(const struct script_part *part, double bytes)
{
    part_add(part, SCRIPT_FOLD, 0, bytes);
    part_add(part, SCRIPT_EXCHANGE, 0, bytes);
    part_add(part, SCRIPT_UNFOLD, 0, bytes);
}

/* MPICH: the switch points are the defaults of version 4.0.2: src/mpi/coll/cvars.txt (BCAST_MIN_PROCS 8,
 * BCAST_SHORT_MSG_SIZE 12288, BCAST_LONG_MSG_SIZE 524288, ALLGATHER_SHORT_MSG_SIZE 81920, ALLGATHER_LONG_MSG_SIZE
 * 524288, REDUCE_SHORT_MSG_SIZE 2048, ALLTOALL_SHORT_MSG_SIZE 256, ALLTOALL_MEDIUM_MSG_SIZE 32768, ALLTOALL_THROTTLE
 * 32, REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE 524288) as its built-in selection tables have them,
 * maint/tuning/coll/mpir/generic.json; there an allreduce switches at 8 bytes, not at ALLREDUCE_SHORT_MSG_SIZE. Which
 * part goes on within nodes and which between their leaders says maint/tuning/coll/ch4/generic.json, with the
 * compositions of src/mpid/ch4/src/ch4_coll_impl. Elements are taken as 8 bytes long. */
enum {
    BCAST_MEMBERS = 8,
    BCAST_SHORT = 12288,
    BCAST_LONG = 524288,
    ALLREDUCE_SHORT = 8,
    REDUCE_SHORT = 2048,
    ALLGATHER_SHORT = 81920,
    ALLGATHER_LONG = 524288,
    REDUCE_SCATTER_LONG = 524288,
    ALLTOALL_MEMBERS = 8,
    ALLTOALL_SHORT = 256,
    ALLTOALL_MEDIUM = 32768,
    ALLTOALL_LOT = 32,
    ELEMENT_BYTES = 8,
};

/* Says whether there is an element at least for each of those that halve the vector. */
static bool has_elements(const struct script_part *part, double bytes)
{
    uint32_t two = 1;
    while (two <= part->n / 2)
        two *= 2;
    return bytes >= (double)two * ELEMENT_BYTES;
}

static void choice_add_bcast(const struct script_part *part, uint32_t root, double bytes)
{
    if (part->n < BCAST_MEMBERS || bytes <= BCAST_SHORT)
        part_add(part, SCRIPT_DOWN, root, bytes);
    else
        part_add_scatter_allgather(part, root, part_is_power_of_two(part) && bytes <= BCAST_LONG, bytes);
}

static void choice_add_reduce(const struct script_part *part, uint32_t root, double bytes)
{
    if (bytes <= REDUCE_SHORT || !has_elements(part, bytes))
        part_add(part, SCRIPT_UP, root, bytes);
    else
        part_add_halved_reduce(part, root, bytes);
}

static void choice_add_allreduce(const struct script_part *part, double bytes)
{
    if (bytes <= ALLREDUCE_SHORT || !has_elements(part, bytes))
        part_add_doubled_allreduce(part, bytes);
    else
        part_add_halved_allreduce(part, bytes);
}

static void choose_barrier(const struct script_choice *choice, const struct script_parts *parts)
{
    if (choice->nodes == NULL) {
        part_add(&parts->all, SCRIPT_DISSEMINATE, 0, 0);
        return;
    }
    part_add(&parts->node, SCRIPT_DISSEMINATE, 0, 0);
    part_add(&parts->leaders, SCRIPT_DISSEMINATE, 0, 0);
    choice_add_bcast(&parts->node, 0, 1); /* leaders let the others go with a byte */
}

static void choose_bcast(const struct script_choice *choice, const struct script_parts *parts)
{
    double bytes = choice->bytes;
    const struct script_nodes *nodes = choice->nodes;
    bool two_levels = choice->n < BCAST_MEMBERS || bytes < BCAST_SHORT;
    bool leaders_between = !two_levels && part_is_power_of_two(&parts->all) && bytes < BCAST_LONG;
    if (nodes == NULL || (!two_levels && !leaders_between)) {
        choice_add_bcast(&parts->all, choice->root, bytes);
        return;
    }
    uint32_t node = nodes->node_of[choice->root], place = nodes->place[choice->root];
    struct script_part others = parts->node, own = parts->node;
    if (two_levels) {
        part_add(&parts->all, SCRIPT_SEND, choice->root, bytes)->target = nodes->by_node[nodes->first[node]];
    } else if (place > 0) {
        own.only_node = others.except_node = node;
        choice_add_bcast(&own, place, bytes);
    }
    choice_add_bcast(&parts->leaders, node, bytes);
    choice_add_bcast(&others, 0, bytes);
}

static void choose_reduce(const struct script_choice *choice, const struct script_parts *parts)
{
    double bytes = choice->bytes;
    const struct script_nodes *nodes = choice->nodes;
    if (nodes == NULL) {
        choice_add_reduce(&parts->all, choice->root, bytes);
        return;
    }
    uint32_t node = nodes->node_of[choice->root], place = nodes->place[choice->root];
    if (bytes > REDUCE_SHORT) {
        choice_add_reduce(&parts->node, 0, bytes);
        choice_add_reduce(&parts->leaders, 0, bytes);
        part_add(&parts->all, SCRIPT_SEND, 0, bytes)->target = choice->root;
        return;
    }
    struct script_part others = parts->node, own = parts->node;
    own.only_node = others.except_node = node;
    choice_add_reduce(&others, 0, bytes);
    choice_add_reduce(&parts->leaders, node, bytes);
    choice_add_reduce(&own, place, bytes);
}

static void choose_allreduce(const struct script_choice *choice, const struct script_parts *parts)
{
    if (choice->nodes == NULL || choice->nodes->n_nodes == 1) {
        choice_add_allreduce(&parts->all, choice->bytes);
        return;
    }
    choice_add_reduce(&parts->node, 0, choice->bytes);
    choice_add_allreduce(&parts->leaders, choice->bytes);
    choice_add_bcast(&parts->node, 0, choice->bytes);
}

static void choose_gather(const struct script_choice *choice, const struct script_parts *parts)
{
    bool gathers = choice->kind == COLLECTIVE_GATHER;
    struct script_phase *phase =
        part_add(&parts->all, gathers ? SCRIPT_BLOCKS_UP : SCRIPT_BLOCKS_DOWN, choice->root, choice->bytes);
    phase->sizes = choice->sizes;
    phase->tree = choice->varies ? TREE_FLAT : TREE_BINOMIAL;
    phase->together = choice->varies;
}

static void choose_allgather(const struct script_choice *choice, const struct script_parts *parts)
{
    double bytes = choice->bytes;
    bool doubles = part_is_power_of_two(&parts->all);
    enum script_algorithm algorithm = doubles && bytes < ALLGATHER_LONG     ? SCRIPT_DOUBLE
                                      : !doubles && bytes < ALLGATHER_SHORT ? SCRIPT_BRUCK
                                                                            : SCRIPT_RING;
    part_add(&parts->all, algorithm, 0, bytes)->sizes = choice->sizes;
}

static void choose_alltoall(const struct script_choice *choice, const struct script_parts *parts)
{
    double pair = choice->bytes / choice->n;
    enum script_algorithm algorithm = SCRIPT_AT_ONCE;
    if (!choice->varies && pair > ALLTOALL_MEDIUM)
        algorithm = SCRIPT_PAIRWISE;
    else if (!choice->varies && pair <= ALLTOALL_SHORT && choice->n >= ALLTOALL_MEMBERS)
        algorithm = SCRIPT_BRUCK_ALLTOALL;
    struct script_phase *phase = part_add(&parts->all, algorithm, 0, choice->bytes);
    phase->lot = ALLTOALL_LOT;
    phase->by_bits = part_is_power_of_two(&parts->all);
    phase->sizes = choice->sizes;
}

static void choose_reduce_scatter(const struct script_choice *choice, const struct script_parts *parts)
{
    if (choice->bytes >= REDUCE_SCATTER_LONG)
        part_add(&parts->all, SCRIPT_PAIRWISE_COMBINE, 0, choice->bytes);
    else
        part_add_halved_reduce_scatter(&parts->all, choice->bytes);
}

static void choose_scan(const struct script_choice *choice, const struct script_parts *parts)
{
    part_add(&parts->all, SCRIPT_SCAN, 0, choice->bytes);
}

static script_chooser *const mpich[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_BARRIER] = choose_barrier,
    [COLLECTIVE_BCAST] = choose_bcast,
    [COLLECTIVE_REDUCE] = choose_reduce,
    [COLLECTIVE_ALLREDUCE] = choose_allreduce,
    [COLLECTIVE_GATHER] = choose_gather,
    [COLLECTIVE_SCATTER] = choose_gather,
    [COLLECTIVE_ALLGATHER] = choose_allgather,
    [COLLECTIVE_ALLTOALL] = choose_alltoall,
    [COLLECTIVE_REDUCE_SCATTER] = choose_reduce_scatter,
    [COLLECTIVE_SCAN] = choose_scan,
};

/* Open MPI: coll/tuned, and coll/basic for what that leaves out (ompi/mca/coll/base, .../basic, versions 4.1.4 and
 * 5.0.9). tuned takes no segments where no rule file is given, so that chain and pipeline are one chain, and the
 * segmented ring is the ring. Where several nodes have members, version 5 takes coll/han instead; that is not modelled.
 *
 * The rules are its switch points by number of ranks and bytes, those of
 * ompi/mca/coll/tuned/coll_tuned_decision_fixed, on which both versions agree. The numbers are those of its parameters
 * coll_tuned_..._algorithm. Rules for operations that do not commute are left out. */
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

/* Returns the number of the algorithm for n ranks. bytes is what coll/tuned judges by: what a rank hands to each other
 * one (alltoall, gather, scatter, allgather: the mean where sizes differ), the whole vector (bcast and reductions), a
 * block of it (reduce_scatter_block). */
static uint8_t rule_of(const struct size_class *class, uint32_t n, double bytes)
{
    while (class->below_n != ANY && n >= class->below_n)
        class ++;
    int step = 0;
    while (class->steps[step].below_bytes != ANY && bytes >= class->steps[step].below_bytes)
        step++;
    return class->steps[step].algorithm;
}

/* Adds a phase of a tree. */
static struct script_phase *add_tree(const struct script_part *part, enum script_algorithm algorithm,
                                     enum script_tree tree, uint32_t root, bool together, double bytes)
{
    struct script_phase *phase = part_add(part, algorithm, root, bytes);
    phase->tree = (uint8_t)tree;
    phase->together = together;
    return phase;
}

static void add_bcast(const struct script_part *all, uint32_t root, double bytes)
{
    static const uint8_t trees[] = {[1] = TREE_FLAT,   [2] = TREE_CHAIN,         [3] = TREE_CHAIN,  [4] = TREE_BINARY,
                                    [5] = TREE_BINARY, [6] = TREE_BINOMIAL_HIGH, [7] = TREE_KNOMIAL};
    uint8_t algorithm = rule_of(bcast_rules, all->n, bytes);
    if (algorithm < 8)
        add_tree(all, SCRIPT_DOWN, trees[algorithm], root, true, bytes);
    else
        part_add_scatter_allgather(all, root, algorithm == 8 && part_is_power_of_two(all), bytes);
}

static void add_reduce(const struct script_part *all, uint32_t root, double bytes)
{
    static const uint8_t trees[] = {[1] = TREE_FLAT,   [2] = TREE_CHAIN,         [3] = TREE_CHAIN,
                                    [4] = TREE_BINARY, [5] = TREE_BINOMIAL_HIGH, [6] = TREE_BINARY};
    uint8_t algorithm = rule_of(reduce_rules, all->n, bytes);
    if (algorithm < 7)
        add_tree(all, SCRIPT_UP, trees[algorithm], root, algorithm != 1, bytes);
    else
        part_add_halved_reduce(all, root, bytes);
}

static void tuned_barrier(const struct script_choice *choice, const struct script_parts *parts)
{
    const struct script_part *all = &parts->all;
    uint8_t algorithm = rule_of(barrier_rules, choice->n, 0);
    if (algorithm == 3) {
        part_add_doubled_allreduce(all, 0);
    } else if (algorithm == 4) {
        part_add(all, SCRIPT_DISSEMINATE, 0, 0);
    } else { /* 1 is linear */
        enum script_tree tree = algorithm == 1 ? TREE_FLAT : TREE_BINOMIAL;
        add_tree(all, SCRIPT_UP, tree, 0, algorithm == 1, 0);
        add_tree(all, SCRIPT_DOWN, tree, 0, algorithm == 1, 0);
    }
}

static void tuned_bcast(const struct script_choice *choice, const struct script_parts *parts)
{
    add_bcast(&parts->all, choice->root, choice->bytes);
}

static void tuned_reduce(const struct script_choice *choice, const struct script_parts *parts)
{
    add_reduce(&parts->all, choice->root, choice->bytes);
}

static void tuned_allreduce(const struct script_choice *choice, const struct script_parts *parts)
{
    const struct script_part *all = &parts->all;
    double bytes = choice->bytes;
    switch (rule_of(allreduce_rules, choice->n, bytes)) {
    case 2:
        add_reduce(all, 0, bytes);
        add_bcast(all, 0, bytes);
        break;
    case 3:
        part_add_doubled_allreduce(all, bytes);
        break;
    case 4:
    case 5:
        part_add(all, SCRIPT_RING_COMBINE, 0, bytes);
        part_add(all, SCRIPT_RING, 0, bytes);
        break;
    default:
        part_add_halved_allreduce(all, bytes);
    }
}

static void add_gather(const struct script_choice *choice, const struct script_part *all, bool scatter, uint32_t root)
{
    double block = choice->bytes / choice->n;
    uint8_t algorithm = choice->varies ? 1 : rule_of(scatter ? scatter_rules : gather_rules, choice->n, block);
    enum script_tree tree = algorithm == 2 ? TREE_BINOMIAL : TREE_FLAT;
    add_tree(all, scatter ? SCRIPT_BLOCKS_DOWN : SCRIPT_BLOCKS_UP, tree, root, algorithm == 3, choice->bytes)->sizes =
        choice->sizes;
}

static void tuned_gather(const struct script_choice *choice, const struct script_parts *parts)
{
    add_gather(choice, &parts->all, choice->kind == COLLECTIVE_SCATTER, choice->root);
}

static void tuned_allgather(const struct script_choice *choice, const struct script_parts *parts)
{
    const struct script_part *all = &parts->all;
    double bytes = choice->bytes;
    uint8_t algorithm = rule_of(choice->varies ? allgatherv_rules : allgather_rules, choice->n, bytes / choice->n);
    /* allgatherv numbers them otherwise, without recursive doubling */
    static const uint8_t numbers[] = {0, 1, 2, 4, 5, 6};
    if (choice->varies)
        algorithm = numbers[algorithm];
    if (algorithm == 1) {
        add_tree(all, SCRIPT_BLOCKS_UP, TREE_FLAT, 0, false, bytes)->sizes = choice->sizes;
        add_bcast(all, 0, bytes);
        return;
    }
    enum script_algorithm script = algorithm == 3 && part_is_power_of_two(all)                ? SCRIPT_DOUBLE
                                   : algorithm == 4 || (algorithm == 5 && choice->n % 2 != 0) ? SCRIPT_RING
                                   : algorithm == 5                                           ? SCRIPT_NEIGHBOURS
                                                                                              : SCRIPT_BRUCK;
    part_add(all, script, 0, bytes)->sizes = choice->sizes;
}

static void tuned_alltoall(const struct script_choice *choice, const struct script_parts *parts)
{
    double bytes = choice->bytes;
    uint8_t algorithm = rule_of(choice->varies ? alltoallv_rules : alltoall_rules, choice->n, bytes / choice->n);
    static const uint8_t algorithms[] = {[1] = SCRIPT_AT_ONCE,
                                         [2] = SCRIPT_PAIRWISE,
                                         [3] = SCRIPT_BRUCK_ALLTOALL,
                                         [4] = SCRIPT_AT_ONCE,
                                         [5] = SCRIPT_PAIRWISE};
    part_add(&parts->all, (enum script_algorithm)algorithms[algorithm], 0, bytes)->sizes = choice->sizes;
}

static void tuned_reduce_scatter(const struct script_choice *choice, const struct script_parts *parts)
{
    double bytes = choice->bytes;
    uint8_t algorithm = choice->varies ? rule_of(reduce_scatter_rules, choice->n, bytes)
                                       : rule_of(reduce_scatter_block_rules, choice->n, bytes / choice->n);
    if (algorithm == 1) {
        add_reduce(&parts->all, 0, bytes);
        add_gather(choice, &parts->all, true, 0);
    } else if (algorithm == 3 && choice->varies) {
        part_add(&parts->all, SCRIPT_RING_COMBINE, 0, bytes);
    } else {
        part_add_halved_reduce_scatter(&parts->all, bytes);
    }
}

static void tuned_scan(const struct script_choice *choice, const struct script_parts *parts)
{
    part_add(&parts->all, SCRIPT_SCAN_CHAIN, 0, choice->bytes);
}

static script_chooser *const open_mpi[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_BARRIER] = tuned_barrier,
    [COLLECTIVE_BCAST] = tuned_bcast,
    [COLLECTIVE_REDUCE] = tuned_reduce,
    [COLLECTIVE_ALLREDUCE] = tuned_allreduce,
    [COLLECTIVE_GATHER] = tuned_gather,
    [COLLECTIVE_SCATTER] = tuned_gather,
    [COLLECTIVE_ALLGATHER] = tuned_allgather,
    [COLLECTIVE_ALLTOALL] = tuned_alltoall,
    [COLLECTIVE_REDUCE_SCATTER] = tuned_reduce_scatter,
    [COLLECTIVE_SCAN] = tuned_scan,
};

void script_choose(const struct script_choice *choice, struct run_script *script)
{
    *script = (struct run_script){.n_members = choice->n, .nodes = choice->nodes};
    const struct script_parts parts = parts_of(choice, script);
    (choice->family == MPI_FAMILY_OPEN_MPI ? open_mpi : mpich)[choice->kind](choice, &parts);
}
