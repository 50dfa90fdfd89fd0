/* Hands each thread a lane of its own, so that storing a record takes no lock: the lock is taken once a chunk. A lane
 * that gets no further chunk counts what it loses and stays stopped. */
#include "interpose/spool/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "interpose/spool/clock.h"
#include "interpose/spool/readers.h"

/* A process needs a few chunks, however small its room is. */
enum { LEAST_CHUNKS = 4, LAST_PART_BYTES = 2048 };

/* Returns how many chunks fit beside the area. */
static uint32_t chunks_within(uint64_t limit_bytes)
{
    uint64_t chunks = limit_bytes > SPOOL_TOTALS_BYTES ? (limit_bytes - SPOOL_TOTALS_BYTES) / SPOOL_CHUNK_BYTES : 0;
    return (uint32_t)(chunks < LEAST_CHUNKS ? LEAST_CHUNKS : chunks < UINT32_MAX ? chunks : UINT32_MAX);
}

/* Maps the area. Without room for it recording goes on, and nothing is folded. */
static void map_area(struct spool_writer *writer)
{
    enum spool_loss cause = SPOOL_LOSS_REFUSED;
    struct spool_area *area = spool_file_map(&writer->file, SPOOL_HEADER_BYTES, SPOOL_TOTALS_BYTES, 0, &cause);
    writer->header->totals_bytes = area ? SPOOL_TOTALS_BYTES : 0;
    writer->header->totals_cause = area ? 0 : cause;
    fold_open(&writer->fold, writer->header, area);
}

/* What defines other records is never folded, so it gets a part of the room alone. */
static void open_definitions(struct spool_writer *writer)
{
    pthread_mutex_init(&writer->definitions_lock, NULL);
    writer->definitions = (struct spool_lane){.writer = writer, .number = SPOOL_DEFINITIONS_LANE, .in_use = 1};
    writer->definitions_limit = writer->supply.limit / 4;
    writer->lanes = &writer->definitions;
    writer->n_lanes = 1;
}

int spool_writer_open(struct spool_writer *writer, int folder, const char *name, uint64_t limit_bytes,
                      enum spool_clock_source clock_source)
{
    int saved_errno = errno, error;
    enum spool_loss cause;
    memset(writer, 0, sizeof *writer);
    int fd = openat(folder, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, readers_file_mode());
    if (fd < 0)
        goto out;
    if (spool_file_take(&writer->file, fd) != 0)
        goto out_descriptor;
    struct spool_header *header = spool_file_map(&writer->file, 0, SPOOL_HEADER_BYTES, 0, &cause);
    if (!header)
        goto out_file;
    pthread_mutex_init(&writer->lock, NULL);
    header->version = SPOOL_VERSION;
    header->chunk_bytes = SPOOL_CHUNK_BYTES;
    header->clock_source = clock_source;
    header->rank = -1;
    header->link_init.parent_rank = -1;
    header->link_finalize.parent_rank = -1;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    header->started_unix_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    header->start = spool_clock_pair(clock_source);
    writer->header = header;
    map_area(writer);
    supply_open(&writer->supply, &writer->file, chunks_within(limit_bytes), &writer->fold);
    open_definitions(writer);
    errno = saved_errno;
    return 0;

out_file:
    error = errno;
    fd = spool_file_descriptor(&writer->file);
    errno = error;
out_descriptor:
    error = errno;
    unlinkat(folder, name, 0);
    if (fd >= 0)
        close(fd);
    errno = error;
out:
    error = errno;
    errno = saved_errno;
    return error;
}

int spool_writer_preallocate(struct spool_writer *writer, uint64_t bytes)
{
    int saved_errno = errno;
    enum spool_loss cause;
    uint64_t n = bytes / SPOOL_CHUNK_BYTES + (bytes % SPOOL_CHUNK_BYTES > 0);
    int error = n == 0 ? 0 : supply_make_first(&writer->supply, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX, &cause);
    errno = saved_errno;
    return error;
}

