/* Says what the recorded time of a call went to (share/doc/MODELS.md, Whole run, Measured parts). */
#include "predictor/run_read/building.h"
#include "share/base/array.h"

/* Returns the moment that the operation had to wait for: the post at its other end, or the last arrival. */
static int64_t awaited_ns(const struct reading *reading, const struct read_item *item)
{
    switch (item->kind) {
    case ITEM_COLLECTIVE:
        return reading->members[item->object].awaited_ns;
    case ITEM_SEND:
        return item->begin_ns +
               (item->waits && reading->late_ns[item->object] > 0 ? reading->late_ns[item->object] : 0);
    default:
        return read_item_send_ns(reading, item);
    }
}

/* Divides the time of a call at the moment until which it had to wait for another rank. operation: what it waited for,
 * or NO_OBJECT. */
static void divide(const struct building *building, const struct call *call, int64_t until_ns, uint32_t operation,
                   enum run_part late, enum run_part rest, struct run_parts *parts)
{
    struct reading *reading = building->reading;
    int64_t middle_ns = until_ns < call->begin_ns ? call->begin_ns : until_ns > call->end_ns ? call->end_ns : until_ns;
    parts->part_s[late] += reading_seconds(middle_ns - call->begin_ns);
    parts->part_s[rest] += reading_seconds(call->end_ns - middle_ns);
    struct simulation_result *recorded = reading->want.recorded;
    if (recorded == NULL || operation == NO_OBJECT || middle_ns == call->begin_ns)
        return;
    const struct run_program *program = reading->program;
    int64_t shift_ns = reading->bursts[building->burst].shift_ns;
    const struct run_moment begin = {(uint32_t)program->n_strands - 1, (uint32_t)program->n_steps - 1,
                                     reading_seconds(call->begin_ns - shift_ns)};
    ARRAY_ADD(recorded->waits, recorded->n_waits,
              (struct run_wait){.begin = begin,
                                .cause = {0, operation, reading_seconds(middle_ns - shift_ns)},
                                .late_s = reading_seconds(middle_ns - call->begin_ns),
                                .end_s = reading_seconds(call->end_ns - shift_ns)});
}

/* Returns the blocking collective of the call, if it is one. */
static const struct read_member *blocking_member(const struct building *building, const struct call *call)
{
    for (uint32_t i = call->first_item; i < call->first_item + call->n_items; i++) {
        const struct read_item *item = &building->items[i];
        if (item->kind == ITEM_COLLECTIVE && !building->reading->members[item->object].nonblocking)
            return &building->reading->members[item->object];
    }
    return NULL;
}

static void divide_collective(const struct building *building, const struct call *call,
                              const struct read_member *member, struct run_parts *parts)
{
    divide(building, call, member->awaited_ns, run_operation(member->member, OPERATION_MEMBER), RUN_COLLECTIVE_WAIT,
           RUN_COLLECTIVE_TRANSFER, parts);
}

void measure_call(const struct building *building, const struct call *call, const struct read_item *probed,
                  struct run_parts *parts)
{
    const struct reading *reading = building->reading;
    const struct read_member *member = blocking_member(building, call);
    if (member != NULL) {
        divide_collective(building, call, member, parts);
        return;
    }
    const struct read_item *last = NULL;
    for (uint32_t i = 0; i < call->n_waits; i++) {
        const struct read_item *item = &building->items[building->waits[call->first_wait + i]];
        if (last == NULL || awaited_ns(reading, item) > awaited_ns(reading, last))
            last = item;
    }
    if (last != NULL && last->kind == ITEM_COLLECTIVE) {
        divide_collective(building, call, &reading->members[last->object], parts);
    } else if (last != NULL) {
        /* A send waits for its own post as well: another thread may make the partitions ready. */
        bool sender = last->kind != ITEM_ONE_SIDED && awaited_ns(reading, last) == read_item_send_ns(reading, last);
        divide(building, call, awaited_ns(reading, last),
               last->kind == ITEM_ONE_SIDED ? NO_OBJECT
                                            : run_operation(last->object, sender ? OPERATION_RECEIVE : OPERATION_SEND),
               sender ? RUN_LATE_SENDER : RUN_LATE_RECEIVER, RUN_BANDWIDTH, parts);
    } else if (probed != NULL) {
        divide(building, call, read_item_send_ns(reading, probed), run_operation(probed->object, OPERATION_RECEIVE),
               RUN_LATE_SENDER, RUN_BANDWIDTH, parts);
    } else {
        parts->part_s[RUN_OTHER] += reading_seconds(call->end_ns - call->begin_ns);
    }
}
