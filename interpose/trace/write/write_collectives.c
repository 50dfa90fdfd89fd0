/* Collectives and kinds are few enough to be in memory whole, so they are written at the end, after their numbers and
 * families are final. */
#include "interpose/trace/write/tables.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/row.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/rows/sink.h"
#include "share/base/map.h"
#include "share/base/memory.h"

int write_collective_calls(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "call_row", 7);
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *collective = &trace->collectives[i];
        bool same_call = i > 0 && collective->function == FN_Startall && collective[-1].function == FN_Startall &&
                         collective[-1].rank == collective->rank && collective[-1].begin_ns == collective->begin_ns;
        if (collective->function != FN_Pcontrol && !(collective->flags & SPOOL_OFF) && !same_call)
            row_insert(&row, "uiiibbu", collective->rank, function_id(collective->function), collective->begin_ns,
                       collective->call_end_ns - collective->begin_ns, 0, 0, collective->callsite);
    }
    return row_finish(&row);
}

static int32_t collective_root(const struct trace *trace, const struct trace_collective *collective)
{
    const struct trace_communicator *communicator = &trace->communicators[collective->communicator];
    bool inside = collective->root >= 0 && collective->root < communicator->size && communicator->remote_size == 0;
    return inside ? communicator->members[collective->root] : -1;
}

int write_collectives(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "collective", 14);
    int64_t id = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *collective = &trace->collectives[i];
        if (collective->function == FN_Pcontrol || (collective->flags & SPOOL_OFF))
            continue;
        row_insert(&row, "iutuinioibkkuz", ++id, collective->rank, function_name(collective->function),
                   collective->communicator, collective->bytes, collective_root(trace, collective),
                   collective->begin_ns, collective->end_ns, collective->call_end_ns - collective->begin_ns,
                   (collective->flags & SPOOL_NONBLOCKING) != 0, collective->persistent, collective->stack,
                   collective->callsite, (int64_t)collective->instance);
    }
    return row_finish(&row);
}

int write_kinds(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "kind", 4), family = row_prepare(database, "kind_family", 4);
    for (uint32_t i = 0; i < trace->n_kinds; i++) {
        const struct trace_kind *kind = &trace->kinds[i];
        row_insert(&row, "kuii", i, kind->rounds, kind->messages, kind->bytes);
        row_insert(&family, "kkii", i, kind->family, kind->smallest_bytes, kind->largest_bytes);
    }
    return row_finish(&row) | row_finish(&family);
}

/* The view joint_call sorts all calls that ranks make together twice before it can say who waited for whom, which takes
 * seconds for 100,000 of them. Ingest has them in memory in the order of time, so it follows the same rules here in one
 * pass over the calls and one over their sums. The golden traces hold that both say the same.
 *
 * The n-th call of a function on a communicator is one instance on all of its ranks. A gathering holds what is known of
 * an instance: who came last, and when the root came. */

enum source { SOURCE_COLLECTIVE, SOURCE_ONE_SIDED, SOURCE_FILE, SOURCE_COUNT };
static const char *const source_name[SOURCE_COUNT] = {"collective", "one-sided", "file"};

/* Whose arrival the ranks of a call with a root wait for. */
enum awaited { AWAIT_LAST, AWAIT_ROOT, ROOT_AWAITS_LAST, AWAIT_UNKNOWN };

/* A function. */
struct kind {
    bool known;
    bool joint;     /* of the functions on windows: all ranks call it together */
    uint16_t alike; /* the function that counts together with it: MPI_Bcast for MPI_Bcast_c */
    enum awaited awaited;
};

struct call {
    int64_t begin_ns, end_ns, call_ns;
    uint64_t bytes, instance;
    uint32_t rank, communicator, callsite, gathering;
    int32_t root; /* rank of the run, -1: none */
    uint16_t function, alike;
    uint8_t source;
    bool nonblocking, failed;
};

struct gathering {
    int64_t latest_ns, root_ns; /* root_ns: TRACE_NO_TIME: the root is not there */
    uint32_t latest;            /* rank that came last, the lowest of several */
    uint32_t members;
};

/* A row of joint_sum. Times are sums of whole nanoseconds; NaN: of no call. */
struct sum {
    uint32_t first; /* index of a call of it */
    int64_t last_rank;
    int64_t calls, failed, bytes;
    double time_ns, call_ns, wait_ns, transfer_ns, longest_ns;
};

struct joint {
    const struct trace *trace;
    struct kind kinds[FN_COUNT];
    struct call *calls;
    size_t n_calls;
    struct gathering *gatherings;
    size_t n_gatherings;
    struct sum *sums;
    size_t n_sums;
    struct map gathered, summed;
};

