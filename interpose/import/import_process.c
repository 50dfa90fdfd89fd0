/* Writes the spool of one process by the recorder's own writer, with nanoseconds for ticks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/import/import.h"
#include "interpose/spool/writer.h"
#include "interpose/trace/state/trace.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"

/* Time 0 of every process: CLOCK_MONOTONIC of a node is never 0. */
#define FIRST_NS UINT64_C(1000000000)

struct import_process {
    struct spool_writer writer;
    struct spool_lane **lanes; /* [n_lanes] by thread; NULL: not used yet */
    size_t n_lanes;
    struct spool_lane *lane; /* of the thread whose calls follow */
    char *path;
    int32_t rank;
    struct map requests;           /* request -> operations */
    struct spool_operation **open; /* [n_open]; NULL: complete */
    size_t n_open;
};

int import_function(const char *name)
{
    for (uint16_t i = 0; i < FN_COUNT; i++)
        if (strcmp(function_name(i), name) == 0)
            return i;
    return -1;
}

uint64_t import_hash(uint64_t hash, int32_t world_rank)
{
    return ((hash == 0 ? UINT64_C(0xcbf29ce484222325) : hash) ^ (uint32_t)world_rank) * UINT64_C(0x100000001b3);
}

static void fill_header(struct spool_header *header, const struct import_run *run, int32_t rank, const char *host)
{
    header->n_functions = FN_COUNT;
    header->table_hash = MPISTAIR_TABLE_HASH;
    header->family = SPOOL_FAMILY_UNKNOWN;
    header->rank = rank;
    header->world_size = run->n_ranks;
    header->node_leader = rank;
    header->thread_level = run->thread_level;
    header->started_by = FN_Init;
    header->started_unix_ns = run->started_unix_ns;
    header->start = (struct spool_clock_pair){FIRST_NS, FIRST_NS};
    snprintf(header->run_key, sizeof header->run_key, "import-%ld", (long)getpid());
    snprintf(header->host, sizeof header->host, "%s", host ? host : "?");
    snprintf(header->library, sizeof header->library, "%s", run->format);
    snprintf(header->command, sizeof header->command, "%s", run->command);
}

#define SPOOL_NAME "%s/import-%ld-%" PRId32 SPOOL_SUFFIX

void import_remove(const struct import_run *run)
{
    for (int32_t rank = 0; rank < run->n_ranks; rank++) {
        char path[PATH_MAX]; /* a handler of signals may not allocate */
        if (snprintf(path, sizeof path, SPOOL_NAME, run->folder, (long)getpid(), rank) < PATH_MAX)
            unlink(path);
    }
    rmdir(run->folder);
}

/* Nothing is folded here: of thousands of ranks the room for it would fill a disk. */
static void give_back_area(struct spool_writer *writer)
{
    int fd = spool_file_descriptor(&writer->file);
    if (fd >= 0)
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, SPOOL_HEADER_BYTES, SPOOL_TOTALS_BYTES);
}

