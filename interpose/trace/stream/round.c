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
#include "share/base/saturating.h"
#include "share/base/memory.h"
#include "interpose/functions.h"
#include "interpose/trace/gather/place.h"
#include "share/base/level.h"
#include "share/base/one_of.h"

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

/* Few pairs of ranks exchange many messages, and few kinds have many rounds, so their sums mostly fit in memory where
 * the rows do not. Where they do not, the sums so far become rows, and readers add up several rows of a pair or kind.
 * The rules are those of the views late, rank_late and kind_wait of share/sql/schema.sql, which compute the same of a
 * trace without these sums; the golden traces hold that both say the same. */

/* Sums of either table that are kept at a time: about 20 MiB. */
enum { TOTALS_KEPT = 1 << 17 };

struct late_total {
    int64_t messages, late_ns, longest_ns;
};

struct pair_total {
    uint32_t source, destination;
    int64_t form, messages, bytes;
    struct late_total late[LATE_COUNT];
};

struct member_total {
    uint32_t kind, rank;
    int64_t rounds, time_ns, in_mpi_ns;
    int64_t wait_ns;     /* from its end to that of the round's last rank */
    int64_t longest_ns;  /* of that the part in rounds in which it was done first */
    int64_t last_rounds; /* in which it was the last one */
    int64_t late_ns[LATE_COUNT];
};

/* A wait of a rank within its time in the round. */
struct late_span {
    uint32_t rank;
    enum late_cause cause;
    int64_t begin_ns, end_ns;
};

/* Returns the size from which on a send waits for its receive, -1: it never does, or that is not known. */
static int64_t waits_from_bytes(const struct round_totals *totals, const struct trace_operation *send,
                                const struct trace_operation *receive)
{
    if (IS_ONE_OF(send->function, FN_Send, FN_Send_c, FN_Ssend, FN_Ssend_c, FN_Issend, FN_Issend_c))
        return 0; /* a blocking send that is not back before the receive is posted has waited, of any size */
    int64_t eager_bytes = totals->eager_bytes[message_level(totals->trace, send, receive) == LEVEL_INTER_NODE];
    bool never = IS_ONE_OF(send->function, FN_Bsend, FN_Bsend_c, FN_Rsend, FN_Rsend_c, FN_Ibsend, FN_Ibsend_c,
                           FN_Irsend, FN_Irsend_c);
    return never || eager_bytes == TRACE_NO_TIME ? -1 : saturating_add(eager_bytes, 1);
}

/* Finds who waited in a message: a receive posted before its send waits for the late sender; a send that needs its
 * receive (synchronous, or larger than the eager limit) and was posted before it waits for the late receiver. */
static struct late totals_late(const struct round_totals *totals, const struct trace_operation *send,
                               const struct trace_operation *receive)
{
    int64_t late_ns = receive->post_ns - send->post_ns;
    if (send->rank == receive->rank || late_ns == 0)
        return (struct late){0};
    if (late_ns < 0) {
        int64_t received_ns =
            receive->complete_ns == TRACE_NO_TIME ? -late_ns : receive->complete_ns - receive->post_ns;
        return (struct late){receive->post_ns, received_ns < -late_ns ? received_ns : -late_ns, LATE_SENDER};
    }
    int64_t from_bytes = waits_from_bytes(totals, send, receive);
    if (from_bytes < 0 || (int64_t)send->bytes < from_bytes || send->complete_ns == TRACE_NO_TIME ||
        send->complete_ns - send->post_ns < late_ns)
        return (struct late){0};
    return (struct late){send->post_ns, late_ns, LATE_RECEIVER};
}

