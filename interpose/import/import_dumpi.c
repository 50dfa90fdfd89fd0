/* Reads traces of SST's DUMPI, a file a rank. They are read twice: which communicators there are, who their members are
 * and when the run began follows from the files of all ranks. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/import/dumpi.h"
#include "interpose/import/import.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"

enum { MOST_HANDLES = 1 << 15 };

/* A call that made a communicator. */
struct creation {
    uint16_t function;
    int64_t old, made, colour, key;
    uint32_t communicator; /* what it made, of all ranks; MAP_ABSENT: not known, or none */
};

struct communicator {
    int32_t *members; /* [n] */
    int32_t n;
};

struct rank {
    const char *path;           /* NULL: there is no file of it */
    int32_t rank;               /* by MPI_Comm_rank of MPI_COMM_WORLD; -1: not called */
    struct creation *creations; /* [n_creations] in order */
    size_t n_creations;
    size_t next; /* first that is not resolved */
    struct seen {
        int32_t size, rank; /* of the communicator, at least, and of this process in it */
    } * seen;               /* [MOST_HANDLES] where the run may be incomplete */
    uint32_t *handles; /* [MOST_HANDLES] number of the communicator that a handle stands for; MAP_ABSENT: not known */
};

/* A persistent request. */
struct persistent {
    enum spool_direction direction;
    uint32_t communicator;
    int32_t peer, tag;
    uint64_t bytes;
};

struct reader {
    struct import_run *run;
    struct rank *ranks; /* [run->n_ranks]; until they are in order, [n] as given */
    size_t n_files;
    int32_t world_size; /* by MPI_Comm_size of MPI_COMM_WORLD, or by the largest peer there; 0: neither is there */
    int32_t most_size;  /* the same of all communicators */
    struct communicator *communicators;
    size_t n_communicators;
    uint64_t first_ns;
    bool is_incomplete;
    uint64_t not_read; /* operations on communicators whose members are not known */
    /* Of the rank that is written. */
    struct import_process *process;
    const struct dumpi_file *file;
    int32_t rank;
    size_t creation;
    uint32_t n_indices;
    uint32_t *indices;             /* [MOST_HANDLES] by handle */
    struct map persistent_numbers; /* by request */
    struct persistent *persistent;
    size_t n_persistent;
    uint64_t last_ns;
};

static bool is_creation(const char *name)
{
    return WORD_IS_ONE_OF(name, "MPI_Comm_dup", "MPI_Comm_create", "MPI_Comm_split", "MPI_Cart_create", "MPI_Cart_sub",
                          "MPI_Graph_create");
}

static struct creation creation_of(const struct dumpi_record *record)
{
    const char *name = dumpi_functions[record->function].name;
    const int64_t *values = record->values;
    struct creation creation = {.function = record->function, .communicator = MAP_ABSENT};
    bool old_is_second = WORD_IS_ONE_OF(name, "MPI_Cart_sub", "MPI_Graph_create");
    creation.old = values[old_is_second ? 1 : 0];
    creation.made = values[record->n_values - 1];
    if (strcmp(name, "MPI_Comm_split") == 0) {
        creation.colour = values[1];
        creation.key = values[2];
    }
    return creation;
}

static bool is_handle(int64_t handle)
{
    return handle >= 0 && handle < MOST_HANDLES;
}

