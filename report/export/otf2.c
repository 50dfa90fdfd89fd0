/* Writes an OTF2 archive by libotf2: a folder with traces.otf2, traces.def and traces/.
 *
 * OTF2 names everything by numbers, which definitions explain: events come first, and what they named is defined when
 * all of them are there. Text is a definition of its own, string 0 is empty. A rank is a location group (a process),
 * each lane of it a location (a thread): lane 0 of rank r is location r, lane k is k * n_ranks + r.
 *
 * Events of a rank: it enters a call, posts in it, completes in it, leaves it. Requests have numbers that occur once in
 * the archive: of a message 2 * its id for the send, one more for the receive. What a process counts as done only by
 * asking is written where the call that asked returns.
 *
 * Communicators of OTF2 are groups of ranks of MPI_COMM_WORLD. Messages of an intercommunicator bear the smaller id of
 * both of its groups. OTF2 has InterComm for it, which python3-otf2 3.0.2 cannot read, nor a reader older than OTF2 3.
 * So it is a communicator with the ranks of both, the group of the smaller id first.
 *
 * libotf2 fails where the disk is full, say. The first failure is kept (wrote), nothing is written after it, and each
 * rank and the definitions end with a look at it (check_otf2). */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/export/rank_timeline.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"

enum { EVENT_CHUNK_BYTES = 1 << 18, DEFINITION_CHUNK_BYTES = 1 << 22, REGION_APPLICATION = 0 };

/* The creator in the anchor file of archives that mpistair wrote. */
#define CREATOR "mpistair export"

/* A function as called from one place. */
struct region {
    uint32_t function, site; /* site NAME_NONE: not known */
    OTF2_RegionRole role;
};

struct location {
    uint32_t rank, lane;
    uint64_t n_events;
};

/* A communicator of the archive. */
struct comm {
    const char *name;
    size_t first; /* of its members */
    uint32_t n;   /* members that the trace knows */
};

/* A communicator, and a rank in it. */
struct place {
    OTF2_CommRef comm;
    uint32_t rank;
    bool known; /* false: the trace does not know its members; the rank is that of MPI_COMM_WORLD */
};

struct otf2 {
    struct export *export;
    struct export_names names;
    OTF2_Archive *archive;
    OTF2_CommRef *comm_refs; /* [names.n_comms] both groups of an intercommunicator have one */
    struct comm *comms;      /* [n_comms] by OTF2_CommRef */
    OTF2_CommRef n_comms;
    uint64_t *members; /* [n_members] ranks of MPI_COMM_WORLD, those of a communicator in its order */
    size_t n_members;
    struct map rank_in_comm; /* by (OTF2_CommRef, rank of MPI_COMM_WORLD) */
    struct map window_of;    /* by (rank, number of the window in its process) */
    OTF2_CommRef *windows;   /* [n_windows] the communicator of each, the same window on all ranks */
    size_t n_windows;
    struct map region_of; /* by (function, site) */
    struct region *regions;
    size_t n_regions;
    struct location *locations;
    size_t n_locations;
    OTF2_EvtWriter **writers; /* [n_writers] of the lanes of the present rank */
    size_t n_writers;
    OTF2_GlobalDefWriter *definitions;
    OTF2_StringRef n_strings; /* defined so far */
    uint32_t rank;
    int64_t base_ns, last_ns; /* second 0 of the archive; last event */
    uint64_t n_unreceived;    /* messages whose receive was never reported complete */
    bool unknown_comm;        /* it is named somewhere */
    uint64_t n_foreign;       /* messages on communicators whose members the trace does not know */
    bool failed;
    char reason[512]; /* the first error of libotf2 */
};

static void wrote(struct otf2 *out, OTF2_ErrorCode code)
{
    out->failed = out->failed || code != OTF2_SUCCESS;
}

/* Returns 0, or -1 with the reason that libotf2 gave. */
static int check_otf2(struct otf2 *out)
{
    if (!out->failed && out->reason[0] == '\0')
        return 0;
    return error_set(out->export->error, "%s: the archive cannot be written: %s", out->export->output,
                     out->reason[0] != '\0' ? out->reason : "libotf2 does not say why");
}

/* Numbers the communicators, an intercommunicator by its group with the smaller id. */
static void number_comms(struct otf2 *out)
{
    const struct export_names *names = &out->names;
    out->comm_refs = xcalloc(names->n_comms, sizeof *out->comm_refs);
    out->comms = xcalloc(names->n_comms, sizeof *out->comms);
    for (size_t i = 0; i < names->n_comms; i++) {
        int64_t remote = names->comms[i].remote;
        uint32_t other = remote >= 0 ? names_comm(names, remote) : NAME_NONE;
        out->comm_refs[i] = other < i ? out->comm_refs[other] : out->n_comms++;
        if (other >= i)
            out->comms[out->comm_refs[i]].name = names->comms[i].name.text;
    }
}

