/* MPI's rule of order makes matching a matter of counting: the n-th send of an envelope (communicator, source,
 * destination, tag) meets the n-th receive. Both come in the order of posting; a wildcard receive counts for the
 * envelope that its status gave it. That is right beside specific receives too: whatever resolved to an envelope could
 * have taken each of its messages, and MPI gives the earlier message to the earlier receive.
 *
 * Partitioned operations never meet others: the i-th Psend_init of an envelope meets the i-th Precv_init, and their
 * n-th starts meet each other (MPI-4.0, 4.2). Operations posted while recording was off take their places like the
 * rest. They make no message (marks.c), but those before and after come out right, whichever ranks had recording off.
 *
 * Cancelled operations, MPI_PROC_NULL and calls that failed take no place. A receive that failed takes one only where
 * its message was too long for it (that message was received, cut off). An operation that never completed (a killed
 * job, a freed request) takes its place in order if its envelope is known: MPI matches by order, also where no call
 * asks for the completion. A wildcard receive that never completed has no envelope: see below.
 *
 * For some operations it is unknown whether they took a place: one on which MPI_Cancel was called and whose status
 * was not read, a receive that its error handler left by a jump, one that failed after it was posted. They get a
 * place where that is likelier; what comes after them on their envelope is uncertain. So is what was posted after
 * records of its process were lost (all before is there, and in order). Four more things make a pair uncertain:
 * threads whose calls on one envelope overlap, a wildcard that was resolved through a shared request handle, a
 * communicator whose creation was not seen, and times on one node that contradict the pair.
 *
 * Of a thinned run (gather/bursts.h) the operations of a burst are matched by their numbers: what each side had counted
 * before the burst, and the order in it. One whose number the other side has not in the burst is cut off.
 *
 * Operations of a rank come in the order of posting, those of different ranks in any order: an operation without a
 * partner yet waits in its envelope. */
#include "interpose/trace/stream/match.h"

#include <stdlib.h>

#include "interpose/database/row.h"
#include "interpose/trace/records/records.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* A wildcard receive that never completed (a killed job, a freed request) has no envelope, and may have taken a message
 * of any envelope that it fits. It took none of an envelope whose messages are all known to be received. Otherwise a
 * send is left over at the end, or met a receive that never completed either. Then all messages of the envelope that
 * were received after the wildcard was posted may be shifted by one, and are marked uncertain. Most of their rows are
 * written by then, so they are marked in the database, all in one pass. */

/* Returns the key of open receives with one communicator, rank, source and tag (either may be SPOOL_ANY); the earliest
 * is kept. */
static struct map_key open_key(uint32_t communicator, uint32_t rank, int32_t source, int32_t tag)
{
    return (struct map_key){(uint64_t)communicator << 32 | rank, (uint64_t)(uint32_t)source << 32 | (uint32_t)tag, 0};
}

static void doubt_note_open(struct open_wildcards *open, const struct trace_operation *operation)
{
    if (operation->direction != SPOOL_RECEIVE)
        return;
    int32_t source = operation->peer_world >= 0 ? operation->peer_world : SPOOL_ANY;
    int32_t tag = operation->tag >= 0 ? operation->tag : SPOOL_ANY;
    struct map_key key = open_key(operation->communicator, operation->rank, source, tag);
    if (map_number(&open->numbers, key, open->n) == open->n)
        ARRAY_ADD(open->posts_ns, open->n, operation->post_ns);
}

/* Returns when the earliest wildcard receive was posted that fits the envelope; DOUBT_NEVER: there is none. */
static int64_t doubt_since(const struct open_wildcards *open, const struct envelope *envelope)
{
    uint32_t communicator = (uint32_t)(envelope->key.b >> 32), destination = (uint32_t)envelope->key.a;
    int32_t source = (int32_t)(envelope->key.a >> 32), tag = (int32_t)(uint32_t)envelope->key.b;
    const int32_t fits[][2] = {{SPOOL_ANY, SPOOL_ANY}, {SPOOL_ANY, tag}, {source, SPOOL_ANY}};
    int64_t since_ns = DOUBT_NEVER;
    for (size_t i = 0; envelope->key.c == 0 && open->n > 0 && i < sizeof fits / sizeof *fits; i++) {
        uint32_t number = map_find(&open->numbers, open_key(communicator, destination, fits[i][0], fits[i][1]));
        if (number != MAP_ABSENT && open->posts_ns[number] < since_ns)
            since_ns = open->posts_ns[number];
    }
    return since_ns;
}