/* Takes what a call says of a communicator: the own rank, or how many ranks it has at least. */
static void take_sizes(struct reader *reader, struct rank *rank, const struct dumpi_record *record)
{
    const struct dumpi_function *function = &dumpi_functions[record->function];
    const int64_t *values = record->values;
    int64_t handle = values[0], size = 0, own = -1;
    if (strncmp(function->layout, "42442", 5) == 0) { /* count, type, peer, tag, communicator */
        handle = values[4];
        size = values[2] + 1;
    } else if (strcmp(function->name, "MPI_Sendrecv") == 0) {
        handle = values[8];
        size = (values[2] > values[6] ? values[2] : values[6]) + 1;
    } else if (strcmp(function->name, "MPI_Sendrecv_replace") == 0) {
        handle = values[6];
        size = (values[2] > values[4] ? values[2] : values[4]) + 1;
    } else if (strcmp(function->name, "MPI_Comm_size") == 0)
        size = values[1];
    else if (strcmp(function->name, "MPI_Comm_rank") == 0)
        own = values[1];
    if (!is_handle(handle) || (size <= 0 && own < 0))
        return;
    size = size > own ? size : own + 1;
    int32_t bounded = size < INT32_MAX ? (int32_t)size : INT32_MAX;
    if (handle == DUMPI_COMM_WORLD) {
        reader->world_size = bounded > reader->world_size ? bounded : reader->world_size;
        rank->rank = own >= 0 ? (int32_t)own : rank->rank;
    }
    if (!rank->seen)
        return;
    struct seen *seen = &rank->seen[handle];
    seen->size = bounded > seen->size ? bounded : seen->size;
    seen->rank = own >= 0 ? (int32_t)own : seen->rank;
    reader->most_size = bounded > reader->most_size ? bounded : reader->most_size;
}

static int read_creations(struct reader *reader, struct rank *rank, struct error *error)
{
    struct dumpi_file file;
    if (dumpi_open(&file, rank->path, error) != 0)
        return -1;
    int result = dumpi_rewind(&file, error) != 0 ? -1 : 1;
    if (reader->run->started_unix_ns == 0 && file.started_s < UINT32_MAX)
        reader->run->started_unix_ns = file.started_s * UINT64_C(1000000000);
    while (result == 1 && (result = dumpi_next(&file, error)) == 1) {
        if (file.record.begin_ns > 0 && file.record.begin_ns < reader->first_ns)
            reader->first_ns = file.record.begin_ns;
        take_sizes(reader, rank, &file.record);
        if (is_creation(dumpi_functions[file.record.function].name) && file.record.n_values >= 2)
            ARRAY_ADD(rank->creations, rank->n_creations, creation_of(&file.record));
    }
    dumpi_close(&file);
    return result;
}

static uint32_t add_communicator(struct reader *reader, int32_t *members, int32_t n)
{
    ARRAY_ADD(reader->communicators, reader->n_communicators, (struct communicator){members, n});
    return (uint32_t)(reader->n_communicators - 1);
}

/* Returns the communicator on which the rank's next creation is; MAP_ABSENT: none, or not known. */
static uint32_t next_parent(const struct rank *rank)
{
    if (rank->next >= rank->n_creations)
        return MAP_ABSENT;
    int64_t old = rank->creations[rank->next].old;
    return is_handle(old) ? rank->handles[old] : MAP_ABSENT;
}

struct member {
    int64_t colour, key;
    int32_t place, rank; /* place in the parent */
};

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    return ORDER(a->colour, b->colour) ?: ORDER(a->key, b->key) ?: ORDER(a->place, b->place);
}

/* Makes the communicators of one creation, at which all members are whose files are there. The others are in a copy,
 * and nobody knows where else. */
