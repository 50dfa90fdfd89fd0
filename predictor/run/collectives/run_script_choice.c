/* Chooses the algorithms of MPICH, and lets run_script_tuned.c choose those of Open MPI.
 *
 * The switch points are the defaults of MPICH 4.0.2: src/mpi/coll/cvars.txt (BCAST_MIN_PROCS 8, BCAST_SHORT_MSG_SIZE
 * 12288, BCAST_LONG_MSG_SIZE 524288, ALLGATHER_SHORT_MSG_SIZE 81920, ALLGATHER_LONG_MSG_SIZE 524288,
 * REDUCE_SHORT_MSG_SIZE 2048, ALLTOALL_SHORT_MSG_SIZE 256, ALLTOALL_MEDIUM_MSG_SIZE 32768, ALLTOALL_THROTTLE 32,
 * REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE 524288) as its built-in selection tables have them,
 * maint/tuning/coll/mpir/generic.json; there an allreduce switches at 8 bytes, not at ALLREDUCE_SHORT_MSG_SIZE. Which
 * part goes on within nodes and which between their leaders says maint/tuning/coll/ch4/generic.json, with the
 * compositions of src/mpid/ch4/src/ch4_coll_impl. Operations are taken as built in and commutative, their elements as
 * 8 bytes long. */
#include "predictor/run/collectives/run_script.h"

#define NONE UINT32_MAX

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

/* Describes those who do a part of a collective. */
struct part {
    struct run_script *script;
    enum script_group group;
    uint32_t n; /* of nodes: the largest one */
    bool same;  /* nodes: all have so many */
    uint32_t only_node, except_node;
};