static void doubt_left_over(const struct open_wildcards *open, struct envelope *envelope, int64_t before_ns)
{
    int64_t since_ns = doubt_since(open, envelope);
    if (since_ns < before_ns && since_ns < envelope->doubt_ns)
        envelope->doubt_ns = since_ns;
}

static int execute(sqlite3 *database, const char *sql)
{
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

/* Fills temporary tables of a database with messages: which envelopes are doubtful from when on, and which forms have
 * not that doubt yet. Then finds the messages. Returns 0, or -1: the database says why. */
static int find_doubtful(const struct envelope *envelopes, size_t n, const struct sink *sink, sqlite3 *database)
{
    if (execute(database, "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE doubtful(src, dst, comm, tag, since_ns, "
                          "PRIMARY KEY (src, dst, comm, tag)) WITHOUT ROWID;"
                          "CREATE TEMP TABLE free_form(id INTEGER PRIMARY KEY)") != 0)
        return -1;
    struct row row = row_prepare(database, "doubtful", 5), form = row_prepare(database, "free_form", 1);
    for (size_t i = 0; i < n; i++) {
        const struct envelope *envelope = &envelopes[i];
        if (envelope->doubt_ns != DOUBT_NEVER)
            row_insert(&row, "iuibi", envelope->key.a >> 32, (uint32_t)envelope->key.a, envelope->key.b >> 32,
                       (int32_t)(uint32_t)envelope->key.b, envelope->doubt_ns);
    }
    for (uint32_t i = 0; i < sink->n_forms; i++)
        if (!sink_form_has(sink, i, DOUBT_WILDCARD))
            row_insert(&form, "k", i);
    if ((row_finish(&row) | row_finish(&form)) != 0)
        return -1;
    return execute(database,
                   "CREATE TEMP TABLE shifted(message INTEGER PRIMARY KEY, form INTEGER, bytes INTEGER);"
                   "INSERT INTO shifted SELECT m.id, m.form, m.bytes FROM message_row m JOIN doubtful d ON d.src = "
                   "m.src AND d.dst = m.dst AND d.comm = m.comm AND d.tag = m.tag JOIN free_form f ON f.id = m.form "
                   "WHERE m.send_post_ns + m.late_ns > d.since_ns");
}

/* Messages of a form that get the doubt. */
struct shifted {
    int64_t messages, bytes, twin;
};

static int count_shifted(sqlite3 *database, struct shifted *shifted)
{
    sqlite3_stmt *statement = NULL;
    int step = sqlite3_prepare_v2(database, "SELECT form, count(*), sum(bytes) FROM shifted GROUP BY form", -1,
                                  &statement, NULL) == SQLITE_OK
                   ? SQLITE_ROW
                   : SQLITE_ERROR;
    while (step == SQLITE_ROW && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct shifted *form = &shifted[sqlite3_column_int64(statement, 0) - 1];
        form->messages += sqlite3_column_int64(statement, 1);
        form->bytes += sqlite3_column_int64(statement, 2);
    }
    sqlite3_finalize(statement);
    return step == SQLITE_DONE ? 0 : -1;
}

static int shift(sqlite3 *database, const struct shifted *shifted, size_t n_forms)
{
    if (execute(database, "CREATE TEMP TABLE twin(form INTEGER PRIMARY KEY, id INTEGER)") != 0)
        return -1;
    struct row row = row_prepare(database, "twin", 2);
    for (uint32_t i = 0; i < n_forms; i++)
        if (shifted[i].messages > 0)
            row_insert(&row, "ki", i, shifted[i].twin);
    if (row_finish(&row) != 0)
        return -1;
    return execute(database, "UPDATE message_row SET form = (SELECT id FROM twin WHERE twin.form = message_row.form) "
                             "WHERE id IN (SELECT message FROM shifted);"
                             "DROP TABLE shifted; DROP TABLE twin; DROP TABLE doubtful; DROP TABLE free_form");
}

/* Each form of the messages in question gets a twin with the doubt, which then takes its place. */
int doubts_write(const struct envelope *envelopes, size_t n, struct sink *sink)
{
    size_t i = 0, n_forms = sink->n_forms, n_databases = sink->shards->n > 0 ? sink->shards->n : 1;
    sqlite3 **databases = sink->shards->n > 0 ? sink->shards->databases : &sink->database;
    while (i < n && envelopes[i].doubt_ns == DOUBT_NEVER)
        i++;
    if (i == n)
        return 0;
    struct shifted *shifted = xcalloc(n_forms + 1, sizeof *shifted);
    int result = 0;
    for (i = 0; result == 0 && i < n_databases; i++)
        result = find_doubtful(envelopes, n, sink, databases[i]) | count_shifted(databases[i], shifted);
    for (i = 0; i < n_forms; i++)
        if (shifted[i].messages > 0)
            shifted[i].twin = sink_twin(sink, i, DOUBT_WILDCARD, shifted[i].messages, shifted[i].bytes);
    for (i = 0; result == 0 && i < n_databases; i++)
        result = shift(databases[i], shifted, n_forms);
    free(shifted);
    return result;
}

/* Up to this number of envelopes in which nothing waits are kept. */
enum { ENVELOPES_KEPT = 1 << 16 };

static bool has_lost(const struct trace *trace, int32_t rank)
{
    return trace->processes[rank].spool == NULL || trace->processes[rank].lost_ticks != TRACE_NOT_LOST;
}

/* Returns REASON_MATCHED if the operation counts for its envelope, else why it does not. */
static enum trace_reason envelope_reason(const struct trace_operation *operation)
{
    bool failed = (operation->flags & SPOOL_FAILED) && !(operation->flags & SPOOL_TOOK);
    if (failed && (operation->direction == SPOOL_SEND || !operation->unsure))
        return REASON_FAILED;
    if (operation->peer == SPOOL_PROC_NULL)
        return REASON_PROC_NULL;
    if (operation->flags & SPOOL_CANCELLED)
        return REASON_CANCELLED;
    if (operation->peer < 0 || operation->tag < 0) {
        if (failed || operation->complete_ns != TRACE_NO_TIME)
            return REASON_FAILED;
        return operation->flags & SPOOL_FREED ? REASON_FREED : REASON_PENDING;
    }
    return REASON_MATCHED;
}

/* Returns why an operation that counts found no partner. */
static enum trace_reason leftover_reason(const struct trace *trace, const struct trace_operation *operation)
{
    if (operation->flags & SPOOL_FAILED)
        return REASON_FAILED;
    if (operation->peer_world < 0)
        return trace->n_spools < (size_t)trace->world_size ? REASON_PARTNER_LOST : REASON_UNMATCHED;
    if (has_lost(trace, operation->peer_world))
        return REASON_PARTNER_LOST;
    if (operation->complete_ns != TRACE_NO_TIME)
        return trace->bursts.thinned ? REASON_CUT_OFF : REASON_UNMATCHED;
    return operation->flags & SPOOL_FREED ? REASON_FREED : REASON_PENDING;
}

/* Returns the number of the request among the partitioned ones of its envelope, from 1; 0 if it is not partitioned,
 * TRACE_NONE if its request was not recorded. */
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

struct map_key match_key(uint32_t rank, unsigned direction, int32_t peer_world, uint32_t communicator, int32_t tag,
                         uint32_t domain)
{
    uint32_t source = direction == SPOOL_SEND ? rank : (uint32_t)peer_world;
    uint32_t destination = direction == SPOOL_SEND ? (uint32_t)peer_world : rank;
    return (struct map_key){(uint64_t)source << 32 | destination, (uint64_t)communicator << 32 | (uint32_t)tag, domain};
}

static struct envelope *envelope_at(struct matcher *matcher, struct map_key key)
{
    uint32_t found = map_number(&matcher->index, key, matcher->n_envelopes);
    if (found == matcher->n_envelopes)
        TRACE_ADD(matcher->envelopes, matcher->n_envelopes,
                  (struct envelope){.key = key,
                                    .first = {TRACE_NONE, TRACE_NONE},
                                    .last = {TRACE_NONE, TRACE_NONE},
                                    .latest = {TRACE_NONE, TRACE_NONE},
                                    .doubt_ns = DOUBT_NEVER,
                                    .until_place = {INT64_MIN, INT64_MIN}});
    return &matcher->envelopes[found];
}

void match_count(struct matcher *matcher, struct map_key key, unsigned direction, uint64_t n, int64_t until_place)
{
    struct envelope *envelope = envelope_at(matcher, key);
    envelope->n[direction] += n;
    if (until_place > envelope->until_place[direction])
        envelope->until_place[direction] = until_place;
}

/* Marks operations of two threads that were on one envelope at once: which of them came first is not certain. An
 * operation that was written already is not marked any more; the later one is. */
static void check_overlap(struct trace *trace, struct envelope *envelope, uint32_t index)
{
    struct trace_operation *operation = &trace->operations[index];
    unsigned side = operation->direction;
    if (envelope->latest[side] != TRACE_NONE && envelope->lane[side] != operation->lane &&
        envelope->post_end_ns[side] > operation->post_ns) {
        operation->uncertain |= DOUBT_THREADS;
        struct trace_operation *before = &trace->operations[envelope->latest[side]];
        if (before->rank == operation->rank && before->sequence == envelope->sequence[side]) {
            before->uncertain |= DOUBT_THREADS;
            if (before->partner != TRACE_NONE)
                trace->operations[before->partner].uncertain |= DOUBT_THREADS;
        }
    }
    envelope->latest[side] = index;
    envelope->lane[side] = operation->lane;
    envelope->post_end_ns[side] = operation->post_end_ns;
    envelope->sequence[side] = operation->sequence;
}

static void append(struct trace *trace, struct envelope *envelope, uint32_t index)
{
    unsigned side = trace->operations[index].direction;
    trace->operations[index].next = TRACE_NONE;
    if (envelope->first[side] == TRACE_NONE)
        envelope->first[side] = index;
    else
        trace->operations[envelope->last[side]].next = index;
    envelope->last[side] = index;
    envelope->n_waiting[side]++;
}

static void pair(struct trace *trace, unsigned doubts, uint32_t send_index, uint32_t receive_index)
{
    struct trace_operation *send = &trace->operations[send_index], *receive = &trace->operations[receive_index];
    bool by_status = (receive->flags & (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG)) != 0;
    bool backwards = trace->processes[send->rank].node == trace->processes[receive->rank].node &&
                     receive->complete_ns != TRACE_NO_TIME && receive->complete_ns < send->post_ns;
    unsigned uncertain = doubts | send->uncertain | receive->uncertain | (backwards ? DOUBT_TIME : 0U) |
                         (by_status && (receive->flags & SPOOL_SHARED_HANDLE) ? DOUBT_HANDLE : 0U);
    send->partner = receive_index;
    receive->partner = send_index;
    send->uncertain = receive->uncertain = (uint8_t)uncertain;
}

static void stay_alone(struct matcher *matcher, uint32_t index)
{
    struct trace_operation *operation = &matcher->trace->operations[index];
    if (operation->reason == REASON_MATCHED)
        operation->reason = (uint8_t)leftover_reason(matcher->trace, operation);
    matcher->alone(matcher->context, index);
}

/* Returns the doubts that an operation which may not have taken a place brings on itself and on all behind it. */
static uint8_t lasting_doubts(const struct trace_operation *operation)
{
    return (uint8_t)((operation->unsure ? DOUBT_FAILED : 0U) |
                     (operation->flags & SPOOL_CANCELLING ? DOUBT_CANCEL : 0U));
}

/* Pairs the first that wait on both sides. */
static void match_first(struct matcher *matcher, struct envelope *envelope)
{
    struct trace *trace = matcher->trace;
    uint32_t send = envelope->first[SPOOL_SEND], receive = envelope->first[SPOOL_RECEIVE];
    const struct trace_operation *sender = &trace->operations[send], *taker = &trace->operations[receive];
    envelope->doubts |= lasting_doubts(taker);
    envelope->first[SPOOL_RECEIVE] = taker->next;
    envelope->n_waiting[SPOOL_RECEIVE]--;
    if (taker->unsure && sender->bytes <= taker->bytes) { /* the message was hardly too long for the receive */
        envelope->n[SPOOL_RECEIVE]--;
        stay_alone(matcher, receive);
        return;
    }
    envelope->doubts |= lasting_doubts(sender);
    envelope->first[SPOOL_SEND] = sender->next;
    envelope->n_waiting[SPOOL_SEND]--;
    if (trace->bursts.thinned) /* what is left over at the end says nothing */
        envelope->doubts |= doubt_since(&matcher->open, envelope) < taker->post_ns ? DOUBT_WILDCARD : 0;
    else if (taker->complete_ns == TRACE_NO_TIME)
        doubt_left_over(&matcher->open, envelope, taker->post_ns);
    pair(trace, envelope->doubts, send, receive);
    matcher->paired(matcher->context, send, receive);
}

/* Returns whether the first that wait on both sides have one number; if not, the lower one is cut off. */
static bool cut_first(struct matcher *matcher, struct envelope *envelope)
{
    uint64_t send = envelope->n[SPOOL_SEND] - envelope->n_waiting[SPOOL_SEND];
    uint64_t receive = envelope->n[SPOOL_RECEIVE] - envelope->n_waiting[SPOOL_RECEIVE];
    if (send == receive)
        return true;
    unsigned side = send < receive ? SPOOL_SEND : SPOOL_RECEIVE;
    uint32_t index = envelope->first[side];
    envelope->first[side] = matcher->trace->operations[index].next;
    envelope->n_waiting[side]--;
    stay_alone(matcher, index);
    return false;
}

/* True if it may have taken a message of an envelope that is not known. */
static bool is_open(const struct trace_operation *operation)
{
    return operation->reason == REASON_PENDING || operation->reason == REASON_FREED ||
           (operation->reason == REASON_FAILED && operation->unsure);
}

void match_operation(struct matcher *matcher, uint32_t index)
{
    struct trace *trace = matcher->trace;
    struct trace_operation *operation = &trace->operations[index];
    operation->reason = (uint8_t)envelope_reason(operation);
    if (is_open(operation))
        doubt_note_open(&matcher->open, operation);
    uint32_t domain = partitioned_as(trace, operation);
    if (operation->reason != REASON_MATCHED || operation->peer_world < 0 || domain == TRACE_NONE) {
        stay_alone(matcher, index);
        return;
    }
    struct envelope *envelope =
        envelope_at(matcher, match_key(operation->rank, operation->direction, operation->peer_world,
                                       operation->communicator, operation->tag, domain));
    envelope->n[operation->direction]++;
    check_overlap(trace, envelope, index);
    if (trace->bursts.thinned &&
        (matcher->place < envelope->until_place[operation->direction] || matcher->is_uncounted)) {
        stay_alone(matcher, index);
        return;
    }
    /* Nothing can meet the operation any more if its partner's process has no more records. */
    if (trace->processes[operation->peer_world].exhausted && envelope->first[1 - operation->direction] == TRACE_NONE) {
        if (operation->direction == SPOOL_SEND && !trace->bursts.thinned)
            doubt_left_over(&matcher->open, envelope, DOUBT_NEVER);
        stay_alone(matcher, index);
        return;
    }
    append(trace, envelope, index);
    while (envelope->first[SPOOL_SEND] != TRACE_NONE && envelope->first[SPOOL_RECEIVE] != TRACE_NONE)
        if (!trace->bursts.thinned || cut_first(matcher, envelope))
            match_first(matcher, envelope);
}

void match_note_open(struct matcher *matcher, const struct trace_operation *operation)
{
    struct trace_operation noted = *operation;
    noted.reason = (uint8_t)envelope_reason(operation);
    if (is_open(&noted))
        doubt_note_open(&matcher->open, &noted);
}

/* True if it makes no difference for what comes whether the counts of a thinned run begin with 0. */
static bool counts_agree(const struct matcher *matcher, const struct envelope *envelope)
{
    return envelope->n[SPOOL_SEND] == envelope->n[SPOOL_RECEIVE] &&
           envelope->until_place[SPOOL_SEND] <= matcher->place &&
           envelope->until_place[SPOOL_RECEIVE] <= matcher->place;
}

void match_tidy(struct matcher *matcher)
{
    if (matcher->n_envelopes < ENVELOPES_KEPT || matcher->n_envelopes < 2 * matcher->live_envelopes)
        return;
    map_release(&matcher->index);
    size_t kept = 0;
    for (size_t i = 0; i < matcher->n_envelopes; i++) {
        const struct envelope *envelope = &matcher->envelopes[i];
        if (envelope->first[SPOOL_SEND] == TRACE_NONE && envelope->first[SPOOL_RECEIVE] == TRACE_NONE &&
            envelope->doubts == 0 && envelope->doubt_ns == DOUBT_NEVER &&
            (!matcher->trace->bursts.thinned || counts_agree(matcher, envelope)))
            continue;
        *map_at(&matcher->index, envelope->key) = (uint32_t)kept;
        matcher->envelopes[kept++] = *envelope;
    }
    matcher->live_envelopes = kept;
    matcher->n_envelopes = kept;
}

void match_end(struct matcher *matcher)
{
    for (size_t i = 0; i < matcher->n_envelopes; i++) {
        struct envelope *envelope = &matcher->envelopes[i];
        if (envelope->first[SPOOL_SEND] != TRACE_NONE && !matcher->trace->bursts.thinned)
            doubt_left_over(&matcher->open, envelope, DOUBT_NEVER);
        for (unsigned side = SPOOL_SEND; side <= SPOOL_RECEIVE; side++)
            while (envelope->first[side] != TRACE_NONE) {
                uint32_t index = envelope->first[side];
                envelope->first[side] = matcher->trace->operations[index].next;
                envelope->n_waiting[side]--;
                stay_alone(matcher, index);
            }
    }
}

void match_release(struct matcher *matcher)
{
    map_release(&matcher->index);
    free(matcher->envelopes);
    map_release(&matcher->open.numbers);
    free(matcher->open.posts_ns);
}