static void make_communicators(struct reader *reader, uint32_t parent)
{
    struct communicator of = reader->communicators[parent];
    struct member *members = xcalloc((size_t)of.n, sizeof *members);
    int32_t n = 0;
    bool is_sub = false, is_copy = true, is_whole = true;
    for (int32_t i = 0; i < of.n; i++) {
        struct rank *rank = &reader->ranks[of.members[i]];
        if (!rank->path) {
            is_whole = false;
            members[n++] = (struct member){0, 0, i, of.members[i]};
            continue;
        }
        const struct creation *creation = &rank->creations[rank->next];
        is_sub = is_sub || strcmp(dumpi_functions[creation->function].name, "MPI_Cart_sub") == 0;
        is_copy = is_copy && strcmp(dumpi_functions[creation->function].name, "MPI_Comm_dup") == 0;
        if (creation->made > DUMPI_COMM_NULL)
            members[n++] = (struct member){creation->colour, creation->key, i, of.members[i]};
    }
    bool is_known = !is_sub && (is_copy || is_whole); /* who shares a line of a grid is not in the trace */
    qsort(members, (size_t)n, sizeof *members, compare_members);
    for (int32_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && members[end].colour == members[first].colour; end++)
            ;
        int32_t *ranks = xcalloc((size_t)(end - first), sizeof *ranks);
        for (int32_t i = first; i < end; i++)
            ranks[i - first] = members[i].rank;
        uint32_t made = add_communicator(reader, ranks, end - first);
        for (int32_t i = first; i < end && is_known; i++) {
            struct rank *rank = &reader->ranks[members[i].rank];
            if (!rank->path)
                continue;
            struct creation *creation = &rank->creations[rank->next];
            creation->communicator = made;
            if (is_handle(creation->made))
                rank->handles[creation->made] = made;
        }
    }
    for (int32_t i = 0; i < of.n; i++)
        reader->ranks[of.members[i]].next += reader->ranks[of.members[i]].path != NULL;
    free(members);
}

static bool creations_meet(const struct reader *reader, uint32_t parent)
{
    const struct communicator *of = &reader->communicators[parent];
    for (int32_t i = 0; i < of->n; i++)
        if (reader->ranks[of->members[i]].path && next_parent(&reader->ranks[of->members[i]]) != parent)
            return false;
    return true;
}

/* Returns the first member whose file is there. */
static int32_t first_of(const struct reader *reader, uint32_t communicator)
{
    const struct communicator *of = &reader->communicators[communicator];
    int32_t i = 0;
    while (i + 1 < of->n && !reader->ranks[of->members[i]].path)
        i++;
    return of->members[i];
}

/* Resolves creations in an order in which they can have happened. */
static void resolve(struct reader *reader)
{
    int32_t *world = xcalloc((size_t)reader->run->n_ranks, sizeof *world);
    for (int32_t i = 0; i < reader->run->n_ranks; i++)
        world[i] = i;
    uint32_t all = add_communicator(reader, world, reader->run->n_ranks);
    for (int32_t i = 0; i < reader->run->n_ranks; i++) {
        if (!reader->ranks[i].path)
            continue;
        int32_t *self = xcalloc(1, sizeof *self);
        *self = i;
        reader->ranks[i].handles[DUMPI_COMM_WORLD] = all;
        reader->ranks[i].handles[DUMPI_COMM_SELF] = add_communicator(reader, self, 1);
    }
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (int32_t i = 0; i < reader->run->n_ranks; i++) {
            uint32_t parent = next_parent(&reader->ranks[i]);
            if (parent != MAP_ABSENT && first_of(reader, parent) == i && creations_meet(reader, parent)) {
                make_communicators(reader, parent);
                goes_on = true;
            } else if (parent == MAP_ABSENT && reader->ranks[i].next < reader->ranks[i].n_creations) {
                reader->ranks[i].next++; /* on one that is not known: neither is what it makes */
                goes_on = true;
            }
        }
    }
}

/* Tells the spool of a communicator of which only this process is known, as files of others are missing. */
static uint32_t add_without_others(struct reader *reader, int64_t handle)
{
    const struct seen *seen = &reader->ranks[reader->rank].seen[handle];
    struct import_communicator is = {.index = reader->n_indices++,
                                     .identity = (uint32_t)handle,
                                     .leader = seen->rank == 0 ? reader->rank : -1,
                                     .size = seen->size > 0 ? seen->size : 1,
                                     .rank = seen->rank,
                                     .members_hash = import_hash(import_hash(0, reader->rank), INT32_MAX)};
    import_communicator(reader->process, &is, reader->last_ns);
    return reader->indices[handle] = is.index;
}

