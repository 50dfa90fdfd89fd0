/* Reads messages: each has an item at its sender and one at its receiver. A partitioned one is one for each of its
 * pieces (partitions.h). */
#include <math.h>
#include <stdlib.h>

#include "predictor/run_read/partitions.h"
#include "share/base/array.h"

/* Describes an end of the messages of a form. */
struct form_end {
    uint32_t site;
    uint32_t completed; /* by the posting call */
    bool stands;        /* for the posting call */
};
struct read_form {
    struct form_end send, receive;
    int64_t limit_bytes; /* a send of more waits for its receive; -1: not known, INT64_MAX: none waits */
    int64_t eager_bytes; /* the MPI's limit; -1: not known */
    uint16_t flags;      /* of its messages */
    bool between_nodes;  /* by its level */
};

struct message_reader {
    struct reading *reading;
    struct map numbers;      /* of forms by their ids */
    struct map kinds;        /* of the program, by call sites and size */
    struct read_form *forms; /* [n_forms] */
    size_t n_forms;
    int64_t form_id; /* of the last message */
    uint32_t form;
    int64_t *special; /* [n_special] ascending ids of messages that a persistent request of a special mode sent */
    uint16_t *special_flags;
    size_t n_special, next_special;
    struct partition_reader partitions;
};

static int read_form_end(struct message_reader *reader, struct cursor *rows, int column, struct form_end *end)
{
    struct reading *reading = reader->reading;
    bool unknown_site = sqlite3_column_type(rows->statement, column + 1) == SQLITE_NULL;
    uint32_t function =
        map_find(&reading->function_of_id, (struct map_key){(uint64_t)cursor_integer(rows, column), 0, 0});
    if (function == MAP_ABSENT)
        return error_set(reading->error, "%s: form %lld: function %lld is not in the table function", reading->path,
                         (long long)cursor_integer(rows, 0), (long long)cursor_integer(rows, column));
    end->site = site_by(reading, function, unknown_site ? -1 : cursor_integer(rows, column + 1));
    row_count(rows, column + 2, &end->completed);
    end->stands = sqlite3_column_type(rows->statement, column + 2) != SQLITE_NULL;
    return 0;
}

static int read_form(struct message_reader *reader, struct cursor *rows)
{
    struct reading *reading = reader->reading;
    array_grow(&reader->forms, reader->n_forms, sizeof *reader->forms);
    struct read_form *form = &reader->forms[reader->n_forms];
    if (read_form_end(reader, rows, 1, &form->send) != 0 || read_form_end(reader, rows, 4, &form->receive) != 0)
        return -1;
    const struct read_function *function = function_of_site(reading, form->send.site);
    form->between_nodes = cursor_integer(rows, 7) == 3;
    int64_t limit = form->between_nodes ? reading->eager_limit_network : reading->eager_limit;
    form->flags = function->message_flags;
    form->eager_bytes = limit;
    form->limit_bytes = function->send == SEND_BY_TIME                ? -1
                        : function->send == SEND_NO_WAIT || limit < 0 ? INT64_MAX
                                                                      : limit;
    *map_at(&reader->numbers, (struct map_key){(uint64_t)cursor_integer(rows, 0), 0, 0}) = (uint32_t)reader->n_forms++;
    return 0;
}

static int read_forms(struct message_reader *reader)
{
    struct cursor rows;
    cursor_open(&rows, reader->reading->database, reader->reading->path,
                "SELECT id, send_function, send_callsite, send_completed, recv_function, recv_callsite, recv_completed,"
                " level FROM form",
                reader->reading->error);
    while (cursor_next(&rows))
        if (read_form(reader, &rows) != 0)
            rows.result = -1;
    return cursor_close(&rows);
}

/* Reads which messages are synchronous or buffered because of the request that they were started from. */
static int read_special(struct message_reader *reader)
{
    struct reading *reading = reader->reading;
    struct cursor rows;
    struct pool names = {0};
    cursor_open(&rows, reading->database, reading->path,
                "SELECT o.message_id, p.function FROM origin o JOIN persistent p ON p.id = o.persistent"
                " WHERE o.direction = 'send' AND o.message_id IS NOT NULL"
                " AND (p.function LIKE 'MPI\\_Ssend%' ESCAPE '\\' OR p.function LIKE 'MPI\\_Bsend%' ESCAPE '\\')"
                " ORDER BY o.message_id",
                reading->error);
    while (cursor_next(&rows)) {
        uint32_t function = function_by_name(reading, cursor_text(&rows, 1, &names));
        array_grow(&reader->special, reader->n_special, sizeof *reader->special);
        array_grow(&reader->special_flags, reader->n_special, sizeof *reader->special_flags);
        reader->special[reader->n_special] = cursor_integer(&rows, 0);
        reader->special_flags[reader->n_special++] = reading->functions[function].message_flags;
        pool_release(&names);
    }
    pool_release(&names);
    return cursor_close(&rows);
}

