/* Measures the ways of data from one GPU to another at each level (Bienz 2021): messages of the GPUs' memory by an MPI
 * that takes it (Table I), 3-step, extra message and duplicate device pointer (Sections III and IV), the same bytes in
 * several messages between GPUs and between hosts (Figs. 8 and 9), and the bandwidth of several processes that copy
 * from one GPU at once.
 *
 * A sample goes there and back; half of that is one way. bytes are those of all processes of a GPU, n is how many these
 * are at each end, count the messages of each. Copies are part of the time by the wall clock; variants with _events
 * have what the copies of one way take on the GPU alone. For pull and push, bytes are those of one of n processes that
 * copy from the GPU, or to it, at the same time. A note `not_available WHAT REASON` reports what is missing. Before
 * anything is measured, each way carries values that are checked. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/gpu/gpu_memory.h"
#include "calibrate/gpu/gpu_path.h"

enum { GPU_MEMBERS_MAX = 8 };

/* One end: processes of a socket, the first of which has memory on a GPU. Processes name it to each other by its bus
 * id, since its number differs between processes that see different GPUs. */
struct gpu_end {
    int members[GPU_MEMBERS_MAX]; /* ranks */
    int own;                      /* this rank's place among them; -1: it is none of them */
    char bus_id[GPU_BUS_ID_BYTES];
    int socket;     /* of the GPU; -1: not known */
    struct gpu gpu; /* as this rank has it */
    char *host;     /* [buffer_bytes] of this rank, pinned where it has the GPU */
    bool owns_host;
};

/* Both ends of a level. All ranks agree on it, but for what an end says of this rank. */
struct gpu_ends {
    enum level level;
    int n_members; /* of each end: 1, 2, 4 or 8; 0: the job does not span the level */
    struct gpu_end side[2];
    bool is_mock;
    bool has_gpus;   /* both first members have memory on a GPU */
    bool has_shared; /* it can be shared, and the other members copy from and to it themselves */
};

/* What the first member of an end found, for all ranks. */
struct told {
    bool has_gpu, is_shared, is_mock;
    int socket;
    char bus_id[GPU_BUS_ID_BYTES];
    struct cuda_ipc_handle handle;
};

static bool is_beside(const struct placement *placement, int rank, int other)
{
    return placement->node[rank] == placement->node[other] && placement->socket[rank] == placement->socket[other];
}

/* Adds a rank to the end on whose socket it is; if both ends are there, to the one with fewer members. */
static void add_member(const struct placement *placement, int rank, struct gpu_ends *ends, int n[2])
{
    int fewer = n[1] < n[0] ? 1 : 0;
    for (int i = 0; i < 2; i++) {
        int side = i == 0 ? fewer : 1 - fewer;
        struct gpu_end *end = &ends->side[side];
        if (n[side] == GPU_MEMBERS_MAX || !is_beside(placement, rank, end->members[0]))
            continue;
        end->members[n[side]++] = rank;
        return;
    }
}

/* Chooses the ranks, by their places alone, so that all ranks choose the same. */
static void gpu_ends_choose(const struct measure *measure, enum level level, struct gpu_ends *ends)
{
    struct pair pair;
    *ends = (struct gpu_ends){.level = level, .side = {{.own = -1}, {.own = -1}}};
    if (levels_pairs(&measure->placement, level, 1, &pair) == 0)
        return;
    ends->side[0].members[0] = pair.first;
    ends->side[1].members[0] = pair.second;
    int n[2] = {1, 1};
    for (int rank = 0; rank < measure->size; rank++)
        if (rank != pair.first && rank != pair.second)
            add_member(&measure->placement, rank, ends, n);
    int fewest = n[1] < n[0] ? n[1] : n[0];
    for (ends->n_members = 1; 2 * ends->n_members <= fewest;)
        ends->n_members *= 2;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < ends->n_members; i++)
            if (ends->side[side].members[i] == measure->rank)
                ends->side[side].own = i;
}

