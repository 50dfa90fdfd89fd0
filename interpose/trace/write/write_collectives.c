/* Collectives, calls on windows and files, and kinds are few enough to be in memory whole, so they are written at the
 * end, after their numbers and families are final. */
#include "interpose/trace/write/tables.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/row.h"
#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/rows/sink.h"
#include "share/base/map.h"
#include "share/base/one_of.h"

static void write_call(struct sink *sink, const struct trace_call *call)
{
    sink_late_call(sink, (struct call_row){.begin_ns = call->begin_ns,
                                           .call_ns = call->call_end_ns - call->begin_ns,
                                           .rank = call->rank,
                                           .callsite = call->callsite,
                                           .function = call->function});
}

/* Returns the rank of the run that is the root, -1: none. */
static int32_t root_of(const struct trace *trace, const struct trace_call *call)
{
    if (call->sort != CALL_COLLECTIVE)
        return -1;
    const struct trace_communicator *communicator = &trace->communicators[call->communicator];
    bool inside = call->peer >= 0 && call->peer < communicator->size && communicator->remote_size == 0;
    return inside ? communicator->members[call->peer] : -1;
}

int write_collectives(const struct trace *trace, sqlite3 *database, struct sink *sink)
{
    struct row row = row_prepare(database, "collective", 14);
    sink_late_calls_begin(sink);
    int64_t id = 0;
    for (size_t i = 0; i < trace->n_calls; i++) {
        const struct trace_call *call = &trace->calls[i];
        if (call->sort != CALL_COLLECTIVE || (call->flags & SPOOL_OFF))
            continue;
        row_insert(&row, "iutuinioibkkuz", ++id, call->rank, function_name(call->function), call->communicator,
                   call->bytes, root_of(trace, call), call->begin_ns, call->end_ns, call->call_end_ns - call->begin_ns,
                   (call->flags & SPOOL_NONBLOCKING) != 0, call->persistent, call->stack, call->callsite,
                   (int64_t)call->instance);
        bool same_call = i > 0 && call->function == FN_Startall && call[-1].function == FN_Startall &&
                         call[-1].rank == call->rank && call[-1].begin_ns == call->begin_ns;
        if (!same_call)
            write_call(sink, call);
    }
    return row_finish(&row) | sink_late_calls_end(sink);
}

