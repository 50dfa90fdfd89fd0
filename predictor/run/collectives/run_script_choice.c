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
#include "predictor/run/collectives/run_script_parts.h"

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

bool script_choose(const struct script_choice *choice, struct run_script *script)
{
    *script = (struct run_script){.n_members = choice->n, .nodes = choice->nodes};
    bool rooted = choice->kind == COLLECTIVE_BCAST || choice->kind == COLLECTIVE_REDUCE ||
                  choice->kind == COLLECTIVE_GATHER || choice->kind == COLLECTIVE_SCATTER;
    if (rooted && choice->root >= choice->n)
        return false;
    script_chooser *const choose = (choice->family == MPI_FAMILY_OPEN_MPI ? script_tuned : mpich)[choice->kind];
    if (choose == NULL)
        return false;
    const struct script_parts parts = parts_of(choice, script);
    choose(choice, &parts);
    return true;
}
