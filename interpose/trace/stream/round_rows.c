/* Makes rows of rounds that are complete and of messages whose round is known, window by window (stream.c). Rounds are
 * numbered by their begin. Two are of the same kind if they have the same messages, as a multiset of (source,
 * destination, bytes). Two independent 64-bit sums over their hashes, their number and their bytes are compared for
 * that. Kinds are of one family if the first round of each has the same multiset of (source, destination, both call
 * sites). Codes whose messages grow and shrink with what they compute have many kinds, but few families. */
#include "interpose/trace/stream/round_rows.h"

#include <stdlib.h>

#include "interpose/functions.h"
#include "interpose/trace/gather/place.h"
#include "share/base/array.h"
#include "share/base/level.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"
#include "share/base/saturating.h"

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

static int compare_members(const void *left, const void *right)
{
    const struct round_member *a = left, *b = right;
    return ORDER(a->rank, b->rank);
}

/* Makes one row of each rank, in the order of ranks, and widens the round's time to them. Returns how many ranks. */
static size_t merge_members(struct sink *sink, struct round_member *members, size_t n, int64_t id, int64_t *begin_ns,
                            int64_t *end_ns)
{
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
        sink_member(sink, id, whole.rank, whole.begin_ns, whole.end_ns, whole.end_in_mpi_ns - whole.begin_in_mpi_ns);
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
static struct trace_kind describe_kind(struct round_rows *rows, const struct complete_message *messages, size_t n,
                                       uint64_t bytes)
{
    struct map_key sums = {0};
    uint64_t smallest = UINT64_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const struct trace_operation *receive = &messages[i].receive, *send = &messages[i].send;
        add_hashes(&sums, (struct map_key){(uint64_t)send->rank << 32 | receive->rank,
                                           (uint64_t)send->callsite << 32 | receive->callsite, 0});
        smallest = send->bytes < smallest ? send->bytes : smallest;
        largest = send->bytes > largest ? send->bytes : largest;
    }
    return (struct trace_kind){.messages = sums.c,
                               .bytes = bytes,
                               .smallest_bytes = sums.c > 0 ? smallest : 0,
                               .largest_bytes = largest,
                               .family = map_number(&rows->families, sums, rows->families.n_entries)};
}

/* Returns the kind of a round with these sums over its messages[n]. */
static uint32_t find_kind(struct round_rows *rows, const struct complete_message *messages, size_t n,
                          struct map_key sums, uint64_t bytes)
{
    struct trace *trace = rows->trace;
    uint32_t kind = map_number(&rows->kinds, sums, trace->n_kinds);
    if (kind == trace->n_kinds)
        TRACE_ADD(trace->kinds, trace->n_kinds, describe_kind(rows, messages, n, bytes));
    trace->kinds[kind].rounds++;
    return kind;
}

/* Finds who waited in a message, which has that number; of a round that is noted for it as well. */
static void find_late(struct round_rows *rows, const struct complete_rows *complete, size_t number, bool in_round)
{
    const struct trace_operation *send = &complete->messages[number].send,
                                 *receive = &complete->messages[number].receive;
    struct late late = totals_late(&rows->totals, send, receive);
    rows->lates[number] = late;
    if (in_round && late.late_ns != 0)
        totals_note_late(&rows->totals, late.cause == LATE_SENDER ? receive->rank : send->rank, late);
}

/* Compares numbers of messages by the posts of their sends. */
static int compare_messages(const void *left, const void *right, void *context)
{
    const struct complete_message *messages = context;
    const struct complete_message *a = &messages[*(const uint32_t *)left], *b = &messages[*(const uint32_t *)right];
    return ORDER(a->send.post_ns, b->send.post_ns) ?: ORDER(a->receive.rank, b->receive.rank) ?:
           ORDER(a->receive.sequence, b->receive.sequence);
}

static void write_message(struct round_rows *rows, const struct complete_message *message, struct late late)
{
    const struct trace_operation *send = &message->send, *receive = &message->receive;
    int64_t form;
    int64_t id = sink_message(rows->sink, rows->trace, send, receive, message->round, &form);
    totals_add_message(&rows->totals, send, receive, form, late);
    /* These ids serve the tables that tell more of few messages. */
    if (receive->origin != TRACE_NONE)
        rows->trace->origins[receive->origin].message_id = id;
    if (send->origin != TRACE_NONE)
        rows->trace->origins[send->origin].message_id = id;
}