/* Returns this rank's end; NULL where it is at none. */
static struct gpu_end *gpu_ends_own(struct gpu_ends *ends)
{
    for (int side = 0; side < 2; side++)
        if (ends->side[side].own >= 0)
            return &ends->side[side];
    return NULL;
}

/* Finds the GPU for a rank on that socket: the first of those near, and of them the first that is not taken. */
static int pick(uint32_t socket, const char *taken, struct told *told, struct error *error)
{
    struct gpu gpu;
    int best = -1, result = gpu_open(&gpu, NULL, error);
    if (result != 0)
        return -1;
    for (int i = 0; i < gpu.driver.n_devices && result == 0; i++) {
        char bus_id[GPU_BUS_ID_BYTES];
        result = gpu_bus_id(&gpu, i, bus_id, error);
        if (result != 0)
            break;
        int found = gpu_socket(bus_id), score = 2 * (found < 0 || (uint32_t)found == socket);
        score += strcmp(bus_id, taken) != 0;
        if (score <= best)
            continue;
        best = score;
        told->socket = found;
        memcpy(told->bus_id, bus_id, sizeof bus_id);
    }
    gpu_close(&gpu);
    return result;
}

/* Copies a byte each way, so that a refusal is reported before anything is measured. */
static int try_copies(struct gpu *gpu, struct error *error)
{
    double seconds;
    if (gpu_copy(gpu, GPU_TO, true, gpu->pinned, 0, 1, 1, &seconds, error) != 0)
        return -1;
    return gpu_copy(gpu, GPU_FROM, false, gpu->pinned, 0, 1, 1, &seconds, error);
}

/* Takes a GPU as the first member of an end. */
static int take_first(const struct measure *measure, const char *taken, struct gpu *gpu, struct told *told)
{
    struct error error;
    if (pick(measure->placement.socket[measure->rank], taken, told, &error) != 0 ||
        gpu_open(gpu, told->bus_id, &error) != 0 || gpu_take(gpu, measure->buffer_bytes, &error) != 0 ||
        try_copies(gpu, &error) != 0) {
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu_paths rank %d: %s\n", measure->rank, error.text);
        return -1;
    }
    told->has_gpu = true;
    told->is_mock = gpu->driver.is_mock;
    told->is_shared = gpu_share(gpu, &told->handle, &error) == 0;
    if (!told->is_shared)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "duplicate-pointer rank %d: %s\n", measure->rank, error.text);
    return 0;
}

/* Takes the memory of the first member as another one. Returns whether it has it. */
static bool take_other(const struct measure *measure, const struct told *told, struct gpu *gpu)
{
    struct error error;
    if (!told->is_shared)
        return false;
    if (gpu_open(gpu, told->bus_id, &error) == 0 &&
        gpu_take_shared(gpu, &told->handle, measure->buffer_bytes, &error) == 0 && try_copies(gpu, &error) == 0)
        return true;
    fprintf(stderr, MEASURE_NOT_AVAILABLE "duplicate-pointer rank %d: %s\n", measure->rank, error.text);
    return false;
}

/* Gives each member memory of the host: ordinary memory to a process that copies nothing. */
static void take_host(const struct measure *measure, struct gpu_end *end)
{
    end->host = end->gpu.pinned;
    end->owns_host = end->host == NULL;
    if (end->owns_host)
        end->host = calloc(1, measure->buffer_bytes);
    if (end->host != NULL)
        return;
    abort_all("no memory for a buffer of %zu bytes; use --buffer", measure->buffer_bytes);
}

/* Takes a GPU for each end: one of its own socket, and not that of the other end, as far as there are such. A rank that
 * is refused something reports it in a note `not_available WHAT REASON`. Collective over measure->comm. */
