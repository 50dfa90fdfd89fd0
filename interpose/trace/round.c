/* Steps that share a message are of one round, and so on transitively (union and find), unless a synchronising
 * collective that both ranks took part in lies between them: then the message belongs to the round of its receive, and
 * the sender has its posting call there. Messages of a rank to itself make no round. A ping-pong by blocking calls is
 * therefore a round a message, a ring of Sendrecv one a shift, a halo exchange one a step.
 *
 * A round is complete once all its steps are closed and each operation in them has its partner, whose step is known too
 * (or will never have one). Steps and messages of a round hang on its representative until then. Rounds that are
 * complete are numbered by their begin, window by window (stream.c). Two are of the same kind if they have the same
 * messages, as a multiset of (source, destination, bytes): compared by two independent 64-bit sums over their hashes,
 * their number and their bytes.
 */
#include "round.h"

#include <stdlib.h>

#include "in_mpi.h"

/* A round that is written now. */
struct round_found {
    int64_t begin_ns; /* of its earliest step */
    uint64_t first;   /* (rank, step) of its first step, which decides between equal begins */
    uint32_t root;
};

/* What one rank was in a round. */
struct round_member {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t begin_busy_ns;
    int64_t end_busy_ns;
    uint32_t rank;
};

/* A message whose row is written now. */
struct round_message {
    int64_t send_post_ns;
    uint32_t rank; /* of the receive */
    uint32_t receive;
    uint64_t sequence;
    int64_t round; /* 0: none */
};

int rounds_begin(struct rounds *rounds, struct trace *trace, struct sink *sink)
{
    *rounds = (struct rounds){.trace = trace, .sink = sink, .first_free = TRACE_NONE};
    return epochs_build(&rounds->epochs, trace);
}

void rounds_release(struct rounds *rounds)
{
    epochs_release(&rounds->epochs);
    map_release(&rounds->kinds);
    free(rounds->complete);
    free(rounds->found);
    free(rounds->members);
    free(rounds->messages);
}

static uint32_t find_root(struct trace_step *steps, uint32_t step)
{
    while (steps[step].parent != step) {
        steps[step].parent = steps[steps[step].parent].parent;
        step = steps[step].parent;
    }
    return step;
}