struct import_process *import_begin(const struct import_run *run, int32_t rank, const char *host, struct error *error)
{
    struct import_process *process = xcalloc(1, sizeof *process);
    int folder = open(run->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    process->path = xasprintf(SPOOL_NAME, run->folder, (long)getpid(), rank);
    process->rank = rank;
    int failed = folder < 0 ? errno
                            : spool_writer_open(&process->writer, folder, strrchr(process->path, '/') + 1, UINT64_MAX,
                                                SPOOL_CLOCK_MONOTONIC);
    if (folder >= 0)
        close(folder);
    if (failed != 0) {
        error_set(error, "%s: cannot write: %s", process->path, strerror(failed));
        free(process->path);
        free(process);
        return NULL;
    }
    supply_without_thread(&process->writer.supply);
    give_back_area(&process->writer);
    fill_header(process->writer.header, run, rank, host);
    spool_writer_publish(&process->writer);
    import_thread(process, 0);
    return process;
}

void import_thread(struct import_process *process, uint32_t thread)
{
    while (process->n_lanes <= thread)
        ARRAY_ADD(process->lanes, process->n_lanes, NULL);
    if (!process->lanes[thread])
        process->lanes[thread] = spool_lane_acquire(&process->writer);
    process->lane = or_no_memory(process->lanes[thread]);
}

static void import_release(struct import_process *process)
{
    spool_writer_close(&process->writer);
    spool_writer_unmap(&process->writer);
    for (size_t i = 0; i < process->n_lanes; i++) /* the recorder's last as long as its process */
        free(process->lanes[i]);
    free(process->lanes);
    map_release(&process->requests);
    free(process->open);
    free(process->path);
    free(process);
}

int import_end(struct import_process *process, uint64_t end_ns, struct error *error)
{
    struct spool_header *header = process->writer.header;
    uint64_t lost = 0;
    for (int cause = 0; cause < SPOOL_LOSS_COUNT; cause++)
        lost += header->lost[cause];
    header->finish = (struct spool_clock_pair){FIRST_NS + end_ns, FIRST_NS + end_ns};
    header->end = SPOOL_END_FINALIZE;
    int result = lost == 0
                     ? 0
                     : error_set(error, "%s: no room for %" PRIu64 " records of rank %" PRId32 ": is the disk full?",
                                 process->path, lost, process->rank);
    import_release(process);
    return result;
}

void import_cancel(struct import_process *process)
{
    unlink(process->path);
    import_release(process);
}

void import_communicator(struct import_process *process, const struct import_communicator *communicator, uint64_t at_ns)
{
    struct spool_communicator *record = spool_definition_reserve(&process->writer, sizeof *record);
    if (!record)
        return;
    record->identity = SPOOL_BY_MEMBERS;
    record->function = FN_Comm_create;
    record->index = communicator->index;
    record->parent = SPOOL_NO_COMMUNICATOR;
    record->creation = communicator->identity;
    record->leader = communicator->leader;
    record->size = communicator->size;
    record->rank = communicator->rank;
    record->begin_ticks = record->end_ticks = FIRST_NS + at_ns;
    record->members_hash = communicator->members_hash;
    spool_definition_publish(&process->writer, record, SPOOL_COMMUNICATOR);
}

struct import_communicator import_members(const struct import_process *process, uint32_t index, uint32_t identity,
                                          const int32_t *members, int32_t n)
{
    struct import_communicator is = {.index = index, .identity = identity, .leader = -1, .size = n, .rank = -1};
    for (int32_t i = 0; i < n; i++) {
        is.members_hash = import_hash(is.members_hash, members[i]);
        is.rank = members[i] == process->rank ? i : is.rank;
    }
    if (n > 0)
        is.leader = members[0];
    return is;
}

static uint32_t length_ns(const struct import_call *call)
{
    uint64_t ns = call->end_ns > call->begin_ns ? call->end_ns - call->begin_ns : 0;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

struct spool_operation *import_post(struct import_process *process, const struct import_call *call,
                                    enum spool_direction direction, uint32_t communicator, int32_t peer, int32_t tag,
                                    uint64_t bytes, bool blocking)
{
    struct spool_operation *record = spool_lane_reserve(process->lane, sizeof *record);
    if (!record)
        return NULL;
    record->direction = direction & 1U;
    record->function = (uint16_t)call->function;
    record->communicator = communicator;
    record->peer = peer;
    record->tag = tag;
    record->bytes = bytes;
    record->post_ticks = FIRST_NS + call->begin_ns;
    record->call_ticks = length_ns(call);
    record->cpu_post = record->cpu_complete = -1;
    record->flags = (uint16_t)((blocking ? SPOOL_BLOCKING : 0) |
                               (direction == SPOOL_RECEIVE && peer == SPOOL_ANY ? SPOOL_ANY_SOURCE : 0) |
                               (direction == SPOOL_RECEIVE && tag == SPOOL_ANY ? SPOOL_ANY_TAG : 0));
    if (blocking && call->end_ns > 0)
        record->complete_ticks = FIRST_NS + call->end_ns;
    spool_record_publish(record, SPOOL_OPERATION);
    return record;
}

void import_same_call(struct spool_operation *operation)
{
    if (operation)
        operation->flags |= SPOOL_SAME_CALL;
}

void import_returned(struct spool_operation *operation, uint64_t end_ns)
{
    if (!operation)
        return;
    const struct import_call call = {.begin_ns = operation->post_ticks - FIRST_NS, .end_ns = end_ns};
    operation->call_ticks = length_ns(&call);
    if (operation->flags & SPOOL_BLOCKING)
        operation->complete_ticks = FIRST_NS + end_ns;
}

void import_complete(struct spool_operation *operation, uint64_t at_ns)
{
    if (operation)
        operation->complete_ticks = FIRST_NS + at_ns;
}

void import_open(struct import_process *process, uint64_t request, struct spool_operation *operation)
{
    uint32_t number = map_number(&process->requests, (struct map_key){request, 0, 0}, process->n_open);
    if (number == process->n_open)
        ARRAY_ADD(process->open, process->n_open, operation);
    process->open[number] = operation;
}

struct spool_operation *import_close(struct import_process *process, uint64_t request)
{
    uint32_t number = map_find(&process->requests, (struct map_key){request, 0, 0});
    struct spool_operation *operation = number == MAP_ABSENT ? NULL : process->open[number];
    if (operation)
        process->open[number] = NULL;
    return operation;
}

void import_timed_call(struct import_process *process, const struct import_call *call, uint32_t completed)
{
    struct spool_call *record = spool_lane_reserve(process->lane, sizeof *record);
    if (!record)
        return;
    record->function = (uint16_t)call->function;
    record->completed = completed;
    record->begin_ticks = FIRST_NS + call->begin_ns;
    record->call_ticks = call->end_ns > call->begin_ns ? call->end_ns - call->begin_ns : 0;
    spool_record_publish(record, SPOOL_CALL);
}

void import_collective(struct import_process *process, const struct import_call *call, uint32_t communicator,
                       uint64_t bytes, int32_t root)
{
    struct spool_collective *record = spool_lane_reserve(process->lane, sizeof *record);
    if (!record)
        return;
    record->function = (uint16_t)call->function;
    record->communicator = communicator;
    record->bytes = bytes;
    record->begin_ticks = FIRST_NS + call->begin_ns;
    record->end_ticks = FIRST_NS + (call->end_ns > call->begin_ns ? call->end_ns : call->begin_ns);
    record->root = root;
    spool_record_publish(record, SPOOL_COLLECTIVE);
}