static void gpu_ends_take(struct measure *measure, struct gpu_ends *ends)
{
    struct told told[2] = {{.socket = -1}, {.socket = -1}};
    const uint32_t *node = measure->placement.node;
    int has = 1;
    if (ends->n_members == 0)
        return;
    for (int side = 0; side < 2; side++) {
        struct gpu_end *end = &ends->side[side];
        bool is_shared_node = side == 1 && node[ends->side[0].members[0]] == node[end->members[0]];
        if (end->own == 0)
            (void)take_first(measure, is_shared_node ? told[0].bus_id : "", &end->gpu, &told[side]);
        MPI_Bcast(&told[side], sizeof told[side], MPI_BYTE, end->members[0], measure->comm);
        if (end->own > 0)
            has = take_other(measure, &told[side], &end->gpu) ? has : 0;
        if (end->own >= 0)
            take_host(measure, end);
        memcpy(end->bus_id, told[side].bus_id, sizeof end->bus_id);
        end->socket = told[side].socket;
    }
    int all_have;
    MPI_Allreduce(&has, &all_have, 1, MPI_INT, MPI_MIN, measure->comm);
    ends->is_mock = told[0].is_mock || told[1].is_mock;
    ends->has_gpus = told[0].has_gpu && told[1].has_gpu;
    ends->has_shared = told[0].is_shared && told[1].is_shared && all_have;
}

/* Gives all back; collective. */
static void gpu_ends_release(struct measure *measure, struct gpu_ends *ends)
{
    struct gpu_end *end = gpu_ends_own(ends);
    if (end != NULL && end->own > 0)
        gpu_close(&end->gpu);
    if (ends->n_members > 1)
        MPI_Barrier(measure->comm); /* memory is closed before its owner frees it */
    if (end == NULL)
        return;
    gpu_close(&end->gpu);
    if (end->owns_host)
        free(end->host);
}

/* Returns why messages of the level between two GPUs cannot be measured, NULL where they can. */
static const char *gpu_ends_no_direct(const struct measure *measure, const struct gpu_ends *ends)
{
    const struct gpu_end *side = ends->side;
    const uint32_t *node = measure->placement.node;
    if (node[side[0].members[0]] != node[side[1].members[0]])
        return NULL;
    if (strcmp(side[0].bus_id, side[1].bus_id) == 0)
        return "one GPU: messages between two need another one";
    bool is_same = side[0].socket == side[1].socket;
    if (is_same != (ends->level == LEVEL_INTRA_SOCKET))
        return is_same ? "the GPUs are of one socket" : "the GPUs are of two sockets";
    return NULL;
}

/* Values after the paths of gpu_path.h: messages between the memory of hosts, and copies by all members at once. */
enum { GPU_HOST = GPU_PATH_COUNT, GPU_PULL, GPU_PUSH, GPU_TRANSFER_COUNT };

enum { GPU_MESSAGES_MAX = 10 };

/* A transfer as one of the members of its end sees it. */
struct gpu_transfer {
    MPI_Comm comm;
    struct gpu_end *end;
    int path;      /* enum gpu_path, or one of those above */
    int n_members; /* how many of the end share the data: the first ones */
    int partner;   /* who has the same part at the other end */
    size_t place;  /* of the data in the memory of host and GPU */
    size_t bytes;  /* of all members together */
    int count;     /* messages into which the part of a member goes, GPU_MESSAGES_MAX at most */
    bool by_events;
    double copies_s; /* how long the copies of this process took, added up */
};

enum { TRANSFER_DATA_TAG = 1, OUT_TAG = 2, TRANSFER_BACK_TAG = 3 };

/* The bytes of a member. */
struct part {
    size_t offset; /* from the place of the data */
    size_t bytes;
};

static struct part part_of(const struct gpu_transfer *transfer, int member)
{
    size_t n = (size_t)transfer->n_members, begin = transfer->bytes * (size_t)member / n;
    return (struct part){begin, transfer->bytes * ((size_t)member + 1) / n - begin};
}

static void copy(struct gpu_transfer *transfer, enum gpu_copy_way way, struct part part)
{
    struct gpu_end *end = transfer->end;
    struct error error;
    size_t place = transfer->place + part.offset;
    double seconds = 0;
    if (gpu_copy(&end->gpu, way, transfer->by_events, end->host + place, place, part.bytes, 1, &seconds, &error) != 0)
        abort_all("%s", error.text);
    transfer->copies_s += seconds;
}