void spool_writer_publish(struct spool_writer *writer)
{
    __atomic_store_n(&writer->header->magic, SPOOL_MAGIC, __ATOMIC_RELEASE);
}

uint64_t spool_writer_close(struct spool_writer *writer)
{
    int saved_errno = errno;
    uint32_t n_first = writer->supply.n_first;
    supply_close(&writer->supply);
    pthread_mutex_lock(&writer->lock);
    off_t bytes = supply_offset(writer->header->chunks);
    for (struct spool_lane *lane = writer->lanes; lane; lane = lane->following) {
        /* The file ends with the last record if the last chunk is still this lane's current one. */
        if (lane->chunk && lane->chunk_number + 1 == writer->header->chunks)
            bytes = supply_offset(lane->chunk_number) + (lane->next - lane->chunk);
        if (lane->ahead.map)
            munmap(lane->ahead.map, SPOOL_CHUNK_BYTES);
        lane->ahead.map = NULL;
        lane->stopped = 1;
        lane->end = lane->next;
    }
    /* Who gave it chunks at the start may not let it do more than store into them: the file keeps its length. */
    int is_enough = n_first > 0 && writer->header->chunks <= n_first;
    int fd = is_enough ? -1 : spool_file_descriptor(&writer->file);
    if (!is_enough && (fd < 0 || ftruncate(fd, bytes) != 0))
        bytes = supply_offset(writer->header->chunks);
    spool_file_close(&writer->file);
    pthread_mutex_unlock(&writer->lock);
    errno = saved_errno;
    return (uint64_t)bytes;
}