/* A rank in a communicator is the position among those that the trace knows. */
static const char members_sql[] =
    "SELECT m.communicator, world_rank FROM communicator_member m LEFT JOIN communicator c ON c.id = m.communicator"
    " LEFT JOIN communicator other ON other.id = c.remote"
    " ORDER BY min(m.communicator, coalesce(other.id, m.communicator)), m.communicator, m.rank";

static int read_members(struct otf2 *out)
{
    struct export *export = out->export;
    struct cursor rows;
    export_query(export, &rows, members_sql);
    while (cursor_next(&rows)) {
        uint32_t index = names_comm(&out->names, cursor_integer(&rows, 0));
        int64_t world_rank = cursor_integer(&rows, 1);
        if (index == NAME_NONE)
            continue;
        struct comm *comm = &out->comms[out->comm_refs[index]];
        uint32_t *place = map_at(&out->rank_in_comm, (struct map_key){out->comm_refs[index], (uint64_t)world_rank, 0});
        if (world_rank < 0 || (size_t)world_rank >= export->selection.n_ranks) {
            rows.result =
                error_set(export->error, "%s: communicator_member: rank %lld; the table process has %zu ranks",
                          export->path, (long long)world_rank, export->selection.n_ranks);
        } else if (*place == MAP_ABSENT) {
            comm->first = comm->n == 0 ? out->n_members : comm->first;
            *place = comm->n++;
            ARRAY_ADD(out->members, out->n_members, (uint64_t)world_rank);
        }
    }
    return cursor_close(&rows);
}

/* The k-th window that processes made of a communicator is the same one on all of them. */
static const char windows_sql[] =
    "SELECT rank, comm, window, row_number() OVER (PARTITION BY rank, comm ORDER BY window) FROM"
    " (SELECT DISTINCT rank, comm, window FROM rma WHERE comm IS NOT NULL AND window IS NOT NULL)";

static int read_windows(struct otf2 *out)
{
    struct cursor rows;
    struct map same = {0};
    export_query(out->export, &rows, windows_sql);
    while (cursor_next(&rows)) {
        uint32_t comm = names_comm(&out->names, cursor_integer(&rows, 1));
        struct map_key key = {(uint64_t)cursor_integer(&rows, 1), (uint64_t)cursor_integer(&rows, 3), 0};
        struct map_key own = {(uint64_t)cursor_integer(&rows, 0), (uint64_t)cursor_integer(&rows, 2), 0};
        if (comm == NAME_NONE)
            continue;
        uint32_t *window = map_at(&same, key);
        if (*window == MAP_ABSENT) {
            *window = (uint32_t)out->n_windows;
            ARRAY_ADD(out->windows, out->n_windows, out->comm_refs[comm]);
        }
        *map_at(&out->window_of, own) = *window;
    }
    map_release(&same);
    return cursor_close(&rows);
}

/* Returns the communicator of an operation and the rank there of a rank of MPI_COMM_WORLD. One whose members are not
 * known stands for all ranks. */
static struct place place_of(struct otf2 *out, int64_t comm, int64_t world_rank)
{
    uint32_t index = names_comm(&out->names, comm), rank = MAP_ABSENT;
    if (index != NAME_NONE && world_rank >= 0)
        rank = map_find(&out->rank_in_comm, (struct map_key){out->comm_refs[index], (uint64_t)world_rank, 0});
    if (rank != MAP_ABSENT)
        return (struct place){out->comm_refs[index], rank, true};
    out->unknown_comm = true;
    return (struct place){out->n_comms, (uint32_t)world_rank, false};
}

static OTF2_TimeStamp when(const struct otf2 *out, int64_t ns)
{
    return (OTF2_TimeStamp)(ns - out->base_ns);
}

static void open_lanes(struct otf2 *out, uint32_t lane)
{
    while (!out->failed && out->n_writers <= lane) {
        OTF2_LocationRef location = (OTF2_LocationRef)out->n_writers * out->export->selection.n_ranks + out->rank;
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(out->archive, location);
        ARRAY_ADD(out->writers, out->n_writers, writer);
        out->failed = writer == NULL;
    }
}