static uint16_t special_flags(struct message_reader *reader, int64_t id)
{
    while (reader->next_special < reader->n_special && reader->special[reader->next_special] < id)
        reader->next_special++;
    return reader->next_special < reader->n_special && reader->special[reader->next_special] == id
               ? reader->special_flags[reader->next_special]
               : (uint16_t)0;
}

static const struct read_form *form_of(struct message_reader *reader, int64_t id)
{
    if (reader->form_id != id || reader->form == MAP_ABSENT) {
        reader->form_id = id;
        reader->form = map_find(&reader->numbers, (struct map_key){(uint64_t)id, 0, 0});
    }
    if (reader->form != MAP_ABSENT)
        return &reader->forms[reader->form];
    error_set(reader->reading->error, "%s: message_row: form %lld is not in the table form", reader->reading->path,
              (long long)id);
    return NULL;
}

enum {
    COL_ID,
    COL_SRC,
    COL_DST,
    COL_BYTES,
    COL_FORM,
    COL_POST,
    COL_SEND,
    COL_LATE,
    COL_RECV,
    COL_SEND_CALL,
    COL_RECV_CALL,
    COL_SEND_CPU,
    COL_RECV_CPU
};
static const char messages_sql[] = "SELECT id, src, dst, bytes, form, send_post_ns, send_ns, late_ns, recv_ns, "
                                   "send_call_ns, recv_call_ns, send_cpu, recv_cpu"
                                   " FROM message_row ORDER BY id";

/* Adds a message with the items of its ends, which have no object yet. */
static int add_ends(struct reading *reading, const struct run_message *message, const struct read_form *form,
                    struct item *out, struct item *in)
{
    uint32_t object = (uint32_t)reading->program->n_messages;
    array_grow(&reading->posts, object, sizeof *reading->posts);
    if (run_program_message(reading->program, message) != 0)
        return reading_too_large(reading);
    reading->posts[object] = (struct message_posts){out->begin_ns, in->begin_ns};
    out->object = in->object = object;
    bool synchronous = (message->flags & MESSAGE_SYNCHRONOUS) != 0;
    out->waits = (synchronous || (int64_t)message->bytes > form->limit_bytes) && out->done_ns != NO_TIME &&
                 out->done_ns >= in->begin_ns;
    /* A receive posted before shows nothing: then the limit says. */
    bool eager = !synchronous && in->begin_ns <= out->begin_ns && (int64_t)message->bytes <= form->eager_bytes;
    if (out->waits && !eager)
        reading->program->messages[object].flags |= (uint16_t)MESSAGE_AWAITED;
    return item_add(reading, message->src, out) != 0 ? -1 : item_add(reading, message->dst, in);
}

/* Adds a message, or the messages that the pieces of a partitioned one are: the call that started it posts nothing,
 * those that marked partitions ready post their pieces. */
static int add_pieces(struct message_reader *reader, int64_t id, struct run_message *message,
                      const struct read_form *form, struct item *out, struct item *in)
{
    struct reading *reading = reader->reading;
    struct partition_reader *partitions = &reader->partitions;
    uint64_t bytes = message->bytes, n = 0;
    /* A call that begins within 2 ns of the end of another one counts as behind it (strands.c). */
    int64_t before_ns = out->done_ns == NO_TIME ? NO_TIME : out->done_ns - 2;
    if (partitions_of(partitions, id, out->begin_ns, before_ns) != 0)
        return -1;
    if (partitions->n_pieces == 0)
        return add_ends(reading, message, form, out, in);
    struct item start = *out;
    start.kind = ITEM_CALL;
    start.object = NO_OBJECT;
    start.done_ns = NO_TIME;
    if (item_add(reading, message->src, &start) != 0)
        return -1;
    out->completed = 0;
    message->seconds = (float)NAN; /* what was recorded is that of the whole */
    for (size_t i = 0; i < partitions->n_pieces; i++) {
        const struct piece *piece = &partitions->pieces[i];
        uint64_t before = partitions_bytes(bytes, partitions->partitions, n);
        n += piece->partitions;
        message->bytes = partitions_bytes(bytes, partitions->partitions, n) - before;
        out->begin_ns = out->end_ns = piece->ready_ns;
        out->site = piece->site;
        message->flags &= (uint16_t)~MESSAGE_GOES_ON;
        message->flags |= i + 1 < partitions->n_pieces ? (uint16_t)MESSAGE_GOES_ON : (uint16_t)0;
        if (add_ends(reading, message, form, out, in) != 0)
            return -1;
    }
    return 0;
}

/* Returns the bits that a size takes: sizes within a factor of two have the same. */
static uint64_t bits_of(uint64_t bytes)
{
    uint64_t bits = 0;
    for (; bytes > 0; bytes >>= 1)
        bits++;
    return bits;
}

