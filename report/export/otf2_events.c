/* Writes the events of a rank: it enters a call, posts in it, completes in it, leaves it.
 *
 * Requests have numbers that occur once in the archive: of a message 2 * its id for the send, one more for the receive.
 * What a process counts as done only by asking is written where the call that asked returns. */
#include "report/export/otf2_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/array.h"

enum otf2_event_region { REGION_APPLICATION = 0 };

static OTF2_TimeStamp when(const struct otf2 *out, int64_t ns)
{
    return (OTF2_TimeStamp)(ns - out->base_ns);
}

static int done(struct otf2 *out, OTF2_ErrorCode code)
{
    return code == OTF2_SUCCESS ? 0 : otf2_failure(out);
}

static int open_lanes(struct otf2 *out, uint32_t lane)
{
    size_t n_ranks = out->export->selection.n_ranks;
    while (out->n_writers <= lane) {
        OTF2_LocationRef location = (OTF2_LocationRef)out->n_writers * n_ranks + out->rank;
        if (array_grow(&out->writers, out->n_writers, sizeof *out->writers) != 0)
            return error_set(out->export->error, "%s: no memory for %zu threads of a rank", out->export->path,
                             out->n_writers);
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(out->archive, location);
        if (writer == NULL)
            return otf2_failure(out);
        out->writers[out->n_writers++] = writer;
    }
    return 0;
}

/* A location has a file of definitions of its own, here without any. */
static int close_lane(struct otf2 *out, uint32_t lane)
{
    OTF2_LocationRef location = (OTF2_LocationRef)lane * out->export->selection.n_ranks + out->rank;
    struct otf2_location made = {.rank = out->rank, .lane = lane};
    if (array_grow(&out->locations, out->n_locations, sizeof made) != 0)
        return error_set(out->export->error, "%s: no memory for %zu threads", out->export->path, out->n_locations);
    OTF2_DefWriter *definitions = OTF2_Archive_GetDefWriter(out->archive, location);
    if (definitions == NULL || OTF2_Archive_CloseDefWriter(out->archive, definitions) != OTF2_SUCCESS ||
        OTF2_EvtWriter_GetNumberOfEvents(out->writers[lane], &made.n_events) != OTF2_SUCCESS ||
        OTF2_Archive_CloseEvtWriter(out->archive, out->writers[lane]) != OTF2_SUCCESS)
        return otf2_failure(out);
    out->locations[out->n_locations++] = made;
    return 0;
}

static int begin_rank(void *context, uint32_t rank, int64_t begin_ns)
{
    struct otf2 *out = context;
    out->rank = rank;
    out->n_writers = 0;
    return open_lanes(out, 0) != 0
               ? -1
               : done(out, OTF2_EvtWriter_Enter(out->writers[0], NULL, when(out, begin_ns), REGION_APPLICATION));
}

static int end_rank(void *context, uint32_t rank, int64_t end_ns)
{
    struct otf2 *out = context;
    (void)rank;
    out->last_ns = end_ns > out->last_ns ? end_ns : out->last_ns;
    int result = done(out, OTF2_EvtWriter_Leave(out->writers[0], NULL, when(out, end_ns), REGION_APPLICATION));
    for (uint32_t lane = 0; result == 0 && lane < out->n_writers; lane++)
        result = close_lane(out, lane);
    return result;
}