/* Sends a part to the other end in its messages, or receives it. */
static void exchange_part(const struct gpu_transfer *transfer, struct part part, bool sends)
{
    const struct gpu_end *end = transfer->end;
    MPI_Request requests[GPU_MESSAGES_MAX];
    MPI_Status statuses[GPU_MESSAGES_MAX];
    char *data = transfer->path == GPU_DIRECT ? (char *)(uintptr_t)end->gpu.side[0].data : end->host;
    data += transfer->place + part.offset;
    for (int i = 0; i < transfer->count; i++) {
        size_t begin = part.bytes * (size_t)i / (size_t)transfer->count;
        int bytes = (int)(part.bytes * ((size_t)i + 1) / (size_t)transfer->count - begin);
        if (sends)
            MPI_Isend(data + begin, bytes, MPI_BYTE, transfer->partner, TRANSFER_DATA_TAG, transfer->comm,
                      &requests[i]);
        else
            MPI_Irecv(data + begin, bytes, MPI_BYTE, transfer->partner, TRANSFER_DATA_TAG, transfer->comm,
                      &requests[i]);
    }
    MPI_Waitall(transfer->count, requests, statuses);
}

/* Hands their parts to the other members, or collects these, as the first one. */
static void share_parts(const struct gpu_transfer *transfer, bool out)
{
    const struct gpu_end *end = transfer->end;
    MPI_Request requests[GPU_MEMBERS_MAX];
    MPI_Status statuses[GPU_MEMBERS_MAX];
    for (int i = 1; i < transfer->n_members; i++) {
        struct part part = part_of(transfer, i);
        char *data = end->host + transfer->place + part.offset;
        if (out)
            MPI_Isend(data, (int)part.bytes, MPI_BYTE, end->members[i], OUT_TAG, transfer->comm, &requests[i - 1]);
        else
            MPI_Irecv(data, (int)part.bytes, MPI_BYTE, end->members[i], TRANSFER_BACK_TAG, transfer->comm,
                      &requests[i - 1]);
    }
    MPI_Waitall(transfer->n_members - 1, requests, statuses);
}

/* Sends from this end, or receives at it. The first member of the end has the data on its GPU before, or afterwards; of
 * GPU_HOST all have their part on the host. A refused copy ends the job. */
static void gpu_transfer_send(struct gpu_transfer *transfer)
{
    const struct gpu_end *end = transfer->end;
    struct part part = part_of(transfer, end->own), all = {0, transfer->bytes};
    bool shares = transfer->path == GPU_EXTRA_MESSAGE;
    if (transfer->path == GPU_3_STEP || transfer->path == GPU_DUPLICATE_POINTER)
        copy(transfer, GPU_FROM, part);
    if (shares && end->own == 0) {
        copy(transfer, GPU_FROM, all);
        share_parts(transfer, true);
    } else if (shares) {
        MPI_Recv(end->host + transfer->place + part.offset, (int)part.bytes, MPI_BYTE, end->members[0], OUT_TAG,
                 transfer->comm, MPI_STATUS_IGNORE);
    }
    exchange_part(transfer, part, true);
}

static void gpu_transfer_receive(struct gpu_transfer *transfer)
{
    const struct gpu_end *end = transfer->end;
    struct part part = part_of(transfer, end->own), all = {0, transfer->bytes};
    bool shares = transfer->path == GPU_EXTRA_MESSAGE;
    exchange_part(transfer, part, false);
    if (transfer->path == GPU_3_STEP || transfer->path == GPU_DUPLICATE_POINTER)
        copy(transfer, GPU_TO, part);
    if (shares && end->own == 0) {
        share_parts(transfer, false);
        copy(transfer, GPU_TO, all);
    } else if (shares) {
        MPI_Send(end->host + transfer->place + part.offset, (int)part.bytes, MPI_BYTE, end->members[0],
                 TRANSFER_BACK_TAG, transfer->comm);
    }
}