/* Hands the sums so far to the sink and begins anew. */
static void totals_flush(struct round_totals *totals)
{
    for (size_t i = 0; i < totals->n_pairs; i++) {
        const struct pair_total *pair = &totals->pairs[i];
        const struct late_total *sender = &pair->late[LATE_SENDER], *receiver = &pair->late[LATE_RECEIVER];
        sink_add(totals->sink, SINK_MESSAGE_SUMS,
                 (const int64_t[]){pair->source, pair->destination, pair->form, pair->messages, pair->bytes,
                                   sender->messages, sender->late_ns, sender->longest_ns, receiver->messages,
                                   receiver->late_ns, receiver->longest_ns});
    }
    for (size_t i = 0; i < totals->n_members; i++) {
        const struct member_total *total = &totals->members[i];
        sink_add(totals->sink, SINK_KIND_SUMS,
                 (const int64_t[]){(int64_t)total->kind + 1, total->rank, total->rounds, total->time_ns,
                                   total->in_mpi_ns, total->wait_ns, total->longest_ns, total->last_rounds,
                                   total->late_ns[LATE_SENDER], total->late_ns[LATE_RECEIVER]});
    }
    totals->n_pairs = totals->n_members = 0;
    map_clear(&totals->pair_numbers);
    map_clear(&totals->member_numbers);
}

/* Adds a message, whose form has that id in the table form. */
static void totals_add_message(struct round_totals *totals, const struct trace_operation *send,
                               const struct trace_operation *receive, int64_t form, struct late late)
{
    struct map_key key = {(uint64_t)send->rank << 32 | receive->rank, (uint64_t)form, 0};
    if (totals->n_pairs >= TOTALS_KEPT)
        totals_flush(totals);
    uint32_t number = map_number(&totals->pair_numbers, key, totals->n_pairs);
    if (number == totals->n_pairs)
        TRACE_ADD(totals->pairs, totals->n_pairs,
                  (struct pair_total){.source = send->rank, .destination = receive->rank, .form = form});
    struct pair_total *pair = &totals->pairs[number];
    pair->messages++;
    pair->bytes = saturating_add(pair->bytes, (int64_t)send->bytes);
    if (late.late_ns == 0)
        return;
    struct late_total *total = &pair->late[late.cause];
    total->messages++;
    total->late_ns = saturating_add(total->late_ns, late.late_ns);
    total->longest_ns = late.late_ns > total->longest_ns ? late.late_ns : total->longest_ns;
}

/* Notes a wait of the round that totals_add_round adds next. */
static void totals_note_late(struct round_totals *totals, uint32_t rank, struct late late)
{
    array_reserve(&totals->spans, &totals->spans_capacity, totals->n_spans + 1, sizeof *totals->spans);
    totals->spans[totals->n_spans++] =
        (struct late_span){rank, late.cause, late.begin_ns, late.begin_ns + late.late_ns};
}

static int compare_spans(const void *left, const void *right)
{
    const struct late_span *a = left, *b = right;
    return ORDER(a->rank, b->rank) ?: ORDER(a->cause, b->cause) ?: ORDER(a->begin_ns, b->begin_ns);
}

static struct member_total *member_of(struct round_totals *totals, uint32_t kind, uint32_t rank)
{
    uint32_t number = map_number(&totals->member_numbers, (struct map_key){kind, rank, 0}, totals->n_members);
    if (number == totals->n_members)
        TRACE_ADD(totals->members, totals->n_members, (struct member_total){.kind = kind, .rank = rank});
    return &totals->members[number];
}

/* Adds the noted waits of a rank: however many overlap, their time counts once, for each cause by itself. Waits are in
 * the order of ranks; *at is the first one of this rank or of a later one. */
static void add_late(const struct round_totals *totals, struct member_total *total, const struct round_member *member,
                     size_t *at)
{
    int64_t until_ns[LATE_COUNT] = {member->begin_ns, member->begin_ns};
    for (; *at < totals->n_spans && totals->spans[*at].rank <= member->rank; ++*at) {
        const struct late_span *span = &totals->spans[*at];
        int64_t *until = &until_ns[span->cause];
        int64_t begin_ns = span->begin_ns > *until ? span->begin_ns : *until;
        int64_t end_ns = span->end_ns < member->end_ns ? span->end_ns : member->end_ns;
        if (span->rank != member->rank || end_ns <= begin_ns)
            continue;
        total->late_ns[span->cause] = saturating_add(total->late_ns[span->cause], end_ns - begin_ns);
        *until = end_ns;
    }
}