/* Closes a lane. A location has a file of definitions of its own, here without any. */
static void close_lane(struct otf2 *out, uint32_t lane)
{
    OTF2_LocationRef location = (OTF2_LocationRef)lane * out->export->selection.n_ranks + out->rank;
    struct location made = {.rank = out->rank, .lane = lane};
    OTF2_DefWriter *definitions = out->failed ? NULL : OTF2_Archive_GetDefWriter(out->archive, location);
    out->failed = definitions == NULL || OTF2_Archive_CloseDefWriter(out->archive, definitions) != OTF2_SUCCESS ||
                  OTF2_EvtWriter_GetNumberOfEvents(out->writers[lane], &made.n_events) != OTF2_SUCCESS ||
                  OTF2_Archive_CloseEvtWriter(out->archive, out->writers[lane]) != OTF2_SUCCESS;
    ARRAY_ADD(out->locations, out->n_locations, made);
}

static void otf2_begin_rank(void *context, uint32_t rank, int64_t begin_ns)
{
    struct otf2 *out = context;
    out->rank = rank;
    out->n_writers = 0;
    open_lanes(out, 0);
    if (!out->failed)
        wrote(out, OTF2_EvtWriter_Enter(out->writers[0], NULL, when(out, begin_ns), REGION_APPLICATION));
}

static int otf2_end_rank(void *context, uint32_t rank, int64_t end_ns)
{
    struct otf2 *out = context;
    (void)rank;
    out->last_ns = end_ns > out->last_ns ? end_ns : out->last_ns;
    if (!out->failed)
        wrote(out, OTF2_EvtWriter_Leave(out->writers[0], NULL, when(out, end_ns), REGION_APPLICATION));
    for (uint32_t lane = 0; lane < out->n_writers; lane++)
        close_lane(out, lane);
    return check_otf2(out);
}

/* Finds the collective that a function is, by its name without MPI_, I, _init and _c. Returns false where OTF2 has
 * none. */
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

static OTF2_RegionRef region_of(struct otf2 *out, const struct timeline_call *call)
{
    uint32_t *region = map_at(&out->region_of, (struct map_key){call->function, call->site, 0});
    if (*region == MAP_ABSENT) {
        ARRAY_ADD(out->regions, out->n_regions, (struct region){call->function, call->site, role_of(out, call)});
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

static OTF2_ErrorCode post_message(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    OTF2_TimeStamp time = when(out, op->post_ns);
    if (op->cut)
        return OTF2_SUCCESS;
    if (op->kind == OP_RECEIVE) {
        out->n_unreceived += op->done_ns == EXPORT_NOTHING;
        return op->nonblocking ? OTF2_EvtWriter_MpiIrecvRequest(writer, NULL, time, request_of(op)) : OTF2_SUCCESS;
    }
    struct place receiver = place_of(out, op->comm, op->peer);
    out->n_foreign += !receiver.known;
    uint32_t tag = (uint32_t)op->tag;
    uint64_t bytes = (uint64_t)op->bytes;
    return op->nonblocking
               ? OTF2_EvtWriter_MpiIsend(writer, NULL, time, receiver.rank, receiver.comm, tag, bytes, request_of(op))
               : OTF2_EvtWriter_MpiSend(writer, NULL, time, receiver.rank, receiver.comm, tag, bytes);
}

/* Returns the window of an operation, or OTF2_UNDEFINED_RMA_WIN. */
static OTF2_RmaWinRef window_of(const struct otf2 *out, const struct timeline_op *op)
{
    uint32_t window = map_find(&out->window_of, (struct map_key){out->rank, (uint64_t)op->window, 0});
    return window == MAP_ABSENT ? OTF2_UNDEFINED_RMA_WIN : window;
}

static OTF2_ErrorCode post_one_sided(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    const char *function = function_of(out, op);
    OTF2_RmaWinRef window = window_of(out, op);
    OTF2_TimeStamp time = when(out, op->post_ns);
    uint64_t bytes = (uint64_t)op->bytes, id = (uint64_t)op->id;
    if (window == OTF2_UNDEFINED_RMA_WIN)
        return OTF2_SUCCESS;
    if (strncmp(function, "MPI_Win_fence", 13) == 0)
        return OTF2_EvtWriter_RmaCollectiveBegin(writer, NULL, time);
    if (op->peer == EXPORT_NOTHING)
        return OTF2_SUCCESS;
    struct place target = place_of(out, op->comm, op->peer);
    const char *name = strncmp(function, "MPI_R", 5) == 0 ? function + 5 : function + 4;
    if (strncasecmp(name, "put", 3) == 0)
        return OTF2_EvtWriter_RmaPut(writer, NULL, time, window, target.rank, bytes, id);
    if (strcasecmp(name, "get") == 0 || strcasecmp(name, "get_c") == 0)
        return OTF2_EvtWriter_RmaGet(writer, NULL, time, window, target.rank, bytes, id);
    bool fetches = strncasecmp(name, "get", 3) == 0 || strncasecmp(name, "fetch", 5) == 0;
    bool swaps = strncasecmp(name, "compare", 7) == 0;
    if (!fetches && !swaps && strncasecmp(name, "accumulate", 10) != 0)
        return OTF2_SUCCESS;
    OTF2_RmaAtomicType type = swaps     ? OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP
                              : fetches ? OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE
                                        : OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
    return OTF2_EvtWriter_RmaAtomic(writer, NULL, time, window, target.rank, type, bytes, fetches || swaps ? bytes : 0,
                                    id);
}

static OTF2_ErrorCode post(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
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
            return OTF2_SUCCESS;
        return op->nonblocking ? OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, NULL, time, collective_request(op))
                               : OTF2_EvtWriter_MpiCollectiveBegin(writer, NULL, time);
    default:
        return OTF2_SUCCESS;
    }
}

