/* Where a run is thinned, others number joint calls by how many went before. A lane's records outside of bursts are
 * counted here as they are read, and chunks that are gone by the ghosts which stand for them.
 *
 * When the calls of a gap were made is not known better than that they lie between its lane's records before and behind
 * it. Where the lane was silent during a burst between these, it is unknown how many of them went before it: then calls
 * of another lane in that burst, on the same communicator, get no number. */
#include "interpose/trace/records/records.h"

#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"

/* Later than all times of a run. */
static const int64_t never_ns = INT64_C(1) << 60;

/* Calls of one function on one communicator of the process. */
struct skipped_call {
    struct spool_ghost_entry entry;
    int64_t at_ns, until_ns; /* all were made between these */
};

static bool is_access(uint16_t function)
{
    return function_is_of_file(function) || IS_ONE_OF(function_family(function), FAMILY_RMA, FAMILY_RMA_REQUEST,
                                                      FAMILY_WIN_CREATE, FAMILY_WIN_FREE, FAMILY_WIN_TEST);
}

static bool is_joint(uint16_t function)
{
    if (function_is_of_file(function))
        return access_is_collective(function);
    return !is_access(function) || function == FN_Win_fence ||
           IS_ONE_OF(function_family(function), FAMILY_WIN_CREATE, FAMILY_WIN_FREE);
}

/* Adds the calls as one that stands for all. */
static void add_skipped(struct loader *loader, const struct skipped_call *call)
{
    struct trace *trace = loader->trace;
    const struct spool_ghost_entry *entry = &call->entry;
    if (entry->sort < GHOST_JOINT || entry->count == 0)
        return;
    uint32_t communicator = communicator_of(&loader->communicators, trace, entry->communicator);
    if (entry->sort - GHOST_JOINT >= FN_COUNT || communicator == TRACE_NONE) {
        loader->process->damaged++;
        return;
    }
    uint16_t function = (uint16_t)(entry->sort - GHOST_JOINT);
    uint32_t further = entry->count > UINT32_MAX ? UINT32_MAX : (uint32_t)(entry->count - 1);
    if (!is_joint(function))
        return;
    if (is_access(function))
        TRACE_ADD(trace->accesses, trace->n_accesses,
                  (struct trace_access){.begin_ns = call->at_ns,
                                        .call_end_ns = call->at_ns,
                                        .end_ns = call->until_ns,
                                        .rank = loader->rank,
                                        .communicator = communicator,
                                        .target = -1,
                                        .offset = -1,
                                        .callsite = TRACE_NONE,
                                        .further = further,
                                        .function = function,
                                        .flags = SPOOL_OFF});
    else
        TRACE_ADD(trace->collectives, trace->n_collectives,
                  (struct trace_collective){.begin_ns = call->at_ns,
                                            .call_end_ns = call->at_ns,
                                            .end_ns = call->until_ns,
                                            .rank = loader->rank,
                                            .communicator = communicator,
                                            .callsite = TRACE_NONE,
                                            .persistent = (uint32_t)entry->peer,
                                            .root = -1,
                                            .further = further,
                                            .function = function,
                                            .flags = SPOOL_OFF});
}

/* Adds what was counted of records. */
static void add_counted(struct loader *loader)
{
    struct outside *outside = &loader->outside;
    for (size_t i = 0; i < outside->n_calls; i++) {
        outside->calls[i].at_ns = outside->calls[i].until_ns = outside->at_ns;
        add_skipped(loader, &outside->calls[i]);
    }
    outside->n_calls = 0;
    map_clear(&outside->numbers);
}

static void count_record(struct outside *outside, const uint8_t *record)
{
    struct spool_ghost_entry entry;
    if (!spool_ghost_of(record, &entry) || entry.sort < GHOST_JOINT)
        return;
    struct map_key key = {(uint64_t)entry.communicator << 32 | entry.sort, (uint32_t)entry.peer, 0};
    uint32_t number = map_number(&outside->numbers, key, outside->n_calls);
    if (number == outside->n_calls)
        ARRAY_ADD(outside->calls, outside->n_calls, (struct skipped_call){.entry = entry});
    else
        outside->calls[number].entry.count++;
}

/* Counts calls of gaps[n] between two times. */
static void count_gaps(struct loader *loader, const struct spool_gap *gaps, size_t n, int64_t at_ns, int64_t until_ns)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < gaps[i].n; k++)
            add_skipped(loader, &(struct skipped_call){gaps[i].entries[k], at_ns, until_ns});
}