static bool matches(const char *name, const char *pattern)
{
    return fnmatch(pattern, name, 0) == 0;
}

static enum awaited awaited_by(const char *name)
{
    if (matches(name, "MPI_*[Nn]eighbor*") || matches(name, "MPI_*[Ss]can"))
        return AWAIT_UNKNOWN;
    if (matches(name, "MPI_*[Bb]cast*") || (matches(name, "MPI_*[Ss]catter*") && !matches(name, "*_scatter*")))
        return AWAIT_ROOT;
    if ((matches(name, "MPI_*[Rr]educe") && !matches(name, "*[Aa]llreduce")) ||
        (matches(name, "MPI_*[Gg]ather*") && !matches(name, "*[Aa]llgather*")))
        return ROOT_AWAITS_LAST;
    return AWAIT_LAST;
}

/* Returns the function of that name without its last two characters, or the function itself. */
static uint16_t without_suffix(uint16_t function)
{
    const char *name = function_name(function);
    size_t length = strlen(name);
    if (length < 2 || strcmp(name + length - 2, "_c") != 0)
        return function;
    for (uint16_t other = 0; other < FN_COUNT; other++)
        if (strncmp(function_name(other), name, length - 2) == 0 && function_name(other)[length - 2] == '\0')
            return other;
    return function;
}

/* Returns what the table kinds[FN_COUNT], which is filled as it is asked, has of the function. */
static const struct kind *kind_of(struct kind *kinds, uint16_t function)
{
    struct kind *kind = &kinds[function];
    if (!kind->known) {
        const char *name = function_name(function);
        kind->known = true;
        kind->joint = strcmp(name, "MPI_Win_fence") == 0 || strcmp(name, "MPI_Win_free") == 0 ||
                      matches(name, "MPI_Win_create*") || matches(name, "MPI_Win_allocate*");
        kind->alike = without_suffix(function);
        kind->awaited = awaited_by(function_name(kind->alike));
    }
    return kind;
}

/* Returns the function that the start of a persistent request stands for. */
static uint16_t collective_named(const struct trace *trace, const struct trace_collective *made)
{
    return made->persistent == TRACE_NONE ? made->function : trace->persistents[made->persistent].function;
}

static bool access_is_joint(struct kind *kinds, uint16_t function)
{
    return function_is_of_file(function) ? access_is_collective(function) : kind_of(kinds, function)->joint;
}

/* Counts joint calls of each rank, communicator and function. */
struct numbering {
    struct trace *trace;
    struct kind kinds[FN_COUNT];
    struct map indexes;
    struct numbered {
        uint64_t n;       /* calls so far */
        int64_t until_ns; /* before this it is not known how many */
    } * numbered;
    size_t n_numbered;
};

/* Returns the number of the next call, 0 where it is not known. Calls of a rank come in the order of time. Calls that
 * have no record come as one, with SPOOL_OFF. */
static uint64_t next_number(struct numbering *numbering, uint32_t rank, uint32_t communicator, uint16_t named,
                            int64_t begin_ns, int64_t end_ns, uint16_t flags, uint32_t further)
{
    struct map_key key = {rank, communicator, kind_of(numbering->kinds, named)->alike};
    uint32_t index = map_number(&numbering->indexes, key, numbering->n_numbered);
    if (index == numbering->n_numbered)
        TRACE_ADD(numbering->numbered, numbering->n_numbered, (struct numbered){0, INT64_MIN});
    struct numbered *numbered = &numbering->numbered[index];
    numbered->n += (uint64_t)further + 1;
    if (flags & SPOOL_OFF) {
        numbered->until_ns = end_ns > numbered->until_ns ? end_ns : numbered->until_ns;
        return 0;
    }
    int64_t uncounted_ns = trace_run_ns(numbering->trace, rank, numbering->trace->processes[rank].uncounted_ns);
    bool is_known = begin_ns >= numbered->until_ns && (uncounted_ns == TRACE_NO_TIME || begin_ns < uncounted_ns);
    return is_known ? numbered->n : 0;
}