static void otf2_enter(void *context, const struct timeline_call *call)
{
    struct otf2 *out = context;
    open_lanes(out, call->lane);
    if (out->failed)
        return;
    OTF2_EvtWriter *writer = out->writers[call->lane];
    wrote(out, OTF2_EvtWriter_Enter(writer, NULL, when(out, call->begin_ns), region_of(out, call)));
    for (size_t i = 0; i < call->n_ops; i++)
        wrote(out, post(out, writer, &call->ops[i]));
}

static void otf2_leave(void *context, const struct timeline_call *call)
{
    struct otf2 *out = context;
    if (!out->failed)
        wrote(out, OTF2_EvtWriter_Leave(out->writers[call->lane], NULL, when(out, call->end_ns), region_of(out, call)));
}

/* The trace has what a rank hands in, of a broadcast or scatter what it gets unless it is the root. */
static OTF2_ErrorCode complete_collective(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    OTF2_CollectiveOp collective;
    if (!collective_op(function_of(out, op), &collective))
        return OTF2_SUCCESS;
    struct place place = place_of(out, op->comm, op->peer == EXPORT_NOTHING ? out->rank : op->peer);
    uint32_t root = op->peer == EXPORT_NOTHING ? OTF2_COLLECTIVE_ROOT_NONE : place.rank;
    bool gets = (collective == OTF2_COLLECTIVE_OP_BCAST || collective == OTF2_COLLECTIVE_OP_SCATTER ||
                 collective == OTF2_COLLECTIVE_OP_SCATTERV) &&
                op->peer != (int64_t)out->rank;
    bool both = collective == OTF2_COLLECTIVE_OP_ALLREDUCE || collective == OTF2_COLLECTIVE_OP_SCAN ||
                collective == OTF2_COLLECTIVE_OP_EXSCAN;
    uint64_t bytes = (uint64_t)op->bytes, sent = gets ? 0 : bytes, received = gets || both ? bytes : OTF2_SUCCESS;
    OTF2_TimeStamp time = when(out, op->done_ns);
    return op->nonblocking
               ? OTF2_EvtWriter_NonBlockingCollectiveComplete(writer, NULL, time, collective, place.comm, root, sent,
                                                              received, collective_request(op))
               : OTF2_EvtWriter_MpiCollectiveEnd(writer, NULL, time, collective, place.comm, root, sent, received);
}

