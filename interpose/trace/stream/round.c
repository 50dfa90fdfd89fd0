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

#include "interpose/trace/state/time_in_mpi.h"
#include "share/base/array.h"
#include "share/base/order.h"
#include "share/base/saturating.h"

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

/* Makes rows of rounds that are complete and of messages whose round is known, window by window (stream.c). Rounds are
 * numbered by their begin. Two are of the same kind if they have the same messages, as a multiset of (source,
 * destination, bytes). Two independent 64-bit sums over their hashes, their number and their bytes are compared for
 * that. Kinds are of one family if the first round of each has the same multiset of (source, destination, both call
 * sites). Codes whose messages grow and shrink with what they compute have many kinds, but few families. */

/* Adds a message whose row can be written; round 0 means none. */
static void round_add_message(struct rounds *rounds, uint32_t receive, int64_t round)
{
    struct trace *trace = rounds->trace;
    array_reserve(&rounds->messages, &rounds->messages_capacity, rounds->n_found_messages + 1,
                  sizeof *rounds->messages);
    const struct trace_operation *operation = &trace->operations[receive];
    const struct trace_operation *send = &trace->operations[operation->partner];
    struct late late = totals_late(rounds->totals, send, operation);
    if (round != 0 && late.late_ns != 0)
        totals_note_late(rounds->totals, late.cause == LATE_SENDER ? operation->rank : send->rank, late);
    rounds->messages[rounds->n_found_messages++] = (struct round_message){.send_post_ns = send->post_ns,
                                                                          .rank = operation->rank,
                                                                          .receive = receive,
                                                                          .sequence = operation->sequence,
                                                                          .round = round,
                                                                          .late = late};
}

static void add_member(struct rounds *rounds, size_t *n, struct round_member member)
{
    array_reserve(&rounds->members, &rounds->members_capacity, *n + 1, sizeof *rounds->members);
    rounds->members[(*n)++] = member;
}

/* Adds a rank that had only its posting call in the round, unless its step is part of it. */
static void add_caller(struct rounds *rounds, size_t *n, uint32_t root, const struct trace_operation *operation)
{
    struct trace_step *steps = rounds->trace->steps;
    if (operation->step != TRACE_NONE && steps[operation->step].number == operation->step_number &&
        round_root(steps, operation->step) == root)
        return;
    add_member(
        rounds, n,
        (struct round_member){.begin_ns = operation->post_ns,
                              .end_ns = operation->post_end_ns,
                              .begin_in_mpi_ns = operation->in_mpi_ns,
                              .end_in_mpi_ns = operation->in_mpi_ns + operation->post_end_ns - operation->post_ns,
                              .rank = operation->rank});
}

static int compare_members(const void *left, const void *right)
{
    const struct round_member *a = left, *b = right;
    return ORDER(a->rank, b->rank);
}

/* Makes one row of each rank, in the order of ranks, and widens the round's time to them. Returns how many ranks. */
static size_t merge_members(struct rounds *rounds, size_t n, int64_t id, int64_t *begin_ns, int64_t *end_ns)
{
    struct round_member *members = rounds->members;
    size_t n_ranks = 0;
    if (n > 1)
        qsort(members, n, sizeof *members, compare_members);
    for (size_t i = 0; i < n;) {
        struct round_member whole = members[i];
        for (i++; i < n && members[i].rank == whole.rank; i++) {
            if (members[i].begin_ns < whole.begin_ns) {
                whole.begin_ns = members[i].begin_ns;
                whole.begin_in_mpi_ns = members[i].begin_in_mpi_ns;
            }
            if (members[i].end_ns > whole.end_ns) {
                whole.end_ns = members[i].end_ns;
                whole.end_in_mpi_ns = members[i].end_in_mpi_ns;
            }
        }
        *begin_ns = whole.begin_ns < *begin_ns ? whole.begin_ns : *begin_ns;
        *end_ns = whole.end_ns > *end_ns ? whole.end_ns : *end_ns;
        sink_member(rounds->sink, id, whole.rank, whole.begin_ns, whole.end_ns,
                    whole.end_in_mpi_ns - whole.begin_in_mpi_ns);
        members[n_ranks++] = whole;
    }
    return n_ranks;
}

/* Adds a message to the two sums. */
static void add_hashes(struct map_key *sums, struct map_key message)
{
    message.c = 1;
    sums->a += map_hash(message);
    message.c = 2;
    sums->b += map_hash(message);
    sums->c++;
}

/* Describes the kind of the round, which is its first: its messages and their family. */
static struct trace_kind describe_kind(struct rounds *rounds, uint32_t root, uint64_t bytes)
{
    struct trace *trace = rounds->trace;
    struct map_key sums = {0};
    uint64_t smallest = UINT64_MAX, largest = 0;
    for (uint32_t i = trace->steps[root].first_message; i != TRACE_NONE; i = trace->operations[i].next) {
        const struct trace_operation *receive = &trace->operations[i], *send = &trace->operations[receive->partner];
        add_hashes(&sums, (struct map_key){(uint64_t)send->rank << 32 | receive->rank,
                                           (uint64_t)send->callsite << 32 | receive->callsite, 0});
        smallest = send->bytes < smallest ? send->bytes : smallest;
        largest = send->bytes > largest ? send->bytes : largest;
    }
    uint32_t *family = map_at(&rounds->families, sums), known = (uint32_t)rounds->families.n_entries;
    if (*family == MAP_ABSENT)
        *family = known - 1;
    return (struct trace_kind){.messages = sums.c,
                               .bytes = bytes,
                               .smallest_bytes = sums.c > 0 ? smallest : 0,
                               .largest_bytes = largest,
                               .family = *family};
}