static struct script_phase *add_phase(const struct part *part, enum script_algorithm algorithm, uint32_t root,
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

static bool choice_power_of_two(const struct part *part)
{
    return part->same && (part->n & (part->n - 1)) == 0;
}

/* Says whether there is an element at least for each of those that halve the vector. */
static bool has_elements(const struct part *part, double bytes)
{
    uint32_t two = 1;
    while (two <= part->n / 2)
        two *= 2;
    return bytes >= (double)two * ELEMENT_BYTES;
}

static void choice_add_bcast(const struct part *part, uint32_t root, double bytes)
{
    if (part->n < BCAST_MEMBERS || bytes <= BCAST_SHORT) {
        add_phase(part, SCRIPT_DOWN, root, bytes);
        return;
    }
    bool doubles = choice_power_of_two(part) && bytes <= BCAST_LONG;
    add_phase(part, SCRIPT_BLOCKS_DOWN, root, bytes);
    add_phase(part, doubles ? SCRIPT_DOUBLE : SCRIPT_RING, root, bytes);
}

static void choice_add_halving(const struct part *part, uint32_t target, bool own_blocks, double bytes)
{
    add_phase(part, SCRIPT_FOLD, 0, bytes)->target = target;
    struct script_phase *phase = add_phase(part, SCRIPT_HALVE, 0, bytes);
    phase->target = target;
    phase->near_first = !own_blocks;
    phase->own_blocks = own_blocks;
}

static void choice_add_reduce(const struct part *part, uint32_t root, double bytes)
{
    if (bytes <= REDUCE_SHORT || !has_elements(part, bytes)) {
        add_phase(part, SCRIPT_UP, root, bytes);
        return;
    }
    choice_add_halving(part, root, false, bytes);
    struct script_phase *phase = add_phase(part, SCRIPT_GATHER_HALVES, 0, bytes);
    phase->target = root;
    phase->near_first = true;
}

static void choice_add_allreduce(const struct part *part, double bytes)
{
    if (bytes <= ALLREDUCE_SHORT || !has_elements(part, bytes)) {
        add_phase(part, SCRIPT_FOLD, 0, bytes);
        add_phase(part, SCRIPT_EXCHANGE, 0, bytes);
    } else {
        choice_add_halving(part, NONE, false, bytes);
        add_phase(part, SCRIPT_DOUBLE, 0, bytes)->near_first = true;
    }
    add_phase(part, SCRIPT_UNFOLD, 0, bytes);
}

/* Holds the ways to divide a collective: all together, within nodes, between the nodes' leaders. */
struct parts {
    struct part all, node, leaders;
};

static struct parts parts_of(const struct script_choice *choice, struct run_script *script)
{
    struct parts parts = {{script, GROUP_ALL, choice->n, true, NONE, NONE},
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

static void choose_barrier(const struct script_choice *choice, const struct parts *parts)
{
    if (choice->nodes == NULL) {
        add_phase(&parts->all, SCRIPT_DISSEMINATE, 0, 0);
        return;
    }
    add_phase(&parts->node, SCRIPT_DISSEMINATE, 0, 0);
    add_phase(&parts->leaders, SCRIPT_DISSEMINATE, 0, 0);
    choice_add_bcast(&parts->node, 0, 1); /* leaders let the others go with a byte */
}

static void choose_bcast(const struct script_choice *choice, const struct parts *parts)
{
    double bytes = choice->bytes;
    const struct script_nodes *nodes = choice->nodes;
    bool two_levels = choice->n < BCAST_MEMBERS || bytes < BCAST_SHORT;
    bool leaders_between = !two_levels && choice_power_of_two(&parts->all) && bytes < BCAST_LONG;
    if (nodes == NULL || (!two_levels && !leaders_between)) {
        choice_add_bcast(&parts->all, choice->root, bytes);
        return;
    }
    uint32_t node = nodes->node_of[choice->root], place = nodes->place[choice->root];
    struct part others = parts->node, own = parts->node;
    if (two_levels) {
        add_phase(&parts->all, SCRIPT_SEND, choice->root, bytes)->target = nodes->by_node[nodes->first[node]];
    } else if (place > 0) {
        own.only_node = others.except_node = node;
        choice_add_bcast(&own, place, bytes);
    }
    choice_add_bcast(&parts->leaders, node, bytes);
    choice_add_bcast(&others, 0, bytes);
}

static void choose_reduce(const struct script_choice *choice, const struct parts *parts)
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
        add_phase(&parts->all, SCRIPT_SEND, 0, bytes)->target = choice->root;
        return;
    }
    struct part others = parts->node, own = parts->node;
    own.only_node = others.except_node = node;
    choice_add_reduce(&others, 0, bytes);
    choice_add_reduce(&parts->leaders, node, bytes);
    choice_add_reduce(&own, place, bytes);
}

static void choose_allreduce(const struct script_choice *choice, const struct parts *parts)
{
    if (choice->nodes == NULL || choice->nodes->n_nodes == 1) {
        choice_add_allreduce(&parts->all, choice->bytes);
        return;
    }
    choice_add_reduce(&parts->node, 0, choice->bytes);
    choice_add_allreduce(&parts->leaders, choice->bytes);
    choice_add_bcast(&parts->node, 0, choice->bytes);
}

static void choose_gather(const struct script_choice *choice, const struct part *all, enum script_algorithm algorithm)
{
    struct script_phase *phase = add_phase(all, algorithm, choice->root, choice->bytes);
    phase->sizes = choice->sizes;
    phase->tree = choice->varies ? TREE_FLAT : TREE_BINOMIAL;
    phase->together = choice->varies;
}

static void choose_allgather(const struct script_choice *choice, const struct part *all)
{
    double bytes = choice->bytes;
    enum script_algorithm algorithm = choice_power_of_two(all) && bytes < ALLGATHER_LONG     ? SCRIPT_DOUBLE
                                      : !choice_power_of_two(all) && bytes < ALLGATHER_SHORT ? SCRIPT_BRUCK
                                                                                             : SCRIPT_RING;
    add_phase(all, algorithm, 0, bytes)->sizes = choice->sizes;
}

static void choose_alltoall(const struct script_choice *choice, const struct part *all)
{
    double pair = choice->bytes / choice->n;
    enum script_algorithm algorithm = SCRIPT_AT_ONCE;
    if (!choice->varies && pair > ALLTOALL_MEDIUM)
        algorithm = SCRIPT_PAIRWISE;
    else if (!choice->varies && pair <= ALLTOALL_SHORT && choice->n >= ALLTOALL_MEMBERS)
        algorithm = SCRIPT_BRUCK_ALLTOALL;
    struct script_phase *phase = add_phase(all, algorithm, 0, choice->bytes);
    phase->lot = ALLTOALL_LOT;
    phase->by_bits = choice_power_of_two(all);
    phase->sizes = choice->sizes;
}

static void choose_reduce_scatter(const struct script_choice *choice, const struct part *all)
{
    if (choice->bytes >= REDUCE_SCATTER_LONG) {
        add_phase(all, SCRIPT_PAIRWISE_COMBINE, 0, choice->bytes);
        return;
    }
    choice_add_halving(all, NONE, true, choice->bytes);
    add_phase(all, SCRIPT_UNFOLD_BLOCK, 0, choice->bytes);
}

static bool choose_mpich(const struct script_choice *choice, struct run_script *script)
{
    const struct parts parts = parts_of(choice, script);
    switch (choice->kind) {
    case COLLECTIVE_BARRIER:
        choose_barrier(choice, &parts);
        return true;
    case COLLECTIVE_BCAST:
        choose_bcast(choice, &parts);
        return true;
    case COLLECTIVE_REDUCE:
        choose_reduce(choice, &parts);
        return true;
    case COLLECTIVE_ALLREDUCE:
        choose_allreduce(choice, &parts);
        return true;
    case COLLECTIVE_GATHER:
        choose_gather(choice, &parts.all, SCRIPT_BLOCKS_UP);
        return true;
    case COLLECTIVE_SCATTER:
        choose_gather(choice, &parts.all, SCRIPT_BLOCKS_DOWN);
        return true;
    case COLLECTIVE_ALLGATHER:
        choose_allgather(choice, &parts.all);
        return true;
    case COLLECTIVE_ALLTOALL:
        choose_alltoall(choice, &parts.all);
        return true;
    case COLLECTIVE_REDUCE_SCATTER:
        choose_reduce_scatter(choice, &parts.all);
        return true;
    case COLLECTIVE_SCAN:
        add_phase(&parts.all, SCRIPT_SCAN, 0, choice->bytes);
        return true;
    default:
        return false;
    }
}

bool script_choose(const struct script_choice *choice, struct run_script *script)
{
    *script = (struct run_script){.n_members = choice->n, .nodes = choice->nodes};
    bool rooted = choice->kind == COLLECTIVE_BCAST || choice->kind == COLLECTIVE_REDUCE ||
                  choice->kind == COLLECTIVE_GATHER || choice->kind == COLLECTIVE_SCATTER;
    if (rooted && choice->root >= choice->n)
        return false;
    return choice->family == MPI_FAMILY_OPEN_MPI ? script_choose_tuned(choice, script) : choose_mpich(choice, script);
}