static OTF2_ErrorCode complete_one_sided(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    const char *function = function_of(out, op);
    OTF2_RmaWinRef window = window_of(out, op);
    OTF2_TimeStamp time = when(out, op->done_ns);
    if (window == OTF2_UNDEFINED_RMA_WIN)
        return OTF2_SUCCESS;
    if (strncmp(function, "MPI_Win_fence", 13) == 0)
        return OTF2_EvtWriter_RmaCollectiveEnd(writer, NULL, time, OTF2_COLLECTIVE_OP_BARRIER,
                                               OTF2_RMA_SYNC_LEVEL_MEMORY, window, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    if (strncmp(function, "MPI_Win_create", 14) == 0 || strncmp(function, "MPI_Win_allocate", 16) == 0)
        return OTF2_EvtWriter_RmaWinCreate(writer, NULL, time, window);
    if (strcmp(function, "MPI_Win_free") == 0)
        return OTF2_EvtWriter_RmaWinDestroy(writer, NULL, time, window);
    return op->nonblocking ? OTF2_EvtWriter_RmaOpCompleteNonBlocking(writer, NULL, time, window, (uint64_t)op->id)
                           : OTF2_SUCCESS;
}

static OTF2_ErrorCode complete_message(struct otf2 *out, OTF2_EvtWriter *writer, const struct timeline_op *op)
{
    OTF2_TimeStamp time = when(out, op->done_ns);
    if (op->kind == OP_SEND)
        return op->nonblocking ? OTF2_EvtWriter_MpiIsendComplete(writer, NULL, time, request_of(op)) : OTF2_SUCCESS;
    struct place sender = place_of(out, op->comm, op->peer);
    uint32_t tag = (uint32_t)op->tag;
    uint64_t bytes = (uint64_t)op->bytes;
    return op->nonblocking
               ? OTF2_EvtWriter_MpiIrecv(writer, NULL, time, sender.rank, sender.comm, tag, bytes, request_of(op))
               : OTF2_EvtWriter_MpiRecv(writer, NULL, time, sender.rank, sender.comm, tag, bytes);
}

static void otf2_complete(void *context, const struct timeline_op *op, uint32_t lane)
{
    struct otf2 *out = context;
    if (out->failed)
        return;
    OTF2_EvtWriter *writer = out->writers[lane];
    if (op->kind == OP_SEND || op->kind == OP_RECEIVE)
        wrote(out, complete_message(out, writer, op));
    else if (op->kind == OP_COLLECTIVE)
        wrote(out, complete_collective(out, writer, op));
    else if (op->kind == OP_ONE_SIDED)
        wrote(out, complete_one_sided(out, writer, op));
}

/* Writes the events of all ranks. Locations of ranks that are not wanted are there as well, without events:
 * communicators name them. */
static int write_events(struct otf2 *out)
{
    const struct selection *selection = &out->export->selection;
    const struct timeline_listener listener = {.context = out,
                                               .rank_begin = otf2_begin_rank,
                                               .rank_end = otf2_end_rank,
                                               .enter = otf2_enter,
                                               .leave = otf2_leave,
                                               .complete = otf2_complete}; /* no mark: OTF2's markers are no events */
    wrote(out, OTF2_Archive_OpenEvtFiles(out->archive));
    wrote(out, OTF2_Archive_OpenDefFiles(out->archive));
    if (out->failed || timeline_read(out->export, &out->names, &listener) != 0)
        return out->failed ? check_otf2(out) : -1;
    for (size_t rank = 0; !out->failed && rank < selection->n_ranks; rank++)
        if (!selection->wanted[rank]) {
            out->rank = (uint32_t)rank;
            out->n_writers = 0;
            open_lanes(out, 0);
            close_lane(out, 0);
        }
    wrote(out, OTF2_Archive_CloseDefFiles(out->archive));
    wrote(out, OTF2_Archive_CloseEvtFiles(out->archive));
    return check_otf2(out);
}

/* Defines a text and returns its number. */
static OTF2_StringRef string(struct otf2 *out, const char *text)
{
    wrote(out, OTF2_GlobalDefWriter_WriteString(out->definitions, out->n_strings, text));
    return out->n_strings++;
}

static int define_clock(struct otf2 *out)
{
    struct cursor rows;
    int64_t started_ns = 0;
    export_query(out->export, &rows, "SELECT started_unix_ns FROM run");
    if (cursor_next(&rows))
        started_ns = cursor_integer(&rows, 0);
    uint64_t length_ns = out->last_ns > out->base_ns ? (uint64_t)(out->last_ns - out->base_ns) : 0;
    uint64_t realtime_ns = started_ns > 0 ? (uint64_t)started_ns - (uint64_t)-out->base_ns : OTF2_UNDEFINED_TIMESTAMP;
    wrote(out, OTF2_GlobalDefWriter_WriteClockProperties(out->definitions, 1000000000, 0, length_ns, realtime_ns));
    return cursor_close(&rows);
}

static void define_regions(struct otf2 *out)
{
    OTF2_StringRef name = string(out, "application");
    wrote(out, OTF2_GlobalDefWriter_WriteRegion(out->definitions, REGION_APPLICATION, name, name, 0,
                                                OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0,
                                                0, 0));
    for (size_t i = 0; i < out->n_regions; i++) {
        const struct region *region = &out->regions[i];
        const struct named_site *site = region->site != NAME_NONE ? &out->names.sites[region->site] : NULL;
        name = string(out, out->names.functions[region->function].name.text);
        OTF2_StringRef place = site != NULL ? string(out, site->place.text) : 0;
        OTF2_StringRef file = site != NULL && site->file.text[0] != '\0' ? string(out, site->file.text) : 0;
        uint32_t line = site != NULL && site->line > 0 && site->line < UINT32_MAX ? (uint32_t)site->line : 0;
        wrote(out,
              OTF2_GlobalDefWriter_WriteRegion(out->definitions, (OTF2_RegionRef)i + 1, name, name, place, region->role,
                                               OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, file, line, line));
    }
}

/* Defines the nodes below one machine, in the order of their ids. */
static int define_nodes(struct otf2 *out)
{
    struct cursor rows;
    struct pool pool = {0};
    OTF2_SystemTreeNodeRef node = 0;
    OTF2_StringRef machine = string(out, "machine"), node_class = string(out, "node");
    wrote(out, OTF2_GlobalDefWriter_WriteSystemTreeNode(out->definitions, 0, machine, machine,
                                                        OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    export_query(out->export, &rows, "SELECT host FROM node ORDER BY id");
    while (cursor_next(&rows)) {
        OTF2_StringRef name = string(out, cursor_text(&rows, 0, &pool));
        wrote(out, OTF2_GlobalDefWriter_WriteSystemTreeNode(out->definitions, ++node, name, node_class, 0));
    }
    pool_release(&pool);
    return cursor_close(&rows);
}

/* Defines a process for each rank on its node; one without a place is on the machine. */
static int define_ranks(struct otf2 *out)
{
    struct cursor rows;
    char text[64];
    export_query(
        out->export, &rows,
        "SELECT rank, coalesce(n.nth, 0) FROM process LEFT JOIN"
        " (SELECT id, row_number() OVER (ORDER BY id) AS nth FROM node) n ON n.id = process.node ORDER BY rank");
    while (cursor_next(&rows)) {
        uint32_t rank = (uint32_t)cursor_integer(&rows, 0);
        snprintf(text, sizeof text, "rank %" PRIu32, rank);
        wrote(out, OTF2_GlobalDefWriter_WriteLocationGroup(
                       out->definitions, rank, string(out, text), OTF2_LOCATION_GROUP_TYPE_PROCESS,
                       (OTF2_SystemTreeNodeRef)cursor_integer(&rows, 1), OTF2_UNDEFINED_LOCATION_GROUP));
    }
    return cursor_close(&rows);
}

static void define_locations(struct otf2 *out)
{
    char text[64];
    for (size_t i = 0; i < out->n_locations; i++) {
        const struct location *location = &out->locations[i];
        OTF2_LocationRef ref = (OTF2_LocationRef)location->lane * out->export->selection.n_ranks + location->rank;
        int n = snprintf(text, sizeof text, "rank %" PRIu32, location->rank);
        if (location->lane > 0)
            snprintf(text + n, sizeof text - (size_t)n, ", thread %" PRIu32, location->lane + 1);
        wrote(out,
              OTF2_GlobalDefWriter_WriteLocation(out->definitions, ref, string(out, text),
                                                 OTF2_LOCATION_TYPE_CPU_THREAD, location->n_events, location->rank));
    }
}

/* Defines a group of n members: 0 has all ranks, i + 1 those of communicator i of the archive. */
static void define_group(struct otf2 *out, OTF2_GroupRef group, OTF2_GroupType type, uint32_t n,
                         const uint64_t *members)
{
    wrote(out, OTF2_GlobalDefWriter_WriteGroup(out->definitions, group, 0, type, OTF2_PARADIGM_MPI,
                                               OTF2_GROUP_FLAG_NONE, n, members));
}

static void define_groups(struct otf2 *out)
{
    size_t n_ranks = out->export->selection.n_ranks;
    uint64_t *all = xcalloc(n_ranks, sizeof *all);
    for (size_t i = 0; i < n_ranks; i++)
        all[i] = i;
    define_group(out, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, (uint32_t)n_ranks, all);
    for (OTF2_CommRef i = 0; i < out->n_comms; i++)
        define_group(out, i + 1, OTF2_GROUP_TYPE_COMM_GROUP, out->comms[i].n,
                     out->members != NULL ? out->members + out->comms[i].first : NULL);
    if (out->unknown_comm)
        define_group(out, out->n_comms + 1, OTF2_GROUP_TYPE_COMM_GROUP, (uint32_t)n_ranks, all);
    free(all);
}

static void define_comm(struct otf2 *out, OTF2_CommRef comm, const char *name)
{
    wrote(out, OTF2_GlobalDefWriter_WriteComm(out->definitions, comm, string(out, name), comm + 1, OTF2_UNDEFINED_COMM,
                                              OTF2_COMM_FLAG_NONE));
}

static void define_comms(struct otf2 *out)
{
    char text[64];
    for (OTF2_CommRef i = 0; i < out->n_comms; i++)
        define_comm(out, i, out->comms[i].name);
    if (out->unknown_comm)
        define_comm(out, out->n_comms, "communicator whose members are not known");
    for (size_t i = 0; i < out->n_windows; i++) {
        snprintf(text, sizeof text, "window %zu", i + 1);
        wrote(out, OTF2_GlobalDefWriter_WriteRmaWin(out->definitions, (OTF2_RmaWinRef)i, string(out, text),
                                                    out->windows[i], OTF2_RMA_WIN_FLAG_NONE));
    }
}

/* Writes what the numbers in the events mean: the clock, the machine, the ranks, the functions, the communicators. */
static int write_definitions(struct otf2 *out)
{
    out->definitions = OTF2_Archive_GetGlobalDefWriter(out->archive);
    out->failed = out->definitions == NULL;
    if (out->failed)
        return check_otf2(out);
    string(out, "");
    wrote(out, OTF2_GlobalDefWriter_WriteParadigm(out->definitions, OTF2_PARADIGM_MPI, string(out, "MPI"),
                                                  OTF2_PARADIGM_CLASS_PROCESS));
    if (define_clock(out) != 0 || define_nodes(out) != 0 || define_ranks(out) != 0)
        return -1;
    define_locations(out);
    define_regions(out);
    define_groups(out);
    define_comms(out);
    wrote(out, OTF2_Archive_CloseGlobalDefWriter(out->archive, out->definitions));
    return check_otf2(out);
}

static OTF2_FlushType flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

/* Keeps the errors of libotf2, which would print them, until they are reported. */
static OTF2_ErrorCode keep_error(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                                 const char *format, va_list arguments)
{
    struct otf2 *out = data;
    (void)file;
    (void)line;
    (void)function;
    if (out->reason[0] == '\0' && code > OTF2_SUCCESS) {
        char text[384];
        vsnprintf(text, sizeof text, format, arguments);
        snprintf(out->reason, sizeof out->reason, "%.100s: %s", OTF2_Error_GetDescription(code), text);
    }
    return code;
}

static const char first_sql[] =
    "SELECT min(0, coalesce((SELECT min(begin_ns) FROM process), 0),"
    " coalesce((SELECT min(min(send_post_ns, send_post_ns + late_ns)) FROM message_row), 0),"
    " coalesce((SELECT min(begin_ns) FROM call_row), 0), coalesce((SELECT min(begin_ns) FROM collective), 0),"
    " coalesce((SELECT min(begin_ns) FROM rma), 0), coalesce((SELECT min(begin_ns) FROM file_call), 0),"
    " coalesce((SELECT min(post_ns) FROM unmatched), 0))";

/* Times of OTF2 are not negative: what lies before the run's begin moves it. */
static int find_base(struct otf2 *out)
{
    struct cursor rows;
    export_query(out->export, &rows, first_sql);
    if (cursor_next(&rows))
        out->base_ns = cursor_integer(&rows, 0);
    out->last_ns = out->base_ns;
    return cursor_close(&rows);
}

static int write_archive(struct otf2 *out, const char *folder)
{
    static const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush};
    out->archive = OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK_BYTES, DEFINITION_CHUNK_BYTES,
                                     OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    out->failed = out->archive == NULL;
    if (out->failed)
        return check_otf2(out);
    wrote(out, OTF2_Archive_SetFlushCallbacks(out->archive, &callbacks, NULL));
    wrote(out, OTF2_Archive_SetSerialCollectiveCallbacks(out->archive));
    wrote(out, OTF2_Archive_SetCreator(out->archive, CREATOR " " MPISTAIR_VERSION));
    int result = check_otf2(out) != 0 || write_events(out) != 0 ? -1 : write_definitions(out);
    wrote(out, OTF2_Archive_Close(out->archive));
    return result == 0 ? check_otf2(out) : -1;
}

static void note_unreceived(const struct otf2 *out)
{
    if (out->n_unreceived > 0)
        fprintf(stderr,
                "mpistair: note: of %llu messages no call reported the receive complete: they have only a send\n",
                (unsigned long long)out->n_unreceived);
    if (out->n_foreign > 0)
        fprintf(stderr,
                "mpistair: note: %llu messages are on communicators whose members the trace does not have: their "
                "ranks are those of MPI_COMM_WORLD\n",
                (unsigned long long)out->n_foreign);
    if (out->base_ns < 0)
        fprintf(stderr, "mpistair: note: all times of the archive are larger by %lld ns, as none may be negative\n",
                (long long)-out->base_ns);
}

static void otf2_release(struct otf2 *out)
{
    export_names_release(&out->names);
    map_release(&out->rank_in_comm);
    map_release(&out->window_of);
    map_release(&out->region_of);
    free(out->comm_refs);
    free(out->comms);
    free(out->members);
    free(out->windows);
    free(out->regions);
    free(out->locations);
    free(out->writers);
}

/* An archive is a folder. A complete one replaces an older one of mpistair, and nothing else: only a folder whose
 * anchor file says so, and that holds nothing but files with the names of an archive, is ever removed. */
struct otf2_folder {
    char *path, *temporary;
};

/* Returns 0 where an archive has an entry of this name and kind, in its folder or in traces/. */
static int check_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    const char *name = path + walk->base;
    (void)type;
    if (walk->level == 0 || (walk->level == 1 && strcmp(name, "traces") == 0))
        return !S_ISDIR(status->st_mode);
    bool is_of_archive = walk->level == 1
                             ? strcmp(name, "traces.otf2") == 0 || strcmp(name, "traces.def") == 0
                             : strspn(name, "0123456789") > 0 && (ends_with(name, ".evt") || ends_with(name, ".def"));
    return !is_of_archive || walk->level > 2 || !S_ISREG(status->st_mode);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return check_entry(path, status, type, walk) != 0 ? -1 : remove(path);
}

static int any_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)path, (void)status, (void)type;
    return walk->level > 0;
}

