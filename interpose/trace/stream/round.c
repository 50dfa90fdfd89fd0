/* Steps that share a message are of one round, and so on transitively (union and find). A synchronising collective
 * between them in which both ranks took part separates them: then the message belongs to the round of its receive, and
 * the sender has its posting call there. Messages of a rank to itself make no round. So a ping-pong by blocking calls
 * makes a round for each message, a ring of Sendrecv one for each shift, a halo exchange one for each step.
 *
 * A round is complete once all its steps are closed and each operation in them has its partner, whose step is known too
 * (or will never have one). Until then steps and messages of a round hang on its representative. round_write.c turns
 * complete rounds into rows. */
#include "interpose/trace/stream/round.h"

#include <stdlib.h>

#include "interpose/trace/state/time_in_mpi.h"
#include "interpose/trace/stream/round_write.h"
#include "share/base/array.h"

void rounds_begin(struct rounds *rounds, struct trace *trace, struct sink *sink)
{
    *rounds = (struct rounds){.trace = trace, .sink = sink, .first_free = TRACE_NONE};
    barriers_build(&rounds->barriers, trace);
}

void rounds_release(struct rounds *rounds)
{
    barriers_release(&rounds->barriers);
    map_release(&rounds->kinds);
    map_release(&rounds->families);
    free(rounds->complete);
    free(rounds->found);
    free(rounds->members);
    free(rounds->messages);
}

uint32_t round_open_step(struct rounds *rounds, uint32_t rank, uint32_t n_barriers, int64_t begin_ns)
{
    struct trace *trace = rounds->trace;
    uint32_t step = rounds->first_free;
    if (step != TRACE_NONE) {
        rounds->first_free = trace->steps[step].next;
    } else {
        trace_grow(&trace->steps, trace->n_steps, sizeof *trace->steps);
        step = (uint32_t)trace->n_steps++;
    }
    trace->steps[step] = (struct trace_step){.begin_ns = begin_ns,
                                             .end_ns = begin_ns,
                                             .first_post_ns = INT64_MAX,
                                             .number = ++rounds->n_opened,
                                             .rank = rank,
                                             .n_barriers = n_barriers,
                                             .parent = step,
                                             .next = TRACE_NONE,
                                             .last = step,
                                             .first_message = TRACE_NONE,
                                             .last_message = TRACE_NONE,
                                             .open = 1};
    return step;
}

void round_extend_step(struct rounds *rounds, uint32_t step, int64_t end_ns)
{
    struct trace_step *extended = &rounds->trace->steps[step];
    if (end_ns > extended->end_ns)
        extended->end_ns = end_ns;
}

/* Notes a round that nothing can join any more: it waits for its row, or is none. */
static void check_complete(struct rounds *rounds, uint32_t root)
{
    const struct trace_step *step = &rounds->trace->steps[root];
    if (step->open > 0 || step->held > 0)
        return;
    if (step->first_message == TRACE_NONE) {
        round_free_steps(rounds, root);
        return;
    }
    array_reserve(&rounds->complete, &rounds->complete_capacity, rounds->n_complete + 1, sizeof *rounds->complete);
    rounds->complete[rounds->n_complete++] = root;
}

void round_close_step(struct rounds *rounds, uint32_t index)
{
    struct trace *trace = rounds->trace;
    struct trace_step *step = &trace->steps[index];
    /* A step begins with the first post among its own operations, not with one that turned out to belong elsewhere. */
    if (step->first_post_ns != INT64_MAX)
        step->begin_ns = step->first_post_ns;
    const struct time_in_mpi *in_mpi = &trace->processes[step->rank].in_mpi;
    step->begin_in_mpi_ns = time_in_mpi_before(in_mpi, step->begin_ns);
    step->end_in_mpi_ns = time_in_mpi_before(in_mpi, step->end_ns);
    uint32_t root = round_root(trace->steps, index);
    trace->steps[root].open--;
    check_complete(rounds, root);
}

/* Counts the operation, which may make a message, into its step. let_go undoes this once the operation has left the
 * step or its message is known. */