static unsigned char value_at(const struct gpu_transfer *transfer, size_t i)
{
    return (unsigned char)(1 + (i + 17 * (size_t)transfer->path + 5 * (size_t)transfer->n_members) % 251);
}

/* Fills the data of the first sender and clears what the others have: on the host, and on the GPU as well. */
static void fill(struct gpu_transfer *transfer, bool sends)
{
    struct part all = {0, transfer->bytes};
    unsigned char *host = (unsigned char *)transfer->end->host + transfer->place;
    bool on_gpu = transfer->end->own == 0 && transfer->path != GPU_HOST;
    for (size_t i = 0; i < transfer->bytes; i++)
        host[i] = sends && transfer->end->own == 0 ? value_at(transfer, i) : 0;
    if (!on_gpu)
        return;
    copy(transfer, GPU_TO, all);
    memset(host, 0, transfer->bytes);
}

/* Checks what arrived, on the first member. */
static void transfer_look(struct gpu_transfer *transfer)
{
    struct part all = {0, transfer->bytes};
    const unsigned char *host = (unsigned char *)transfer->end->host + transfer->place;
    if (transfer->path != GPU_HOST)
        copy(transfer, GPU_FROM, all);
    for (size_t i = 0; i < transfer->bytes; i++) {
        if (host[i] == value_at(transfer, i))
            continue;
        abort_all("byte %zu of %zu on the way %s with %d processes is %d, expected %d", i, transfer->bytes,
                  transfer->path == GPU_HOST ? GPU_HOST_NAME : gpu_path_name[transfer->path], transfer->n_members,
                  host[i], value_at(transfer, i));
    }
}

/* Sends values through a way once and checks what arrives; a wrong value ends the job with exit code 1. transfer is
 * that of this rank; NULL where it is no member. Collective over comm. */
static void gpu_transfer_check(struct gpu_transfer *transfer, bool sends, MPI_Comm comm)
{
    if (transfer != NULL)
        fill(transfer, sends);
    MPI_Barrier(comm);
    if (transfer != NULL && sends)
        gpu_transfer_send(transfer);
    else if (transfer != NULL)
        gpu_transfer_receive(transfer);
    MPI_Barrier(comm);
    if (transfer != NULL && !sends && transfer->end->own == 0)
        transfer_look(transfer);
}

#define PATHS_BYTES_MIN 1024u /* of what is shared or split */
#define PATHS_BYTES_MAX 16777216u
#define WITHOUT_MOCK(t) ((t) + sizeof MACHINE_MOCK)

enum { PATHS_REPEATS_MAX = 1024, PATHS_WARM_SHARE = 16, PATHS_STEP = 4, CHECK_BYTES = 5003, CHECK_COUNT = 3 };

