/* Steps that share a message are of one round, and so on transitively (union and find). A synchronising collective
 * between them in which both ranks took part separates them: then the message belongs to the round of its receive, and
 * the sender has its posting call there. Messages of a rank to itself make no round. So a ping-pong by blocking calls
 * makes a round for each message, a ring of Sendrecv one for each shift, a halo exchange one for each step.
 *
 * A round is complete once all its steps are closed and each operation in them has its partner, whose step is known too
 * (or will never have one). Until then steps and messages of a round hang on its representative. Rounds that are
 * complete become rows. */
#include "interpose/trace/stream/round.h"

#include <stdlib.h>

#include "interpose/trace/state/trace.h"
#include "share/base/array.h"
#include "share/base/order.h"
#include "share/base/memory.h"

/* Two ranks may enter the same collective at very different times, so times cannot tell whether it lies between their
 * steps. How many collectives of each communicator a rank had passed before its step can. */

struct barrier {
    uint64_t communicator; /* the communicator, or MARKS + the number of the mark */
    uint32_t n_barriers;   /* synchronising collectives and marks that the rank had begun before, of any kind */
    uint64_t passed;       /* collectives on the communicator, up to this one */
};

static const uint64_t MARKS = UINT64_C(1) << 32;

/* Marks of one number count like collectives on a communicator of their own: ranks that never set it are not asked. */
static uint64_t counted_by(const struct trace_call *call)
{
    return call->sort == CALL_MARK ? MARKS + (uint32_t)call->peer : call->communicator;
}

static int compare_entries(const void *left, const void *right)
{
    const struct barrier *a = left, *b = right;
    return ORDER(a->communicator, b->communicator) ?: ORDER(a->n_barriers, b->n_barriers);
}

static void barriers_build(struct barriers *barriers, const struct trace *trace)
{
    barriers->first = xcalloc((size_t)trace->world_size + 1, sizeof *barriers->first);
    size_t n = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        uint32_t n_barriers = 0;
        barriers->first[rank] = n;
        for (size_t i = trace->processes[rank].first_call; i < trace->processes[rank + 1].first_call; i++)
            if (call_bounds(&trace->calls[i]))
                ARRAY_ADD(barriers->entries, n,
                          (struct barrier){counted_by(&trace->calls[i]), n_barriers++,
                                           (uint64_t)trace->calls[i].further + 1});
        if (n > barriers->first[rank])
            qsort(barriers->entries + barriers->first[rank], n - barriers->first[rank], sizeof *barriers->entries,
                  compare_entries);
        for (size_t i = barriers->first[rank] + 1; i < n; i++)
            if (barriers->entries[i].communicator == barriers->entries[i - 1].communicator)
                barriers->entries[i].passed += barriers->entries[i - 1].passed;
    }
    barriers->first[trace->world_size] = n;
}

/* Returns the first entry of the rank that is not before (communicator, n_barriers). */
static size_t lower_bound(const struct barriers *barriers, uint32_t rank, struct barrier key)
{
    size_t at = barriers->first[rank];
    FIRST_BEYOND(at, barriers->first[rank + 1], compare_entries(&barriers->entries[at], &key) < 0);
    return at;
}

/* Returns how many collectives on the communicator the rank passed before the step; first is its first entry there. */
static uint64_t passed_by(const struct barriers *barriers, size_t first, const struct trace_step *step,
                          uint64_t communicator)
{
    size_t next = lower_bound(barriers, step->rank, (struct barrier){communicator, step->n_barriers, 0});
    return next == first ? 0 : barriers->entries[next - 1].passed;
}

/* True if on some communicator the two ranks had taken part in different numbers of collectives. */
static bool barriers_separate(const struct barriers *barriers, const struct trace_step *one,
                              const struct trace_step *other)
{
    size_t end = barriers->first[one->rank + 1], other_end = barriers->first[other->rank + 1];
    for (size_t i = barriers->first[one->rank]; i < end;) {
        uint64_t communicator = barriers->entries[i].communicator;
        struct barrier begin = {communicator, 0, 0};
        size_t there = lower_bound(barriers, other->rank, begin);
        if (there < other_end && barriers->entries[there].communicator == communicator &&
            passed_by(barriers, i, one, communicator) != passed_by(barriers, there, other, communicator))
            return true;
        i = lower_bound(barriers, one->rank, (struct barrier){communicator + 1, 0, 0});
    }
    return false;
}

/* Returns the step that represents the round of a step. */
static uint32_t round_root(struct trace_step *steps, uint32_t step)
{
    while (steps[step].parent != step) {
        steps[step].parent = steps[steps[step].parent].parent;
        step = steps[step].parent;
    }
    return step;
}

