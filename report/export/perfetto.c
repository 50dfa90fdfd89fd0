/* Writes the trace event format (JSON) that Perfetto and Chrome read: ui.perfetto.dev, "Trace Event Format".
 *
 * A rank is a process with the number rank + 1, since viewers keep 0 for themselves; each lane of it is a thread. A
 * call is a complete event (X); a message is a flow (s, f) from the call that posted the send to the call that reported
 * the receive complete; the bytes that a rank has sent and that have not arrived are a counter (C); MPI_Pcontrol is an
 * instant (i). Times are in us, with the ns behind the point. An event is written when it is over, and nothing is kept,
 * so that memory does not grow with the trace. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/export/rank_timeline.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/saturating.h"

struct perfetto {
    struct export *export;
    struct export_names names;
    struct output_file file;
    FILE *stream;        /* of the file */
    struct name *places; /* [n_ranks] "node01, socket 0" */
    uint32_t rank, n_lanes;
    int64_t flight_bytes;
    bool begun;
};

/* Begins an event. The caller ends it by "}". */
static FILE *begin_event(struct perfetto *out, const char *phase, const char *name)
{
    fprintf(out->stream, "%s{\"ph\":\"%s\",\"name\":%s,\"pid\":%" PRIu32, out->begun ? ",\n" : "\n", phase, name,
            out->rank + 1);
    out->begun = true;
    return out->stream;
}

/* Threads have numbers of their own in the whole file, the first of a rank that of its process. */
static void print_thread(struct perfetto *out, uint32_t lane)
{
    fprintf(out->stream, ",\"tid\":%" PRIu64, (uint64_t)lane * out->export->selection.n_ranks + out->rank + 1);
}

