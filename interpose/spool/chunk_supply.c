/* Makes chunks in a thread of our own, because a call of the program that needs the next chunk must not wait a
 * millisecond for the disk. */
#include "interpose/spool/chunk_supply.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "interpose/spool/event.h"
#include "interpose/spool/own_thread.h"

enum { EXTENT_CHUNKS = 64 /* blocks are allocated for as many chunks at a time, at most: fewer, longer extents */ };

void supply_open(struct supply *supply, const struct spool_file *file, uint32_t limit, struct fold *fold)
{
    *supply = (struct supply){.file = file, .limit = limit, .half = limit / 2, .fold = fold};
    left_chunks_open(&supply->given_back, fold->header);
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
    supply->given_back.fixed = n;
    supply->reserved = n;
    supply->allocated = n;
    return 0;
}

/* Reserves the number of a new chunk. *extent becomes the number of chunks from there on that should get their blocks
 * with it, 0 if they have them. Returns 0, or -1 if the limit is reached. The caller holds the lock. */
static int reserve(struct supply *supply, uint32_t limit, uint32_t *number, uint32_t *extent)
{
    if (supply->reserved >= limit)
        return -1;
    *number = supply->reserved++;
    *extent = 0;
    if (*number >= supply->allocated) {
        uint32_t most = supply->limit - *number;
        *extent = *number < 2 ? 2 : *number < EXTENT_CHUNKS ? *number : EXTENT_CHUNKS;
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

/* Makes a chunk, with so many at most. Returns 0, or -1 with *cause and errno set. */
static int make_next(struct supply *supply, uint32_t limit, struct supply_chunk *chunk, enum spool_loss *cause)
{
    uint32_t number = 0, extent = 0;
    pthread_mutex_lock(&supply->lock);
    int has_room = reserve(supply, limit, &number, &extent) == 0;
    pthread_mutex_unlock(&supply->lock);
    *cause = SPOOL_LOSS_LIMIT;
    return has_room ? make(supply, number, extent, chunk, cause) : -1;
}

/* Takes a chunk that need not stay, mapped. Where none can be mapped any more, as the program has closed the file or
 * has no addresses left, only those do that still are. Returns 0 or -1. */
static int take_left(struct supply *supply, struct left_chunk *left, enum left_choice choice)
{
    enum spool_loss cause;
    if (left_chunks_take(&supply->given_back, left, choice, 0) != 0)
        return -1;
    if (!left->map)
        left->map = spool_file_map(supply->file, supply_offset(left->number), SPOOL_CHUNK_BYTES, 1, &cause);
    if (left->map)
        return 0;
    left_chunks_stay_mapped(&supply->given_back);
    left_chunks_add(&supply->given_back, *left, 0);
    return left_chunks_take(&supply->given_back, left, choice, 1);
}

/* Takes a chunk that is used again: folds one that need not stay. Returns 0 or -1. */
static int take_used(struct supply *supply, struct supply_chunk *chunk, enum left_choice choice)
{
    struct left_chunk left;
    int saved_errno = errno, taken = -1;
    if (fold_is_tight(supply->fold)) { /* longer gaps take less room */
        left_chunks_keep_less(&supply->given_back);
        fold_relieved(supply->fold);
    }
    if (supply->fold->area && take_left(supply, &left, choice) == 0) {
        taken = fold_chunk(supply->fold, left.map, left.number);
        if (taken != 0)
            left_chunks_add(&supply->given_back, left, 0);
        *chunk = (struct supply_chunk){left.map, left.number};
    }
    errno = saved_errno;
    return taken;
}

/* Gets a chunk: a new one until half of the room is used, or the system refuses more; then one that is used again;
 * where none can be, one of the other half; and at last, by choice, one of the last burst. Returns 0, or -1 with *cause
 * and errno set. The caller does not hold the lock. */
static int obtain(struct supply *supply, struct supply_chunk *chunk, enum left_choice choice, enum spool_loss *cause)
{
    if (make_next(supply, __atomic_load_n(&supply->half, __ATOMIC_RELAXED), chunk, cause) == 0)
        return 0;
    int refused = *cause != SPOOL_LOSS_LIMIT;
    if (refused)
        __atomic_store_n(&supply->half, 0, __ATOMIC_RELAXED);
    if (refused && (*cause == SPOOL_LOSS_CLOSED || *cause == SPOOL_LOSS_ADDRESS_SPACE || *cause == SPOOL_LOSS_MEMORY))
        left_chunks_stay_mapped(&supply->given_back);
    if (take_used(supply, chunk, LEFT_SHORTER) == 0 ||
        (!refused && make_next(supply, supply->limit, chunk, cause) == 0))
        return 0;
    return choice == LEFT_ANY ? take_used(supply, chunk, LEFT_ANY) : -1;
}

/* Takes the oldest of the chunks that lanes left; its map is NULL if there is none. The caller holds the lock. */
static struct left_chunk pop_left(struct supply *supply)
{
    return supply->n_left > 0 ? supply->left[--supply->n_left] : (struct left_chunk){.map = NULL};
}

/* Takes over what lanes left, as long as there is any. The caller does not hold the lock. */
static void accept_left(struct supply *supply)
{
    struct left_chunk left;
    for (;;) {
        pthread_mutex_lock(&supply->lock);
        left = pop_left(supply);
        int soon = supply->fold->area && supply->reserved >= supply->half;
        pthread_mutex_unlock(&supply->lock);
        if (!left.map)
            break;
        left_chunks_add(&supply->given_back, left, soon);
    }
}

/* Does the thread's work. The caller holds the lock; it is released during the work itself. */
static void work(struct supply *supply)
{
    int making = !supply->failed && !supply->stuck && supply->n_ready < supply->wanted;
    if (supply->n_left == 0 && !making) {
        pthread_cond_wait(&supply->needed, &supply->lock);
        return;
    }
    supply->making = making;
    pthread_mutex_unlock(&supply->lock);
    struct supply_chunk chunk = {0};
    enum spool_loss cause = SPOOL_LOSS_LIMIT;
    accept_left(supply);
    int made = making && obtain(supply, &chunk, LEFT_SHORTER, &cause) == 0;
    pthread_mutex_lock(&supply->lock);
    if (made)
        supply->ready[supply->n_ready++] = chunk;
    else if (making && cause == SPOOL_LOSS_LIMIT)
        supply->stuck = 1;
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
    supply->running = own_thread_start(&supply->thread, supply_thread, supply) == 0;
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

int supply_take(struct supply *supply, struct supply_chunk *chunk, enum left_choice choice, enum spool_loss *cause)
{
    for (int again = 1; again;) {
        pthread_mutex_lock(&supply->lock);
        int is_ready = take_ready(supply, chunk);
        pthread_mutex_unlock(&supply->lock);
        if (is_ready)
            return 0;
        accept_left(supply);
        if (obtain(supply, chunk, choice, cause) == 0)
            return 0;
        int error = errno;
        pthread_mutex_lock(&supply->lock);
        again = supply->making || supply->n_ready > 0; /* the thread has taken what this lane left */
        pthread_mutex_unlock(&supply->lock);
        errno = error;
    }
    return -1;
}

void supply_leave(struct supply *supply, struct left_chunk chunk)
{
    pthread_mutex_lock(&supply->lock);
    int later = supply->running && supply->n_left < SUPPLY_LEFT;
    int soon = supply->fold->area && supply->reserved >= supply->half;
    if (later)
        supply->left[supply->n_left++] = chunk;
    supply->stuck = 0;
    pthread_cond_signal(&supply->needed);
    pthread_mutex_unlock(&supply->lock);
    if (!later)
        left_chunks_add(&supply->given_back, chunk, soon);
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