enum { WALK_DESCRIPTORS = 8 };

static bool is_ours(const char *folder)
{
    static const char creator[] = CREATOR;
    char head[4096];
    if (nftw(folder, check_entry, WALK_DESCRIPTORS, FTW_PHYS) != 0)
        return false;
    char *path = xasprintf("%s/traces.otf2", folder);
    FILE *anchor = fopen(path, "r");
    free(path);
    if (anchor == NULL)
        return nftw(folder, any_entry, WALK_DESCRIPTORS, FTW_PHYS) == 0;
    size_t n = fread(head, 1, sizeof head, anchor);
    fclose(anchor);
    return memmem(head, n, creator, strlen(creator)) != NULL;
}

static void otf2_folder_release(struct otf2_folder *folder)
{
    free(folder->path);
    free(folder->temporary);
    *folder = (struct otf2_folder){0};
}

/* Makes an empty folder beside path, where the archive is written. Refuses what is at path unless it is nothing, an
 * empty folder, or an archive that mpistair wrote, with nothing else in it. */
static int otf2_folder_make(struct otf2_folder *folder, const char *path, struct error *error)
{
    struct stat status;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    folder->path = xstrndup(path, length);
    folder->temporary = xasprintf("%s.XXXXXX", folder->path);
    int result = 0;
    if (lstat(folder->path, &status) == 0 && (!S_ISDIR(status.st_mode) || !is_ours(folder->path)))
        result = error_set(error, "%s: exists and is not an archive of mpistair: expected the name of a new folder",
                           folder->path);
    else if (mkdtemp(folder->temporary) == NULL)
        result = error_set(error, "%s: cannot be written: %s", path, strerror(errno));
    if (result != 0)
        otf2_folder_release(folder);
    return result;
}

