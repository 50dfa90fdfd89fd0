/* Messages are numbered in the order of their sends, so that neighbours in time are neighbours in the file. */
#include "write_messages.h"

#include <stdlib.h>

#include "form.h"
#include "marks.h"
#include "place.h"
#include "row.h"

struct message_order {
    int64_t send_post_ns;
    uint32_t receive;
};

static int compare_messages(const void *left, const void *right)
{
    const struct message_order *a = left, *b = right;
    if (a->send_post_ns != b->send_post_ns)
        return a->send_post_ns < b->send_post_ns ? -1 : 1;
    return a->receive < b->receive ? -1 : a->receive > b->receive;
}

/* Whether another operation stands for its call: the first half of a Sendrecv, the first of a Startall. */
static bool without_call(const struct trace *trace, uint32_t index)
{
    const struct trace_operation *operation = &trace->operations[index];
    if (operation->flags & SPOOL_SAME_CALL)
        return true;
    return operation->function == FN_Startall && index > trace->processes[operation->rank].first_operation &&
           operation[-1].function == FN_Startall && operation[-1].lane == operation->lane &&
           operation[-1].post_ns == operation->post_ns;
}

/* Operations that a posting call completed itself, both halves of a Sendrecv counted; -1 where it has no call. */
static int8_t completed_by(const struct trace *trace, uint32_t index)
{
    const struct trace_operation *operation = &trace->operations[index];
    if (without_call(trace, index))
        return -1;
    bool completed = (operation->flags & SPOOL_BLOCKING) && operation->complete_ns != TRACE_NO_TIME;
    bool pair = completed && index + 1 < trace->n_operations && (operation[1].flags & SPOOL_SAME_CALL) &&
                operation[1].rank == operation->rank;
    return (int8_t)(completed + pair);
}

static int64_t length_of(int64_t begin_ns, int64_t end_ns)
{
    return end_ns == TRACE_NO_TIME ? TRACE_NO_TIME : end_ns - begin_ns;
}

static void write_message(const struct trace *trace, struct form_table *forms, struct row *row, int64_t id,
                          uint32_t index, bool calls)
{
    const struct trace_operation *receive = &trace->operations[index];
    const struct trace_operation *send = &trace->operations[receive->partner];
    uint32_t round = trace->message_rounds[index];
    struct form form = {.level = message_level(trace, send, receive),
                        .send_callsite = send->callsite,
                        .recv_callsite = receive->callsite,
                        .send_function = send->function,
                        .recv_function = receive->function,
                        .send_completed = completed_by(trace, receive->partner),
                        .recv_completed = completed_by(trace, index),
                        .any_source = (receive->flags & SPOOL_ANY_SOURCE) != 0,
                        .any_tag = (receive->flags & SPOOL_ANY_TAG) != 0,
                        .uncertain = receive->uncertain};
    row_insert(row, "iiiiiiioioioinnoo", id, (int64_t)send->rank, (int64_t)receive->rank,
               (int64_t)receive->communicator, (int64_t)send->tag, (int64_t)send->bytes, form_of(forms, &form),
               round == TRACE_NONE ? TRACE_NO_TIME : (int64_t)round + 1, send->post_ns,
               length_of(send->post_ns, send->complete_ns), receive->post_ns - send->post_ns,
               length_of(receive->post_ns, receive->complete_ns), (int64_t)(receive->bytes - send->bytes),
               (int32_t)send->cpu_post, (int32_t)receive->cpu_post,
               calls ? send->post_end_ns - send->post_ns : TRACE_NO_TIME,
               calls ? receive->post_end_ns - receive->post_ns : TRACE_NO_TIME);
}

/* For the tables that tell more of few messages. */
static void note_message(const struct trace *trace, int64_t id, uint32_t index)
{
    const struct trace_operation *receive = &trace->operations[index];
    const struct trace_operation *send = &trace->operations[receive->partner];
    if (receive->origin != TRACE_NONE)
        trace->origins[receive->origin].message_id = id;
    if (send->origin != TRACE_NONE)
        trace->origins[send->origin].message_id = id;
}

static void write_unmatched(struct row *row, int64_t id, const struct trace_operation *operation)
{
    static const char *const reasons[] = {
        [REASON_MATCHED] = "unmatched", [REASON_PARTNER_LOST] = "partner_lost", [REASON_CANCELLED] = "cancelled",
        [REASON_FAILED] = "failed",     [REASON_PROC_NULL] = "proc_null",       [REASON_FREED] = "freed",
        [REASON_PENDING] = "pending",   [REASON_UNMATCHED] = "unmatched"};
    row_insert(row, "iitniuitiotu", id, (int64_t)operation->rank,
               operation->direction == SPOOL_SEND ? "send" : "receive", operation->peer_world,
               (int64_t)operation->communicator, operation->tag < 0 ? TRACE_NONE : (uint32_t)operation->tag,
               (int64_t)operation->bytes, reasons[operation->reason], operation->post_ns, operation->complete_ns,
               function_name(operation->function), operation->callsite);
}

