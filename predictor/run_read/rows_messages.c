/* Reads messages: each has an item at its sender and one at its receiver. A partitioned one is one for each of its
 * pieces (partitions.c). */
#include <math.h>
#include <stdlib.h>

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
    struct special_message {
        int64_t id;
        uint16_t flags;
    } * special; /* [n_special] by id, those that a persistent request of a special mode sent */
    size_t n_special, next_special;
    struct partition_reader partitions;
};

static int read_form(void *context, struct cursor *rows)
{
    struct message_reader *reader = context;
    struct reading *reading = reader->reading;
    array_grow(&reader->forms, reader->n_forms, sizeof *reader->forms);
    struct read_form *form = &reader->forms[reader->n_forms];
    uint32_t functions[2];
    int64_t id, callsites[2], level;
    row_read(reading, rows, "form", "ifscfsci", &id, &functions[0], &callsites[0], &form->send.completed, &functions[1],
             &callsites[1], &form->receive.completed, &level);
    for (int i = 0; i < 2; i++) {
        struct form_end *end = i == 0 ? &form->send : &form->receive;
        if (functions[i] == MAP_ABSENT)
            return error_set(reading->error, "%s: form %lld: function %lld is not in the table function", reading->path,
                             (long long)id, (long long)cursor_integer(rows, 1 + 3 * i));
        end->site = site_by(reading, functions[i], callsites[i]);
        end->stands = sqlite3_column_type(rows->statement, 3 + 3 * i) != SQLITE_NULL;
    }
    const struct read_function *function = function_of_site(reading, form->send.site);
    form->between_nodes = level == 3;
    int64_t limit = form->between_nodes ? reading->eager_limit_network : reading->eager_limit;
    form->flags = function->message_flags;
    form->eager_bytes = limit;
    form->limit_bytes = function->send == SEND_BY_TIME                ? -1
                        : function->send == SEND_NO_WAIT || limit < 0 ? INT64_MAX
                                                                      : limit;
    *map_at(&reader->numbers, (struct map_key){(uint64_t)id, 0, 0}) = (uint32_t)reader->n_forms++;
    return 0;
}

/* Notes a message that is synchronous or buffered because of the request that it was started from. */
static int read_special(void *context, struct cursor *rows)
{
    struct message_reader *reader = context;
    int64_t id;
    uint32_t function;
    row_read(reader->reading, rows, "persistent", "iF", &id, &function);
    ARRAY_ADD(reader->special, reader->n_special,
              (struct special_message){id, reader->reading->functions[function].message_flags});
    return 0;
}

static uint16_t special_flags(struct message_reader *reader, int64_t id)
{
    while (reader->next_special < reader->n_special && reader->special[reader->next_special].id < id)
        reader->next_special++;
    bool is_special = reader->next_special < reader->n_special && reader->special[reader->next_special].id == id;
    return is_special ? reader->special[reader->next_special].flags : (uint16_t)0;
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

/* Adds a message with the items of its ends, which have no object yet. */
static int add_ends(struct reading *reading, const struct run_message *message, const struct read_form *form,
                    struct item *out, struct item *in)
{
    uint32_t object = (uint32_t)reading->program->n_messages;
    array_grow(&reading->late_ns, object, sizeof *reading->late_ns);
    if (run_program_message(reading->program, message) != 0)
        return reading_too_large(reading);
    reading->late_ns[object] = in->begin_ns - out->begin_ns;
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

/* Gives the message its kind, and what it took. */
static void tell_kind(struct message_reader *reader, const struct read_form *form, int64_t late_ns, int64_t recv_ns,
                      struct run_message *message)
{
    struct run_program *program = reader->reading->program;
    /* Sizes within a factor of two take as many bits. */
    uint64_t bits = message->bytes > 0 ? 64 - (uint64_t)__builtin_clzll(message->bytes) : 0;
    const struct map_key key = {form->send.site, form->receive.site, bits};
    program->n_kinds = program->n_kinds == 0 ? 1 : program->n_kinds; /* kind 0 */
    uint32_t *number = map_at(&reader->kinds, key);
    if (*number == MAP_ABSENT)
        *number = program->n_kinds < RUN_MAX_KINDS ? (uint32_t)program->n_kinds++ : 0;
    message->kind = (uint16_t)*number;
    message->seconds =
        recv_ns == NO_TIME ? (float)NAN : (float)reading_seconds(late_ns < 0 ? recv_ns + late_ns : recv_ns);
}

static int add_message(void *context, struct cursor *rows)
{
    struct message_reader *reader = context;
    struct reading *reading = reader->reading;
    struct run_message message;
    int64_t id, form_id, post, late, send, recv, send_call, recv_call;
    uint16_t send_processor, recv_processor;
    if (row_read(reading, rows, "message_row", "irrbittllllpp", &id, &message.src, &message.dst, &message.bytes,
                 &form_id, &post, &late, &send, &recv, &send_call, &recv_call, &send_processor, &recv_processor) != 0)
        return -1;
    const struct read_form *form = form_of(reader, form_id);
    if (form == NULL)
        return -1;
    if (send_call == NO_TIME || recv_call == NO_TIME || post == NO_TIME || late == NO_TIME)
        return error_set(
            reading->error,
            "%s: it does not say when ranks were inside MPI: it was ingested with --no-calls; make it once "
            "more of its spools without that option",
            reading->path);
    message.flags = (uint16_t)(form->flags | special_flags(reader, id));
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
    const struct run_message_watch *watch = reading->want.messages;
    if (watch != NULL && watch->message(watch->context, &told) != 0)
        return reading_too_large(reading);
    struct item out = {.begin_ns = post,
                       .end_ns = post + send_call,
                       .done_ns = send == NO_TIME ? NO_TIME : post + send,
                       .site = form->send.site,
                       .completed = form->send.completed,
                       .kind = ITEM_SEND,
                       .processor = send_processor};
    struct item in = {.begin_ns = recv_post,
                      .end_ns = recv_post + recv_call,
                      .done_ns = recv == NO_TIME ? NO_TIME : recv_post + recv,
                      .site = form->receive.site,
                      .completed = form->receive.completed,
                      .kind = ITEM_RECEIVE,
                      .processor = recv_processor};
    return add_pieces(reader, id, &message, form, &out, &in);
}

int messages_read(struct reading *reading)
{
    struct message_reader reader = {.reading = reading, .form = MAP_ABSENT};
    int result = rows_read(reading,
                           "SELECT id, send_function, send_callsite, send_completed, recv_function, recv_callsite,"
                           " recv_completed, level FROM form",
                           read_form, &reader);
    if (result == 0)
        result = rows_read(reading,
                           "SELECT o.message_id, p.function FROM origin o JOIN persistent p ON p.id = o.persistent"
                           " WHERE o.direction = 'send' AND o.message_id IS NOT NULL AND (p.function LIKE"
                           " 'MPI\\_Ssend%' ESCAPE '\\' OR p.function LIKE 'MPI\\_Bsend%' ESCAPE '\\')"
                           " ORDER BY o.message_id",
                           read_special, &reader);
    if (result == 0)
        result = partitions_open(&reader.partitions, reading);
    if (result == 0)
        result = rows_read(reading,
                           "SELECT id, src, dst, bytes, form, send_post_ns, late_ns, send_ns, recv_ns, send_call_ns,"
                           " recv_call_ns, send_cpu, recv_cpu FROM message_row ORDER BY id",
                           add_message, &reader);
    result = partitions_close(&reader.partitions) != 0 ? -1 : result;
    free(reader.forms);
    free(reader.special);
    map_release(&reader.numbers);
    map_release(&reader.kinds);
    return result;
}
