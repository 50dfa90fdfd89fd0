/* Where a run is thinned, joint calls outside of bursts become no rows, but others are numbered by how many went
 * before: they are kept as calls with SPOOL_OFF, each for many. A lane's records outside of bursts are
 * counted here as they are read, and chunks that are gone by the ghosts which stand for them.
 *
 * When the calls of a gap were made is not known better than that they lie between its lane's records before and behind
 * it. Where the lane was silent during a burst between these, it is unknown how many of them went before it: then calls
 * of another lane in that burst, on the same communicator, get no number. */
#include "interpose/trace/records/joint_outside.h"

#include <stdlib.h>

#include "interpose/functions.h"
#include "interpose/trace/gather/bursts.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/records/records.h"
#include "share/base/array.h"

/* Calls of one function on one communicator of the process. */
struct skipped_call {
    struct spool_ghost_entry entry;
    int64_t at_ns, until_ns; /* all were made between these */
};

/* Later than all times of a run. */
static const int64_t never_ns = INT64_C(1) << 60;

/* Adds the calls as one that stands for all. */
static void add_skipped(struct joint_outside *outside, const struct skipped_call *call)
{
    struct trace *trace = outside->trace;
    const struct spool_ghost_entry *entry = &call->entry;
    if (entry->sort < GHOST_JOINT || entry->count == 0)
        return;
    uint32_t communicator = communicator_of(outside->communicators, trace, entry->communicator);
    if (entry->sort - GHOST_JOINT >= FN_COUNT || communicator == TRACE_NONE) {
        outside->process->damaged++;
        return;
    }
    uint16_t function = (uint16_t)(entry->sort - GHOST_JOINT);
    struct trace_call made = {.begin_ns = call->at_ns,
                              .call_end_ns = call->at_ns,
                              .end_ns = call->until_ns,
                              .offset = -1,
                              .rank = outside->rank,
                              .communicator = communicator,
                              .callsite = TRACE_NONE,
                              .persistent = (uint32_t)entry->peer,
                              .peer = -1,
                              .further = entry->count > UINT32_MAX ? UINT32_MAX : (uint32_t)(entry->count - 1),
                              .function = function,
                              .flags = SPOOL_OFF,
                              .sort = function_is_of_file(function)     ? CALL_FILE
                                      : function_is_one_sided(function) ? CALL_ONE_SIDED
                                                                        : CALL_COLLECTIVE};
    if (call_is_joint(&made))
        TRACE_ADD(trace->calls, trace->n_calls, made);
}

/* Adds what was counted of records. */
static void add_counted(struct joint_outside *outside)
{
    for (size_t i = 0; i < outside->n_calls; i++) {
        outside->calls[i].at_ns = outside->calls[i].until_ns = outside->at_ns;
        add_skipped(outside, &outside->calls[i]);
    }
    outside->n_calls = 0;
    map_clear(&outside->numbers);
}

static void count_record(struct joint_outside *outside, const uint8_t *record)
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
static void count_gaps(struct joint_outside *outside, const struct spool_gap *gaps, size_t n, int64_t at_ns,
                       int64_t until_ns)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < gaps[i].n; k++)
            add_skipped(outside, &(struct skipped_call){gaps[i].entries[k], at_ns, until_ns});
}

static void lose_count(struct trace_process *process, int64_t ns)
{
    if (process->uncounted_ns == TRACE_NO_TIME || ns < process->uncounted_ns)
        process->uncounted_ns = ns;
}

/* Counts the chunks of the lane that are gone before `sequence`, with the time of what comes behind them. */
static void pass_gap(struct joint_outside *outside, uint32_t lane, uint32_t sequence, int64_t place, int64_t next_ns)
{
    size_t begin, end;
    if (sequence == outside->next_sequence)
        return;
    add_counted(outside);
    bool whole = gaps_between(outside->folded.gaps, outside->folded.n_gaps, lane, outside->next_sequence, sequence,
                              &begin, &end);
    bool silent = place > (outside->place | 1) + (place_is_inside(outside->place) ? 2 : 0);
    if (end > begin)
        count_gaps(outside, outside->folded.gaps + begin, end - begin, outside->at_ns,
                   silent ? next_ns : outside->at_ns);
    if (!whole)
        lose_count(outside->process, outside->at_ns);
}

void joint_outside_begin_process(struct joint_outside *outside, struct trace *trace,
                                 struct communicator_table *communicators, uint32_t rank)
{
    *outside = (struct joint_outside){.trace = trace,
                                      .communicators = communicators,
                                      .node = &trace->nodes[trace->processes[rank].node],
                                      .process = &trace->processes[rank],
                                      .rank = rank};
    spool_folded_read(outside->process->spool, &outside->folded);
}

void joint_outside_begin_lane(struct joint_outside *outside, const struct trace_lane *lane)
{
    outside->place = INT64_MIN / 2;
    outside->at_ns = outside->process->begin_ns;
    outside->ticks = 0;
    outside->span = lane->first_span;
    outside->next_sequence = 0;
}

/* True if the first reading makes something of the record that lies inside of a burst. */
static bool is_loaded(const uint8_t *record)
{
    return *record == SPOOL_COLLECTIVE || *record == SPOOL_ACCESS || *record == SPOOL_PARTITION;
}

/* Returns whether the record has a time, and sets *ticks to it. */
static bool record_time(struct joint_outside *outside, const uint8_t *record, uint64_t *ticks)
{
    if (record_order(outside->trace, outside->process, record, ticks)) {
        *ticks = outside->ticks = *ticks > outside->ticks ? *ticks : outside->ticks;
        return true;
    }
    if (*record == SPOOL_PARTITION)
        *ticks = ((const struct spool_partition *)(const void *)record)->ticks;
    return is_loaded(record);
}

bool joint_outside_take(struct joint_outside *outside, const uint8_t *record, size_t span)
{
    const struct spool *spool = outside->process->spool;
    uint64_t ticks;
    if (!record_time(outside, record, &ticks))
        return true;
    int64_t ns = clock_ns(outside->node, outside->process, ticks, &outside->clock_hint);
    int64_t place = burst_place(outside->trace, outside->process, ns);
    for (; outside->span <= span; outside->span++) {
        pass_gap(outside, spool->spans[outside->span].lane, spool->spans[outside->span].sequence, place, ns);
        outside->next_sequence = spool->spans[outside->span].sequence + 1;
    }
    bool inside = place_is_inside(place);
    if (place != outside->place)
        add_counted(outside);
    int64_t at_ns = inside ? burst_end_ns(outside->trace, outside->process, place) : ns;
    outside->at_ns = at_ns > outside->at_ns ? at_ns : outside->at_ns;
    outside->place = place;
    if (!inside)
        count_record(outside, record);
    return inside;
}

void joint_outside_end_lane(struct joint_outside *outside, const struct trace_lane *lane)
{
    pass_gap(outside, lane->number, UINT32_MAX, INT64_MAX, never_ns);
    add_counted(outside);
}

void joint_outside_end_process(struct joint_outside *outside)
{
    const struct trace_process *process = outside->process;
    for (size_t i = 0; i < outside->folded.n_gaps; i++)
        if (!process_has_lane(process, outside->folded.gaps[i].lane))
            count_gaps(outside, &outside->folded.gaps[i], 1, process->begin_ns, never_ns);
    spool_folded_free(&outside->folded);
    map_release(&outside->numbers);
    free(outside->calls);
    outside->calls = NULL;
}