/* What is measured at each level. */
static const struct paths_shape {
    const char *variant; /* behind MACHINE_MOCK and a '_' where the driver is a mock */
    const char *word;    /* of --path */
    int path;
    int n_members, count;
    bool by_events;
} paths_shapes[] = {
    {MACHINE_MOCK "_host", GPU_HOST_NAME, GPU_HOST, 1, 1, false},
    {MACHINE_MOCK "_host", GPU_HOST_NAME, GPU_HOST, 1, 5, false},
    {MACHINE_MOCK "_host", GPU_HOST_NAME, GPU_HOST, 1, 10, false},
    {MACHINE_MOCK "_gpudirect", "gpudirect", GPU_DIRECT, 1, 1, false},
    {MACHINE_MOCK "_gpudirect", "gpudirect", GPU_DIRECT, 1, 5, false},
    {MACHINE_MOCK "_gpudirect", "gpudirect", GPU_DIRECT, 1, 10, false},
    {MACHINE_MOCK "_3-step", "3-step", GPU_3_STEP, 1, 1, false},
    {MACHINE_MOCK "_3-step", "3-step", GPU_3_STEP, 1, 5, false},
    {MACHINE_MOCK "_3-step", "3-step", GPU_3_STEP, 1, 10, false},
    {MACHINE_MOCK "_3-step_events", "3-step", GPU_3_STEP, 1, 1, true},
    {MACHINE_MOCK "_extra-message", "extra-message", GPU_EXTRA_MESSAGE, 2, 1, false},
    {MACHINE_MOCK "_extra-message", "extra-message", GPU_EXTRA_MESSAGE, 4, 1, false},
    {MACHINE_MOCK "_extra-message", "extra-message", GPU_EXTRA_MESSAGE, 8, 1, false},
    {MACHINE_MOCK "_extra-message_events", "extra-message", GPU_EXTRA_MESSAGE, 2, 1, true},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 1, 1, false},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 2, 1, false},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 4, 1, false},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 8, 1, false},
    {MACHINE_MOCK "_duplicate-pointer_events", "duplicate-pointer", GPU_DUPLICATE_POINTER, 2, 1, true},
    {MACHINE_MOCK "_pull", "duplicate-pointer", GPU_PULL, 2, 1, false},
    {MACHINE_MOCK "_pull", "duplicate-pointer", GPU_PULL, 4, 1, false},
    {MACHINE_MOCK "_pull", "duplicate-pointer", GPU_PULL, 8, 1, false},
    {MACHINE_MOCK "_pull_events", "duplicate-pointer", GPU_PULL, 2, 1, true},
    {MACHINE_MOCK "_push", "duplicate-pointer", GPU_PUSH, 2, 1, false},
    {MACHINE_MOCK "_push", "duplicate-pointer", GPU_PUSH, 4, 1, false},
    {MACHINE_MOCK "_push", "duplicate-pointer", GPU_PUSH, 8, 1, false},
    {MACHINE_MOCK "_push_events", "duplicate-pointer", GPU_PUSH, 2, 1, true},
};
enum { PATHS_N_SHAPES = sizeof paths_shapes / sizeof paths_shapes[0] };

static struct gpu_ends paths_levels[LEVEL_COUNT];
static bool is_open[LEVEL_COUNT];
static bool is_aware;
static struct pair paths_pairs[LEVEL_COUNT][GPU_MEMBERS_MAX];   /* from end to end */
static struct pair paths_copiers[LEVEL_COUNT][GPU_MEMBERS_MAX]; /* of each first member with itself */
static char paths_names[LEVEL_COUNT][32];

/* Returns what a path needs that a level lacks; NULL where it has all. */
static const char *lacks(const struct measure *measure, const struct gpu_ends *ends, int path)
{
    if (path != GPU_DIRECT)
        return NULL;
    return is_aware ? gpu_ends_no_direct(measure, ends) : "MPI not CUDA-aware, as far as it says";
}

/* Returns whether a shape is measured at a level. */
static bool paths_is_measured(const struct measure *measure, const struct paths_shape *shape, enum level level)
{
    const struct gpu_ends *ends = &paths_levels[level];
    bool copies_at_once = shape->path == GPU_PULL || shape->path == GPU_PUSH;
    if (!is_open[level] || !gpu_word_listed(measure->paths, shape->word) || shape->n_members > ends->n_members)
        return false;
    if ((shape->path == GPU_DUPLICATE_POINTER || copies_at_once) && !ends->has_shared)
        return false;
    return lacks(measure, ends, shape->path) == NULL && (!copies_at_once || level == LEVEL_INTRA_SOCKET);
}

static void note_level(const struct measure *measure, enum level level)
{
    const struct gpu_ends *ends = &paths_levels[level];
    const char *name = level_name[level];
    if (ends->n_members == 0)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu_paths_%s no two of the %d ranks are at this level\n", name,
                measure->size);
    if (!is_open[level])
        return;
    const char *reason = lacks(measure, ends, GPU_DIRECT);
    if (reason != NULL && is_aware && gpu_word_listed(measure->paths, gpu_path_name[GPU_DIRECT]))
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpudirect_%s %s\n", name, reason);
    for (int path = GPU_EXTRA_MESSAGE; path <= GPU_DUPLICATE_POINTER; path++)
        if (ends->n_members < 2 && gpu_word_listed(measure->paths, gpu_path_name[path]))
            fprintf(stderr, MEASURE_NOT_AVAILABLE "%s_%s each end has one process on its socket: two are needed\n",
                    gpu_path_name[path], name);
}

