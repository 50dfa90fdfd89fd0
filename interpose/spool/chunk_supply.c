/* Makes chunks in a thread of our own, because a call of the program that needs the next chunk must not wait a
 * millisecond for the disk. */
#include "interpose/spool/chunk_supply.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "interpose/spool/event.h"

/* Decides when a chunk that its lane has left may be unmapped. The records themselves tell: as long as one of them
 * lacks its end, a call may still store into it. */
#define LOOK_AGAIN  16U /* chunks, whenever one is added */
#define FIRST_BYTES 4096U

/* Returns whether something may still be stored into a record, or read from it. The end of a record is stored last. */
static int is_open(uint8_t *record)
{
    uint16_t *flags;
    if (__atomic_load_n(record, __ATOMIC_ACQUIRE) == SPOOL_NONE) /* reserved, and not published yet */
        return 1;
    const uint64_t *end_ticks = spool_record_end(record, &flags);
    if (!end_ticks)
        return 0;
    uint64_t ended = __atomic_load_n(end_ticks, __ATOMIC_ACQUIRE);
    unsigned now = __atomic_load_n(flags, __ATOMIC_RELAXED);
    return !(now & SPOOL_FREED) && (ended == 0 || (now & SPOOL_HELD));
}

/* Goes on past records of the two types of which there are most, as long as they are not open. */
static void pass_ended(struct left_chunk *chunk)
{
    const uint8_t *at = chunk->map + chunk->at, *end = chunk->map + chunk->used;
    while (at < end) {
        const struct spool_operation *operation = (const void *)at;
        uint8_t type = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        if (type == SPOOL_CALL)
            at += sizeof(struct spool_call);
        else if (type == SPOOL_OPERATION && __atomic_load_n(&operation->complete_ticks, __ATOMIC_ACQUIRE) != 0 &&
                 !(__atomic_load_n(&operation->flags, __ATOMIC_RELAXED) & SPOOL_HELD))
            at += sizeof *operation;
        else
            break;
    }
    chunk->at = (uint32_t)(at - chunk->map);
}

/* Goes on to the first open record. Returns 1 if there is one, else 0. */
static int find_open(struct left_chunk *chunk)
{
    while (pass_ended(chunk), chunk->at < chunk->used) {
        uint8_t *record = chunk->map + chunk->at;
        size_t bytes = is_open(record) ? 0 : spool_record_bytes(record, chunk->used - chunk->at);
        if (bytes == 0)
            return 1;
        chunk->at += (uint32_t)bytes;
    }
    return 0;
}

/* Gives back what can be given back. Returns 1 while the chunk is still mapped, else 0. */
static int give_back(struct left_chunk *chunk)
{
    int stays = find_open(chunk);
    if (stays)
        madvise(chunk->map, SPOOL_CHUNK_BYTES, MADV_DONTNEED); /* shared: what was stored stays in the file's cache */
    else
        munmap(chunk->map, SPOOL_CHUNK_BYTES);
    return stays;
}

/* Doubles the list by mmap: malloc gives a thread that uses it first, as the supply's does, 64 MiB of addresses. */
static struct left_chunk *widen(struct left_chunks *chunks)
{
    size_t bytes = chunks->room * sizeof *chunks->open, wider_bytes = bytes > 0 ? bytes * 2 : FIRST_BYTES;
    void *wider = bytes > 0 ? mremap(chunks->open, bytes, wider_bytes, MREMAP_MAYMOVE)
                            : mmap(NULL, wider_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wider == MAP_FAILED)
        return NULL;
    chunks->room = (uint32_t)(wider_bytes / sizeof *chunks->open);
    return wider;
}

static void keep(struct left_chunks *chunks, struct left_chunk chunk)
{
    if (chunks->n_open == chunks->room) {
        struct left_chunk *wider = widen(chunks);
        if (!wider)
            return; /* it stays mapped for good */
        chunks->open = wider;
    }
    chunks->open[chunks->n_open++] = chunk;
}

static void left_chunks_init(struct left_chunks *chunks)
{
    *chunks = (struct left_chunks){.n_open = 0};
    pthread_mutex_init(&chunks->lock, NULL);
}

/* Takes over a chunk that its lane left so long ago that no call is in it unless a record says so. Looks at some of the
 * others. */