int write_operations(const struct trace *trace, sqlite3 *database, bool calls)
{
    struct form_table forms = {0};
    struct message_order *order = malloc((trace->n_operations + 1) * sizeof *order);
    if (order == NULL)
        return -1;
    size_t n = 0;
    struct row unmatched = row_prepare(database, "unmatched", 12);
    int64_t id = 0;
    for (uint32_t i = 0; i < trace->n_operations; i++) {
        const struct trace_operation *operation = &trace->operations[i];
        if (operation_left_out(trace, operation))
            continue;
        if (operation->partner == TRACE_NONE) {
            write_unmatched(&unmatched, ++id, operation);
            if (operation->origin != TRACE_NONE)
                trace->origins[operation->origin].unmatched_id = id;
        } else if (operation->direction == SPOOL_RECEIVE)
            order[n++] = (struct message_order){trace->operations[operation->partner].post_ns, i};
    }
    if (n > 1)
        qsort(order, n, sizeof *order, compare_messages);
    struct row message = row_prepare(database, "message_row", 17);
    for (size_t i = 0; i < n; i++) {
        write_message(trace, &forms, &message, (int64_t)i + 1, order[i].receive, calls);
        note_message(trace, (int64_t)i + 1, order[i].receive);
    }
    free(order);
    int result = row_finish(&unmatched) | row_finish(&message) | forms_write(&forms, database);
    forms_release(&forms);
    return result;
}

int write_calls(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "call_row", 7);
    for (uint32_t i = 0; i < trace->n_operations; i++) {
        const struct trace_operation *operation = &trace->operations[i];
        bool with_message = operation->partner != TRACE_NONE && !operation_left_out(trace, operation);
        if (with_message || (operation->flags & SPOOL_OFF) || without_call(trace, i))
            continue;
        row_insert(&row, "iiiiiiu", (int64_t)operation->rank, function_id(operation->function), operation->post_ns,
                   operation->post_end_ns - operation->post_ns, (int64_t)completed_by(trace, i), (int64_t)0,
                   operation->callsite);
    }
    for (size_t i = 0; i < trace->n_calls; i++) {
        const struct trace_call *call = &trace->calls[i];
        row_insert(&row, "iiiiiiu", (int64_t)call->rank, function_id(call->function), call->begin_ns,
                   call->end_ns - call->begin_ns, (int64_t)call->completed, (int64_t)call->idle_calls, call->callsite);
    }
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *collective = &trace->collectives[i];
        bool same_call = i > 0 && collective->function == FN_Startall && collective[-1].function == FN_Startall &&
                         collective[-1].rank == collective->rank && collective[-1].begin_ns == collective->begin_ns;
        if (collective->function != FN_Pcontrol && !same_call)
            row_insert(&row, "iiiiiiu", (int64_t)collective->rank, function_id(collective->function),
                       collective->begin_ns, collective->call_end_ns - collective->begin_ns, (int64_t)0, (int64_t)0,
                       collective->callsite);
    }
    return row_finish(&row);
}

int write_collectives(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "collective", 13);
    int64_t id = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *collective = &trace->collectives[i];
        if (collective->function == FN_Pcontrol)
            continue;
        const struct trace_communicator *communicator = &trace->communicators[collective->communicator];
        bool inside = collective->root >= 0 && collective->root < communicator->size && communicator->remote_size == 0;
        row_insert(
            &row, "iitiinioiiuou", ++id, (int64_t)collective->rank, function_name(collective->function),
            (int64_t)collective->communicator, (int64_t)collective->bytes,
            inside ? communicator->members[collective->root] : -1, collective->begin_ns, collective->end_ns,
            collective->call_end_ns - collective->begin_ns, (int64_t)((collective->flags & SPOOL_NONBLOCKING) != 0),
            collective->persistent == TRACE_NONE ? TRACE_NONE : collective->persistent + 1,
            collective->stack == TRACE_NONE ? TRACE_NO_TIME : (int64_t)collective->stack + 1, collective->callsite);
    }
    return row_finish(&row);
}

int write_rounds(const struct trace *trace, sqlite3 *database)
{
    struct row kind = row_prepare(database, "kind", 4), round = row_prepare(database, "round", 4);
    struct row process = row_prepare(database, "round_process", 5);
    for (size_t i = 0; i < trace->n_kinds; i++)
        row_insert(&kind, "iiii", (int64_t)i + 1, (int64_t)trace->kinds[i].rounds, (int64_t)trace->kinds[i].messages,
                   (int64_t)trace->kinds[i].bytes);
    for (size_t i = 0; i < trace->n_rounds; i++)
        row_insert(&round, "iiii", (int64_t)i + 1, (int64_t)trace->rounds[i].kind + 1, trace->rounds[i].begin_ns,
                   trace->rounds[i].end_ns);
    for (size_t i = 0; i < trace->n_round_processes; i++) {
        const struct trace_round_process *member = &trace->round_processes[i];
        row_insert(&process, "iiiii", (int64_t)member->round + 1, (int64_t)member->rank, member->begin_ns,
                   member->end_ns, member->in_mpi_ns);
    }
    return row_finish(&kind) | row_finish(&round) | row_finish(&process);
}