static void print_us(FILE *stream, const char *key, int64_t ns)
{
    uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    fprintf(stream, ",\"%s\":%s%" PRIu64 ".%03" PRIu64, key, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

static void name_event(struct perfetto *out, const char *what, const char *key, const char *value)
{
    fprintf(begin_event(out, "M", what), ",\"args\":{\"%s\":%s}}", key, value);
}

static void name_lanes(struct perfetto *out, uint32_t lane)
{
    for (; out->n_lanes <= lane; out->n_lanes++) {
        begin_event(out, "M", "\"thread_name\"");
        print_thread(out, out->n_lanes);
        fprintf(out->stream, ",\"args\":{\"name\":\"rank %" PRIu32, out->rank);
        if (out->n_lanes > 0)
            fprintf(out->stream, ", thread %" PRIu32, out->n_lanes + 1);
        fputs("\"}}", out->stream);
        begin_event(out, "M", "\"thread_sort_index\"");
        print_thread(out, out->n_lanes);
        fprintf(out->stream, ",\"args\":{\"sort_index\":%" PRIu32 "}}", out->n_lanes);
    }
}

static void perfetto_begin_rank(void *context, uint32_t rank, int64_t begin_ns)
{
    struct perfetto *out = context;
    char text[64];
    (void)begin_ns;
    out->rank = rank;
    out->n_lanes = 0;
    out->flight_bytes = 0;
    snprintf(text, sizeof text, "\"rank %" PRIu32 "\"", rank);
    name_event(out, "\"process_name\"", "name", text);
    name_event(out, "\"process_labels\"", "labels", out->places[rank].json);
    snprintf(text, sizeof text, "%" PRIu32, rank);
    name_event(out, "\"process_sort_index\"", "sort_index", text);
    name_lanes(out, 0);
}

static int perfetto_end_rank(void *context, uint32_t rank, int64_t end_ns)
{
    struct perfetto *out = context;
    (void)rank;
    (void)end_ns;
    return output_file_check(&out->file, out->export->error);
}

static void print_bytes_in_flight(struct perfetto *out, int64_t at_ns)
{
    begin_event(out, "C", "\"bytes in flight\"");
    print_us(out->stream, "ts", at_ns);
    fprintf(out->stream, ",\"args\":{\"bytes\":%" PRId64 "}}", out->flight_bytes);
}

static void perfetto_enter(void *context, const struct timeline_call *call)
{
    struct perfetto *out = context;
    bool sends = false;
    name_lanes(out, call->lane);
    for (size_t i = 0; i < call->n_ops; i++)
        if (call->ops[i].kind == OP_SEND && !call->ops[i].cut) {
            int64_t bytes = call->ops[i].bytes;
            out->flight_bytes = saturating_add(out->flight_bytes, bytes);
            sends = true;
        }
    if (sends)
        print_bytes_in_flight(out, call->begin_ns);
}

static void arrive(void *context, const struct timeline_op *op)
{
    struct perfetto *out = context;
    out->flight_bytes -= op->bytes > out->flight_bytes ? out->flight_bytes : op->bytes;
    print_bytes_in_flight(out, op->received_ns);
}

static void print_argument(struct perfetto *out, const char *between, const char *key, int64_t value)
{
    if (value != EXPORT_NOTHING)
        fprintf(out->stream, "%s\"%s\":%" PRId64, between, key, value);
}

static void print_comm(struct perfetto *out, int64_t id)
{
    uint32_t comm = id == EXPORT_NOTHING ? NAME_NONE : names_comm(&out->names, id);
    if (comm != NAME_NONE)
        fprintf(out->stream, ",\"communicator\":%s", out->names.comms[comm].name.json);
    else
        print_argument(out, ",", "communicator", id);
}

static const char *op_word(const struct timeline_op *op)
{
    switch (op->kind) {
    case OP_SEND:
        return "send";
    case OP_RECEIVE:
        return "receive";
    case OP_UNMATCHED:
        return op->sends ? "send" : "receive";
    default:
        return op->kind == OP_COLLECTIVE ? "collective" : op->kind == OP_FILE ? "file" : "one-sided";
    }
}

/* Prints an operation's peer, communicator, tag and bytes as arguments, each behind a comma. */
static void print_op(struct perfetto *out, const struct timeline_op *op)
{
    const char *word = op_word(op);
    const char *peer = op->kind == OP_COLLECTIVE  ? "root"
                       : op->kind == OP_ONE_SIDED ? "target"
                       : word[0] == 's'           ? "to"
                                                  : "from";
    print_argument(out, ",", peer, op->peer);
    print_argument(out, ",", "tag", op->tag);
    print_argument(out, ",", "bytes", op->bytes);
    print_comm(out, op->comm);
    if (op->kind == OP_ONE_SIDED || op->kind == OP_FILE)
        print_argument(out, ",", op->kind == OP_FILE ? "file" : "window", op->window);
    else if (op->kind == OP_UNMATCHED || op->cut)
        fprintf(out->stream, ",\"partner\":\"%s\"", op->cut ? "outside of the export" : "none");
    else if (op->kind != OP_COLLECTIVE)
        print_argument(out, ",", "message", op->id);
}

/* Several operations of one call would have arguments of the same names: they go into a list. */
static void print_ops(struct perfetto *out, const struct timeline_call *call)
{
    int64_t bytes = 0;
    if (call->n_ops == 1) {
        print_op(out, &call->ops[0]);
        return;
    }
    for (size_t i = 0; i < call->n_ops; i++)
        bytes = saturating_add(bytes, call->ops[i].bytes);
    fprintf(out->stream, ",\"operations\":%zu,\"bytes\":%" PRId64 ",\"each\":[", call->n_ops, bytes);
    for (size_t i = 0; i < call->n_ops; i++) {
        fprintf(out->stream, "%s{\"of\":\"%s\"", i > 0 ? "," : "", op_word(&call->ops[i]));
        print_op(out, &call->ops[i]);
        fputc('}', out->stream);
    }
    fputc(']', out->stream);
}

static void print_flow(struct perfetto *out, const char *phase, const struct timeline_op *op, int64_t at_ns,
                       uint32_t lane)
{
    begin_event(out, phase, "\"message\"");
    print_thread(out, lane);
    print_us(out->stream, "ts", at_ns);
    fprintf(out->stream, ",\"cat\":\"message\",\"id\":%" PRId64 "%s}", op->id, phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
}

static const char *category(const struct timeline_call *call)
{
    const struct timeline_op *op = call->n_ops > 0 ? call->ops : &call->first_done;
    if (call->n_ops == 0 && call->n_done == 0)
        return "mpi";
    return op->kind < OP_COLLECTIVE ? "point-to-point" : op_word(op);
}

/* Writes the slice of a call, then the flows that begin in it, which a viewer binds to the slice that is open. */
static void perfetto_leave(void *context, const struct timeline_call *call)
{
    struct perfetto *out = context;
    FILE *stream = begin_event(out, "X", out->names.functions[call->function].name.json);
    print_thread(out, call->lane);
    print_us(stream, "ts", call->begin_ns);
    print_us(stream, "dur", call->end_ns - call->begin_ns);
    fprintf(stream, ",\"cat\":\"%s\",\"args\":{\"rank\":%" PRIu32, category(call), out->rank);
    if (call->site != NAME_NONE)
        fprintf(stream, ",\"site\":%" PRId64 ",\"at\":%s", out->names.sites[call->site].id,
                out->names.sites[call->site].place.json);
    if (call->n_ops > 0)
        print_ops(out, call);
    else if (call->n_done == 1)
        print_op(out, &call->first_done);
    if (call->n_done > 1)
        fprintf(stream, ",\"completed\":%zu", call->n_done);
    if (call->idle_calls > 0)
        fprintf(stream, ",\"unsuccessful calls\":%" PRId64, call->idle_calls);
    if (!call->returned)
        fputs(",\"returned\":false", stream);
    else if (!call->timed)
        fputs(",\"length\":\"not recorded\"", stream);
    fputs("}}", stream);
    for (size_t i = 0; i < call->n_ops; i++)
        if (call->ops[i].kind == OP_SEND && !call->ops[i].cut && call->ops[i].received_ns != EXPORT_NOTHING)
            print_flow(out, "s", &call->ops[i], call->begin_ns, call->lane);
}

static void perfetto_complete(void *context, const struct timeline_op *op, uint32_t lane)
{
    if (op->kind == OP_RECEIVE)
        print_flow(context, "f", op, op->done_ns, lane);
}

static void mark(void *context, int64_t number, int64_t at_ns, uint32_t site)
{
    struct perfetto *out = context;
    begin_event(out, "i", "\"MPI_Pcontrol\"");
    print_thread(out, 0);
    print_us(out->stream, "ts", at_ns);
    fprintf(out->stream, ",\"s\":\"t\",\"args\":{\"number\":%" PRId64, number);
    if (site != NAME_NONE)
        fprintf(out->stream, ",\"at\":%s", out->names.sites[site].place.json);
    fputs("}}", out->stream);
}

static int perfetto_read_places(struct perfetto *out)
{
    struct export *export = out->export;
    struct cursor rows;
    size_t n = export->selection.n_ranks;
    out->places = xcalloc(n, sizeof *out->places);
    export_query(export, &rows,
                 "SELECT coalesce(host, 'node not known') || coalesce(', socket ' || socket, '') || coalesce(', core '"
                 " || core, '') FROM process LEFT JOIN node ON node.id = process.node ORDER BY rank");
    for (size_t i = 0; i < n && cursor_next(&rows); i++)
        out->places[i] = name_of(&rows, 0, &out->names.pool);
    return cursor_close(&rows);
}

static int print_run(struct perfetto *out)
{
    struct cursor rows;
    export_query(out->export, &rows, "SELECT command, mpi_library, started_unix_ns FROM run");
    fputs("\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"written by\":\"mpistair " MPISTAIR_VERSION "\"",
          out->stream);
    if (cursor_next(&rows))
        fprintf(out->stream, ",\"command\":%s,\"MPI\":%s,\"started_unix_ns\":\"%" PRId64 "\"",
                name_of(&rows, 0, &out->names.pool).json, name_of(&rows, 1, &out->names.pool).json,
                cursor_integer(&rows, 2));
    fputs("}}\n", out->stream);
    return cursor_close(&rows);
}

int export_perfetto(struct export *export)
{
    struct perfetto out = {.export = export};
    const struct timeline_listener listener = {.context = &out,
                                               .rank_begin = perfetto_begin_rank,
                                               .rank_end = perfetto_end_rank,
                                               .enter = perfetto_enter,
                                               .leave = perfetto_leave,
                                               .complete = perfetto_complete,
                                               .arrive = arrive,
                                               .mark = mark};
    int result = export_names_read(export, &out.names) != 0 || perfetto_read_places(&out) != 0 ? -1 : 0;
    if (result == 0)
        result = output_file_open(&out.file, export->output, export->error);
    if (result == 0) {
        out.stream = out.file.stream;
        fputs("{\"traceEvents\":[", out.stream);
        result = timeline_read(export, &out.names, &listener) != 0 || print_run(&out) != 0 ? -1 : 0;
        result = output_file_end(&out.file, result, export->error);
    }
    free(out.places);
    export_names_release(&out.names);
    return result;
}