/* Keeps the first error for which the system refused room. */
static void note_refused(struct spool_writer *writer, int error)
{
    uint32_t none = 0;
    __atomic_compare_exchange_n(&writer->header->refused_error, &none, (uint32_t)error, 0, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

void spool_writer_lose(struct spool_writer *writer, enum spool_loss cause, uint64_t n)
{
    struct spool_header *header = writer->header;
    uint64_t none = __atomic_load_n(&header->lost_ticks, __ATOMIC_RELAXED);
    if (none == 0)
        __atomic_compare_exchange_n(&header->lost_ticks, &none,
                                    clock_ticks((enum spool_clock_source)header->clock_source), 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->lost[cause], n, __ATOMIC_RELAXED);
}

void spool_writer_unmap(struct spool_writer *writer)
{
    for (struct spool_lane *lane = writer->lanes; lane; lane = lane->following) {
        for (uint32_t i = 0; i < lane->n_left; i++)
            munmap(lane->left[i].map, SPOOL_CHUNK_BYTES);
        if (lane->chunk)
            munmap(lane->chunk, SPOOL_CHUNK_BYTES);
        lane->chunk = NULL;
        lane->n_left = 0;
    }
    left_chunks_unmap(&writer->supply.given_back);
    if (writer->fold.area)
        munmap(writer->fold.area, SPOOL_TOTALS_BYTES);
    writer->fold.area = NULL;
    munmap(writer->header, SPOOL_HEADER_BYTES);
    writer->header = NULL;
}

struct spool_lane *spool_lane_acquire(struct spool_writer *writer)
{
    int saved_errno = errno;
    pthread_mutex_lock(&writer->lock);
    struct spool_lane *lane = writer->lanes;
    while (lane && lane->in_use)
        lane = lane->following;
    if (!lane) {
        lane = calloc(1, sizeof *lane);
        if (lane) {
            lane->writer = writer;
            lane->number = __atomic_fetch_add(&writer->n_lanes, 1, __ATOMIC_RELAXED);
            lane->following = writer->lanes;
            writer->lanes = lane;
        }
    }
    if (lane)
        lane->in_use = 1;
    pthread_mutex_unlock(&writer->lock);
    errno = saved_errno;
    return lane;
}

void spool_lane_release(struct spool_lane *lane)
{
    pthread_mutex_lock(&lane->writer->lock);
    lane->in_use = 0;
    pthread_mutex_unlock(&lane->writer->lock);
}

void spool_lane_flush(struct spool_lane *lane)
{
    int saved_errno = errno;
    pthread_mutex_lock(&lane->writer->lock);
    int fd = lane->chunk ? spool_file_descriptor(&lane->writer->file) : -1;
    if (fd >= 0)
        sync_file_range(fd, supply_offset(lane->chunk_number), SPOOL_CHUNK_BYTES, SYNC_FILE_RANGE_WRITE);
    pthread_mutex_unlock(&lane->writer->lock);
    errno = saved_errno;
}

/* Returns how many chunks that the lane has left stay with it. */
static uint32_t resident_chunks(const struct spool_writer *writer)
{
    uint32_t share = writer->supply.limit / (16 * __atomic_load_n(&writer->n_lanes, __ATOMIC_RELAXED));
    return share < SPOOL_RESIDENT_CHUNKS ? share : SPOOL_RESIDENT_CHUNKS;
}

/* Gives back the oldest of the chunks that the lane has left, but so many. */
static void leave_residents(struct spool_lane *lane, uint32_t resident)
{
    while (lane->n_left > resident) {
        supply_leave(&lane->writer->supply, lane->left[0]);
        memmove(lane->left, lane->left + 1, --lane->n_left * sizeof *lane->left);
    }
}

static struct left_chunk current_chunk(const struct spool_lane *lane, int64_t now_ns)
{
    return (struct left_chunk){.map = lane->chunk,
                               .number = lane->chunk_number,
                               .at = sizeof(struct spool_chunk),
                               .used = (uint32_t)(lane->next - lane->chunk),
                               .begin_ns = lane->chunk_begin_ns,
                               .end_ns = now_ns};
}

/* Leaves the current chunk of the lane, now. Chunks of definitions stay mapped for good, as a record may be completed
 * by the thread that stored it while others fill many a chunk. */
static void leave_chunk(struct spool_lane *lane, int64_t now_ns)
{
    if (lane->chunk && lane == &lane->writer->definitions)
        madvise(lane->chunk, SPOOL_CHUNK_BYTES, MADV_DONTNEED);
    else if (lane->chunk)
        lane->left[lane->n_left++] = current_chunk(lane, now_ns);
    lane->chunk = lane->next = lane->end = NULL;
}

/* Takes a chunk for the lane. Where there is none it leaves what it has, as one of these may be used again; the current
 * one only where no record in it is open. Returns 0, or -1 with lane->cause and errno. */
static int take_chunk(struct spool_lane *lane, struct supply_chunk *next)
{
    struct spool_writer *writer = lane->writer;
    if (lane == &writer->definitions && lane->sequence >= writer->definitions_limit) {
        lane->cause = SPOOL_LOSS_LIMIT;
        return -1;
    }
    if (supply_take(&writer->supply, next, LEFT_SHORTER, &lane->cause) == 0)
        return 0;
    if (lane->chunk && lane != &writer->definitions && writer->fold.area) {
        uint64_t now_ns = spool_clock_pair((enum spool_clock_source)writer->header->clock_source).monotonic_ns;
        struct left_chunk current = current_chunk(lane, (int64_t)now_ns);
        if (!left_chunk_is_open(&current))
            leave_chunk(lane, (int64_t)now_ns);
        leave_residents(lane, 0);
        if (supply_take(&writer->supply, next, LEFT_SHORTER, &lane->cause) == 0)
            return 0;
    }
    return supply_take(&writer->supply, next, LEFT_ANY, &lane->cause);
}

/* Makes a chunk of this lane count for readers. Returns how many lanes have a second chunk. */
static uint32_t publish_chunk(struct spool_writer *writer, struct spool_chunk *chunk, uint32_t number)
{
    __atomic_store_n(&chunk->magic, SPOOL_CHUNK_MAGIC, __ATOMIC_RELEASE);
    pthread_mutex_lock(&writer->lock);
    if (writer->header->chunks <= number)
        __atomic_store_n(&writer->header->chunks, number + 1, __ATOMIC_RELEASE);
    if (chunk->sequence == 1 && chunk->lane != SPOOL_DEFINITIONS_LANE)
        writer->n_long_lanes++;
    uint32_t n_long_lanes = writer->n_long_lanes;
    pthread_mutex_unlock(&writer->lock);
    return n_long_lanes;
}

/* Makes a chunk the lane's current one. */
static void open_chunk(struct spool_lane *lane, struct supply_chunk next)
{
    struct spool_writer *writer = lane->writer;
    struct spool_chunk *chunk = (struct spool_chunk *)next.map;
    chunk->lane = lane->number;
    chunk->sequence = lane->sequence++;
    chunk->clock = spool_clock_pair((enum spool_clock_source)writer->header->clock_source);
    leave_chunk(lane, (int64_t)chunk->clock.monotonic_ns);
    leave_residents(lane, resident_chunks(writer));
    lane->chunk_begin_ns = (int64_t)chunk->clock.monotonic_ns;
    uint32_t n_long_lanes = publish_chunk(writer, chunk, next.number);
    if (chunk->sequence == 1 && n_long_lanes > 0)
        supply_ahead(&writer->supply, n_long_lanes);
    lane->chunk = next.map;
    lane->chunk_number = next.number;
    lane->next = next.map + sizeof *chunk;
    lane->end = next.map + SPOOL_CHUNK_BYTES - (lane == &writer->definitions ? 0 : LAST_PART_BYTES);
}

/* Gets no further chunk: what is stored from now on has the rest of the current one. */
static void stop_lane(struct spool_lane *lane, int error)
{
    struct spool_writer *writer = lane->writer;
    if (lane->cause == SPOOL_LOSS_REFUSED)
        note_refused(writer, error);
    lane->stopped = 1;
    if (!lane->chunk)
        lane->sequence++; /* nobody takes the chunk that was left for the current one */
}

/* Takes the next chunk where the last part of the current one begins, so that what is under way has room if there is
 * none. */
static void look_ahead(struct spool_lane *lane)
{
    if (take_chunk(lane, &lane->ahead) != 0)
        stop_lane(lane, errno);
    if (lane->chunk)
        lane->end = lane->chunk + SPOOL_CHUNK_BYTES;
}

void *spool_lane_reserve_chunk(struct spool_lane *lane, size_t bytes)
{
    int saved_errno = errno;
    if (!lane->stopped && lane->chunk && lane->end != lane->chunk + SPOOL_CHUNK_BYTES)
        look_ahead(lane);
    if ((size_t)(lane->end - lane->next) < bytes) {
        if (!lane->stopped && !lane->ahead.map && take_chunk(lane, &lane->ahead) != 0)
            stop_lane(lane, errno);
        if (lane->stopped) {
            lane->end = lane->next; /* no room for a smaller record either: what follows a loss would be out of order */
            spool_writer_lose(lane->writer, lane->cause, 1);
            errno = saved_errno;
            return NULL;
        }
        open_chunk(lane, lane->ahead);
        lane->ahead.map = NULL;
    }
    errno = saved_errno;
    void *record = lane->next;
    lane->next += bytes;
    return record;
}

void *spool_definition_reserve(struct spool_writer *writer, size_t bytes)
{
    pthread_mutex_lock(&writer->definitions_lock);
    void *record = spool_lane_reserve(&writer->definitions, bytes);
    if (!record)
        pthread_mutex_unlock(&writer->definitions_lock);
    return record;
}

void spool_definition_publish(struct spool_writer *writer, void *record, enum spool_record_type type)
{
    spool_record_publish(record, type);
    pthread_mutex_unlock(&writer->definitions_lock);
}
