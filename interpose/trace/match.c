/* MPI's rule of order makes matching a matter of counting: of one envelope (communicator, source, destination, tag) the
 * n-th send meets the n-th receive. Both come in the order of posting; a wildcard receive counts for the envelope that
 * its status gave it. That is right beside specific receives too: whatever resolved to an envelope could have taken
 * each of its messages, and MPI gives the earlier message to the earlier receive.
 *
 * Partitioned operations never meet others: of an envelope the i-th Psend_init meets the i-th Precv_init, and of these
 * two the n-th start the n-th (MPI-4.0, 4.2). What was posted while recording was off takes its place like the rest; no
 * message is made of it (marks.c), but those before and after come out right, whichever ranks had it off.
 *
 * What takes no place: cancelled operations, MPI_PROC_NULL, sends whose call failed. A receive that failed takes one
 * only where its message was too long for it (that message was received, cut off). What never completed (a killed job,
 * a freed request) takes its place in order if its envelope is known: MPI matched by order, whether or not anybody
 * asked. A wildcard receive that never completed has no envelope. It may have taken a message; where one of an envelope
 * that it fits is left over, the receives posted after it are marked uncertain. Also uncertain: threads whose calls on
 * one envelope overlap, receives whose wildcard was resolved through a shared request handle, communicators whose
 * creation was not seen, and pairs that contradict time on one node.
 */
#include "match.h"

#include <stdlib.h>

#include "map.h"
#include "persistent.h"

/* Operations of one envelope in order, linked through next[]. */
struct envelope {
    uint32_t first[2]; /* [direction] */
    uint32_t last[2];
};

struct matcher {
    struct trace *trace;
    struct map index;
    struct envelope *envelopes;
    size_t n_envelopes;
    uint32_t *next;          /* [n_operations] */
    struct map open_receive; /* (communicator, rank) -> earliest wildcard receive that never completed */
};

static bool has_lost(const struct trace *trace, int32_t rank)
{
    const struct trace_process *process = &trace->processes[rank];
    if (process->spool == NULL || process->damaged > 0 || process->spool->cut_off > 0)
        return true;
    for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
        if (process->spool->header.lost[i] > 0)
            return true;
    return false;
}

/* Whether the operation counts for its envelope; else the reason. */
static enum trace_reason envelope_reason(const struct trace_operation *operation)
{
    if (operation->peer == SPOOL_PROC_NULL)
        return REASON_PROC_NULL;
    if (operation->flags & SPOOL_CANCELLED)
        return REASON_CANCELLED;
    if ((operation->flags & SPOOL_FAILED) && (operation->direction == SPOOL_SEND || operation->peer < 0))
        return REASON_FAILED;
    if (operation->peer < 0 || operation->tag < 0) {
        if (operation->complete_ns != TRACE_NO_TIME)
            return REASON_FAILED;
        return operation->flags & SPOOL_FREED ? REASON_FREED : REASON_PENDING;
    }
    return REASON_MATCHED;
}

/* Why an operation that counts found no partner. */
static enum trace_reason leftover_reason(const struct trace *trace, const struct trace_operation *operation)
{
    if (operation->flags & SPOOL_FAILED)
        return REASON_FAILED;
    if (operation->peer_world < 0)
        return trace->n_spools < (size_t)trace->world_size ? REASON_PARTNER_LOST : REASON_UNMATCHED;
    if (has_lost(trace, operation->peer_world))
        return REASON_PARTNER_LOST;
    bool pending = operation->complete_ns == TRACE_NO_TIME && !(operation->flags & SPOOL_FREED);
    return pending ? REASON_PENDING : REASON_UNMATCHED;
}

static int note_open_receive(struct matcher *matcher, uint32_t index)
{
    const struct trace_operation *operation = &matcher->trace->operations[index];
    if (operation->direction != SPOOL_RECEIVE)
        return 0;
    uint32_t *first = map_at(&matcher->open_receive, (struct map_key){operation->communicator, operation->rank, 0});
    if (first == NULL)
        return -1;
    if (*first == MAP_ABSENT)
        *first = index;
    return 0;
}

/* Number of the request among the partitioned ones of its envelope, from 1; 0: not partitioned. TRACE_NONE: of a
 * request that was not recorded. */
static uint32_t partitioned_as(struct trace *trace, struct trace_operation *operation)
{
    if (!(operation->flags & SPOOL_PARTITIONED))
        return 0;
    const struct trace_origin *origin = operation->origin == TRACE_NONE ? NULL : &trace->origins[operation->origin];
    if (origin == NULL || origin->persistent == TRACE_NONE)
        return TRACE_NONE;
    const struct trace_persistent *persistent = &trace->persistents[origin->persistent];
    operation->uncertain |= persistent->uncertain;
    return persistent->ordinal == TRACE_NONE ? TRACE_NONE : persistent->ordinal + 1;
}