uint32_t round_open_step(struct rounds *rounds, uint32_t rank, uint32_t epoch, int64_t begin_ns)
{
    struct trace *trace = rounds->trace;
    uint32_t step = rounds->first_free;
    if (step != TRACE_NONE) {
        rounds->first_free = trace->steps[step].next;
    } else {
        struct trace_step *grown = trace_grow(trace->steps, trace->n_steps, sizeof *grown);
        if (grown == NULL || trace->n_steps >= TRACE_NONE)
            return TRACE_NONE;
        trace->steps = grown;
        step = (uint32_t)trace->n_steps++;
    }
    trace->steps[step] = (struct trace_step){.begin_ns = begin_ns,
                                             .end_ns = begin_ns,
                                             .first_post_ns = INT64_MAX,
                                             .number = ++rounds->n_opened,
                                             .rank = rank,
                                             .epoch = epoch,
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

static void free_steps(struct rounds *rounds, uint32_t root)
{
    struct trace_step *steps = rounds->trace->steps;
    uint32_t last = steps[root].last;
    for (uint32_t i = root; i != TRACE_NONE; i = steps[i].next)
        steps[i].number = 0;
    steps[last].next = rounds->first_free;
    rounds->first_free = root;
}

/* Whether nothing can join any more: then the round waits for its row, or is none. */
static void check_complete(struct rounds *rounds, uint32_t root)
{
    const struct trace_step *step = &rounds->trace->steps[root];
    if (step->open > 0 || step->held > 0)
        return;
    if (step->first_message == TRACE_NONE) {
        free_steps(rounds, root);
        return;
    }
    uint32_t *grown =
        trace_reserve(rounds->complete, rounds->n_complete + 1, &rounds->complete_capacity, sizeof *grown);
    if (grown == NULL) {
        rounds->no_memory = true;
        return;
    }
    rounds->complete = grown;
    rounds->complete[rounds->n_complete++] = root;
}

void round_close_step(struct rounds *rounds, uint32_t index)
{
    struct trace *trace = rounds->trace;
    struct trace_step *step = &trace->steps[index];
    /* A step begins with the first post among its own operations: not with one that turned out to belong elsewhere. */
    if (step->first_post_ns != INT64_MAX)
        step->begin_ns = step->first_post_ns;
    const struct busy *busy = &trace->processes[step->rank].busy;
    step->begin_busy_ns = busy_before(busy, step->begin_ns);
    step->end_busy_ns = busy_before(busy, step->end_ns);
    uint32_t root = find_root(trace->steps, index);
    trace->steps[root].open--;
    check_complete(rounds, root);
}

/* The operation, which may make a message, is in the step; or it is out of it, or its message is known. */
static void hold(struct rounds *rounds, struct trace_operation *operation)
{
    if (operation->step == TRACE_NONE || operation->held || !operation->counts)
        return;
    operation->held = true;
    rounds->trace->steps[find_root(rounds->trace->steps, operation->step)].held++;
}

static void let_go(struct rounds *rounds, struct trace_operation *operation)
{
    if (!operation->held)
        return;
    operation->held = false;
    uint32_t root = find_root(rounds->trace->steps, operation->step);
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

static int add_message(struct rounds *rounds, uint32_t receive, int64_t round)
{
    struct trace *trace = rounds->trace;
    struct round_message *grown =
        trace_reserve(rounds->messages, rounds->n_found_messages + 1, &rounds->messages_capacity, sizeof *grown);
    if (grown == NULL)
        return -1;
    rounds->messages = grown;
    const struct trace_operation *operation = &trace->operations[receive];
    rounds->messages[rounds->n_found_messages++] =
        (struct round_message){.send_post_ns = trace->operations[operation->partner].post_ns,
                               .rank = operation->rank,
                               .receive = receive,
                               .sequence = operation->sequence,
                               .round = round};
    return 0;
}

/* Both sides of a message are matched, and it is known to which steps they belong: the message is of its receive's
 * round, else of its send's. */
static int take_message(struct rounds *rounds, uint32_t index)
{
    struct trace *trace = rounds->trace;
    struct trace_step *steps = trace->steps;
    struct trace_operation *receive = &trace->operations[index], *send = &trace->operations[receive->partner];
    if (receive->step == TRACE_NONE && send->step == TRACE_NONE)
        return add_message(rounds, index, 0);
    uint32_t home = find_root(steps, receive->step != TRACE_NONE ? receive->step : send->step);
    if (receive->step != TRACE_NONE && send->step != TRACE_NONE) {
        uint32_t sent = find_root(steps, send->step);
        if (sent != home && !epochs_separate(&rounds->epochs, &steps[receive->step], &steps[send->step]))
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
    return 0;
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

int round_place(struct rounds *rounds, uint32_t index, uint32_t step)
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
    if (!operation->counts || operation->partner == TRACE_NONE || !trace->operations[operation->partner].placed)
        return 0;
    return take_message(rounds, operation->direction == SPOOL_RECEIVE ? index : operation->partner);
}

int round_match(struct rounds *rounds, uint32_t index)
{
    const struct trace_operation *receive = &rounds->trace->operations[index];
    const struct trace_operation *send = &rounds->trace->operations[receive->partner];
    if (!receive->counts || !send->counts)
        return add_message(rounds, index, 0);
    return receive->placed && send->placed ? take_message(rounds, index) : 0;
}

void round_give_up(struct rounds *rounds, uint32_t index)
{
    struct trace_operation *operation = &rounds->trace->operations[index];
    operation->counts = false;
    let_go(rounds, operation);
}

static int add_member(struct rounds *rounds, size_t *n, struct round_member member)
{
    struct round_member *grown = trace_reserve(rounds->members, *n + 1, &rounds->members_capacity, sizeof *grown);
    if (grown == NULL)
        return -1;
    rounds->members = grown;
    rounds->members[(*n)++] = member;
    return 0;
}

/* The rank had only its posting call in the round, unless its step is part of it. */
static int add_caller(struct rounds *rounds, size_t *n, uint32_t root, const struct trace_operation *operation)
{
    struct trace_step *steps = rounds->trace->steps;
    if (operation->step != TRACE_NONE && steps[operation->step].number == operation->step_number &&
        find_root(steps, operation->step) == root)
        return 0;
    return add_member(
        rounds, n,
        (struct round_member){.begin_ns = operation->post_ns,
                              .end_ns = operation->post_end_ns,
                              .begin_busy_ns = operation->busy_ns,
                              .end_busy_ns = operation->busy_ns + operation->post_end_ns - operation->post_ns,
                              .rank = operation->rank});
}

static int compare_members(const void *left, const void *right)
{
    const struct round_member *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Of each rank one row, in the order of ranks; widens the round. */
static void merge_members(struct rounds *rounds, size_t n, int64_t id, struct round_row *row)
{
    struct round_member *members = rounds->members;
    if (n > 1)
        qsort(members, n, sizeof *members, compare_members);
    for (size_t i = 0; i < n;) {
        struct round_member whole = members[i];
        for (i++; i < n && members[i].rank == whole.rank; i++) {
            if (members[i].begin_ns < whole.begin_ns) {
                whole.begin_ns = members[i].begin_ns;
                whole.begin_busy_ns = members[i].begin_busy_ns;
            }
            if (members[i].end_ns > whole.end_ns) {
                whole.end_ns = members[i].end_ns;
                whole.end_busy_ns = members[i].end_busy_ns;
            }
        }
        row->begin_ns = whole.begin_ns < row->begin_ns ? whole.begin_ns : row->begin_ns;
        row->end_ns = whole.end_ns > row->end_ns ? whole.end_ns : row->end_ns;
        sink_member(rounds->sink, (struct member_row){.round = id,
                                                      .begin_ns = whole.begin_ns,
                                                      .end_ns = whole.end_ns,
                                                      .in_mpi_ns = whole.end_busy_ns - whole.begin_busy_ns,
                                                      .rank = whole.rank});
    }
}

/* The kind of a round with these sums over its messages, TRACE_NONE: no memory. */
static uint32_t find_kind(struct rounds *rounds, struct map_key sums, uint64_t bytes)
{
    struct trace *trace = rounds->trace;
    uint32_t *kind = map_at(&rounds->kinds, sums);
    struct trace_kind *grown = kind == NULL ? NULL : trace_grow(trace->kinds, trace->n_kinds, sizeof *grown);
    if (grown == NULL)
        return TRACE_NONE;
    trace->kinds = grown;
    if (*kind == MAP_ABSENT) {
        *kind = (uint32_t)trace->n_kinds;
        trace->kinds[trace->n_kinds++] = (struct trace_kind){.messages = sums.c, .bytes = bytes};
    }
    trace->kinds[*kind].rounds++;
    return *kind;
}

static int write_round(struct rounds *rounds, uint32_t root)
{
    struct trace *trace = rounds->trace;
    int64_t id = ++rounds->n_rounds;
    size_t n_members = 0;
    for (uint32_t i = root; i != TRACE_NONE; i = trace->steps[i].next) {
        const struct trace_step *step = &trace->steps[i];
        if (add_member(rounds, &n_members,
                       (struct round_member){step->begin_ns, step->end_ns, step->begin_busy_ns, step->end_busy_ns,
                                             step->rank}) != 0)
            return -1;
    }
    struct map_key sums = {0};
    uint64_t bytes = 0;
    for (uint32_t i = trace->steps[root].first_message; i != TRACE_NONE; i = trace->operations[i].next) {
        const struct trace_operation *receive = &trace->operations[i], *send = &trace->operations[receive->partner];
        struct map_key key = {(uint64_t)send->rank << 32 | receive->rank, send->bytes, 1};
        sums.a += map_hash(key);
        key.c = 2;
        sums.b += map_hash(key);
        sums.c++;
        bytes += send->bytes;
        if (add_caller(rounds, &n_members, root, send) != 0 || add_caller(rounds, &n_members, root, receive) != 0 ||
            add_message(rounds, i, id) != 0)
            return -1;
    }
    struct round_row row = {.id = id, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    row.kind = find_kind(rounds, sums, bytes);
    if (row.kind == TRACE_NONE)
        return -1;
    merge_members(rounds, n_members, id, &row);
    sink_round(rounds->sink, row);
    free_steps(rounds, root);
    return 0;
}

static int compare_found(const void *left, const void *right)
{
    const struct round_found *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int compare_messages(const void *left, const void *right)
{
    const struct round_message *a = left, *b = right;
    if (a->send_post_ns != b->send_post_ns)
        return a->send_post_ns < b->send_post_ns ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* When a complete round began, and which of its steps is the first. */
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
    int64_t id = sink_message(rounds->sink, trace, receive, message->round);
    /* For the tables that tell more of few messages. */
    if (trace->operations[receive].origin != TRACE_NONE)
        trace->origins[trace->operations[receive].origin].message_id = id;
    if (trace->operations[send].origin != TRACE_NONE)
        trace->origins[trace->operations[send].origin].message_id = id;
    operation_written(trace, send);
    operation_written(trace, receive);
}

int rounds_write(struct rounds *rounds)
{
    struct trace *trace = rounds->trace;
    struct round_found *grown =
        trace_reserve(rounds->found, rounds->n_complete + 1, &rounds->found_capacity, sizeof *grown);
    if (grown == NULL || rounds->no_memory)
        return -1;
    rounds->found = grown;
    for (size_t i = 0; i < rounds->n_complete; i++)
        rounds->found[i] = describe(trace, rounds->complete[i]);
    qsort(rounds->found, rounds->n_complete, sizeof *rounds->found, compare_found);
    for (size_t i = 0; i < rounds->n_complete; i++)
        if (write_round(rounds, rounds->found[i].root) != 0)
            return -1;
    rounds->n_complete = 0;
    if (rounds->n_found_messages > 1)
        qsort(rounds->messages, rounds->n_found_messages, sizeof *rounds->messages, compare_messages);
    for (size_t i = 0; i < rounds->n_found_messages; i++)
        write_message(rounds, &rounds->messages[i]);
    rounds->n_found_messages = 0;
    trace->n_rounds = (size_t)rounds->n_rounds;
    return 0;
}