/* Returns the kind of a round with these sums over its messages. */
static uint32_t find_kind(struct rounds *rounds, uint32_t root, struct map_key sums, uint64_t bytes)
{
    struct trace *trace = rounds->trace;
    uint32_t *kind = map_at(&rounds->kinds, sums);
    if (*kind == MAP_ABSENT) {
        trace_grow(&trace->kinds, trace->n_kinds, sizeof *trace->kinds);
        trace->kinds[trace->n_kinds] = describe_kind(rounds, root, bytes);
        *kind = (uint32_t)trace->n_kinds++;
    }
    trace->kinds[*kind].rounds++;
    return *kind;
}

static void write_round(struct rounds *rounds, uint32_t root)
{
    struct trace *trace = rounds->trace;
    int64_t id = ++rounds->n_rounds;
    size_t n_members = 0;
    for (uint32_t i = root; i != TRACE_NONE; i = trace->steps[i].next) {
        const struct trace_step *step = &trace->steps[i];
        add_member(rounds, &n_members,
                   (struct round_member){step->begin_ns, step->end_ns, step->begin_in_mpi_ns, step->end_in_mpi_ns,
                                         step->rank});
    }
    struct map_key sums = {0};
    uint64_t bytes = 0;
    for (uint32_t i = trace->steps[root].first_message; i != TRACE_NONE; i = trace->operations[i].next) {
        const struct trace_operation *receive = &trace->operations[i], *send = &trace->operations[receive->partner];
        add_hashes(&sums, (struct map_key){(uint64_t)send->rank << 32 | receive->rank, send->bytes, 0});
        bytes = (uint64_t)saturating_add((int64_t)bytes, (int64_t)send->bytes);
        add_caller(rounds, &n_members, root, send);
        add_caller(rounds, &n_members, root, receive);
        round_add_message(rounds, i, id);
    }
    uint32_t kind = find_kind(rounds, root, sums, bytes);
    int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
    n_members = merge_members(rounds, n_members, id, &begin_ns, &end_ns);
    totals_add_round(rounds->totals, kind, rounds->members, n_members);
    sink_round(rounds->sink, id, kind, begin_ns, end_ns);
    round_free_steps(rounds, root);
}

static int compare_found(const void *left, const void *right)
{
    const struct round_found *a = left, *b = right;
    return ORDER(a->begin_ns, b->begin_ns) ?: ORDER(a->first, b->first);
}

static int compare_messages(const void *left, const void *right)
{
    const struct round_message *a = left, *b = right;
    return ORDER(a->send_post_ns, b->send_post_ns) ?: ORDER(a->rank, b->rank) ?: ORDER(a->sequence, b->sequence);
}

/* Finds when a complete round began, and which of its steps is the first. */
static struct round_found describe(const struct trace *trace, uint32_t root)
{
    struct round_found found = {INT64_MAX, UINT64_MAX, root};
    uint32_t first_rank = UINT32_MAX;
    for (uint32_t i = root; i != TRACE_NONE; i = trace->steps[i].next) {
        const struct trace_step *step = &trace->steps[i];
        found.begin_ns = step->begin_ns < found.begin_ns ? step->begin_ns : found.begin_ns;
        first_rank = step->rank < first_rank ? step->rank : first_rank;
    }
    for (uint32_t i = root; i != TRACE_NONE; i = trace->steps[i].next)
        if (trace->steps[i].rank == first_rank && trace->steps[i].number < found.first)
            found.first = trace->steps[i].number;
    found.first = (found.first & ((UINT64_C(1) << 40) - 1)) | (uint64_t)first_rank << 40;
    return found;
}

static void write_message(struct rounds *rounds, const struct round_message *message)
{
    struct trace *trace = rounds->trace;
    uint32_t receive = message->receive, send = trace->operations[receive].partner;
    int64_t form;
    int64_t id = sink_message(rounds->sink, trace, receive, message->round, &form);
    totals_add_message(rounds->totals, &trace->operations[send], &trace->operations[receive], form, message->late);
    /* These ids serve the tables that tell more of few messages. */
    if (trace->operations[receive].origin != TRACE_NONE)
        trace->origins[trace->operations[receive].origin].message_id = id;
    if (trace->operations[send].origin != TRACE_NONE)
        trace->origins[trace->operations[send].origin].message_id = id;
    operation_written(trace, send);
    operation_written(trace, receive);
}

void rounds_write(struct rounds *rounds)
{
    struct trace *trace = rounds->trace;
    array_reserve(&rounds->found, &rounds->found_capacity, rounds->n_complete + 1, sizeof *rounds->found);
    for (size_t i = 0; i < rounds->n_complete; i++)
        rounds->found[i] = describe(trace, rounds->complete[i]);
    qsort(rounds->found, rounds->n_complete, sizeof *rounds->found, compare_found);
    for (size_t i = 0; i < rounds->n_complete; i++)
        write_round(rounds, rounds->found[i].root);
    rounds->n_complete = 0;
    if (rounds->n_found_messages > 1)
        qsort(rounds->messages, rounds->n_found_messages, sizeof *rounds->messages, compare_messages);
    for (size_t i = 0; i < rounds->n_found_messages; i++)
        write_message(rounds, &rounds->messages[i]);
    rounds->n_found_messages = 0;
    trace->n_rounds = (size_t)rounds->n_rounds;
}

void rounds_begin(struct rounds *rounds, struct trace *trace, struct sink *sink, struct totals *totals)
{
    *rounds = (struct rounds){.trace = trace, .sink = sink, .totals = totals, .first_free = TRACE_NONE};
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
        round_add_message(rounds, index, 0);
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