static void left_chunks_add(struct left_chunks *chunks, struct left_chunk chunk)
{
    pthread_mutex_lock(&chunks->lock);
    for (uint32_t i = 0; i < LOOK_AGAIN && i < chunks->n_open; i++) {
        uint32_t number = chunks->next++ % chunks->n_open;
        if (!give_back(&chunks->open[number]))
            chunks->open[number] = chunks->open[--chunks->n_open];
    }
    if (give_back(&chunk))
        keep(chunks, chunk);
    pthread_mutex_unlock(&chunks->lock);
}

enum {
    EXTENT_CHUNKS = 64, /* blocks are allocated for as many chunks at a time, at most: fewer, longer extents */
    STACK_BYTES = 128 << 10
};

void supply_open(struct supply *supply, const struct spool_file *file, uint32_t limit)
{
    *supply = (struct supply){.file = file, .limit = limit};
    left_chunks_init(&supply->given_back);
    pthread_mutex_init(&supply->lock, NULL);
    pthread_cond_init(&supply->needed, NULL);
    pthread_cond_init(&supply->made, NULL);
}

int supply_make_first(struct supply *supply, uint32_t n, enum spool_loss *cause)
{
    n = n < supply->limit ? n : supply->limit;
    void *map = spool_file_map(supply->file, supply_offset(0), (size_t)n * SPOOL_CHUNK_BYTES, 0, cause);
    if (!map)
        return errno;
    supply->first = map;
    supply->n_first = n;
    supply->reserved = n;
    supply->allocated = n;
    return 0;
}

/* Reserves the number of a new chunk. *extent becomes the number of chunks from there on that should get their blocks
 * with it, 0 if they have them. Returns 0, or -1 if the limit is reached. The caller holds the lock. */
static int reserve(struct supply *supply, uint32_t *number, uint32_t *extent)
{
    if (supply->reserved >= supply->limit)
        return -1;
    *number = supply->reserved++;
    *extent = 0;
    if (*number >= supply->allocated) {
        uint32_t most = supply->limit - *number;
        *extent = *number < 1 ? 1 : *number < EXTENT_CHUNKS ? *number : EXTENT_CHUNKS;
        *extent = *extent < most ? *extent : most;
        supply->allocated = *number + *extent;
    }
    return 0;
}

/* Makes a reserved chunk. The caller does not hold the lock. */
static int make(const struct supply *supply, uint32_t number, uint32_t extent, struct supply_chunk *chunk,
                enum spool_loss *cause)
{
    off_t offset = supply_offset(number);
    /* Blocks are asked for even where they should exist: then this costs little, and room for many at once may have
     * been missing. */
    int allocated =
        extent > 1 && spool_file_allocate(supply->file, offset, (off_t)extent * (off_t)SPOOL_CHUNK_BYTES) == 0;
    chunk->map = spool_file_map(supply->file, offset, SPOOL_CHUNK_BYTES, allocated, cause);
    chunk->number = number;
    return chunk->map ? 0 : -1;
}

/* Takes the oldest of the chunks that lanes left; its map is NULL if there is none. The caller holds the lock. */
static struct left_chunk pop_left(struct supply *supply)
{
    return supply->n_left > 0 ? supply->left[--supply->n_left] : (struct left_chunk){.map = NULL};
}

/* Does the thread's work. The caller holds the lock; it is released during the work itself. */
static void work(struct supply *supply)
{
    uint32_t number = 0, extent = 0;
    struct left_chunk left = pop_left(supply);
    int making = !supply->failed && supply->n_ready < supply->wanted && reserve(supply, &number, &extent) == 0;
    if (!left.map && !making) {
        pthread_cond_wait(&supply->needed, &supply->lock);
        return;
    }
    supply->making = making;
    pthread_mutex_unlock(&supply->lock);
    struct supply_chunk chunk = {0};
    enum spool_loss cause;
    if (left.map)
        left_chunks_add(&supply->given_back, left);
    int made = making && make(supply, number, extent, &chunk, &cause) == 0;
    pthread_mutex_lock(&supply->lock);
    if (made)
        supply->ready[supply->n_ready++] = chunk;
    else if (making)
        supply->failed = 1;
    supply->making = 0;
    pthread_cond_broadcast(&supply->made);
}

static void *supply_thread(void *data)
{
    struct supply *supply = data;
    pthread_mutex_lock(&supply->lock);
    while (!supply->stop)
        work(supply);
    pthread_mutex_unlock(&supply->lock);
    return NULL;
}