/* Puts it in the place of what is at path, which is removed. Releases the folder either way. */
static int otf2_folder_commit(struct otf2_folder *folder, struct error *error)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)chmod(folder->temporary, 0777 & ~mask); /* mkdtemp made it for its owner alone */
    int code = rename(folder->temporary, folder->path);
    if (code != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
        code = renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->path, RENAME_EXCHANGE);
        if (code == 0)
            nftw(folder->temporary, remove_entry, WALK_DESCRIPTORS, FTW_PHYS | FTW_DEPTH); /* the former one */
    }
    if (code != 0) {
        error_set(error, "%s: cannot be replaced: %s", folder->path, strerror(errno));
        nftw(folder->temporary, remove_entry, WALK_DESCRIPTORS, FTW_PHYS | FTW_DEPTH);
    }
    otf2_folder_release(folder);
    return code == 0 ? 0 : -1;
}

static void otf2_folder_discard(struct otf2_folder *folder)
{
    nftw(folder->temporary, remove_entry, WALK_DESCRIPTORS, FTW_PHYS | FTW_DEPTH);
    otf2_folder_release(folder);
}

bool export_otf2_is_built(void)
{
    return true;
}

int export_otf2(struct export *export)
{
    struct otf2 out = {.export = export};
    struct otf2_folder folder = {0};
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(keep_error, &out);
    int result = export_names_read(export, &out.names);
    if (result == 0)
        number_comms(&out);
    if (result == 0 && (read_members(&out) != 0 || read_windows(&out) != 0 || find_base(&out) != 0))
        result = -1;
    if (result == 0)
        result = otf2_folder_make(&folder, export->output, export->error);
    if (result == 0 && write_archive(&out, folder.temporary) != 0) {
        otf2_folder_discard(&folder);
        result = -1;
    } else if (result == 0) {
        result = otf2_folder_commit(&folder, export->error);
    }
    if (result == 0)
        note_unreceived(&out);
    OTF2_Error_RegisterCallback(before, NULL);
    otf2_release(&out);
    return result;
}