/* Gives back all steps of a round. */
static void round_free_steps(struct rounds *rounds, uint32_t root)
{
    struct trace_step *steps = rounds->trace->steps;
    uint32_t last = steps[root].last;
    for (uint32_t i = root; i != TRACE_NONE; i = steps[i].next)
        steps[i].number = 0;
    steps[last].next = rounds->first_free;
    rounds->first_free = root;
}

/* Notes that the message belongs to no round. */
static void keep_single(struct rounds *rounds, uint32_t receive)
{
    array_reserve(&rounds->single, &rounds->single_capacity, rounds->n_single + 1, sizeof *rounds->single);
    rounds->single[rounds->n_single++] = receive;
}

static void move_message(struct trace *trace, struct complete_rows *complete, uint32_t receive)
{
    uint32_t send = trace->operations[receive].partner;
    if (complete->n_messages == complete->messages_capacity)
        array_reserve(&complete->messages, &complete->messages_capacity, complete->n_messages + 1,
                      sizeof *complete->messages);
    struct complete_message *message = &complete->messages[complete->n_messages++];
    message->send = trace->operations[send];
    message->receive = trace->operations[receive];
    message->round = 0;
    operation_written(trace, send);
    operation_written(trace, receive);
}

static void add_member(struct complete_rows *complete, struct round_member member)
{
    if (complete->n_members == complete->members_capacity)
        array_reserve(&complete->members, &complete->members_capacity, complete->n_members + 1,
                      sizeof *complete->members);
    complete->members[complete->n_members++] = member;
}

/* Adds a rank that had only its posting call in the round, unless its step is part of it. */
static void add_caller(struct trace_step *steps, struct complete_rows *complete, uint32_t root,
                       const struct trace_operation *operation)
{
    if (operation->step != TRACE_NONE && steps[operation->step].number == operation->step_number &&
        round_root(steps, operation->step) == root)
        return;
    add_member(complete, (struct round_member){.begin_ns = operation->post_ns,
                                               .end_ns = operation->post_end_ns,
                                               .begin_in_mpi_ns = operation->in_mpi_ns,
                                               .end_in_mpi_ns =
                                                   operation->in_mpi_ns + operation->post_end_ns - operation->post_ns,
                                               .rank = operation->rank});
}

/* Adds the steps of the round as members, and finds when it began and which of them is the first. */
static struct complete_round move_steps(const struct trace_step *steps, struct complete_rows *complete, uint32_t root)
{
    struct complete_round round = {.begin_ns = INT64_MAX,
                                   .first = UINT64_MAX,
                                   .first_message = complete->n_messages,
                                   .first_member = complete->n_members};
    uint32_t first_rank = UINT32_MAX;
    for (uint32_t i = root; i != TRACE_NONE; i = steps[i].next) {
        const struct trace_step *step = &steps[i];
        round.begin_ns = step->begin_ns < round.begin_ns ? step->begin_ns : round.begin_ns;
        if (step->rank < first_rank || (step->rank == first_rank && step->number < round.first)) {
            first_rank = step->rank;
            round.first = step->number;
        }
        add_member(complete, (struct round_member){step->begin_ns, step->end_ns, step->begin_in_mpi_ns,
                                                   step->end_in_mpi_ns, step->rank});
    }
    round.first = (round.first & ((UINT64_C(1) << 40) - 1)) | (uint64_t)first_rank << 40;
    return round;
}

static void move_round(struct rounds *rounds, struct complete_rows *complete, uint32_t root)
{
    struct trace *trace = rounds->trace;
    struct complete_round round = move_steps(trace->steps, complete, root);
    for (uint32_t i = trace->steps[root].first_message, next; i != TRACE_NONE; i = next) {
        next = trace->operations[i].next;
        add_caller(trace->steps, complete, root, &trace->operations[trace->operations[i].partner]);
        add_caller(trace->steps, complete, root, &trace->operations[i]);
        move_message(trace, complete, i);
    }
    round.n_messages = complete->n_messages - round.first_message;
    round.n_members = complete->n_members - round.first_member;
    array_reserve(&complete->rounds, &complete->rounds_capacity, complete->n_rounds + 1, sizeof *complete->rounds);
    complete->rounds[complete->n_rounds++] = round;
    round_free_steps(rounds, root);
}