static uint32_t dumpi_index(struct reader *reader, int64_t handle)
{
    uint32_t index = is_handle(handle) ? reader->indices[handle] : SPOOL_NO_COMMUNICATOR;
    if (index == SPOOL_NO_COMMUNICATOR && is_handle(handle) && handle > DUMPI_COMM_SELF && reader->is_incomplete)
        index = add_without_others(reader, handle);
    reader->not_read += index == SPOOL_NO_COMMUNICATOR;
    return index;
}

static int32_t dumpi_peer(int64_t peer)
{
    return peer == DUMPI_ANY ? SPOOL_ANY : peer >= 0 && peer <= INT32_MAX ? (int32_t)peer : SPOOL_PROC_NULL;
}

/* Nobody sends to a wildcard: -1 is MPICH's MPI_PROC_NULL then. */
static int32_t receiver_of(int64_t peer)
{
    return peer < 0 ? SPOOL_PROC_NULL : dumpi_peer(peer);
}

static int32_t dumpi_tag(int64_t tag)
{
    return tag == DUMPI_ANY ? SPOOL_ANY : tag >= 0 && tag <= INT32_MAX ? (int32_t)tag : 0;
}

static uint64_t bytes_of(const struct reader *reader, int64_t count, int64_t type)
{
    uint64_t each = dumpi_type_bytes(reader->file, type);
    return count > 0 ? (uint64_t)count * each : 0;
}

/* Resolves a wildcard from the i-th status of the call. */
static void set_source(const struct reader *reader, struct spool_operation *record, size_t i)
{
    const struct dumpi_record *call = &reader->file->record;
    if (!record || record->direction != SPOOL_RECEIVE || !(record->flags & (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG)))
        return;
    bool is_there = call->has_status && i < call->sources.n;
    if (record->flags & SPOOL_ANY_SOURCE)
        record->peer = !is_there                      ? SPOOL_UNKNOWN
                       : call->sources.values[i] >= 0 ? call->sources.values[i]
                                                      : SPOOL_PROC_NULL; /* MPICH's is -1, as the wildcard here */
    if (record->flags & SPOOL_ANY_TAG && is_there && call->tags.values[i] >= 0)
        record->tag = call->tags.values[i];
}

static struct spool_operation *dumpi_post(struct reader *reader, const struct import_call *call,
                                          enum spool_direction direction, const int64_t *values, int64_t comm,
                                          bool blocking)
{
    uint32_t index = dumpi_index(reader, comm);
    int32_t peer = direction == SPOOL_SEND ? receiver_of(values[2]) : dumpi_peer(values[2]);
    return index == SPOOL_NO_COMMUNICATOR
               ? NULL
               : import_post(reader->process, call, direction, index, peer, dumpi_tag(values[3]),
                             bytes_of(reader, values[0], values[1]), blocking);
}

/* Completes one request of a call, with the i-th status. Returns whether an operation of ours ended. */
static bool complete(struct reader *reader, int64_t handle, size_t i, uint64_t end_ns)
{
    struct spool_operation *record = import_close(reader->process, (uint64_t)handle);
    set_source(reader, record, i);
    import_complete(record, end_ns);
    return record != NULL;
}

static void start(struct reader *reader, const struct import_call *call, int64_t handle)
{
    uint32_t number = map_find(&reader->persistent_numbers, (struct map_key){(uint64_t)handle, 0, 0});
    const struct persistent *of = number == MAP_ABSENT ? NULL : &reader->persistent[number];
    if (of && of->communicator != SPOOL_NO_COMMUNICATOR)
        import_open(
            reader->process, (uint64_t)handle,
            import_post(reader->process, call, of->direction, of->communicator, of->peer, of->tag, of->bytes, false));
}

static void make_persistent(struct reader *reader, const struct dumpi_record *record, enum spool_direction direction)
{
    const int64_t *v = record->values;
    struct persistent persistent = {direction, dumpi_index(reader, v[4]),
                                    direction == SPOOL_SEND ? receiver_of(v[2]) : dumpi_peer(v[2]), dumpi_tag(v[3]),
                                    bytes_of(reader, v[0], v[1])};
    *map_at(&reader->persistent_numbers, (struct map_key){(uint64_t)v[5], 0, 0}) = (uint32_t)reader->n_persistent;
    ARRAY_ADD(reader->persistent, reader->n_persistent, persistent);
}