void number_joint_calls(struct trace *trace)
{
    struct numbering *numbering = xcalloc(1, sizeof *numbering);
    numbering->trace = trace;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        struct trace_collective *made = &trace->collectives[i];
        if (made->function != FN_Pcontrol)
            made->instance = next_number(numbering, made->rank, made->communicator, collective_named(trace, made),
                                         made->begin_ns, made->end_ns, made->flags, made->further);
    }
    for (size_t i = 0; i < trace->n_accesses; i++) {
        struct trace_access *made = &trace->accesses[i];
        if (access_is_joint(numbering->kinds, made->function))
            made->instance = next_number(numbering, made->rank, made->communicator, made->function,
                                         trace_run_ns(trace, made->rank, made->begin_ns),
                                         trace_run_ns(trace, made->rank, made->end_ns), made->flags, made->further);
    }
    map_release(&numbering->indexes);
    free(numbering->numbered);
    free(numbering);
}

/* Returns the gathering of the call, a new one where it is the first to come. */
static struct gathering *gathering_of(struct joint *joint, struct call *call)
{
    struct map_key key = {call->instance, call->communicator, call->alike};
    call->gathering = map_number(&joint->gathered, key, joint->n_gatherings);
    if (call->gathering == joint->n_gatherings)
        TRACE_ADD(joint->gatherings, joint->n_gatherings,
                  (struct gathering){.latest_ns = call->begin_ns, .latest = call->rank, .root_ns = TRACE_NO_TIME});
    return &joint->gatherings[call->gathering];
}

/* Adds a call. Those of a rank come in the order of time. */
static void add_call(struct joint *joint, struct call call, uint16_t named)
{
    call.alike = kind_of(joint->kinds, named)->alike;
    struct gathering *gathering = gathering_of(joint, &call);
    gathering->members++;
    if (call.begin_ns > gathering->latest_ns ||
        (call.begin_ns == gathering->latest_ns && call.rank < gathering->latest)) {
        gathering->latest_ns = call.begin_ns;
        gathering->latest = call.rank;
    }
    if (call.root >= 0 && (uint32_t)call.root == call.rank && call.begin_ns > gathering->root_ns)
        gathering->root_ns = call.begin_ns;
    TRACE_ADD(joint->calls, joint->n_calls, call);
}

static void add_collectives(struct joint *joint)
{
    const struct trace *trace = joint->trace;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *made = &trace->collectives[i];
        if (made->function == FN_Pcontrol || (made->flags & SPOOL_OFF))
            continue;
        add_call(joint,
                 (struct call){.begin_ns = made->begin_ns,
                               .end_ns = made->end_ns,
                               .call_ns = made->call_end_ns - made->begin_ns,
                               .bytes = made->bytes,
                               .instance = made->instance,
                               .rank = made->rank,
                               .communicator = made->communicator,
                               .callsite = made->callsite,
                               .root = collective_root(trace, made),
                               .function = made->function,
                               .source = SOURCE_COLLECTIVE,
                               .nonblocking = (made->flags & SPOOL_NONBLOCKING) != 0},
                 collective_named(trace, made));
    }
}

static void add_accesses(struct joint *joint)
{
    const struct trace *trace = joint->trace;
    for (size_t i = 0; i < trace->n_accesses; i++) {
        const struct trace_access *made = &trace->accesses[i];
        bool file = function_is_of_file(made->function), failed = file && (made->flags & SPOOL_FAILED) != 0;
        if (!access_is_joint(joint->kinds, made->function) || (made->flags & SPOOL_OFF))
            continue;
        int64_t begin_ns = trace_run_ns(trace, made->rank, made->begin_ns);
        add_call(joint,
                 (struct call){.begin_ns = begin_ns,
                               .end_ns = trace_run_ns(trace, made->rank, made->end_ns),
                               .call_ns = trace_run_ns(trace, made->rank, made->call_end_ns) - begin_ns,
                               .bytes = failed ? 0 : made->bytes,
                               .instance = made->instance,
                               .rank = made->rank,
                               .communicator = made->communicator,
                               .callsite = made->callsite,
                               .root = -1,
                               .function = made->function,
                               .source = file ? SOURCE_FILE : SOURCE_ONE_SIDED,
                               .nonblocking = (made->flags & SPOOL_NONBLOCKING) != 0,
                               .failed = failed},
                 made->function);
    }
}

/* Returns until when the call waited for others, begin_ns for one that did not; TRACE_NO_TIME: not known. */
static int64_t waited_until(struct joint *joint, const struct call *call)
{
    const struct gathering *gathering = &joint->gatherings[call->gathering];
    const struct trace_communicator *communicator =
        call->communicator == TRACE_NONE ? NULL : &joint->trace->communicators[call->communicator];
    enum awaited awaited = kind_of(joint->kinds, call->alike)->awaited;
    if (communicator == NULL || communicator->remote != TRACE_NONE || call->instance == 0 ||
        (int64_t)communicator->size != (int64_t)gathering->members || awaited == AWAIT_UNKNOWN)
        return TRACE_NO_TIME;
    if (call->source != SOURCE_COLLECTIVE && call->end_ns != TRACE_NO_TIME && call->end_ns < gathering->latest_ns)
        return call->begin_ns; /* it need not wait, and did not */
    if (call->root < 0 || awaited == AWAIT_LAST)
        return gathering->latest_ns;
    if (awaited == AWAIT_ROOT)
        return gathering->root_ns;
    return (uint32_t)call->root == call->rank ? gathering->latest_ns : call->begin_ns;
}

