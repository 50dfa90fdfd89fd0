/* Decides when a chunk that its lane has left may be unmapped. The records themselves tell: as long as one of them
 * lacks its end, a call may still store into it. */
#include "interpose/spool/left_chunks.h"

#include <sys/mman.h>

#include "interpose/spool/event.h"

#define LOOK_AGAIN  16U /* chunks, whenever one is added */
#define FIRST_BYTES 4096U

/* Says whether something may still be stored into a record, or read from it. The end of a record is stored last. */
static int is_open(const uint8_t *record)
{
    const struct spool_operation *operation = (const void *)record;
    const struct spool_collective *collective = (const void *)record;
    const struct spool_access *access = (const void *)record;
    const uint64_t *end_ticks;
    const uint16_t *flags;
    switch (__atomic_load_n(record, __ATOMIC_ACQUIRE)) {
    case SPOOL_NONE: /* reserved, and not published yet */
        return 1;
    case SPOOL_OPERATION:
        end_ticks = &operation->complete_ticks;
        flags = &operation->flags;
        break;
    case SPOOL_COLLECTIVE:
        end_ticks = &collective->end_ticks;
        flags = &collective->flags;
        break;
    case SPOOL_ACCESS:
        end_ticks = &access->end_ticks;
        flags = &access->flags;
        break;
    default:
        return 0;
    }
    uint64_t ended = __atomic_load_n(end_ticks, __ATOMIC_ACQUIRE);
    unsigned now = __atomic_load_n(flags, __ATOMIC_RELAXED);
    return !(now & SPOOL_FREED) && (ended == 0 || (now & SPOOL_HELD));
}

/* Goes on to the first open record. Returns 1 if there is one, else 0. */
static int find_open(struct left_chunk *chunk)
{
    while (chunk->at < chunk->used) {
        const uint8_t *record = chunk->map + chunk->at;
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

void left_chunks_init(struct left_chunks *chunks)
{
    *chunks = (struct left_chunks){.n_open = 0};
    pthread_mutex_init(&chunks->lock, NULL);
}

void left_chunks_add(struct left_chunks *chunks, struct left_chunk chunk)
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