/* Complete the requests that the call reports. Return how many operations of ours ended. */

static uint32_t complete_one(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns)
{
    return complete(reader, record->values[0], 0, end_ns);
}

static uint32_t complete_all(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns)
{
    uint32_t n = 0;
    for (size_t i = 0; record->n_arrays > 0 && i < record->arrays[0].n; i++)
        n += complete(reader, record->arrays[0].values[i], i, end_ns);
    return n;
}

static uint32_t complete_some(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns)
{
    uint32_t n = 0;
    for (size_t i = 0; record->n_arrays > 1 && i < record->arrays[1].n; i++) {
        int32_t at = record->arrays[1].values[i];
        if (at >= 0 && (size_t)at < record->arrays[0].n)
            n += complete(reader, record->arrays[0].values[at], i, end_ns);
    }
    return n;
}

static uint32_t complete_any(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns)
{
    int64_t at = record->values[1];
    bool is_one = record->n_arrays > 0 && at >= 0 && (uint64_t)at < record->arrays[0].n;
    return is_one && complete(reader, record->arrays[0].values[at], 0, end_ns);
}

static uint64_t sum_of(const struct dumpi_array *array)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < array->n; i++)
        sum += array->values[i] > 0 ? (uint64_t)array->values[i] : 0;
    return sum;
}

/* Which integers of a collective's record are its communicator, its root, and the number and datatype of what this rank
 * hands in; -1: it has none, or its numbers are the first array. */
static const struct dumpi_collective {
    uint16_t function;
    int comm, root, count, type;
} dumpi_collectives[] = {
    {FN_Barrier, 0, -1, -1, -1},  {FN_Bcast, 3, 2, 0, 1},     {FN_Gather, 4, 3, 1, 2},
    {FN_Scatter, 4, 3, 1, 2},     {FN_Gatherv, 5, 4, 2, 3},   {FN_Scatterv, 6, 5, 3, 4},
    {FN_Allgather, 4, -1, 0, 1},  {FN_Alltoall, 4, -1, 0, 1}, {FN_Allgatherv, 4, -1, 1, 2},
    {FN_Alltoallv, 3, -1, -1, 1}, {FN_Reduce, 4, 3, 0, 1},    {FN_Allreduce, 3, -1, 0, 1},
    {FN_Scan, 3, -1, 0, 1},       {FN_Exscan, 3, -1, 0, 1},   {FN_Reduce_scatter, 3, -1, -1, 1},
};

/* Stores a collective. Returns whether the call is one. */
static bool dumpi_collective(struct reader *reader, const struct import_call *call, const struct dumpi_record *record)
{
    const int64_t *v = record->values;
    const struct dumpi_collective *of = dumpi_collectives,
                                  *end = of + sizeof dumpi_collectives / sizeof *dumpi_collectives;
    while (of < end && of->function != (uint16_t)call->function)
        of++;
    if (of == end)
        return false;
    int64_t root = of->root < 0 ? -1 : v[of->root];
    uint64_t bytes = of->type < 0     ? 0
                     : of->count >= 0 ? bytes_of(reader, v[of->count], v[of->type])
                                      : sum_of(&record->arrays[0]) * dumpi_type_bytes(reader->file, v[of->type]);
    uint32_t index = dumpi_index(reader, v[of->comm]);
    if (index != SPOOL_NO_COMMUNICATOR)
        import_collective(reader->process, call, index, bytes, root >= 0 && root <= INT32_MAX ? (int32_t)root : -1);
    return true;
}

