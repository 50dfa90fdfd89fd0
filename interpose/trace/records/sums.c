/* A rank has also passed the collectives that were only summed while recording was off. Ranks switch at different
 * times, and round.c counts how many collectives two ranks have passed to tell whether one lies between their steps.
 * So a sum of such collectives stands in the order of time as one that counts for all. */
#include "interpose/trace/records/records.h"

#include "interpose/database/row.h"
#include "interpose/trace/rows/sink.h"
#include "share/base/saturating.h"
#include "share/base/one_of.h"

/* A loop may make the same rejected call a million times, so calls are counted by rank, call site and function where
 * they come close together. */

/* Maximum number of entries compared with a call; after that it gets an entry of its own. */
enum { PLACES_COMPARED = 64 };

void rejected_load(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    uint32_t callsite = callsite_of(&loader->callsites, trace, record->site, record->post_ticks);
    for (size_t i = trace->n_rejected; i > 0 && trace->n_rejected - i < PLACES_COMPARED; i--) {
        struct trace_rejected *known = &trace->rejected[i - 1];
        if (known->rank == loader->rank && known->callsite == callsite && known->function == record->function) {
            known->calls++;
            return;
        }
    }
    TRACE_ADD(
        trace->rejected, trace->n_rejected,
        (struct trace_rejected){.rank = loader->rank, .callsite = callsite, .function = record->function, .calls = 1});
}

int rejected_write(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "rejected", 4);
    for (size_t i = 0; i < trace->n_rejected; i++) {
        const struct trace_rejected *rejected = &trace->rejected[i];
        row_insert(&row, "utui", rejected->rank, function_name(rejected->function), rejected->callsite,
                   rejected->calls);
    }
    return row_finish(&row);
}

static struct trace_sum *add_sum(struct trace *trace)
{
    trace_grow(&trace->sums, trace->n_sums, sizeof *trace->sums);
    return &trace->sums[trace->n_sums++];
}

/* Adds the collectives of the sum as one, at the end of the last. */
static void add_bound(struct loader *loader, const struct trace_sum *sum)
{
    struct trace *trace = loader->trace;
    const struct trace_collective collective = {
        .begin_ns = sum->end_ns,
        .call_end_ns = sum->end_ns,
        .end_ns = sum->end_ns,
        .rank = loader->rank,
        .communicator = sum->communicator,
        .callsite = TRACE_NONE,
        .root = -1,
        .further = sum->calls > UINT32_MAX ? UINT32_MAX : (uint32_t)(sum->calls - 1),
        .function = sum->function,
        .flags = SPOOL_OFF,
    };
    if (!(sum->flags & SPOOL_OFF) || sum->communicator == TRACE_NONE || sum->calls == 0 ||
        !collective_bounds(&collective))
        return;
    TRACE_ADD(trace->collectives, trace->n_collectives, collective);
}

void sum_load(struct loader *loader, const struct spool_sum *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator;
    if (!loader_communicator(loader, record->communicator, record->target, &communicator))
        return;
    struct trace_sum *sum = add_sum(trace);
    int64_t begin_ns = loader_ns(loader, record->begin_ticks);
    *sum = (struct trace_sum){
        .begin_ns = begin_ns,
        .end_ns = record->end_ticks == 0 ? begin_ns : loader_ns(loader, record->end_ticks),
        .time_ns = clock_ns(loader->node, loader->process, record->begin_ticks + record->ticks, &loader->clock_hint) -
                   begin_ns,
        .calls = record->calls,
        .bytes = record->bytes,
        .rank = loader->rank,
        .communicator = communicator,
        .target = record->target,
        .callsite = callsite_of_sum(&loader->callsites, trace, record->site, record->begin_ticks,
                                    record->end_ticks == 0 ? record->begin_ticks : record->end_ticks),
        .function = record->function,
        .flags = (uint16_t)record->flags,
        .kind = SUM_CALL,
    };
    trace->n_loaded_sums = trace->n_sums;
    add_bound(loader, sum);
}

void sums_add_operation(struct trace *trace, const struct trace_operation *operation)
{
    struct map_key key = {(uint64_t)operation->rank << 32 | (uint64_t)operation->function << 1 | operation->direction,
                          (uint64_t)operation->callsite << 32 | operation->communicator,
                          (uint64_t)(uint32_t)operation->peer_world};
    uint32_t number = map_number(&trace->sum_numbers, key, trace->n_sums);
    if (number == trace->n_sums)
        TRACE_ADD(trace->sums, trace->n_sums,
                  (struct trace_sum){.begin_ns = operation->post_ns,
                                     .rank = operation->rank,
                                     .communicator = operation->communicator,
                                     .target = operation->peer_world,
                                     .callsite = operation->callsite,
                                     .function = operation->function,
                                     .flags = SPOOL_OFF,
                                     .kind = operation->direction == SPOOL_SEND ? SUM_SEND : SUM_RECEIVE});
    struct trace_sum *sum = &trace->sums[number];
    sum->end_ns = operation->post_end_ns > sum->end_ns ? operation->post_end_ns : sum->end_ns;
    sum->time_ns += operation->completed >= 0 ? operation->post_end_ns - operation->post_ns : 0;
    sum->calls++;
    sum->bytes = (uint64_t)saturating_add((int64_t)sum->bytes, (int64_t)operation->bytes);
}

static const char *sum_kind(const struct trace_sum *sum)
{
    if (sum->kind != SUM_CALL)
        return sum->kind == SUM_SEND ? "send" : "receive";
    if (IS_ONE_OF(function_family(sum->function), FAMILY_RMA, FAMILY_RMA_REQUEST, FAMILY_WIN_CREATE, FAMILY_WIN_FREE,
                  FAMILY_WIN_TEST))
        return "one-sided";
    return function_is_of_file(sum->function) ? "file" : sum->communicator != TRACE_NONE ? "collective" : "other";
}

int sums_write(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "call_sum", 12);
    for (size_t i = 0; i < trace->n_sums; i++) {
        const struct trace_sum *sum = &trace->sums[i];
        bool loaded = i < trace->n_loaded_sums;
        int32_t target = !loaded ? sum->target
                         : sum->communicator == TRACE_NONE
                             ? -1
                             : communicator_world_rank(trace, sum->communicator, sum->target);
        row_insert(&row, "uttuniiiiibu", sum->rank, sum_kind(sum), function_name(sum->function), sum->communicator,
                   target, sum->calls, sum->bytes,
                   loaded ? trace_run_ns(trace, sum->rank, sum->begin_ns) : sum->begin_ns,
                   loaded ? trace_run_ns(trace, sum->rank, sum->end_ns) : sum->end_ns, sum->time_ns,
                   (sum->flags & SPOOL_OFF) != 0, sum->callsite);
    }
    return row_finish(&row);
}
