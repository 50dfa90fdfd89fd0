/* Groups the ranks' parts in collectives into executions: the n-th call of a function on a communicator is the same
 * one on all ranks. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predictor/run_read/reading.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"

/* Says what follows from the name of a collective. unsure means that the standard lets a member leave before others
 * have come (those that it has nothing to do with), so that times must tell. */
static const struct collective_rule {
    const char *name;
    uint8_t dependence, kind;
    bool unsure;
} rules[] = {
    {"barrier", DEPENDS_ON_ALL, COLLECTIVE_BARRIER, false},
    {"bcast", DEPENDS_ON_ROOT, COLLECTIVE_BCAST, false},
    {"reduce", DEPENDS_OF_ROOT, COLLECTIVE_REDUCE, false},
    {"allreduce", DEPENDS_ON_ALL, COLLECTIVE_ALLREDUCE, false},
    {"gather", DEPENDS_OF_ROOT, COLLECTIVE_GATHER, false},
    {"gatherv", DEPENDS_OF_ROOT, COLLECTIVE_GATHER, true},
    {"scatter", DEPENDS_ON_ROOT, COLLECTIVE_SCATTER, false},
    {"scatterv", DEPENDS_ON_ROOT, COLLECTIVE_SCATTER, true},
    {"allgather", DEPENDS_ON_ALL, COLLECTIVE_ALLGATHER, false},
    {"allgatherv", DEPENDS_ON_ALL, COLLECTIVE_ALLGATHER, true},
    {"alltoall", DEPENDS_ON_ALL, COLLECTIVE_ALLTOALL, false},
    {"alltoallv", DEPENDS_ON_ALL, COLLECTIVE_ALLTOALL, true},
    {"alltoallw", DEPENDS_ON_ALL, COLLECTIVE_ALLTOALL, true},
    {"reduce_scatter", DEPENDS_ON_ALL, COLLECTIVE_REDUCE_SCATTER, true},
    {"reduce_scatter_block", DEPENDS_ON_ALL, COLLECTIVE_REDUCE_SCATTER, false},
    {"scan", DEPENDS_ON_LOWER, COLLECTIVE_SCAN, false},
    {"exscan", DEPENDS_ON_LOWER, COLLECTIVE_SCAN, false},
};
static const struct collective_rule any_rule = {"", DEPENDS_ON_ALL, COLLECTIVE_OTHER, true};

/* Says whether a function is called by some of the communicator's ranks, or with ranks of another one: nobody knows by
 * it who meets. */
static bool is_apart(const char *function)
{
    return WORD_IS_ONE_OF(function, "MPI_Comm_create_group", "MPI_Comm_create_from_group", "MPI_Intercomm_create",
                          "MPI_Intercomm_create_from_groups", "MPI_Comm_join", "MPI_Comm_accept", "MPI_Comm_connect",
                          "MPI_Start", "MPI_Startall");
}

bool run_collective_named(const char *function, const char *name)
{
    if (strncmp(function, "MPI_", 4) == 0)
        function += 4;
    size_t length = ends_with(function, "_c") ?: strlen(function), wanted = strlen(name);
    if (length > 5 && strncmp(function + length - 5, "_init", 5) == 0)
        length -= 5;
    if (length == wanted + 1 && function[0] == 'I') {
        function++;
        length--;
    }
    return length == wanted && strncasecmp(function, name, wanted) == 0;
}

/* Returns the rule of MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, MPI_Bcast_c ... */
static const struct collective_rule *rule_of(const char *function)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (run_collective_named(function, rules[i].name))
            return &rules[i];
    return &any_rule;
}

int member_add(struct reading *reading, struct read_member *member, int64_t comm, uint32_t function, uint32_t root,
               const struct item *item)
{
    struct item added = *item;
    if (is_apart(reading->functions[function].name)) {
        added.kind = ITEM_CALL;
        added.object = NO_OBJECT;
        added.done_ns = NO_TIME;
        return item_add(reading, member->rank, &added);
    }
    struct communicator_group group = communicator_group(reading, comm);
    uint32_t *nth = map_at(&reading->nth, (struct map_key){(uint64_t)group.id, function, member->rank});
    *nth = *nth == MAP_ABSENT ? 0 : *nth + 1;
    uint64_t meeting = member->nth > 0 ? (uint64_t)member->nth : *nth + UINT64_C(1);
    uint32_t instance = map_number(&reading->instance_of, (struct map_key){(uint64_t)group.id, function, meeting},
                                   reading->n_instances);
    if (instance == reading->n_instances)
        ARRAY_ADD(reading->instances, reading->n_instances,
                  (struct read_instance){.function = function, .root = NO_OBJECT, .between = group.between});
    if (root != NO_OBJECT)
        reading->instances[instance].root = root;
    uint32_t number = map_find(&reading->numbers, (struct map_key){(uint64_t)group.id, member->rank, 0});
    member->instance = instance;
    member->number = number == MAP_ABSENT ? member->rank : number;
    added.object = (uint32_t)reading->n_members;
    ARRAY_ADD(reading->members, reading->n_members, *member);
    return item_add(reading, member->rank, &added);
}

static int compare_members(const void *left, const void *right, void *context)
{
    const struct reading *reading = context;
    const struct read_member *a = &reading->members[*(const uint32_t *)left];
    const struct read_member *b = &reading->members[*(const uint32_t *)right];
    return ORDER(a->instance, b->instance) ?: ORDER(a->burst, b->burst) ?: ORDER(a->number, b->number)
           ?: ORDER(a->rank, b->rank);
}