/* Takes messages posted by a call. Returns whether it posts any. */
static bool dumpi_message(struct reader *reader, const struct import_call *call, const struct dumpi_record *record)
{
    const int64_t *v = record->values;
    struct spool_operation *receive = NULL;
    switch ((int)call->function) {
    case FN_Send:
    case FN_Bsend:
    case FN_Ssend:
    case FN_Rsend:
        dumpi_post(reader, call, SPOOL_SEND, v, v[4], true);
        return true;
    case FN_Recv:
        receive = dumpi_post(reader, call, SPOOL_RECEIVE, v, v[4], true);
        break;
    case FN_Isend:
    case FN_Ibsend:
    case FN_Issend:
    case FN_Irsend:
        import_open(reader->process, (uint64_t)v[5], dumpi_post(reader, call, SPOOL_SEND, v, v[4], false));
        return true;
    case FN_Irecv:
        import_open(reader->process, (uint64_t)v[5], dumpi_post(reader, call, SPOOL_RECEIVE, v, v[4], false));
        return true;
    case FN_Sendrecv:
        dumpi_post(reader, call, SPOOL_SEND, v, v[8], true);
        receive = dumpi_post(reader, call, SPOOL_RECEIVE, v + 4, v[8], true);
        import_same_call(receive);
        break;
    case FN_Sendrecv_replace: {
        const int64_t back[] = {v[0], v[1], v[4], v[5]};
        dumpi_post(reader, call, SPOOL_SEND, v, v[6], true);
        receive = dumpi_post(reader, call, SPOOL_RECEIVE, back, v[6], true);
        import_same_call(receive);
        break;
    }
    case FN_Send_init:
    case FN_Bsend_init:
    case FN_Ssend_init:
    case FN_Rsend_init:
    case FN_Recv_init:
        make_persistent(reader, record, call->function == FN_Recv_init ? SPOOL_RECEIVE : SPOOL_SEND);
        return true;
    case FN_Start:
        start(reader, call, v[0]);
        return true;
    case FN_Startall:
        for (size_t i = 0; record->n_arrays > 0 && i < record->arrays[0].n; i++)
            start(reader, call, record->arrays[0].values[i]);
        return true;
    default:
        return false;
    }
    set_source(reader, receive, 0);
    return true;
}

/* Calls that complete requests, and which of their integers says whether they did; -1: they always do. Probes complete
 * none. */
static const struct dumpi_completer {
    uint16_t function;
    int flag;
    uint32_t (*complete)(struct reader *reader, const struct dumpi_record *record, uint64_t end_ns);
} dumpi_completers[] = {
    {FN_Wait, -1, complete_one},
    {FN_Test, 1, complete_one},
    {FN_Waitany, -1, complete_any},
    {FN_Testany, 2, complete_any},
    {FN_Waitall, -1, complete_all},
    {FN_Testall, 1, complete_all},
    {FN_Waitsome, -1, complete_some},
    {FN_Testsome, -1, complete_some},
    {FN_Probe, -1, NULL},
    {FN_Iprobe, -1, NULL},
};

static void dumpi_completion(struct reader *reader, const struct import_call *call, const struct dumpi_record *record)
{
    for (size_t i = 0; i < sizeof dumpi_completers / sizeof *dumpi_completers; i++) {
        const struct dumpi_completer *of = &dumpi_completers[i];
        if (of->function != (uint16_t)call->function)
            continue;
        bool completes = of->complete != NULL && (of->flag < 0 || record->values[of->flag] != 0);
        import_timed_call(reader->process, call, completes ? of->complete(reader, record, call->end_ns) : 0);
    }
}

/* Tells the spool of a communicator that the call made. */
static void take_creation(struct reader *reader, const struct import_call *call)
{
    const struct creation *creation = &reader->ranks[reader->rank].creations[reader->creation++];
    if (!is_handle(creation->made))
        return;
    reader->indices[creation->made] = SPOOL_NO_COMMUNICATOR;
    if (creation->communicator == MAP_ABSENT)
        return;
    const struct communicator *made = &reader->communicators[creation->communicator];
    struct import_communicator is =
        import_members(reader->process, reader->n_indices++, creation->communicator, made->members, made->n);
    import_communicator(reader->process, &is, call->begin_ns);
    reader->indices[creation->made] = is.index;
}

