/* Makes rows of rounds that are complete and of messages whose round is known, window by window (stream.c). Rounds are
 * numbered by their begin. Two are of the same kind if they have the same messages, as a multiset of (source,
 * destination, bytes). Two independent 64-bit sums over their hashes, their number and their bytes are compared for
 * that. Kinds are of one family if the first round of each has the same multiset of (source, destination, both call
 * sites). Codes whose messages grow and shrink with what they compute have many kinds, but few families. */
#include "interpose/trace/stream/round_write.h"

#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/saturating.h"

void round_add_message(struct rounds *rounds, uint32_t receive, int64_t round)
{
    struct trace *trace = rounds->trace;
    array_reserve(&rounds->messages, &rounds->messages_capacity, rounds->n_found_messages + 1,
                  sizeof *rounds->messages);
    const struct trace_operation *operation = &trace->operations[receive];
    rounds->messages[rounds->n_found_messages++] =
        (struct round_message){.send_post_ns = trace->operations[operation->partner].post_ns,
                               .rank = operation->rank,
                               .receive = receive,
                               .sequence = operation->sequence,
                               .round = round};
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
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Makes one row of each rank, in the order of ranks, and widens the round. */
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
                whole.begin_in_mpi_ns = members[i].begin_in_mpi_ns;
            }
            if (members[i].end_ns > whole.end_ns) {
                whole.end_ns = members[i].end_ns;
                whole.end_in_mpi_ns = members[i].end_in_mpi_ns;
            }
        }
        row->begin_ns = whole.begin_ns < row->begin_ns ? whole.begin_ns : row->begin_ns;
        row->end_ns = whole.end_ns > row->end_ns ? whole.end_ns : row->end_ns;
        sink_member(rounds->sink, (struct member_row){.round = id,
                                                      .begin_ns = whole.begin_ns,
                                                      .end_ns = whole.end_ns,
                                                      .in_mpi_ns = whole.end_in_mpi_ns - whole.begin_in_mpi_ns,
                                                      .rank = whole.rank});
    }
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
    struct round_row row = {
        .id = id, .begin_ns = INT64_MAX, .end_ns = INT64_MIN, .kind = find_kind(rounds, root, sums, bytes)};
    merge_members(rounds, n_members, id, &row);
    sink_round(rounds->sink, row);
    round_free_steps(rounds, root);
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
    int64_t id = sink_message(rounds->sink, trace, receive, message->round);
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