/* Starts the thread without signals, on any processor, with a small stack. Returns 0, or -1 where that is impossible.
 */
static int start_thread(struct supply *supply)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    cpu_set_t everywhere;
    if (pthread_attr_init(&attributes) != 0)
        return -1;
    memset(&everywhere, 0xff, sizeof everywhere);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_attr_setaffinity_np(&attributes, sizeof everywhere, &everywhere);
    if (error == 0)
        error = pthread_create(&supply->thread, &attributes, supply_thread, supply);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error == 0)
        pthread_setname_np(supply->thread, "mpistair");
    return error;
}

void supply_without_thread(struct supply *supply)
{
    pthread_mutex_lock(&supply->lock);
    supply->failed = 1;
    pthread_mutex_unlock(&supply->lock);
}

/* Starts the thread once it has something to do. The caller holds the lock. */
static void start_if_needed(struct supply *supply)
{
    if (supply->running || supply->failed || supply->wanted == 0 || supply->n_first_taken < supply->n_first)
        return;
    supply->running = start_thread(supply) == 0;
    supply->failed = !supply->running;
}

void supply_ahead(struct supply *supply, uint32_t n)
{
    pthread_mutex_lock(&supply->lock);
    supply->wanted = n < SUPPLY_READY ? n : SUPPLY_READY;
    start_if_needed(supply);
    pthread_mutex_unlock(&supply->lock);
}

/* Takes a chunk that exists. Returns whether there was one. The caller holds the lock. */
static int take_ready(struct supply *supply, struct supply_chunk *chunk)
{
    if (supply->n_first_taken < supply->n_first) {
        chunk->number = supply->n_first_taken++;
        chunk->map = supply->first + (size_t)chunk->number * SPOOL_CHUNK_BYTES;
        start_if_needed(supply);
        return 1;
    }
    while (supply->n_ready == 0 && supply->making)
        pthread_cond_wait(&supply->made, &supply->lock);
    if (supply->n_ready == 0)
        return 0;
    *chunk = supply->ready[0];
    supply->n_ready--;
    memmove(supply->ready, supply->ready + 1, supply->n_ready * sizeof *supply->ready);
    pthread_cond_signal(&supply->needed);
    return 1;
}

int supply_take(struct supply *supply, struct supply_chunk *chunk, enum spool_loss *cause)
{
    uint32_t number, extent;
    pthread_mutex_lock(&supply->lock);
    int is_ready = take_ready(supply, chunk);
    int has_room = is_ready || reserve(supply, &number, &extent) == 0;
    pthread_mutex_unlock(&supply->lock);
    if (is_ready)
        return 0;
    if (!has_room) {
        *cause = SPOOL_LOSS_LIMIT;
        return -1;
    }
    return make(supply, number, extent, chunk, cause);
}

void supply_leave(struct supply *supply, struct left_chunk chunk)
{
    pthread_mutex_lock(&supply->lock);
    int later = supply->running && supply->n_left < SUPPLY_LEFT;
    if (later) {
        supply->left[supply->n_left++] = chunk;
        pthread_cond_signal(&supply->needed);
    }
    pthread_mutex_unlock(&supply->lock);
    if (!later)
        left_chunks_add(&supply->given_back, chunk);
}

void supply_close(struct supply *supply)
{
    pthread_mutex_lock(&supply->lock);
    int running = supply->running;
    supply->stop = 1;
    pthread_cond_signal(&supply->needed);
    pthread_mutex_unlock(&supply->lock);
    if (running)
        pthread_join(supply->thread, NULL);
    for (uint32_t i = 0; i < supply->n_ready; i++) {
        int fd = spool_file_descriptor(supply->file);
        munmap(supply->ready[i].map, SPOOL_CHUNK_BYTES);
        if (fd >= 0)
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, supply_offset(supply->ready[i].number),
                      SPOOL_CHUNK_BYTES);
    }
    supply->n_ready = 0;
    if (supply->n_first_taken < supply->n_first)
        munmap(supply->first + (size_t)supply->n_first_taken * SPOOL_CHUNK_BYTES,
               (size_t)(supply->n_first - supply->n_first_taken) * SPOOL_CHUNK_BYTES);
    supply->n_first = supply->n_first_taken;
}