static void take_record(struct reader *reader, const struct dumpi_record *record)
{
    int function = import_function(dumpi_functions[record->function].name);
    uint64_t begin = record->begin_ns > reader->first_ns ? record->begin_ns - reader->first_ns : 0;
    uint64_t end = record->end_ns > reader->first_ns ? record->end_ns - reader->first_ns : 0;
    struct import_call call = {(enum mpistair_function)function, begin, end > begin ? end : begin + 1};
    reader->last_ns = call.end_ns > reader->last_ns ? call.end_ns : reader->last_ns;
    if (is_creation(dumpi_functions[record->function].name) && record->n_values >= 2)
        take_creation(reader, &call);
    if (function < 0)
        return;
    import_thread(reader->process, record->thread < 64 ? record->thread : 63);
    if (!dumpi_message(reader, &call, record) && !dumpi_collective(reader, &call, record))
        dumpi_completion(reader, &call, record);
}

static int dumpi_write_rank(struct reader *reader, int32_t rank, struct error *error)
{
    struct dumpi_file file;
    if (dumpi_open(&file, reader->ranks[rank].path, error) != 0)
        return -1;
    int result = dumpi_rewind(&file, error);
    reader->process = result == 0 ? import_begin(reader->run, rank, file.host[0] ? file.host : NULL, error) : NULL;
    reader->file = &file;
    reader->rank = rank;
    reader->creation = 0;
    reader->n_indices = 2;
    reader->last_ns = 0;
    map_clear(&reader->persistent_numbers);
    reader->n_persistent = 0;
    for (uint32_t i = 0; i < MOST_HANDLES; i++)
        reader->indices[i] = SPOOL_NO_COMMUNICATOR;
    reader->indices[DUMPI_COMM_WORLD] = 0;
    reader->indices[DUMPI_COMM_SELF] = 1;
    result = reader->process ? 1 : -1;
    while (result == 1 && (result = dumpi_next(&file, error)) == 1)
        take_record(reader, &file.record);
    dumpi_close(&file);
    if (result != 0 && reader->process)
        import_cancel(reader->process);
    return result != 0 ? -1 : import_end(reader->process, reader->last_ns + 1, error);
}

/* Returns the number at the end of a name, before its suffix: that of the rank; -1: there is none. */
static long number_of(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const char *at = dot && (!slash || dot > slash) ? dot : path + strlen(path);
    const char *end = at;
    while (at > path && isdigit((unsigned char)at[-1]))
        at--;
    return at < end && end - at < 10 ? strtol(at, NULL, 10) : -1;
}

static int too_few(const struct reader *reader, const struct rank *ranks, struct error *error)
{
    int32_t first = 0, n = reader->run->n_ranks;
    while (first < n && ranks[first].path)
        first++;
    return error_set(error,
                     "%s: of a run of %" PRId32
                     " ranks; the files of %zu of them are not given, the first that of rank "
                     "%" PRId32 "; --incomplete imports those that are",
                     reader->ranks[0].path, n, (size_t)n - reader->n_files, first);
}