static void add_to(double *sum_ns, double ns)
{
    *sum_ns = isnan(*sum_ns) ? ns : *sum_ns + ns;
}

/* Exact for runs of less than 104 days. */
static double between_ns(int64_t begin_ns, int64_t end_ns)
{
    return (double)end_ns - (double)begin_ns;
}

/* Returns the sum of the call's site and of the rank that it waited for. */
static struct sum *sum_of(struct joint *joint, uint32_t index, int64_t last_rank)
{
    const struct call *call = &joint->calls[index];
    struct map_key key = {(uint64_t)call->function << 32 | call->callsite,
                          (uint64_t)call->communicator << 1 | call->nonblocking, (uint64_t)last_rank};
    uint32_t number = map_number(&joint->summed, key, joint->n_sums);
    if (number == joint->n_sums)
        TRACE_ADD(joint->sums, joint->n_sums,
                  (struct sum){.first = index,
                               .last_rank = last_rank,
                               .time_ns = NAN,
                               .call_ns = NAN,
                               .wait_ns = NAN,
                               .transfer_ns = NAN,
                               .longest_ns = NAN});
    return &joint->sums[number];
}

static void sum_call(struct joint *joint, uint32_t index)
{
    const struct call *call = &joint->calls[index];
    const struct gathering *gathering = &joint->gatherings[call->gathering];
    int64_t until_ns = waited_until(joint, call), last_rank = -1;
    if (until_ns != TRACE_NO_TIME && until_ns == gathering->latest_ns)
        last_rank = gathering->latest;
    else if (until_ns != TRACE_NO_TIME && until_ns > call->begin_ns)
        last_rank = call->root;
    struct sum *sum = sum_of(joint, index, last_rank);
    sum->calls++;
    sum->failed += call->failed;
    if (__builtin_add_overflow(sum->bytes, (int64_t)call->bytes, &sum->bytes))
        sum->bytes = INT64_MAX;
    add_to(&sum->call_ns, (double)call->call_ns);
    if (call->end_ns == TRACE_NO_TIME)
        return;
    double time_ns = between_ns(call->begin_ns, call->end_ns);
    add_to(&sum->time_ns, time_ns);
    sum->longest_ns = fmax(sum->longest_ns, time_ns); /* of a number and a NaN, the number */
    if (until_ns == TRACE_NO_TIME)
        return;
    int64_t waited_ns = until_ns < call->end_ns ? until_ns : call->end_ns;
    waited_ns = waited_ns > call->begin_ns ? waited_ns : call->begin_ns;
    add_to(&sum->wait_ns, between_ns(call->begin_ns, waited_ns));
    add_to(&sum->transfer_ns, between_ns(waited_ns, call->end_ns));
}

static int write_sums(const struct joint *joint, sqlite3 *database)
{
    struct row row = row_prepare(database, "joint_sum", 14);
    for (size_t i = 0; i < joint->n_sums; i++) {
        const struct sum *sum = &joint->sums[i];
        const struct call *call = &joint->calls[sum->first];
        row_insert(&row, "ttuubniiiddddd", source_name[call->source], function_name(call->function), call->callsite,
                   call->communicator, call->nonblocking, (int32_t)sum->last_rank, sum->calls, sum->failed, sum->bytes,
                   sum->time_ns, sum->call_ns, sum->wait_ns, sum->transfer_ns, sum->longest_ns);
    }
    return row_finish(&row);
}

int write_joint_sums(const struct trace *trace, sqlite3 *database)
{
    struct joint *joint = xcalloc(1, sizeof *joint);
    joint->trace = trace;
    add_collectives(joint);
    add_accesses(joint);
    for (size_t i = 0; i < joint->n_calls; i++)
        sum_call(joint, (uint32_t)i);
    int result = write_sums(joint, database);
    map_release(&joint->gathered);
    map_release(&joint->summed);
    free(joint->calls);
    free(joint->gatherings);
    free(joint->sums);
    free(joint);
    return result;
}