/* Describes the transfer of a shape for this rank. Returns false where it takes no part. */
static bool make_transfer(const struct measure *measure, const struct paths_shape *shape, enum level level,
                          struct gpu_transfer *transfer)
{
    struct gpu_ends *ends = &paths_levels[level];
    struct gpu_end *end = gpu_ends_own(ends);
    if (end == NULL || end->own >= shape->n_members)
        return false;
    const struct gpu_end *other = end == &ends->side[0] ? &ends->side[1] : &ends->side[0];
    *transfer = (struct gpu_transfer){.comm = measure->comm,
                                      .end = end,
                                      .path = shape->path,
                                      .n_members = shape->n_members,
                                      .partner = other->members[end->own],
                                      .count = shape->count,
                                      .by_events = shape->by_events};
    return true;
}

static void enter(struct gpu_end *end)
{
    struct error error;
    if (end->gpu.driver.library == NULL || gpu_enter(&end->gpu, &error) == 0)
        return;
    abort_all("%s", error.text);
}

/* Sends values along each way, in parts and messages of unequal sizes. Collective. */
static void check(const struct measure *measure)
{
    for (int level = 0; level < LEVEL_COUNT; level++)
        for (size_t i = 0; i < PATHS_N_SHAPES; i++) {
            struct paths_shape shape = paths_shapes[i];
            struct gpu_transfer transfer;
            if (!paths_is_measured(measure, &shape, (enum level)level) || shape.path >= GPU_PULL || shape.by_events)
                continue;
            shape.count = CHECK_COUNT;
            bool takes_part = make_transfer(measure, &shape, (enum level)level, &transfer);
            transfer.bytes = CHECK_BYTES;
            if (takes_part)
                enter(transfer.end);
            gpu_transfer_check(takes_part ? &transfer : NULL,
                               takes_part && transfer.end == &paths_levels[level].side[0], measure->comm);
        }
}

static bool is_anything_asked(const struct measure *measure)
{
    bool asked = false;
    for (size_t i = 0; i < PATHS_N_SHAPES; i++)
        asked = asked || gpu_word_listed(measure->paths, paths_shapes[i].word);
    return asked;
}

static void paths_release(struct measure *measure)
{
    for (int level = 0; level < LEVEL_COUNT; level++)
        gpu_ends_release(measure, &paths_levels[level]);
}

/* Returns a negative number, which ends the program with 0, where there is nothing to measure. */
static int paths_prepare(struct measure *measure, bool speak)
{
    if (!is_anything_asked(measure) || !gpu_look(measure))
        return -1;
    int aware = gpu_mpi_is_aware(), all_aware, n = 0;
    MPI_Allreduce(&aware, &all_aware, 1, MPI_INT, MPI_MIN, measure->comm);
    is_aware = all_aware != 0;
    if (speak && !is_aware && gpu_word_listed(measure->paths, gpu_path_name[GPU_DIRECT]))
        fprintf(stderr, MEASURE_NOT_AVAILABLE "%s MPI not CUDA-aware, as far as it says\n", gpu_path_name[GPU_DIRECT]);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct gpu_ends *ends = &paths_levels[level];
        ends->side[0].own = ends->side[1].own = -1;
        if (level == LEVEL_SELF)
            continue;
        gpu_ends_choose(measure, (enum level)level, ends);
        gpu_ends_take(measure, ends);
        is_open[level] = ends->has_gpus;
        if (speak)
            note_level(measure, (enum level)level);
        for (size_t i = 0; i < PATHS_N_SHAPES; i++)
            n += paths_is_measured(measure, &paths_shapes[i], (enum level)level);
    }
    if (n > 0) {
        check(measure);
        return 0;
    }
    paths_release(measure);
    return -1;
}