/* Gives the message its kind, and what it took. */
static void tell_kind(struct message_reader *reader, const struct read_form *form, int64_t late_ns, int64_t recv_ns,
                      struct run_message *message)
{
    struct run_program *program = reader->reading->program;
    const struct map_key key = {form->send.site, form->receive.site, bits_of(message->bytes)};
    program->n_kinds = program->n_kinds == 0 ? 1 : program->n_kinds; /* kind 0 */
    uint32_t *number = map_at(&reader->kinds, key);
    if (*number == MAP_ABSENT)
        *number = program->n_kinds < RUN_MAX_KINDS ? (uint32_t)program->n_kinds++ : 0;
    message->kind = (uint16_t)*number;
    message->seconds =
        recv_ns == NO_TIME ? (float)NAN : (float)reading_seconds(late_ns < 0 ? recv_ns + late_ns : recv_ns);
}

static int add_message(struct message_reader *reader, struct cursor *rows)
{
    struct reading *reading = reader->reading;
    struct run_message message;
    int64_t post, late, send, recv, send_call, recv_call;
    if (row_rank(reading, rows, COL_SRC, "message_row.src", &message.src) != 0 ||
        row_rank(reading, rows, COL_DST, "message_row.dst", &message.dst) != 0 ||
        row_bytes(reading, rows, COL_BYTES, "message_row.bytes", &message.bytes) != 0 ||
        row_time(reading, rows, COL_POST, "message_row.send_post_ns", &post) != 0 ||
        row_time(reading, rows, COL_LATE, "message_row.late_ns", &late) != 0 ||
        row_length(reading, rows, COL_SEND, "message_row.send_ns", &send) != 0 ||
        row_length(reading, rows, COL_RECV, "message_row.recv_ns", &recv) != 0 ||
        row_length(reading, rows, COL_SEND_CALL, "message_row.send_call_ns", &send_call) != 0 ||
        row_length(reading, rows, COL_RECV_CALL, "message_row.recv_call_ns", &recv_call) != 0)
        return -1;
    const struct read_form *form = form_of(reader, cursor_integer(rows, COL_FORM));
    if (form == NULL)
        return -1;
    if (send_call == NO_TIME || recv_call == NO_TIME || post == NO_TIME || late == NO_TIME)
        return error_set(
            reading->error,
            "%s: it does not say when ranks were inside MPI: it was ingested with --no-calls; make it once "
            "more of its spools without that option",
            reading->path);
    message.flags = (uint16_t)(form->flags | special_flags(reader, cursor_integer(rows, COL_ID)));
    /* No table says what a rank sends itself eagerly; a send that was complete before its receive was posted was. */
    if (message.src == message.dst && send != NO_TIME && send <= late)
        message.flags |= (uint16_t)MESSAGE_BUFFERED;
    message.kind = 0;
    tell_kind(reader, form, late, recv, &message);
    int64_t recv_post = post + late;
    const struct run_recorded_message told = {.bytes = message.bytes,
                                              .src = message.src,
                                              .dst = message.dst,
                                              .site = form->send.site,
                                              .between_nodes = form->between_nodes,
                                              .late_ns = late,
                                              .recv_ns = recv,
                                              .send_call_ns = send_call,
                                              .recv_call_ns = recv_call,
                                              .send_stands = form->send.stands,
                                              .recv_stands = form->receive.stands};
    const struct run_message_watch *watch = reading->message_watch;
    if (watch != NULL && watch->message(watch->context, &told) != 0)
        return reading_too_large(reading);
    struct item out = {.begin_ns = post,
                       .end_ns = post + send_call,
                       .done_ns = send == NO_TIME ? NO_TIME : post + send,
                       .site = form->send.site,
                       .completed = form->send.completed,
                       .kind = ITEM_SEND,
                       .processor = row_processor(rows, COL_SEND_CPU)};
    struct item in = {.begin_ns = recv_post,
                      .end_ns = recv_post + recv_call,
                      .done_ns = recv == NO_TIME ? NO_TIME : recv_post + recv,
                      .site = form->receive.site,
                      .completed = form->receive.completed,
                      .kind = ITEM_RECEIVE,
                      .processor = row_processor(rows, COL_RECV_CPU)};
    return add_pieces(reader, cursor_integer(rows, COL_ID), &message, form, &out, &in);
}

int messages_read(struct reading *reading)
{
    struct message_reader reader = {.reading = reading, .form = MAP_ABSENT};
    struct cursor rows;
    int result = read_forms(&reader) != 0 || read_special(&reader) != 0 ? -1 : 0;
    if (result == 0 && partitions_open(&reader.partitions, reading) != 0)
        result = -1;
    if (result == 0) {
        cursor_open(&rows, reading->database, reading->path, messages_sql, reading->error);
        while (cursor_next(&rows))
            if (add_message(&reader, &rows) != 0)
                rows.result = -1;
        result = cursor_close(&rows);
    }
    result = partitions_close(&reader.partitions) != 0 ? -1 : result;
    free(reader.forms);
    free(reader.special);
    free(reader.special_flags);
    map_release(&reader.numbers);
    map_release(&reader.kinds);
    return result;
}