int write_accesses(const struct trace *trace, sqlite3 *database, struct sink *sink)
{
    struct row rma = row_prepare(database, "rma", 14), file_call = row_prepare(database, "file_call", 16);
    int64_t n_rma = 0, n_file_calls = 0;
    sink_late_calls_begin(sink);
    for (size_t i = 0; i < trace->n_calls; i++) {
        const struct trace_call *call = &trace->calls[i];
        if ((call->sort != CALL_ONE_SIDED && call->sort != CALL_FILE) || (call->flags & SPOOL_OFF))
            continue;
        const char *name = function_name(call->function);
        int64_t call_ns = call->call_end_ns - call->begin_ns, object = call->object, instance = (int64_t)call->instance;
        bool nonblocking = (call->flags & SPOOL_NONBLOCKING) != 0;
        if (call->sort == CALL_FILE)
            row_insert(&file_call, "iutuzioioibbbkuz", ++n_file_calls, call->rank, name, call->communicator, object,
                       call->bytes, call->offset < 0 ? TRACE_NO_TIME : call->offset, call->begin_ns, call->end_ns,
                       call_ns, nonblocking, call_is_joint(call), (call->flags & SPOOL_FAILED) != 0, call->stack,
                       call->callsite, instance);
        else
            row_insert(
                &rma, "iutuzniioikbuz", ++n_rma, call->rank, name, call->communicator, object,
                call->communicator == TRACE_NONE ? -1 : communicator_world_rank(trace, call->communicator, call->peer),
                call->bytes, call->begin_ns, call->end_ns, call_ns, call->stack, nonblocking, call->callsite, instance);
        write_call(sink, call);
    }
    return row_finish(&rma) | row_finish(&file_call) | sink_late_calls_end(sink);
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

static const char *const source_name[] = {
    [CALL_COLLECTIVE] = "collective", [CALL_ONE_SIDED] = "one-sided", [CALL_FILE] = "file"};

/* Whose arrival the ranks of a call with a root wait for. */
enum awaited { AWAIT_LAST, AWAIT_ROOT, ROOT_AWAITS_LAST, AWAIT_UNKNOWN };

/* A function. */
struct kind {
    bool known;
    uint16_t alike; /* the function that counts together with it: MPI_Bcast for MPI_Bcast_c */
    enum awaited awaited;
};

struct arrival {
    const struct trace_call *call;
    uint32_t gathering;
    int32_t root; /* rank of the run, -1: none */
};

struct gathering {
    int64_t latest_ns, root_ns; /* root_ns: TRACE_NO_TIME: the root is not there */
    uint32_t latest;            /* rank that came last, the lowest of several */
    uint32_t members;
};

/* A row of joint_sum. Times are sums of whole nanoseconds; NaN: of no call. */
struct sum {
    const struct trace_call *first; /* a call of it */
    int64_t last_rank;
    int64_t calls, failed, bytes;
    double time_ns, call_ns, wait_ns, transfer_ns, longest_ns;
};

struct joint {
    const struct trace *trace;
    struct arrival *arrivals;
    size_t n_arrivals;
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
    size_t length = ends_with(name, "_c");
    for (uint16_t other = 0; other < FN_COUNT && length > 0; other++)
        if (strncmp(function_name(other), name, length) == 0 && function_name(other)[length] == '\0')
            return other;
    return function;
}

/* Returns the kind of the call's function, or of that for which the start of a persistent request stands. */
static const struct kind *kind_of(const struct trace *trace, const struct trace_call *call)
{
    static struct kind kinds[FN_COUNT];
    uint16_t function = call->persistent == TRACE_NONE ? call->function : trace->persistents[call->persistent].function;
    struct kind *kind = &kinds[function];
    if (!kind->known) {
        kind->known = true;
        kind->alike = without_suffix(function);
        kind->awaited = awaited_by(function_name(kind->alike));
    }
    return kind;
}

/* Joint calls of a rank, communicator and function. */
struct numbered {
    uint64_t n;       /* calls so far */
    int64_t until_ns; /* before this it is not known how many */
};

/* Calls that have no record come as one, with SPOOL_OFF. */
void number_joint_calls(struct trace *trace)
{
    struct map indexes = {0};
    struct numbered *all = NULL;
    size_t n = 0;
    for (size_t i = 0; i < trace->n_calls; i++) {
        struct trace_call *call = &trace->calls[i];
        if (!call_is_joint(call))
            continue;
        uint32_t index =
            map_number(&indexes, (struct map_key){call->rank, call->communicator, kind_of(trace, call)->alike}, n);
        if (index == n)
            TRACE_ADD(all, n, (struct numbered){0, INT64_MIN});
        struct numbered *numbered = &all[index];
        numbered->n += (uint64_t)call->further + 1;
        if (call->flags & SPOOL_OFF) {
            numbered->until_ns = call->end_ns > numbered->until_ns ? call->end_ns : numbered->until_ns;
            continue;
        }
        int64_t uncounted_ns = trace_run_ns(trace, call->rank, trace->processes[call->rank].uncounted_ns);
        if (call->begin_ns >= numbered->until_ns && (uncounted_ns == TRACE_NO_TIME || call->begin_ns < uncounted_ns))
            call->instance = numbered->n;
    }
    map_release(&indexes);
    free(all);
}

/* Adds a call to its gathering. Those of a rank come in the order of time. */
static void add_arrival(struct joint *joint, const struct trace_call *call)
{
    struct map_key key = {call->instance, call->communicator, kind_of(joint->trace, call)->alike};
    uint32_t number = map_number(&joint->gathered, key, joint->n_gatherings);
    if (number == joint->n_gatherings)
        TRACE_ADD(joint->gatherings, joint->n_gatherings,
                  (struct gathering){.latest_ns = call->begin_ns, .latest = call->rank, .root_ns = TRACE_NO_TIME});
    struct gathering *gathering = &joint->gatherings[number];
    gathering->members++;
    if (call->begin_ns > gathering->latest_ns ||
        (call->begin_ns == gathering->latest_ns && call->rank < gathering->latest)) {
        gathering->latest_ns = call->begin_ns;
        gathering->latest = call->rank;
    }
    int32_t root = root_of(joint->trace, call);
    if (root >= 0 && (uint32_t)root == call->rank && call->begin_ns > gathering->root_ns)
        gathering->root_ns = call->begin_ns;
    TRACE_ADD(joint->arrivals, joint->n_arrivals, (struct arrival){call, number, root});
}

/* Returns until when the call waited for others, begin_ns for one that did not; TRACE_NO_TIME: not known. */
static int64_t waited_until(const struct joint *joint, const struct arrival *arrival)
{
    const struct trace_call *call = arrival->call;
    const struct gathering *gathering = &joint->gatherings[arrival->gathering];
    const struct trace_communicator *communicator =
        call->communicator == TRACE_NONE ? NULL : &joint->trace->communicators[call->communicator];
    enum awaited awaited = kind_of(joint->trace, call)->awaited;
    if (communicator == NULL || communicator->remote != TRACE_NONE || call->instance == 0 ||
        (int64_t)communicator->size != (int64_t)gathering->members || awaited == AWAIT_UNKNOWN)
        return TRACE_NO_TIME;
    if (call->sort != CALL_COLLECTIVE && call->end_ns != TRACE_NO_TIME && call->end_ns < gathering->latest_ns)
        return call->begin_ns; /* it need not wait, and did not */
    if (arrival->root < 0 || awaited == AWAIT_LAST)
        return gathering->latest_ns;
    if (awaited == AWAIT_ROOT)
        return gathering->root_ns;
    return (uint32_t)arrival->root == call->rank ? gathering->latest_ns : call->begin_ns;
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
static struct sum *sum_of(struct joint *joint, const struct trace_call *call, int64_t last_rank)
{
    bool nonblocking = (call->flags & SPOOL_NONBLOCKING) != 0;
    struct map_key key = {(uint64_t)call->function << 32 | call->callsite,
                          (uint64_t)call->communicator << 1 | nonblocking, (uint64_t)last_rank};
    uint32_t number = map_number(&joint->summed, key, joint->n_sums);
    if (number == joint->n_sums)
        TRACE_ADD(joint->sums, joint->n_sums,
                  (struct sum){.first = call,
                               .last_rank = last_rank,
                               .time_ns = NAN,
                               .call_ns = NAN,
                               .wait_ns = NAN,
                               .transfer_ns = NAN,
                               .longest_ns = NAN});
    return &joint->sums[number];
}

static void sum_call(struct joint *joint, const struct arrival *arrival)
{
    const struct trace_call *call = arrival->call;
    const struct gathering *gathering = &joint->gatherings[arrival->gathering];
    int64_t until_ns = waited_until(joint, arrival), last_rank = -1;
    if (until_ns != TRACE_NO_TIME && until_ns == gathering->latest_ns)
        last_rank = gathering->latest;
    else if (until_ns != TRACE_NO_TIME && until_ns > call->begin_ns)
        last_rank = arrival->root;
    struct sum *sum = sum_of(joint, call, last_rank);
    sum->calls++;
    sum->failed += call->sort == CALL_FILE && (call->flags & SPOOL_FAILED);
    if (__builtin_add_overflow(sum->bytes, (int64_t)call->bytes, &sum->bytes))
        sum->bytes = INT64_MAX;
    add_to(&sum->call_ns, (double)(call->call_end_ns - call->begin_ns));
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

int write_joint_sums(const struct trace *trace, sqlite3 *database)
{
    struct joint joint = {.trace = trace};
    for (int others = 0; others <= 1; others++) /* collectives come first */
        for (size_t i = 0; i < trace->n_calls; i++)
            if ((trace->calls[i].sort != CALL_COLLECTIVE) == others && call_is_joint(&trace->calls[i]) &&
                !(trace->calls[i].flags & SPOOL_OFF))
                add_arrival(&joint, &trace->calls[i]);
    for (size_t i = 0; i < joint.n_arrivals; i++)
        sum_call(&joint, &joint.arrivals[i]);
    struct row row = row_prepare(database, "joint_sum", 14);
    for (size_t i = 0; i < joint.n_sums; i++) {
        const struct sum *sum = &joint.sums[i];
        row_insert(&row, "ttuubniiiddddd", source_name[sum->first->sort], function_name(sum->first->function),
                   sum->first->callsite, sum->first->communicator, (sum->first->flags & SPOOL_NONBLOCKING) != 0,
                   (int32_t)sum->last_rank, sum->calls, sum->failed, sum->bytes, sum->time_ns, sum->call_ns,
                   sum->wait_ns, sum->transfer_ns, sum->longest_ns);
    }
    map_release(&joint.gathered);
    map_release(&joint.summed);
    free(joint.arrivals);
    free(joint.gatherings);
    free(joint.sums);
    return row_finish(&row);
}