/* Adds a round of a kind with its ranks in ascending order, members[n_members]. */
static void totals_add_round(struct round_totals *totals, uint32_t kind, const struct round_member *members,
                             size_t n_members)
{
    if (totals->n_members >= TOTALS_KEPT)
        totals_flush(totals);
    if (totals->n_spans > 1)
        qsort(totals->spans, totals->n_spans, sizeof *totals->spans, compare_spans);
    size_t first = 0, last = 0, at = 0;
    for (size_t i = 1; i < n_members; i++) {
        first = members[i].end_ns < members[first].end_ns ? i : first;
        last = members[i].end_ns > members[last].end_ns ? i : last;
    }
    for (size_t i = 0; i < n_members; i++) {
        const struct round_member *member = &members[i];
        struct member_total *total = member_of(totals, kind, member->rank);
        int64_t wait_ns = members[last].end_ns - member->end_ns;
        total->rounds++;
        total->time_ns = saturating_add(total->time_ns, member->end_ns - member->begin_ns);
        total->in_mpi_ns = saturating_add(total->in_mpi_ns, member->end_in_mpi_ns - member->begin_in_mpi_ns);
        total->wait_ns = saturating_add(total->wait_ns, wait_ns);
        total->longest_ns = saturating_add(total->longest_ns, i == first ? wait_ns : 0);
        total->last_rounds += i == last;
        add_late(totals, total, member, &at);
    }
    totals->n_spans = 0;
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
    struct late late = totals_late(&rounds->totals, send, operation);
    if (round != 0 && late.late_ns != 0)
        totals_note_late(&rounds->totals, late.cause == LATE_SENDER ? operation->rank : send->rank, late);
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
    return (struct trace_kind){.messages = sums.c,
                               .bytes = bytes,
                               .smallest_bytes = sums.c > 0 ? smallest : 0,
                               .largest_bytes = largest,
                               .family = map_number(&rounds->families, sums, rounds->families.n_entries)};
}

/* Returns the kind of a round with these sums over its messages. */
static uint32_t find_kind(struct rounds *rounds, uint32_t root, struct map_key sums, uint64_t bytes)
{
    struct trace *trace = rounds->trace;
    uint32_t kind = map_number(&rounds->kinds, sums, trace->n_kinds);
    if (kind == trace->n_kinds)
        TRACE_ADD(trace->kinds, trace->n_kinds, describe_kind(rounds, root, bytes));
    trace->kinds[kind].rounds++;
    return kind;
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
    totals_add_round(&rounds->totals, kind, rounds->members, n_members);
    sink_round(rounds->sink, kind, begin_ns, end_ns);
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
    totals_add_message(&rounds->totals, &trace->operations[send], &trace->operations[receive], form, message->late);
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

void rounds_begin(struct rounds *rounds, struct trace *trace, struct sink *sink)
{
    *rounds = (struct rounds){
        .trace = trace, .sink = sink, .totals = {.trace = trace, .sink = sink}, .first_free = TRACE_NONE};
    trace_eager_limits(trace, rounds->totals.eager_bytes);
    barriers_build(&rounds->barriers, trace);
}

void rounds_end(struct rounds *rounds)
{
    totals_flush(&rounds->totals);
}

void rounds_release(struct rounds *rounds)
{
    map_release(&rounds->totals.pair_numbers);
    map_release(&rounds->totals.member_numbers);
    free(rounds->totals.pairs);
    free(rounds->totals.members);
    free(rounds->totals.spans);
    free(rounds->barriers.entries);
    free(rounds->barriers.first);
    map_release(&rounds->kinds);
    map_release(&rounds->families);
    free(rounds->complete);
    free(rounds->found);
    free(rounds->members);
    free(rounds->messages);
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