void rounds_move_complete(struct rounds *rounds, struct complete_rows *complete)
{
    for (size_t i = 0; i < rounds->n_single; i++)
        move_message(rounds->trace, complete, rounds->single[i]);
    for (size_t i = 0; i < rounds->n_complete; i++)
        move_round(rounds, complete, rounds->complete[i]);
    rounds->n_single = rounds->n_complete = 0;
}

void rounds_begin(struct rounds *rounds, struct trace *trace)
{
    *rounds = (struct rounds){.trace = trace, .first_free = TRACE_NONE};
    barriers_build(&rounds->barriers, trace);
}

void rounds_release(struct rounds *rounds)
{
    free(rounds->barriers.entries);
    free(rounds->barriers.first);
    free(rounds->complete);
    free(rounds->single);
}

static uint32_t open_round(struct rounds *rounds, uint32_t rank, uint32_t n_barriers)
{
    struct trace *trace = rounds->trace;
    uint32_t step = rounds->first_free;
    if (step != TRACE_NONE) {
        rounds->first_free = trace->steps[step].next;
    } else {
        trace_grow(&trace->steps, trace->n_steps, sizeof *trace->steps);
        step = (uint32_t)trace->n_steps++;
    }
    trace->steps[step] = (struct trace_step){.number = ++rounds->n_opened,
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

/* No operation of its rank can join the step any more. */
static void close_round(struct rounds *rounds, uint32_t index, const struct step_end *end)
{
    struct trace_step *step = &rounds->trace->steps[index];
    step->begin_ns = end->begin_ns;
    step->end_ns = end->end_ns;
    step->begin_in_mpi_ns = end->begin_in_mpi_ns;
    step->end_in_mpi_ns = end->end_in_mpi_ns;
    uint32_t root = round_root(rounds->trace->steps, index);
    rounds->trace->steps[root].open--;
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
static void join_rounds(struct trace *trace, uint32_t one, uint32_t other)
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
        keep_single(rounds, index);
        return;
    }
    uint32_t home = round_root(steps, receive->step != TRACE_NONE ? receive->step : send->step);
    if (receive->step != TRACE_NONE && send->step != TRACE_NONE) {
        uint32_t sent = round_root(steps, send->step);
        if (sent != home && !barriers_separate(&rounds->barriers, &steps[receive->step], &steps[send->step]))
            join_rounds(trace, home, sent);
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

/* Puts an operation into a step; TRACE_NONE: into none. */
static void place_in_round(struct rounds *rounds, uint32_t index, uint32_t step)
{
    struct trace *trace = rounds->trace;
    struct trace_operation *operation = &trace->operations[index];
    operation->placed = true;
    operation->step = step;
    if (step != TRACE_NONE) {
        operation->step_number = trace->steps[step].number;
        hold(rounds, operation);
    }
    if (operation->counts && operation->partner != TRACE_NONE && trace->operations[operation->partner].placed)
        take_message(rounds, operation->direction == SPOOL_RECEIVE ? index : operation->partner);
}

void rounds_take_notes(struct rounds *rounds, struct noted_rank *rank, const struct step_notes *notes)
{
    struct trace_operation *operations = rounds->trace->operations;
    for (size_t i = 0; i < notes->n; i++) {
        const struct step_note *note = &notes->notes[i];
        if (note->kind == STEP_OPENS) {
            rank->step = open_round(rounds, rank->rank, note->index);
            continue;
        }
        if (note->kind == STEP_CLOSES) {
            close_round(rounds, rank->step, &notes->ends[note->index]);
            rank->step = TRACE_NONE;
            continue;
        }
        uint32_t index = rank->operations[note->index];
        switch (note->kind) {
        case STEP_TAKES:
            place_in_round(rounds, index, rank->step);
            break;
        case STEP_LEAVES:
            place_in_round(rounds, index, TRACE_NONE);
            break;
        case STEP_HOLDS:
            operations[index].step = rank->step;
            hold(rounds, &operations[index]);
            break;
        case STEP_GIVES:
            let_go(rounds, &operations[index]);
            operations[index].step = TRACE_NONE;
            break;
        default:
            break;
        }
        if (note->passes)
            operation_passed(rounds->trace, index);
    }
}

void round_match(struct rounds *rounds, uint32_t index)
{
    const struct trace_operation *receive = &rounds->trace->operations[index];
    const struct trace_operation *send = &rounds->trace->operations[receive->partner];
    if (!receive->counts || !send->counts)
        keep_single(rounds, index);
    else if (receive->placed && send->placed)
        take_message(rounds, index);
}

void round_give_up(struct rounds *rounds, uint32_t index)
{
    struct trace_operation *operation = &rounds->trace->operations[index];
    operation->counts = false;
    let_go(rounds, operation);
}