/* Describes the members order[0 .. n) of an instance. */
struct met {
    const struct reading *reading;
    const uint32_t *order;
    uint32_t n, root; /* root: number in order, UINT32_MAX: none */
    int64_t last_ns;
    uint8_t dependence;
};

static const struct read_member *met_member(const struct met *met, uint32_t i)
{
    return &met->reading->members[met->order[i]];
}

static bool left_before_last(const struct met *met)
{
    for (uint32_t i = 0; i < met->n; i++)
        if (met_member(met, i)->end_ns != NO_TIME && met_member(met, i)->end_ns < met->last_ns)
            return true;
    return false;
}

static bool has_bytes(const struct met *met)
{
    for (uint32_t i = 0; i < met->n; i++)
        if (met_member(met, i)->bytes > 0)
            return true;
    return false;
}

/* Judges who waited for whom. */
static void judge(struct met *met, const struct read_instance *instance, const struct collective_rule *rule,
                  uint8_t *kind)
{
    bool rooted = rule->dependence == DEPENDS_ON_ROOT || rule->dependence == DEPENDS_OF_ROOT;
    met->dependence = rule->dependence;
    met->root = UINT32_MAX;
    met->last_ns = INT64_MIN;
    *kind = rule->kind;
    for (uint32_t i = 0; i < met->n; i++) {
        const struct read_member *member = met_member(met, i);
        met->last_ns = member->begin_ns > met->last_ns ? member->begin_ns : met->last_ns;
        if (member->rank == instance->root && rooted)
            met->root = i;
    }
    if (rooted && met->root == UINT32_MAX) {
        met->dependence = DEPENDS_ON_NOBODY;
        *kind = COLLECTIVE_OTHER;
    }
    if (instance->between)
        *kind = COLLECTIVE_OTHER;
    bool unsure = rule->unsure || instance->between || (rule->kind != COLLECTIVE_BARRIER && !has_bytes(met));
    if (!unsure)
        return;
    if (rule->dependence == DEPENDS_ON_ALL && left_before_last(met))
        met->dependence = DEPENDS_ON_NOBODY;
    for (uint32_t i = 0; rooted && met->root != UINT32_MAX && i < met->n; i++) {
        const struct read_member *early =
            rule->dependence == DEPENDS_ON_ROOT ? met_member(met, i) : met_member(met, met->root);
        const struct read_member *late =
            rule->dependence == DEPENDS_ON_ROOT ? met_member(met, met->root) : met_member(met, i);
        if (early->end_ns != NO_TIME && early->end_ns < late->begin_ns)
            met->dependence = DEPENDS_ON_NOBODY;
    }
}

/* Returns the arrival that member i depends on; lower_ns is the last of those up to it. */
static int64_t member_awaited_ns(const struct met *met, struct run_awaited awaited, uint32_t i, int64_t lower_ns)
{
    int64_t own_ns = met_member(met, i)->begin_ns, other_ns = met_member(met, awaited.end - 1)->begin_ns;
    if (awaited.first + 1 < awaited.end)
        other_ns = awaited.end == met->n ? met->last_ns : lower_ns;
    return other_ns > own_ns ? other_ns : own_ns;
}

static int make_instance(struct reading *reading, const uint32_t *order, uint32_t n)
{
    struct run_program *program = reading->program;
    const struct read_instance *instance = &reading->instances[reading->members[order[0]].instance];
    struct run_collective collective = {.first_member = (uint32_t)program->n_members, .n_members = n};
    struct met met = {.reading = reading, .order = order, .n = n};
    const struct collective_rule *rule = rule_of(reading->functions[instance->function].name);
    judge(&met, instance, rule, &collective.kind);
    collective.root = met.root;
    /* Of those that exchange something, sizes of their own are what is unsure. */
    collective.flags = rule->unsure && rule->kind != COLLECTIVE_OTHER ? COLLECTIVE_VARIES : 0;
    collective.dependence = met.dependence;
    int64_t lower_ns = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        struct read_member *member = &reading->members[order[i]];
        lower_ns = member->begin_ns > lower_ns ? member->begin_ns : lower_ns;
        member->awaited_ns = member_awaited_ns(&met, run_awaited(&collective, i), i, lower_ns);
        bool late = member->end_ns != NO_TIME && member->end_ns > member->awaited_ns;
        struct run_member made = {.after_s = late ? reading_seconds(member->end_ns - member->awaited_ns) : 0,
                                  .bytes = member->bytes,
                                  .rank = member->rank,
                                  .collective = (uint32_t)program->n_collectives};
        member->member = (uint32_t)program->n_members;
        if (run_program_member(program, &made) != 0)
            return reading_too_large(reading);
    }
    run_program_collective(program, &collective);
    return 0;
}

int collectives_make(struct reading *reading)
{
    uint32_t *order = xmalloc((reading->n_members + 1) * sizeof *order);
    uint32_t n = 0;
    for (size_t i = 0; i < reading->n_members; i++)
        if (reading->members[i].counts)
            order[n++] = (uint32_t)i;
    if (n > 1)
        qsort_r(order, n, sizeof *order, compare_members, reading);
    int result = 0;
    for (uint32_t i = 0, end; result == 0 && i < n; i = end) {
        const struct read_member *first = &reading->members[order[i]];
        for (end = i + 1; end < n && reading->members[order[end]].instance == first->instance &&
                          reading->members[order[end]].burst == first->burst;)
            end++;
        result = make_instance(reading, order + i, end - i);
    }
    free(order);
    return result;
}
