/* Gives the columns of the tables in the order of schema.sql. Where a row's table is read column by column, the
 * compiler turns each switch into a jump. */
#include "interpose/trace/rows/rows.h"

#include "interpose/trace/rows/form.h"

static const char *reason_name(uint8_t reason)
{
    static const char *const names[] = {
        [REASON_MATCHED] = "unmatched", [REASON_PARTNER_LOST] = "partner_lost", [REASON_CANCELLED] = "cancelled",
        [REASON_FAILED] = "failed",     [REASON_PROC_NULL] = "proc_null",       [REASON_FREED] = "freed",
        [REASON_PENDING] = "pending",   [REASON_UNMATCHED] = "unmatched"};
    return names[reason];
}

static void message_column(sqlite3_context *value, const void *row, int column)
{
    const struct message_row *message = row;
    switch (column) {
    case 0:
        sqlite3_result_int64(value, message->id);
        break;
    case 1:
        sqlite3_result_int64(value, message->src);
        break;
    case 2:
        sqlite3_result_int64(value, message->dst);
        break;
    case 3:
        sqlite3_result_int64(value, message->communicator);
        break;
    case 4:
        sqlite3_result_int(value, message->tag);
        break;
    case 5:
        sqlite3_result_int64(value, (int64_t)message->bytes);
        break;
    case 6:
        sqlite3_result_int64(value, message->form);
        break;
    case 7:
        if (message->round != 0)
            sqlite3_result_int64(value, message->round);
        break;
    case 8:
        feed_time(value, message->send_post_ns);
        break;
    case 9:
        feed_time(value, message->send_ns);
        break;
    case 10:
        sqlite3_result_int64(value, message->late_ns);
        break;
    case 11:
        feed_time(value, message->recv_ns);
        break;
    case 12:
        sqlite3_result_int64(value, message->room_bytes);
        break;
    case 13:
        feed_known(value, message->send_cpu);
        break;
    case 14:
        feed_known(value, message->recv_cpu);
        break;
    case 15:
        feed_time(value, message->send_call_ns);
        break;
    default:
        feed_time(value, message->recv_call_ns);
    }
}

static void call_column(sqlite3_context *value, const void *row, int column)
{
    const struct call_row *call = row;
    switch (column) {
    case 0:
        sqlite3_result_int64(value, call->rank);
        break;
    case 1:
        sqlite3_result_int64(value, function_id(call->function));
        break;
    case 2:
        sqlite3_result_int64(value, call->begin_ns);
        break;
    case 3:
        sqlite3_result_int64(value, call->call_ns);
        break;
    case 4:
        sqlite3_result_int64(value, call->completed);
        break;
    case 5:
        sqlite3_result_int64(value, call->idle_calls);
        break;
    default:
        feed_index(value, call->callsite);
    }
}

static void round_column(sqlite3_context *value, const void *row, int column)
{
    const struct round_row *round = row;
    const int64_t columns[] = {round->id, (int64_t)round->kind + 1, round->begin_ns, round->end_ns};
    sqlite3_result_int64(value, columns[column]);
}

static void member_column(sqlite3_context *value, const void *row, int column)
{
    const struct member_row *member = row;
    const int64_t columns[] = {member->round, member->rank, member->begin_ns, member->end_ns, member->in_mpi_ns};
    sqlite3_result_int64(value, columns[column]);
}

static void unmatched_column(sqlite3_context *value, const void *row, int column)
{
    const struct unmatched_row *operation = row;
    switch (column) {
    case 0:
        sqlite3_result_int64(value, operation->id);
        break;
    case 1:
        sqlite3_result_int64(value, operation->rank);
        break;
    case 2:
        sqlite3_result_text(value, operation->direction == SPOOL_SEND ? "send" : "receive", -1, SQLITE_STATIC);
        break;
    case 3:
        feed_known(value, operation->peer_world);
        break;
    case 4:
        sqlite3_result_int64(value, operation->communicator);
        break;
    case 5:
        feed_index(value, operation->tag < 0 ? TRACE_NONE : (uint32_t)operation->tag);
        break;
    case 6:
        sqlite3_result_int64(value, (int64_t)operation->bytes);
        break;
    case 7:
        sqlite3_result_text(value, reason_name(operation->reason), -1, SQLITE_STATIC);
        break;
    case 8:
        sqlite3_result_int64(value, operation->post_ns);
        break;
    case 9:
        feed_time(value, operation->complete_ns);
        break;
    case 10:
        sqlite3_result_text(value, function_name(operation->function), -1, SQLITE_STATIC);
        break;
    default:
        feed_index(value, operation->callsite);
    }
}

void rows_feeds(struct feed *feeds)
{
    feeds[ROWS_MESSAGE] = (struct feed){
        .table = "message_row", .columns = 17, .row_bytes = sizeof(struct message_row), .column = message_column};
    feeds[ROWS_CALL] =
        (struct feed){.table = "call_row", .columns = 7, .row_bytes = sizeof(struct call_row), .column = call_column};
    feeds[ROWS_ROUND] =
        (struct feed){.table = "round", .columns = 4, .row_bytes = sizeof(struct round_row), .column = round_column};
    feeds[ROWS_MEMBER] = (struct feed){
        .table = "round_process", .columns = 5, .row_bytes = sizeof(struct member_row), .column = member_column};
    feeds[ROWS_UNMATCHED] = (struct feed){
        .table = "unmatched", .columns = 12, .row_bytes = sizeof(struct unmatched_row), .column = unmatched_column};
}