/* Puts the files in the order of ranks: of those that they say themselves, or of their names. */
static int sort_files(struct reader *reader, struct error *error)
{
    size_t n = reader->n_files, n_ranks = n;
    for (size_t i = 0; i < n; i++) {
        struct rank *file = &reader->ranks[i];
        file->rank = file->rank >= 0 ? file->rank : (int32_t)number_of(file->path);
        if (reader->run->may_be_incomplete && file->rank < 0 && n == 1) {
            inform("%s: nothing says which rank it is of: taken for rank 0", file->path);
            file->rank = 0;
        }
        if (reader->run->may_be_incomplete && file->rank >= 0 && (size_t)file->rank >= n_ranks)
            n_ranks = (size_t)file->rank + 1;
    }
    int32_t size = reader->run->may_be_incomplete ? reader->most_size : reader->world_size;
    n_ranks = size > 0 ? (size_t)size : n_ranks;
    if (n_ranks > IMPORT_MOST_RANKS)
        return error_set(error, "%s: of a run of %zu ranks: expected at most %d", reader->ranks[0].path, n_ranks,
                         IMPORT_MOST_RANKS);
    struct rank *ranks = xcalloc(n_ranks, sizeof *ranks);
    int result = 0;
    for (size_t i = 0; i < n && result == 0; i++) {
        const struct rank *file = &reader->ranks[i];
        if (file->rank < 0 || (size_t)file->rank >= n_ranks || ranks[file->rank].path)
            result = error_set(error,
                               "%s: %s: expected the files of all ranks, once each, their names ending in the rank: "
                               "0 to %zu",
                               file->path,
                               file->rank < 0                  ? "not said of which rank"
                               : (size_t)file->rank >= n_ranks ? "of a rank beyond the others"
                                                               : "of a rank that another file is of",
                               n_ranks - 1);
        else
            ranks[file->rank] = *file;
    }
    reader->run->n_ranks = (int32_t)n_ranks;
    reader->is_incomplete = n < n_ranks;
    if (result == 0 && n < n_ranks && !reader->run->may_be_incomplete)
        result = too_few(reader, ranks, error);
    if (result != 0) {
        free(ranks);
        return result;
    }
    free(reader->ranks);
    reader->ranks = ranks;
    reader->n_files = n_ranks;
    for (size_t i = 0; i < n_ranks; i++) {
        if (!ranks[i].path)
            continue;
        ranks[i].handles = xcalloc(MOST_HANDLES, sizeof *ranks[i].handles);
        for (int32_t k = 0; k < MOST_HANDLES; k++)
            ranks[i].handles[k] = MAP_ABSENT;
    }
    return 0;
}

static void dumpi_release(struct reader *reader)
{
    for (size_t i = 0; i < reader->n_files; i++) {
        free(reader->ranks[i].creations);
        free(reader->ranks[i].seen);
        free(reader->ranks[i].handles);
    }
    for (size_t i = 0; i < reader->n_communicators; i++)
        free(reader->communicators[i].members);
    free(reader->ranks);
    free(reader->communicators);
    free(reader->indices);
    free(reader->persistent);
    map_release(&reader->persistent_numbers);
}

int import_dumpi(const char *const *paths, size_t n, struct import_run *run, struct error *error)
{
    struct reader reader = {.run = run,
                            .first_ns = UINT64_MAX,
                            .ranks = xcalloc(n, sizeof *reader.ranks),
                            .n_files = n,
                            .indices = xcalloc(MOST_HANDLES, sizeof *reader.indices)};
    int result = n <= IMPORT_MOST_RANKS ? 0 : error_set(error, "%zu files: expected at most %d", n, IMPORT_MOST_RANKS);
    for (size_t i = 0; i < n && result == 0; i++) {
        reader.ranks[i] = (struct rank){.path = paths[i], .rank = -1};
        if (run->may_be_incomplete)
            reader.ranks[i].seen = xcalloc(MOST_HANDLES, sizeof *reader.ranks[i].seen);
        result = read_creations(&reader, &reader.ranks[i], error);
    }
    if (result == 0)
        result = sort_files(&reader, error);
    if (result == 0) {
        resolve(&reader);
        run->format = "DUMPI";
    }
    for (int32_t i = 0; i < run->n_ranks && result == 0; i++)
        result = reader.ranks[i].path ? dumpi_write_rank(&reader, i, error) : 0;
    if (result == 0 && reader.not_read > 0)
        inform("%s: %" PRIu64 " operations and collectives are not imported: the members of their communicators "
               "are not in the traces",
               paths[0], reader.not_read);
    dumpi_release(&reader);
    return result;
}