static void lose_count(struct trace_process *process, int64_t ns)
{
    if (process->uncounted_ns == TRACE_NO_TIME || ns < process->uncounted_ns)
        process->uncounted_ns = ns;
}

/* Counts the chunks of the lane that are gone before `sequence`, with the time of what comes behind them. */
static void pass_gap(struct loader *loader, uint32_t lane, uint32_t sequence, int64_t place, int64_t next_ns)
{
    struct outside *outside = &loader->outside;
    size_t begin, end;
    if (sequence == outside->next_sequence)
        return;
    add_counted(loader);
    bool whole = gaps_between(outside->folded.gaps, outside->folded.n_gaps, lane, outside->next_sequence, sequence,
                              &begin, &end);
    bool silent = place > (outside->place | 1) + (place_is_inside(outside->place) ? 2 : 0);
    if (end > begin)
        count_gaps(loader, outside->folded.gaps + begin, end - begin, outside->at_ns,
                   silent ? next_ns : outside->at_ns);
    if (!whole)
        lose_count(loader->process, outside->at_ns);
}

void joint_begin_process(struct loader *loader)
{
    spool_folded_read(loader->process->spool, &loader->outside.folded);
}

void joint_begin_lane(struct loader *loader, const struct trace_lane *lane)
{
    struct outside *outside = &loader->outside;
    outside->place = INT64_MIN / 2;
    outside->at_ns = loader->process->begin_ns;
    outside->ticks = 0;
    outside->span = lane->first_span;
    outside->next_sequence = 0;
}

/* Returns whether the record has a time, and sets *ticks to it. */
static bool record_time(struct loader *loader, const uint8_t *record, uint64_t *ticks)
{
    struct outside *outside = &loader->outside;
    switch (*record) {
    case SPOOL_COLLECTIVE:
        *ticks = ((const struct spool_collective *)(const void *)record)->begin_ticks;
        return true;
    case SPOOL_ACCESS:
        *ticks = ((const struct spool_access *)(const void *)record)->begin_ticks;
        return true;
    case SPOOL_PARTITION:
        *ticks = ((const struct spool_partition *)(const void *)record)->ticks;
        return true;
    default:
        if (!record_order(loader->trace, loader->process, record, ticks))
            return false;
        *ticks = outside->ticks = *ticks > outside->ticks ? *ticks : outside->ticks;
        return true;
    }
}

bool joint_take(struct loader *loader, const uint8_t *record, size_t span)
{
    struct outside *outside = &loader->outside;
    const struct spool *spool = loader->process->spool;
    uint64_t ticks;
    if (!record_time(loader, record, &ticks))
        return true;
    int64_t ns = clock_ns(loader->node, loader->process, ticks, &loader->clock_hint);
    int64_t place = burst_place(loader->trace, loader->process, ns);
    for (; outside->span <= span; outside->span++) {
        pass_gap(loader, spool->spans[outside->span].lane, spool->spans[outside->span].sequence, place, ns);
        outside->next_sequence = spool->spans[outside->span].sequence + 1;
    }
    bool inside = place_is_inside(place);
    if (place != outside->place)
        add_counted(loader);
    int64_t at_ns = inside ? burst_end_ns(loader->trace, loader->process, place) : ns;
    outside->at_ns = at_ns > outside->at_ns ? at_ns : outside->at_ns;
    outside->place = place;
    if (!inside)
        count_record(outside, record);
    return inside;
}

void joint_end_lane(struct loader *loader, const struct trace_lane *lane)
{
    pass_gap(loader, lane->number, UINT32_MAX, INT64_MAX, never_ns);
    add_counted(loader);
}

void joint_end_process(struct loader *loader)
{
    struct outside *outside = &loader->outside;
    const struct trace_process *process = loader->process;
    for (size_t i = 0; i < outside->folded.n_gaps; i++) {
        size_t lane = 0;
        while (lane < process->n_lanes && process->lanes[lane].number != outside->folded.gaps[i].lane)
            lane++;
        if (lane == process->n_lanes)
            count_gaps(loader, &outside->folded.gaps[i], 1, process->begin_ns, never_ns);
    }
    spool_folded_free(&outside->folded);
    map_release(&outside->numbers);
    free(outside->calls);
    outside->calls = NULL;
}