static int append(struct matcher *matcher, uint32_t index)
{
    struct trace_operation *operation = &matcher->trace->operations[index];
    bool send = operation->direction == SPOOL_SEND;
    uint32_t domain = partitioned_as(matcher->trace, operation);
    if (domain == TRACE_NONE)
        return 0;
    uint32_t source = send ? operation->rank : (uint32_t)operation->peer_world;
    uint32_t destination = send ? (uint32_t)operation->peer_world : operation->rank;
    uint32_t *found = map_at(
        &matcher->index, (struct map_key){(uint64_t)source << 32 | destination,
                                          (uint64_t)operation->communicator << 32 | (uint32_t)operation->tag, domain});
    if (found == NULL)
        return -1;
    if (*found == MAP_ABSENT) {
        struct envelope *grown = trace_grow(matcher->envelopes, matcher->n_envelopes, sizeof *grown);
        if (grown == NULL)
            return -1;
        matcher->envelopes = grown;
        *found = (uint32_t)matcher->n_envelopes;
        matcher->envelopes[matcher->n_envelopes++] =
            (struct envelope){{TRACE_NONE, TRACE_NONE}, {TRACE_NONE, TRACE_NONE}};
    }
    struct envelope *envelope = &matcher->envelopes[*found];
    uint32_t last = envelope->last[operation->direction];
    if (last == TRACE_NONE) {
        envelope->first[operation->direction] = index;
    } else {
        struct trace_operation *before = &matcher->trace->operations[last];
        if (before->lane != operation->lane && before->post_end_ns > operation->post_ns) {
            before->uncertain |= DOUBT_THREADS;
            operation->uncertain |= DOUBT_THREADS;
        }
        matcher->next[last] = index;
    }
    envelope->last[operation->direction] = index;
    return 0;
}

static void pair(struct trace *trace, uint32_t send_index, uint32_t receive_index)
{
    struct trace_operation *send = &trace->operations[send_index], *receive = &trace->operations[receive_index];
    bool by_status = (receive->flags & (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG)) != 0;
    bool backwards = trace->processes[send->rank].node == trace->processes[receive->rank].node &&
                     receive->complete_ns != TRACE_NO_TIME && receive->complete_ns < send->post_ns;
    unsigned uncertain = send->uncertain | receive->uncertain | (backwards ? DOUBT_TIME : 0U) |
                         (by_status && (receive->flags & SPOOL_SHARED_HANDLE) ? DOUBT_HANDLE : 0U) |
                         (receive->flags & SPOOL_FAILED ? DOUBT_FAILED : 0U);
    send->partner = receive_index;
    receive->partner = send_index;
    send->uncertain = receive->uncertain = (uint8_t)uncertain;
}

/* An open wildcard receive of the same rank and communicator may have taken what is left over. */
static void doubt_later_receives(struct matcher *matcher, const struct envelope *envelope)
{
    struct trace *trace = matcher->trace;
    uint32_t first = envelope->first[SPOOL_RECEIVE];
    if (first == TRACE_NONE)
        return;
    const struct trace_operation *receive = &trace->operations[first];
    if (receive->flags & SPOOL_PARTITIONED)
        return;
    uint32_t open = map_find(&matcher->open_receive, (struct map_key){receive->communicator, receive->rank, 0});
    if (open == MAP_ABSENT)
        return;
    const struct trace_operation *wildcard = &trace->operations[open];
    if (wildcard->tag != SPOOL_ANY && wildcard->tag != receive->tag)
        return;
    for (uint32_t i = first; i != TRACE_NONE; i = matcher->next[i])
        if (i > open && trace->operations[i].partner != TRACE_NONE) {
            trace->operations[i].uncertain |= DOUBT_WILDCARD;
            trace->operations[trace->operations[i].partner].uncertain |= DOUBT_WILDCARD;
        }
}

static void match_envelope(struct matcher *matcher, const struct envelope *envelope)
{
    struct trace *trace = matcher->trace;
    uint32_t send = envelope->first[SPOOL_SEND], receive = envelope->first[SPOOL_RECEIVE];
    while (send != TRACE_NONE && receive != TRACE_NONE) {
        const struct trace_operation *taker = &trace->operations[receive];
        if (!(taker->flags & SPOOL_FAILED) || trace->operations[send].bytes > taker->bytes) {
            pair(trace, send, receive);
            send = matcher->next[send];
        }
        receive = matcher->next[receive];
    }
    if (send != TRACE_NONE)
        doubt_later_receives(matcher, envelope);
}

int match(struct trace *trace, struct error *error)
{
    struct matcher matcher = {.trace = trace};
    int result = persistents_number(trace);
    if (result != 0)
        goto out;
    result = -1;
    matcher.next = malloc((trace->n_operations + 1) * sizeof *matcher.next);
    if (matcher.next == NULL)
        goto out;
    for (uint32_t i = 0; i < trace->n_operations; i++) {
        struct trace_operation *operation = &trace->operations[i];
        matcher.next[i] = TRACE_NONE;
        operation->reason = (uint8_t)envelope_reason(operation);
        bool open = operation->reason == REASON_PENDING || operation->reason == REASON_FREED;
        if (open && note_open_receive(&matcher, i) != 0)
            goto out;
        if (operation->reason == REASON_MATCHED && operation->peer_world >= 0 && append(&matcher, i) != 0)
            goto out;
    }
    for (size_t i = 0; i < matcher.n_envelopes; i++)
        match_envelope(&matcher, &matcher.envelopes[i]);
    for (size_t i = 0; i < trace->n_operations; i++) {
        struct trace_operation *operation = &trace->operations[i];
        if (operation->reason == REASON_MATCHED && operation->partner == TRACE_NONE)
            operation->reason = (uint8_t)leftover_reason(trace, operation);
    }
    result = 0;
out:
    map_release(&matcher.index);
    map_release(&matcher.open_receive);
    free(matcher.envelopes);
    free(matcher.next);
    return result == 0 ? 0 : error_set(error, "no memory to match %zu operations", trace->n_operations);
}
