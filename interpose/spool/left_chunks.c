/* The records themselves tell whether a chunk may be unmapped or used again: as long as one of them lacks its end, a
 * call may still store into it. See left_chunks.h. */
#include "interpose/spool/left_chunks.h"

#include <string.h>
#include <sys/mman.h>

#define LOOK_AGAIN  16U /* chunks, whenever one is added */
#define FIRST_BYTES 16384U

/* Many short bursts say more of a run than a few long ones: while fewer than MANY_BURSTS stay, they are shortened
 * first, down to 0.1 s / 2^SHORT_CUT, which still is many steps of a program that makes so many calls, and as long as
 * one takes LONG_BURST chunks or more, of which those at its ends are kept for a part. A single one may fall on a
 * moment in which a rank stands still, so FEW_BURSTS stay, down to 0.1 s / 2^FEW_CUT. */
enum {
    MOST_LEVEL = SPOOL_NO_BURSTS - 1,
    MOST_CUT = 10,
    MANY_BURSTS = 64,
    FEW_BURSTS = 2,
    FEW_CUT = 4,
    SHORT_CUT = 6,
    LONG_BURST = 3
};

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

/* Goes on past records of the types of which there are most, as long as they are not open. */
static void pass_ended(struct left_chunk *chunk)
{
    const uint8_t *at = chunk->map + chunk->at, *end = chunk->map + chunk->used;
    while (at < end) {
        const struct spool_operation *operation = (const void *)at;
        const struct spool_access *access = (const void *)at;
        uint8_t type = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        if (type == SPOOL_CALL)
            at += sizeof(struct spool_call);
        else if (type == SPOOL_OPERATION && __atomic_load_n(&operation->complete_ticks, __ATOMIC_ACQUIRE) != 0 &&
                 !(__atomic_load_n(&operation->flags, __ATOMIC_RELAXED) & SPOOL_HELD))
            at += sizeof *operation;
        else if (type == SPOOL_ACCESS && __atomic_load_n(&access->end_ticks, __ATOMIC_ACQUIRE) != 0 &&
                 !(__atomic_load_n(&access->flags, __ATOMIC_RELAXED) & SPOOL_HELD))
            at += sizeof *access;
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

/* Gives back what can be given back. */
static void left_give_back(const struct left_chunks *chunks, struct left_chunk *chunk)
{
    if (find_open(chunk) || chunk->number < chunks->fixed) {
        madvise(chunk->map, SPOOL_CHUNK_BYTES, MADV_DONTNEED); /* shared: what was stored stays in the file's cache */
    } else {
        munmap(chunk->map, SPOOL_CHUNK_BYTES);
        chunk->map = NULL;
    }
}

/* Makes room for a number by mmap: malloc gives a thread that uses it first, as the supply's does, 64 MiB of
 * addresses. Returns 0, or -1 without memory. */
static int left_widen(struct left_chunks *chunks, uint32_t number)
{
    size_t bytes = chunks->room * sizeof *chunks->chunks, wider_bytes = bytes > 0 ? bytes : FIRST_BYTES;
    while (wider_bytes / sizeof *chunks->chunks <= number)
        wider_bytes *= 2;
    void *wider = bytes > 0 ? mremap(chunks->chunks, bytes, wider_bytes, MREMAP_MAYMOVE)
                            : mmap(NULL, wider_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wider == MAP_FAILED)
        return -1;
    chunks->chunks = wider;
    chunks->room = (uint32_t)(wider_bytes / sizeof *chunks->chunks);
    return 0;
}

int left_chunk_is_open(struct left_chunk *chunk)
{
    return find_open(chunk);
}

void left_chunks_open(struct left_chunks *chunks, struct spool_header *header)
{
    *chunks = (struct left_chunks){.header = header};
    pthread_mutex_init(&chunks->lock, NULL);
}

void left_chunks_unmap(struct left_chunks *chunks)
{
    for (uint32_t i = 0; i < chunks->n; i++)
        if (chunks->chunks[i].map)
            munmap(chunks->chunks[i].map, SPOOL_CHUNK_BYTES);
    if (chunks->room > 0)
        munmap(chunks->chunks, chunks->room * sizeof *chunks->chunks);
    *chunks = (struct left_chunks){.header = NULL};
}

void left_chunks_stay_mapped(struct left_chunks *chunks)
{
    pthread_mutex_lock(&chunks->lock);
    chunks->fixed = UINT32_MAX;
    pthread_mutex_unlock(&chunks->lock);
}

/* Looks at some of the chunks that are mapped. */
static void left_look_again(struct left_chunks *chunks)
{
    for (uint32_t i = 0, looked = 0; i < chunks->n && looked < LOOK_AGAIN; i++) {
        struct left_chunk *chunk = &chunks->chunks[chunks->next++ % chunks->n];
        if (!chunk->is_left || !chunk->map)
            continue;
        left_give_back(chunks, chunk);
        looked++;
    }
}

void left_chunks_add(struct left_chunks *chunks, struct left_chunk chunk, int soon)
{
    pthread_mutex_lock(&chunks->lock);
    left_look_again(chunks);
    if (!soon && chunk.map)
        left_give_back(chunks, &chunk);
    /* Without memory it stays as it is for good. */
    if (chunk.number < chunks->room || left_widen(chunks, chunk.number) == 0) {
        chunks->chunks[chunk.number] = chunk;
        chunks->chunks[chunk.number].is_left = 1;
        chunks->n = chunk.number < chunks->n ? chunks->n : chunk.number + 1;
        chunks->latest = chunk.number;
    }
    pthread_mutex_unlock(&chunks->lock);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Returns whether the chunk overlaps a burst that stays with this cut; if so *first and *last become the numbers of
 * those. */
static int left_stays(const struct left_chunks *chunks, const struct left_chunk *chunk, uint32_t cut, int64_t *first,
                      int64_t *last)
{
    const struct spool_header *header = chunks->header;
    int64_t offset = __atomic_load_n(&header->burst_offset_ns, __ATOMIC_RELAXED);
    int64_t period = SPOOL_BURST_NS << header->burst_level, length = SPOOL_BURST_NS >> cut;
    int64_t margin = length < SPOOL_BURST_MARGIN_NS ? length : SPOOL_BURST_MARGIN_NS;
    int64_t begin = chunk->begin_ns + offset - length - margin, end = chunk->end_ns + offset + margin;
    if (header->burst_level == SPOOL_NO_BURSTS)
        return 0;
    *first = -floor_div(-begin, period); /* rounded up */
    *last = floor_div(end, period);
    return *first <= *last;
}

/* What is looked for, and what was found on the way through the chunks. */
struct left_found {
    int is_mapped;       /* 1: those that are not mapped do not count */
    int64_t first, last; /* bursts of those that stay and have no open record */
    uint32_t stay;       /* number of those */
    int is_cuttable;     /* a stronger cut would spare one */
};

/* Returns whether the chunk may be taken. */
static int left_may_go(const struct left_chunks *chunks, struct left_chunk *chunk, struct left_found *found)
{
    int64_t first, last;
    if (!chunk->is_left || (chunk->map ? find_open(chunk) : found->is_mapped))
        return 0;
    if (!left_stays(chunks, chunk, chunks->header->burst_cut, &first, &last))
        return 1;
    found->first = found->stay == 0 || first < found->first ? first : found->first;
    found->last = found->stay == 0 || last > found->last ? last : found->last;
    found->stay++;
    found->is_cuttable |= !left_stays(chunks, chunk, MOST_CUT, &first, &last);
    return 0;
}

/* Finds a chunk that may be taken; NULL: none. */
static struct left_chunk *left_find(struct left_chunks *chunks, struct left_found *found)
{
    *found = (struct left_found){.is_mapped = found->is_mapped};
    for (uint32_t i = 0; i < chunks->n; i++) {
        struct left_chunk *chunk = &chunks->chunks[(chunks->latest + i) % chunks->n];
        if (left_may_go(chunks, chunk, found))
            return chunk;
    }
    return NULL;
}

/* Makes fewer bursts stay, of a single one its beginning, or none. Returns whether that helps sooner or later. */
static int left_keep_less(struct left_chunks *chunks, const struct left_found *found, enum left_choice choice)
{
    struct spool_header *header = chunks->header;
    uint32_t level = header->burst_level;
    if (found->stay == 0)
        return 0;
    int64_t bursts = found->last - found->first + 1;
    int64_t stay_above = floor_div(found->last, 2) + floor_div(-found->first, 2) + 1;
    int can_cut = found->is_cuttable && header->burst_cut < MOST_CUT;
    int cuts_first = can_cut && header->burst_cut < SHORT_CUT && bursts < MANY_BURSTS &&
                     (found->stay >= bursts * LONG_BURST || (stay_above < FEW_BURSTS && header->burst_cut < FEW_CUT));
    if (found->first < found->last && level < MOST_LEVEL && !cuts_first)
        __atomic_store_n(&header->burst_level, level + 1, __ATOMIC_RELAXED);
    else if (can_cut)
        __atomic_store_n(&header->burst_cut, header->burst_cut + 1, __ATOMIC_RELAXED);
    else if (choice == LEFT_ANY)
        __atomic_store_n(&header->burst_level, SPOOL_NO_BURSTS, __ATOMIC_RELAXED);
    else
        return 0;
    return 1;
}

int left_chunks_take(struct left_chunks *chunks, struct left_chunk *taken, enum left_choice choice, int is_mapped)
{
    struct left_found found = {.is_mapped = is_mapped};
    pthread_mutex_lock(&chunks->lock);
    struct left_chunk *chunk = left_find(chunks, &found);
    while (!chunk && left_keep_less(chunks, &found, choice))
        chunk = left_find(chunks, &found);
    if (chunk) {
        *taken = *chunk;
        chunk->is_left = 0;
        chunk->map = NULL;
    }
    pthread_mutex_unlock(&chunks->lock);
    return chunk ? 0 : -1;
}

void left_chunks_keep_less(struct left_chunks *chunks)
{
    struct left_found found = {.is_mapped = 0};
    pthread_mutex_lock(&chunks->lock);
    if (!left_find(chunks, &found))
        left_keep_less(chunks, &found, LEFT_SHORTER);
    pthread_mutex_unlock(&chunks->lock);
}