static void paths_append(const struct measure *measure, struct item_list *list, size_t i, enum level level)
{
    const struct paths_shape *shape = &paths_shapes[i];
    bool copies_at_once = shape->path >= GPU_PULL;
    uint64_t most = measure->buffer_bytes / (copies_at_once ? (uint64_t)shape->n_members : 1);
    item_add_sizes(list,
                   (struct item){.level = level,
                                 .mode = (int)(level * PATHS_N_SHAPES + i),
                                 .variant = paths_levels[level].is_mock ? shape->variant : WITHOUT_MOCK(shape->variant),
                                 .n = (uint64_t)shape->n_members,
                                 .count = shape->count,
                                 .repeats = PATHS_REPEATS_MAX,
                                 .n_pairs = (size_t)shape->n_members,
                                 .pairs = copies_at_once ? paths_copiers[level] : paths_pairs[level],
                                 .ranks = paths_names[level]},
                   shape->n_members * shape->count > 1 ? PATHS_BYTES_MIN : 1,
                   most < PATHS_BYTES_MAX ? most : PATHS_BYTES_MAX, PATHS_STEP);
}

static void paths_list(const struct measure *measure, struct item_list *list)
{
    for (enum level level = 0; level < LEVEL_COUNT; level++) {
        const struct gpu_end *side = paths_levels[level].side;
        for (int i = 0; i < paths_levels[level].n_members; i++) {
            paths_pairs[level][i] = (struct pair){side[0].members[i], side[1].members[i]};
            paths_copiers[level][i] = (struct pair){side[0].members[i], side[0].members[i]};
        }
        snprintf(paths_names[level], sizeof paths_names[level], "%d-%d", side[0].members[0], side[1].members[0]);
        for (size_t i = 0; i < PATHS_N_SHAPES; i++)
            if (paths_is_measured(measure, &paths_shapes[i], level))
                paths_append(measure, list, i, level);
    }
}

static void paths_round_trips(struct measure *measure, struct gpu_transfer *transfer, const struct task *task, int n)
{
    for (int i = 0; i < n; i++) {
        transfer->place = measure_place(measure, transfer->bytes);
        if (transfer->path >= GPU_PULL) {
            copy(transfer, transfer->path == GPU_PULL ? GPU_FROM : GPU_TO, part_of(transfer, transfer->end->own));
            continue;
        }
        if (task->is_first)
            gpu_transfer_send(transfer);
        gpu_transfer_receive(transfer);
        if (!task->is_first)
            gpu_transfer_send(transfer);
    }
}

static double paths_exchange(struct measure *measure, const struct task *task)
{
    const struct paths_shape *shape = &paths_shapes[task->mode % PATHS_N_SHAPES];
    struct gpu_transfer transfer = {.path = shape->path};
    (void)make_transfer(measure, shape, (enum level)(task->mode / PATHS_N_SHAPES), &transfer);
    bool copies_at_once = shape->path >= GPU_PULL;
    transfer.bytes = copies_at_once ? task->bytes * (uint64_t)shape->n_members : task->bytes;
    enter(transfer.end);
    measure_meet(measure, task);
    paths_round_trips(measure, &transfer, task, 1 + task->repeats / PATHS_WARM_SHARE);
    transfer.copies_s = 0;
    double begin_s = clock_now_s();
    paths_round_trips(measure, &transfer, task, task->repeats);
    if (shape->by_events)
        return transfer.copies_s / task->repeats;
    if (copies_at_once)
        return (clock_now_s() - begin_s) / task->repeats;
    /* The second rank's time begins before the first message is on its way, so it does not count. */
    return task->is_first ? (clock_now_s() - begin_s) / (2.0 * task->repeats) : 0;
}

const struct benchmark_program gpu_paths_program = {
    .name = "gpu_paths",
    .summary = "Data from one GPU to another: GPUDirect, 3-step, extra message, duplicate pointer, several messages.",
    .prepare = paths_prepare,
    .list = paths_list,
    .exchange = paths_exchange,
    .release = paths_release,
};