static void hold(struct rounds *rounds, struct trace_operation *operation)
{
    if (operation->step == TRACE_NONE || operation->held || !operation->counts)
        return;
    operation->held = true;
    rounds->trace->steps[round_root(rounds->trace->steps, operation->step)].held++;
}

static void let_go(struct rounds *rounds, struct trace_operation *operation)
{
    if (!operation->held)
        return;
    operation->held = false;
    uint32_t root = round_root(rounds->trace->steps, operation->step);
    rounds->trace->steps[root].held--;
    check_complete(rounds, root);
}

/* Joins the rounds of two representatives into that of the first. */
static void join(struct trace *trace, uint32_t one, uint32_t other)
{
    struct trace_step *steps = trace->steps;
    steps[other].parent = one;
    steps[steps[one].last].next = other;
    steps[one].last = steps[other].last;
    steps[one].open += steps[other].open;
    steps[one].held += steps[other].held;
    if (steps[other].first_message == TRACE_NONE)
        return;
    if (steps[one].first_message == TRACE_NONE)
        steps[one].first_message = steps[other].first_message;
    else
        trace->operations[steps[one].last_message].next = steps[other].first_message;
    steps[one].last_message = steps[other].last_message;
}

/* Takes a message of which both sides are matched and the steps are known: it belongs to its receive's round, else to
 * its send's. */
static void take_message(struct rounds *rounds, uint32_t index)
{
    struct trace *trace = rounds->trace;
    struct trace_step *steps = trace->steps;
    struct trace_operation *receive = &trace->operations[index], *send = &trace->operations[receive->partner];
    if (receive->step == TRACE_NONE && send->step == TRACE_NONE) {
        round_add_message(rounds, index, 0);
        return;
    }
    uint32_t home = round_root(steps, receive->step != TRACE_NONE ? receive->step : send->step);
    if (receive->step != TRACE_NONE && send->step != TRACE_NONE) {
        uint32_t sent = round_root(steps, send->step);
        if (sent != home && !barriers_separate(&rounds->barriers, &steps[receive->step], &steps[send->step]))
            join(trace, home, sent);
    }
    receive->next = TRACE_NONE;
    if (steps[home].first_message == TRACE_NONE)
        steps[home].first_message = index;
    else
        trace->operations[steps[home].last_message].next = index;
    steps[home].last_message = index;
    let_go(rounds, send);
    let_go(rounds, receive);
}

void round_hold(struct rounds *rounds, uint32_t index, uint32_t step)
{
    struct trace_operation *operation = &rounds->trace->operations[index];
    operation->step = step;
    hold(rounds, operation);
}

void round_take_back(struct rounds *rounds, uint32_t index)
{
    struct trace_operation *operation = &rounds->trace->operations[index];
    let_go(rounds, operation);
    operation->step = TRACE_NONE;
}

void round_place(struct rounds *rounds, uint32_t index, uint32_t step)
{
    struct trace *trace = rounds->trace;
    struct trace_operation *operation = &trace->operations[index];
    operation->placed = true;
    operation->step = step;
    if (step != TRACE_NONE) {
        struct trace_step *whole = &trace->steps[step];
        operation->step_number = whole->number;
        if (operation->post_ns >= whole->begin_ns && operation->post_ns < whole->first_post_ns)
            whole->first_post_ns = operation->post_ns;
        hold(rounds, operation);
    }
    if (operation->counts && operation->partner != TRACE_NONE && trace->operations[operation->partner].placed)
        take_message(rounds, operation->direction == SPOOL_RECEIVE ? index : operation->partner);
}

void round_match(struct rounds *rounds, uint32_t index)
{
    const struct trace_operation *receive = &rounds->trace->operations[index];
    const struct trace_operation *send = &rounds->trace->operations[receive->partner];
    if (!receive->counts || !send->counts)
        round_add_message(rounds, index, 0);
    else if (receive->placed && send->placed)
        take_message(rounds, index);
}

void round_give_up(struct rounds *rounds, uint32_t index)
{
    struct trace_operation *operation = &rounds->trace->operations[index];
    operation->counts = false;
    let_go(rounds, operation);
}
