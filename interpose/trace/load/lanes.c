/* Records of one thread come in the order of its calls; those of several threads are merged by time. The operations of
 * a thread keep their order, which is that of matching, whatever their times say. A matched probe has its place at the
 * return of its call, all others at its entry. */
#include "interpose/trace/load/lanes.h"

#include <stdlib.h>

#include "interpose/trace/load/load.h"
#include "share/base/memory.h"

bool record_has_origin(const struct spool_operation *record)
{
    return record->persistent != 0 || record->stack != 0 || (record->flags & SPOOL_PARTITIONED) != 0;
}

/* Finds the next record of the lane that matters here. */
static void find_record(struct lane *lane, const struct trace *trace, const struct trace_process *process)
{
    while ((lane->record = spool_next(&lane->cursor)) != NULL) {
        const struct spool_operation *operation = (const void *)lane->record;
        if (*lane->record == SPOOL_CALL) {
            lane->ticks = ((const struct spool_call *)(const void *)lane->record)->begin_ticks;
            return;
        }
        if (*lane->record == SPOOL_IDLE) {
            lane->ticks = ((const struct spool_idle *)(const void *)lane->record)->begin_ticks;
            return;
        }
        if (*lane->record == SPOOL_OPERATION && operation_known(trace, process, operation)) {
            lane->ticks = operation->post_ticks + (operation->flags & SPOOL_MATCHED_PROBE ? operation->call_ticks : 0);
            return;
        }
    }
}

/* Returns the entry of the record's call, 0 if it belongs to no call. */
static uint64_t begin_ticks(const uint8_t *record)
{
    switch (*record) {
    case SPOOL_OPERATION:
        return ((const struct spool_operation *)(const void *)record)->post_ticks;
    case SPOOL_CALL:
        return ((const struct spool_call *)(const void *)record)->begin_ticks;
    case SPOOL_IDLE:
        return ((const struct spool_idle *)(const void *)record)->begin_ticks;
    case SPOOL_COLLECTIVE:
        return ((const struct spool_collective *)(const void *)record)->begin_ticks;
    default:
        return 0;
    }
}

bool lane_left_call(const struct lane *lane)
{
    const struct spool_operation *operation = (const void *)lane->record;
    struct spool_cursor ahead = lane->cursor;
    const uint8_t *later = NULL;
    if (operation->call_ticks != 0 || operation->complete_ticks != 0)
        return false;
    do
        later = spool_next(&ahead);
    while (later != NULL && begin_ticks(later) <= operation->post_ticks);
    return later != NULL;
}

void lanes_begin(struct lanes *lanes, const struct trace *trace, const struct trace_process *process)
{
    *lanes = (struct lanes){.process = process};
    lanes->lanes = xcalloc(process->n_lanes, sizeof *lanes->lanes);
    for (size_t i = 0; i < process->n_lanes; i++) {
        const struct trace_lane *known = &process->lanes[i];
        struct lane *lane = &lanes->lanes[lanes->n_lanes];
        *lane =
            (struct lane){.cursor = {.spool = process->spool, .span = known->first_span, .end_span = known->end_span},
                          .next_origin = known->first_origin,
                          .idle_end_ns = INT64_MIN,
                          .number = known->number};
        find_record(lane, trace, process);
        lanes->n_lanes += lane->record != NULL;
    }
}

struct lane *lanes_first(const struct lanes *lanes)
{
    struct lane *first = lanes->n_lanes > 0 ? &lanes->lanes[0] : NULL;
    for (size_t i = 1; i < lanes->n_lanes; i++)
        if (lanes->lanes[i].ticks < first->ticks)
            first = &lanes->lanes[i];
    return first;
}

void lanes_take(struct lanes *lanes, const struct trace *trace, struct lane *lane)
{
    if (*lane->record == SPOOL_OPERATION && record_has_origin((const void *)lane->record))
        lane->next_origin++;
    find_record(lane, trace, lanes->process);
    if (lane->record != NULL)
        return;
    /* The other lanes keep their order, which decides between equal times. */
    for (struct lane *last = lanes->lanes + --lanes->n_lanes; lane < last; lane++)
        *lane = lane[1];
}

void lanes_release(struct lanes *lanes)
{
    free(lanes->lanes);
    *lanes = (struct lanes){0};
}