/* Makes the rows of the n messages of rows->numbers, in the order of their posts. */
static void write_messages(struct round_rows *rows, const struct complete_rows *complete, size_t n)
{
    if (n > 1)
        qsort_r(rows->numbers, n, sizeof *rows->numbers, compare_messages, complete->messages);
    for (size_t i = 0; i < n; i++)
        write_message(rows, &complete->messages[rows->numbers[i]], rows->lates[rows->numbers[i]]);
}

static void write_round(struct round_rows *rows, struct complete_rows *complete, const struct complete_round *round)
{
    int64_t id = ++rows->n_rounds;
    struct map_key sums = {0};
    uint64_t bytes = 0;
    struct complete_message *messages = complete->messages + round->first_message;
    struct round_member *members = complete->members + round->first_member;
    for (size_t i = 0; i < round->n_messages; i++) {
        const struct trace_operation *receive = &messages[i].receive, *send = &messages[i].send;
        add_hashes(&sums, (struct map_key){(uint64_t)send->rank << 32 | receive->rank, send->bytes, 0});
        bytes = (uint64_t)saturating_add((int64_t)bytes, (int64_t)send->bytes);
        messages[i].round = id;
        find_late(rows, complete, round->first_message + i, true);
    }
    uint32_t kind = find_kind(rows, messages, round->n_messages, sums, bytes);
    int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
    size_t n_members = merge_members(rows->sink, members, round->n_members, id, &begin_ns, &end_ns);
    totals_add_round(&rows->totals, kind, members, n_members);
    sink_round(rows->sink, kind, begin_ns, end_ns, rows->sink->n_messages + 1);
    for (size_t i = 0; i < round->n_messages; i++)
        rows->numbers[i] = (uint32_t)(round->first_message + i);
    write_messages(rows, complete, round->n_messages);
}

static int compare_rounds(const void *left, const void *right)
{
    const struct complete_round *a = left, *b = right;
    return ORDER(a->begin_ns, b->begin_ns) ?: ORDER(a->first, b->first);
}

static void write_alone(struct round_rows *rows, const struct trace_operation *operation)
{
    int64_t id = sink_unmatched(rows->sink, operation);
    if (operation->origin != TRACE_NONE)
        rows->trace->origins[operation->origin].unmatched_id = id;
}

int round_rows_write(struct round_rows *rows, struct complete_rows *complete)
{
    for (size_t i = 0; i < complete->n_calls; i++)
        sink_call(rows->sink, complete->calls[i]);
    for (size_t i = 0; i < complete->n_left_out; i++)
        sink_operation_call(rows->sink, &complete->left_out[i]);
    array_reserve(&rows->lates, &rows->lates_capacity, complete->n_messages, sizeof *rows->lates);
    array_reserve(&rows->numbers, &rows->numbers_capacity, complete->n_messages, sizeof *rows->numbers);
    if (complete->n_rounds > 1)
        qsort(complete->rounds, complete->n_rounds, sizeof *complete->rounds, compare_rounds);
    for (size_t i = 0; i < complete->n_rounds; i++)
        write_round(rows, complete, &complete->rounds[i]);
    rows->trace->n_rounds = (size_t)rows->n_rounds;
    size_t n_in_none = 0;
    for (size_t i = 0; i < complete->n_messages; i++)
        if (complete->messages[i].round == 0) {
            find_late(rows, complete, i, false);
            rows->numbers[n_in_none++] = (uint32_t)i;
        }
    write_messages(rows, complete, n_in_none);
    for (size_t i = 0; i < complete->n_alone; i++)
        write_alone(rows, &complete->alone[i]);
    complete->n_rounds = complete->n_messages = complete->n_members = 0;
    complete->n_alone = complete->n_left_out = complete->n_calls = 0;
    return sink_flush(rows->sink);
}

void complete_rows_release(struct complete_rows *complete)
{
    free(complete->rounds);
    free(complete->messages);
    free(complete->members);
    free(complete->alone);
    free(complete->left_out);
    free(complete->calls);
    *complete = (struct complete_rows){0};
}

void round_rows_begin(struct round_rows *rows, struct trace *trace, struct sink *sink)
{
    *rows = (struct round_rows){.trace = trace, .sink = sink, .totals = {.trace = trace, .sink = sink}};
    trace_eager_limits(trace, rows->totals.eager_bytes);
}

void round_rows_end(struct round_rows *rows)
{
    totals_flush(&rows->totals);
}

void round_rows_release(struct round_rows *rows)
{
    map_release(&rows->totals.pair_numbers);
    map_release(&rows->totals.member_numbers);
    free(rows->totals.pairs);
    free(rows->totals.members);
    free(rows->totals.spans);
    map_release(&rows->kinds);
    map_release(&rows->families);
    free(rows->numbers);
    free(rows->lates);
}
