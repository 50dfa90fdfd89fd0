/* Few pairs of ranks exchange many messages, and few kinds have many rounds, so their sums mostly fit in memory where
 * the rows do not. Where they do not, the sums so far become rows, and readers add up several rows of a pair or kind.
 * The rules are those of the views late, rank_late and kind_wait of share/sql/schema.sql, which compute the same of a
 * trace without these sums; the golden traces hold that both say the same. */
#include "interpose/trace/stream/totals.h"

#include <stdlib.h>

#include "interpose/functions.h"
#include "interpose/trace/gather/place.h"
#include "share/base/array.h"
#include "share/base/level.h"
#include "share/base/order.h"
#include "share/base/saturating.h"

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

void totals_begin(struct totals *totals, const struct trace *trace, struct sink *sink)
{
    *totals = (struct totals){.trace = trace, .sink = sink};
    trace_eager_limits(trace, totals->eager_bytes);
}

void totals_release(struct totals *totals)
{
    map_release(&totals->pair_numbers);
    map_release(&totals->member_numbers);
    free(totals->pairs);
    free(totals->members);
    free(totals->spans);
}

/* Returns the size from which on a send waits for its receive, -1: it never does, or that is not known. */
static int64_t waits_from_bytes(const struct totals *totals, const struct trace_operation *send,
                                const struct trace_operation *receive)
{
    switch (send->function) {
    case FN_Send:
    case FN_Send_c:
    case FN_Ssend:
    case FN_Ssend_c:
    case FN_Issend:
    case FN_Issend_c:
        return 0; /* a blocking send that is not back before the receive is posted has waited, of any size */
    case FN_Bsend:
    case FN_Bsend_c:
    case FN_Rsend:
    case FN_Rsend_c:
    case FN_Ibsend:
    case FN_Ibsend_c:
    case FN_Irsend:
    case FN_Irsend_c:
        return -1;
    default: {
        int64_t eager_bytes = totals->eager_bytes[message_level(totals->trace, send, receive) == LEVEL_INTER_NODE];
        return eager_bytes == TRACE_NO_TIME ? -1 : saturating_add(eager_bytes, 1);
    }
    }
}

struct late totals_late(const struct totals *totals, const struct trace_operation *send,
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

void totals_add_message(struct totals *totals, const struct trace_operation *send,
                        const struct trace_operation *receive, int64_t form, struct late late)
{
    struct map_key key = {(uint64_t)send->rank << 32 | receive->rank, (uint64_t)form, 0};
    if (totals->n_pairs >= TOTALS_KEPT)
        totals_flush(totals);
    uint32_t *number = map_at(&totals->pair_numbers, key);
    if (*number == MAP_ABSENT) {
        *number = (uint32_t)totals->n_pairs;
        trace_grow(&totals->pairs, totals->n_pairs, sizeof *totals->pairs);
        totals->pairs[totals->n_pairs++] =
            (struct pair_total){.source = send->rank, .destination = receive->rank, .form = form};
    }
    struct pair_total *pair = &totals->pairs[*number];
    pair->messages++;
    pair->bytes = saturating_add(pair->bytes, (int64_t)send->bytes);
    if (late.late_ns == 0)
        return;
    struct late_total *total = &pair->late[late.cause];
    total->messages++;
    total->late_ns = saturating_add(total->late_ns, late.late_ns);
    total->longest_ns = late.late_ns > total->longest_ns ? late.late_ns : total->longest_ns;
}

void totals_note_late(struct totals *totals, uint32_t rank, struct late late)
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

static struct member_total *member_of(struct totals *totals, uint32_t kind, uint32_t rank)
{
    uint32_t *number = map_at(&totals->member_numbers, (struct map_key){kind, rank, 0});
    if (*number == MAP_ABSENT) {
        *number = (uint32_t)totals->n_members;
        trace_grow(&totals->members, totals->n_members, sizeof *totals->members);
        totals->members[totals->n_members++] = (struct member_total){.kind = kind, .rank = rank};
    }
    return &totals->members[*number];
}

/* Adds the noted waits of a rank: however many overlap, their time counts once, for each cause by itself. Waits are in
 * the order of ranks; *at is the first one of this rank or of a later one. */
static void add_late(const struct totals *totals, struct member_total *total, const struct round_member *member,
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

void totals_add_round(struct totals *totals, uint32_t kind, const struct round_member *members, size_t n_members)
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

void totals_flush(struct totals *totals)
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