/* Says which collective a function is; false: none that OTF2 has. The names stand without MPI_, I, _init and _c. */
static bool collective_op(const char *function, OTF2_CollectiveOp *op)
{
    static const struct {
        const char *name;
        OTF2_CollectiveOp op;
    } ops[] = {{"barrier", OTF2_COLLECTIVE_OP_BARRIER},
               {"bcast", OTF2_COLLECTIVE_OP_BCAST},
               {"gather", OTF2_COLLECTIVE_OP_GATHER},
               {"gatherv", OTF2_COLLECTIVE_OP_GATHERV},
               {"scatter", OTF2_COLLECTIVE_OP_SCATTER},
               {"scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
               {"allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
               {"allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
               {"alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
               {"alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
               {"alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
               {"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
               {"reduce", OTF2_COLLECTIVE_OP_REDUCE},
               {"reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
               {"reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
               {"scan", OTF2_COLLECTIVE_OP_SCAN},
               {"exscan", OTF2_COLLECTIVE_OP_EXSCAN}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (run_collective_named(function, ops[i].name)) {
            *op = ops[i].op;
            return true;
        }
    return false;
}

static const char *function_of(const struct otf2 *out, const struct timeline_op *op)
{
    return out->names.functions[op->function].name.text;
}

static OTF2_RegionRole role_of(const struct otf2 *out, const struct timeline_call *call)
{
    OTF2_CollectiveOp op;
    if (call->n_ops == 0)
        return OTF2_REGION_ROLE_POINT2POINT;
    switch (call->ops[0].kind) {
    case OP_COLLECTIVE:
        return collective_op(function_of(out, &call->ops[0]), &op) && op == OTF2_COLLECTIVE_OP_BARRIER
                   ? OTF2_REGION_ROLE_BARRIER
                   : OTF2_REGION_ROLE_COLL_OTHER;
    case OP_ONE_SIDED:
        return OTF2_REGION_ROLE_RMA;
    case OP_FILE:
        return OTF2_REGION_ROLE_FILE_IO;
    default:
        return OTF2_REGION_ROLE_POINT2POINT;
    }
}

/* Returns the region of a call, or OTF2_UNDEFINED_REGION without memory. */
static OTF2_RegionRef region_of(struct otf2 *out, const struct timeline_call *call)
{
    uint32_t *region = map_at(&out->region_of, (struct map_key){call->function, call->site, 0});
    if (region == NULL)
        return OTF2_UNDEFINED_REGION;
    if (*region == MAP_ABSENT) {
        if (array_grow(&out->regions, out->n_regions, sizeof *out->regions) != 0)
            return OTF2_UNDEFINED_REGION;
        out->regions[out->n_regions++] = (struct otf2_region){call->function, call->site, role_of(out, call)};
        *region = (uint32_t)out->n_regions; /* 0 is the application */
    }
    return *region;
}

static uint64_t request_of(const struct timeline_op *op)
{
    return (uint64_t)op->id * 2 + (op->kind == OP_RECEIVE);
}

/* Collectives have requests behind all those of messages. */
static uint64_t collective_request(const struct timeline_op *op)
{
    return UINT64_C(1) << 62 | (uint64_t)op->id;
}

static int post_message(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    OTF2_TimeStamp time = when(out, op->post_ns);
    if (op->cut)
        return 0;
    if (op->kind == OP_RECEIVE) {
        out->n_unreceived += op->done_ns == EXPORT_NOTHING;
        return op->nonblocking ? done(out, OTF2_EvtWriter_MpiIrecvRequest(writer, NULL, time, request_of(op))) : 0;
    }
    struct otf2_place receiver = otf2_place(out, op->comm, op->peer);
    out->n_foreign += !receiver.known;
    uint32_t tag = (uint32_t)op->tag;
    uint64_t bytes = (uint64_t)op->bytes;
    return done(
        out, op->nonblocking
                 ? OTF2_EvtWriter_MpiIsend(writer, NULL, time, receiver.rank, receiver.comm, tag, bytes, request_of(op))
                 : OTF2_EvtWriter_MpiSend(writer, NULL, time, receiver.rank, receiver.comm, tag, bytes));
}

/* Returns the window of an operation, or OTF2_UNDEFINED_RMA_WIN. */
static OTF2_RmaWinRef window_of(const struct otf2 *out, const struct timeline_op *op)
{
    uint32_t window = map_find(&out->window_of, (struct map_key){out->rank, (uint64_t)op->window, 0});
    return window == MAP_ABSENT ? OTF2_UNDEFINED_RMA_WIN : window;
}

static int post_one_sided(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    const char *function = function_of(out, op);
    OTF2_RmaWinRef window = window_of(out, op);
    OTF2_TimeStamp time = when(out, op->post_ns);
    uint64_t bytes = (uint64_t)op->bytes, id = (uint64_t)op->id;
    if (window == OTF2_UNDEFINED_RMA_WIN)
        return 0;
    if (strncmp(function, "MPI_Win_fence", 13) == 0)
        return done(out, OTF2_EvtWriter_RmaCollectiveBegin(writer, NULL, time));
    if (op->peer == EXPORT_NOTHING)
        return 0;
    struct otf2_place target = otf2_place(out, op->comm, op->peer);
    const char *name = strncmp(function, "MPI_R", 5) == 0 ? function + 5 : function + 4;
    if (strncasecmp(name, "put", 3) == 0)
        return done(out, OTF2_EvtWriter_RmaPut(writer, NULL, time, window, target.rank, bytes, id));
    if (strcasecmp(name, "get") == 0 || strcasecmp(name, "get_c") == 0)
        return done(out, OTF2_EvtWriter_RmaGet(writer, NULL, time, window, target.rank, bytes, id));
    bool fetches = strncasecmp(name, "get", 3) == 0 || strncasecmp(name, "fetch", 5) == 0;
    bool swaps = strncasecmp(name, "compare", 7) == 0;
    if (!fetches && !swaps && strncasecmp(name, "accumulate", 10) != 0)
        return 0;
    OTF2_RmaAtomicType type = swaps     ? OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP
                              : fetches ? OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE
                                        : OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
    return done(out, OTF2_EvtWriter_RmaAtomic(writer, NULL, time, window, target.rank, type, bytes,
                                              fetches || swaps ? bytes : 0, id));
}

static int post(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    OTF2_CollectiveOp collective;
    OTF2_TimeStamp time = when(out, op->post_ns);
    switch (op->kind) {
    case OP_SEND:
    case OP_RECEIVE:
        return post_message(out, writer, op);
    case OP_ONE_SIDED:
        return post_one_sided(out, writer, op);
    case OP_COLLECTIVE:
        if (!collective_op(function_of(out, op), &collective) || (!op->nonblocking && op->done_ns == EXPORT_NOTHING))
            return 0;
        return done(out, op->nonblocking
                             ? OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, NULL, time, collective_request(op))
                             : OTF2_EvtWriter_MpiCollectiveBegin(writer, NULL, time));
    default:
        return 0;
    }
}

static int enter(void *context, const struct timeline_call *call)
{
    struct otf2 *out = context;
    OTF2_RegionRef region = region_of(out, call);
    if (region == OTF2_UNDEFINED_REGION)
        return error_set(out->export->error, "%s: no memory for its regions", out->export->path);
    if (open_lanes(out, call->lane) != 0)
        return -1;
    OTF2_EvtWriter *writer = out->writers[call->lane];
    int result = done(out, OTF2_EvtWriter_Enter(writer, NULL, when(out, call->begin_ns), region));
    for (size_t i = 0; result == 0 && i < call->n_ops; i++)
        result = post(out, writer, &call->ops[i]);
    return result;
}

static int leave(void *context, const struct timeline_call *call)
{
    struct otf2 *out = context;
    return done(out,
                OTF2_EvtWriter_Leave(out->writers[call->lane], NULL, when(out, call->end_ns), region_of(out, call)));
}

/* The trace has what a rank hands in, of a broadcast or scatter what it gets unless it is the root. */
static int complete_collective(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    OTF2_CollectiveOp collective;
    if (!collective_op(function_of(out, op), &collective))
        return 0;
    struct otf2_place place = otf2_place(out, op->comm, op->peer == EXPORT_NOTHING ? out->rank : op->peer);
    uint32_t root = op->peer == EXPORT_NOTHING ? OTF2_COLLECTIVE_ROOT_NONE : place.rank;
    bool gets = (collective == OTF2_COLLECTIVE_OP_BCAST || collective == OTF2_COLLECTIVE_OP_SCATTER ||
                 collective == OTF2_COLLECTIVE_OP_SCATTERV) &&
                op->peer != (int64_t)out->rank;
    bool both = collective == OTF2_COLLECTIVE_OP_ALLREDUCE || collective == OTF2_COLLECTIVE_OP_SCAN ||
                collective == OTF2_COLLECTIVE_OP_EXSCAN;
    uint64_t bytes = (uint64_t)op->bytes, sent = gets ? 0 : bytes, received = gets || both ? bytes : 0;
    OTF2_TimeStamp time = when(out, op->done_ns);
    return done(
        out, op->nonblocking
                 ? OTF2_EvtWriter_NonBlockingCollectiveComplete(writer, NULL, time, collective, place.comm, root, sent,
                                                                received, collective_request(op))
                 : OTF2_EvtWriter_MpiCollectiveEnd(writer, NULL, time, collective, place.comm, root, sent, received));
}

static int complete_one_sided(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    const char *function = function_of(out, op);
    OTF2_RmaWinRef window = window_of(out, op);
    OTF2_TimeStamp time = when(out, op->done_ns);
    if (window == OTF2_UNDEFINED_RMA_WIN)
        return 0;
    if (strncmp(function, "MPI_Win_fence", 13) == 0)
        return done(out, OTF2_EvtWriter_RmaCollectiveEnd(writer, NULL, time, OTF2_COLLECTIVE_OP_BARRIER,
                                                         OTF2_RMA_SYNC_LEVEL_MEMORY, window, OTF2_COLLECTIVE_ROOT_NONE,
                                                         0, 0));
    if (strncmp(function, "MPI_Win_create", 14) == 0 || strncmp(function, "MPI_Win_allocate", 16) == 0)
        return done(out, OTF2_EvtWriter_RmaWinCreate(writer, NULL, time, window));
    if (strcmp(function, "MPI_Win_free") == 0)
        return done(out, OTF2_EvtWriter_RmaWinDestroy(writer, NULL, time, window));
    return op->nonblocking
               ? done(out, OTF2_EvtWriter_RmaOpCompleteNonBlocking(writer, NULL, time, window, (uint64_t)op->id))
               : 0;
}

static int complete(void *context, const struct timeline_op *op, uint32_t lane)
{
    struct otf2 *out = context;
    OTF2_EvtWriter *writer = out->writers[lane];
    OTF2_TimeStamp time = when(out, op->done_ns);
    struct otf2_place sender;
    switch (op->kind) {
    case OP_SEND:
        return op->nonblocking ? done(out, OTF2_EvtWriter_MpiIsendComplete(writer, NULL, time, request_of(op))) : 0;
    case OP_RECEIVE:
        sender = otf2_place(out, op->comm, op->peer);
        return done(out, op->nonblocking
                             ? OTF2_EvtWriter_MpiIrecv(writer, NULL, time, sender.rank, sender.comm, (uint32_t)op->tag,
                                                       (uint64_t)op->bytes, request_of(op))
                             : OTF2_EvtWriter_MpiRecv(writer, NULL, time, sender.rank, sender.comm, (uint32_t)op->tag,
                                                      (uint64_t)op->bytes));
    case OP_COLLECTIVE:
        return complete_collective(out, writer, op);
    case OP_ONE_SIDED:
        return complete_one_sided(out, writer, op);
    default:
        return 0;
    }
}

/* OTF2 has markers, but not in the events of a location. */
static int mark(void *context, int64_t number, int64_t at_ns, uint32_t site)
{
    (void)context;
    (void)number;
    (void)at_ns;
    (void)site;
    return 0;
}

/* Locations of ranks that are not wanted are there as well, without events: communicators name them. */
static int write_others(struct otf2 *out)
{
    const struct selection *selection = &out->export->selection;
    int result = 0;
    for (size_t rank = 0; result == 0 && rank < selection->n_ranks; rank++)
        if (!selection->wanted[rank]) {
            out->rank = (uint32_t)rank;
            out->n_writers = 0;
            result = open_lanes(out, 0) != 0 ? -1 : close_lane(out, 0);
        }
    return result;
}

int otf2_events_write(struct otf2 *out)
{
    const struct timeline_listener listener = {.context = out,
                                               .rank_begin = begin_rank,
                                               .rank_end = end_rank,
                                               .enter = enter,
                                               .leave = leave,
                                               .complete = complete,
                                               .mark = mark};
    if (OTF2_Archive_OpenEvtFiles(out->archive) != OTF2_SUCCESS ||
        OTF2_Archive_OpenDefFiles(out->archive) != OTF2_SUCCESS)
        return otf2_failure(out);
    if (timeline_read(out->export, &out->names, &listener) != 0 || write_others(out) != 0)
        return -1;
    if (OTF2_Archive_CloseDefFiles(out->archive) != OTF2_SUCCESS ||
        OTF2_Archive_CloseEvtFiles(out->archive) != OTF2_SUCCESS)
        return otf2_failure(out);
    return 0;
}
