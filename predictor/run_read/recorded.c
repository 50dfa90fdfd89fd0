/* Says of the recorded run what a replay says of a predicted one: who waited for whom. Each wait was noted with the
 * operation that it waited for; the step that posted its other end is looked up here, when all ranks' steps are there.
 */
#include <math.h>
#include <stdlib.h>

#include "predictor/run_read/reading.h"
#include "share/base/memory.h"
#include "share/base/order.h"

#define NO_STEP UINT32_MAX

struct recording {
    const struct reading *reading;
    const struct run_program *program;
    uint32_t *send, *receive; /* [n_messages] steps that post them, or NO_STEP */
    uint32_t *arrival;        /* [n_members] steps that arrive, or NO_STEP */
    int64_t *arrival_ns;      /* [n_members] */
    uint32_t *last;           /* [n_members] the last one that arrived among it and those before it in its collective */
};

static void find_posts(struct recording *recording)
{
    const struct run_program *program = recording->program;
    for (size_t i = 0; i < program->n_messages; i++)
        recording->send[i] = recording->receive[i] = NO_STEP;
    for (size_t i = 0; i < program->n_members; i++)
        recording->arrival[i] = NO_STEP;
    for (uint32_t i = 0; i < program->n_steps; i++) {
        const struct run_step *step = &program->steps[i];
        if (step->kind == STEP_SEND)
            recording->send[step->object] = i;
        else if (step->kind == STEP_RECEIVE)
            recording->receive[step->object] = i;
        else if (step->kind == STEP_COLLECTIVE || step->kind == STEP_BEGIN)
            recording->arrival[step->object] = i;
    }
}

static void find_arrivals(struct recording *recording)
{
    const struct reading *reading = recording->reading;
    for (size_t i = 0; i < recording->program->n_members; i++)
        recording->arrival_ns[i] = INT64_MIN;
    for (size_t i = 0; i < reading->n_members; i++)
        if (reading->members[i].counts && reading->members[i].member < recording->program->n_members)
            recording->arrival_ns[reading->members[i].member] = reading->members[i].begin_ns;
    for (size_t i = 0; i < recording->program->n_collectives; i++) {
        const struct run_collective *collective = &recording->program->collectives[i];
        uint32_t last = collective->first_member;
        for (uint32_t m = last; m < collective->first_member + collective->n_members; m++) {
            last = recording->arrival_ns[m] > recording->arrival_ns[last] ? m : last;
            recording->last[m] = last;
        }
    }
}

/* Returns the step for which a member of a collective waited, or NO_STEP. */
static uint32_t awaited_arrival(const struct recording *recording, uint32_t member)
{
    const struct run_collective *collective =
        &recording->program->collectives[recording->program->members[member].collective];
    const struct run_awaited awaited = run_awaited(collective, member - collective->first_member);
    uint32_t last = collective->first_member + awaited.end - 1;
    return recording->arrival[awaited.first == 0 ? recording->last[last] : last];
}

static uint32_t awaited_step(const struct recording *recording, uint32_t operation)
{
    uint32_t object = run_operation_object(operation);
    switch (run_operation_kind(operation)) {
    case OPERATION_RECEIVE:
        return recording->send[object];
    case OPERATION_SEND:
        return recording->receive[object];
    default:
        return awaited_arrival(recording, object);
    }
}

/* Returns the strand of a step: the last one that begins there or before and has steps. */
static uint32_t recorded_strand(const struct run_program *program, size_t step)
{
    size_t beyond = 1;
    FIRST_BEYOND(beyond, program->n_strands, program->strands[beyond].first_step <= step);
    return (uint32_t)beyond - 1;
}

/* Completes the waits, and leaves out those for nobody else. */
static void find_causes(const struct recording *recording, struct simulation_result *recorded)
{
    const struct run_program *program = recording->program;
    size_t n = 0;
    for (size_t i = 0; i < recorded->n_waits; i++) {
        struct run_wait wait = recorded->waits[i];
        wait.cause.step = awaited_step(recording, wait.cause.step);
        if (wait.cause.step == NO_STEP)
            continue;
        wait.cause.strand = recorded_strand(program, wait.cause.step);
        if (program->strands[wait.begin.strand].rank != program->strands[wait.cause.strand].rank)
            recorded->waits[n++] = wait;
    }
    recorded->n_waits = n;
}

static int compare_ends(const void *left, const void *right)
{
    const struct run_wait *a = left, *b = right;
    return ORDER(a->end_s, b->end_s) ?: ORDER(a->begin.step, b->begin.step);
}

/* Sets when ranks, and bursts, began and ended. */
static void set_bounds(const struct reading *reading, struct simulation_result *recorded)
{
    const struct run_program *program = reading->program;
    int64_t first_ns = reading->bursts[0].shift_ns, last_ns = reading->bursts[reading->n_bursts - 1].shift_ns;
    recorded->begin_s = INFINITY;
    recorded->end_s = -INFINITY;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        recorded->rank_begin_s[rank] = reading_seconds(reading->ranks[rank].from_ns - first_ns);
        recorded->rank_end_s[rank] = recorded->rank_begin_s[rank];
        for (size_t b = 0; b < reading->n_bursts; b++)
            recorded->rank_end_s[rank] +=
                reading_seconds(reading->ranks[rank].spans[b].to_ns - reading->ranks[rank].spans[b].from_ns);
        recorded->begin_s = fmin(recorded->begin_s, recorded->rank_begin_s[rank]);
        recorded->end_s = fmax(recorded->end_s, reading_seconds(reading->ranks[rank].to_ns - last_ns));
    }
    if (program->n_bursts > 0)
        recorded->bursts = xmalloc(program->n_bursts * sizeof *recorded->bursts);
    for (size_t b = 0; b < program->n_bursts; b++)
        recorded->bursts[b] = (struct run_burst){.begin_s = program->burst_s[b], .end_s = -INFINITY};
    for (uint32_t s = 0; s < program->n_strands && program->n_bursts > 0; s++) {
        uint32_t b = program->strands[s].burst;
        int64_t to_ns = reading->ranks[program->strands[s].rank].spans[b].to_ns;
        double end_s = reading_seconds(to_ns - reading->bursts[b].shift_ns);
        if (end_s > recorded->bursts[b].end_s) {
            recorded->bursts[b].end_s = end_s;
            recorded->bursts[b].last = s;
        }
    }
}

void recorded_make(const struct reading *reading)
{
    struct simulation_result *recorded = reading->want.recorded;
    const struct run_program *program = reading->program;
    struct recording recording = {.reading = reading,
                                  .program = program,
                                  .send = xmalloc((program->n_messages + 1) * sizeof *recording.send),
                                  .receive = xmalloc((program->n_messages + 1) * sizeof *recording.receive),
                                  .arrival = xmalloc((program->n_members + 1) * sizeof *recording.arrival),
                                  .arrival_ns = xmalloc((program->n_members + 1) * sizeof *recording.arrival_ns),
                                  .last = xmalloc((program->n_members + 1) * sizeof *recording.last)};
    recorded->rank_begin_s = xmalloc((program->n_ranks + 1) * sizeof *recorded->rank_begin_s);
    recorded->rank_end_s = xmalloc((program->n_ranks + 1) * sizeof *recorded->rank_end_s);
    find_posts(&recording);
    find_arrivals(&recording);
    set_bounds(reading, recorded);
    find_causes(&recording, recorded);
    if (recorded->n_waits > 0)
        qsort(recorded->waits, recorded->n_waits, sizeof *recorded->waits, compare_ends);
    FREE_ALL(recording.send, recording.receive, recording.arrival, recording.arrival_ns, recording.last);
}
