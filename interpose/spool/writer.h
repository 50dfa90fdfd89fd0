/* Writes the spool of one process (the format is in event.h).
 *
 * Each thread stores its records into a lane: a current chunk with a position in it, so that a record costs one
 * comparison and its own stores. Chunks come from a supply (chunk_supply.h). A lane that gets no chunk stops for good
 * and counts what it loses; everything stored before stays readable. Lanes of ended threads are used again.
 *
 * Some of the chunks that a lane has left stay mapped, as most operations complete in there; older ones are given back
 * (chunk_supply.h).
 *
 * Nothing here prints, fails the caller or changes errno. */
#ifndef MPISTAIR_SPOOL_WRITER_H
#define MPISTAIR_SPOOL_WRITER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/spool/chunk_supply.h"
#include "interpose/spool/fold.h"

/* Kept by a lane besides the current one, as most operations complete in there; fewer where room is short. */
#define SPOOL_RESIDENT_CHUNKS 3U

/* How far before its use a line of a chunk is fetched. */
#define SPOOL_PREFETCH_BYTES 448

struct spool_lane {
    uint8_t *next; /* where the next record goes */
    uint8_t *end;  /* of the current chunk, or, until its last part, where the next one is to be taken */
    struct spool_writer *writer;
    struct spool_lane *following; /* all lanes of the writer */
    uint8_t *chunk;               /* current chunk, NULL before the first */
    uint32_t chunk_number;        /* number of the current chunk in the file */
    int64_t chunk_begin_ns;
    uint32_t number;
    uint32_t sequence; /* sequence of the next chunk */
    int in_use;
    int stopped;               /* no further chunk: records beyond this one are counted as lost */
    struct supply_chunk ahead; /* the next chunk, taken in the last part of the current one; map NULL: none */
    enum spool_loss cause;
    uint32_t n_left;
    struct left_chunk left[SPOOL_RESIDENT_CHUNKS + 1]; /* [n_left] before the current one, the oldest first */
};

struct spool_writer {
    struct spool_header *header; /* NULL: not open */
    struct spool_lane *lanes;
    pthread_mutex_t lock; /* guards lanes and header->chunks */
    struct supply supply; /* makes the chunks */
    struct fold fold;
    pthread_mutex_t definitions_lock;
    struct spool_lane definitions; /* of all threads */
    uint32_t definitions_limit;    /* chunks */
    uint32_t n_lanes;
    uint32_t n_long_lanes; /* lanes of more than one chunk */
    struct spool_file file;
};

/* Creates the file `name` (which must not exist) in a folder, given as to openat, with a header that has version, clock
 * source and a first clock pair. The caller fills the rest of the header, which counts once it is published. Chunks are
 * handed out, at least one, while all of them together stay within limit_bytes. Returns 0, or an errno value after
 * which the writer is closed. */
int spool_writer_open(struct spool_writer *writer, int folder, const char *name, uint64_t limit_bytes,
                      enum spool_clock_source clock_source);

/* Makes all room for records now, as many bytes of it and limit_bytes at most, for a process that may not do so later.
 * What does not fit in there is made as it is needed. Before the first record. Returns 0, or an errno value after which
 * nothing is made ahead. */
int spool_writer_preallocate(struct spool_writer *writer, uint64_t bytes);

/* Makes the header count: readers see the magic number only together with all that was stored before. The header must
 * already say which process of which run this is. */
void spool_writer_publish(struct spool_writer *writer);

/* Truncates the file to what is used, unless all lies in what was made ahead, and closes it. No record may be stored
 * afterwards. The header stays mapped, as counters in it may still be counted up. Returns the bytes of the file. */
uint64_t spool_writer_close(struct spool_writer *writer);

/* Unmaps all that a closed writer mapped: for who writes one spool after the other, and no process of MPI. */
void spool_writer_unmap(struct spool_writer *writer);

/* Returns a lane for the calling thread, or NULL without memory, which is counted. spool_lane_release hands it back. */
struct spool_lane *spool_lane_acquire(struct spool_writer *writer);
void spool_lane_release(struct spool_lane *lane);

/* Returns room for a record in the lane of definitions, as spool_lane_reserve. The caller must call
 * spool_definition_publish soon, before anything that may wait. */
void *spool_definition_reserve(struct spool_writer *writer, size_t bytes);
void spool_definition_publish(struct spool_writer *writer, void *record, enum spool_record_type type);

/* Asks the kernel to write the lane's current chunk to the disk now; does not wait for it. */
void spool_lane_flush(struct spool_lane *lane);

/* Counts n lost records. */
void spool_writer_lose(struct spool_writer *writer, enum spool_loss cause, uint64_t n);

/* Opens the next chunk of the lane: the slow path of spool_lane_reserve. */
void *spool_lane_reserve_chunk(struct spool_lane *lane, size_t bytes);

/* Fetches the line of a record that comes soon: the thread of the supply has zeroed it on another processor. */
static inline __attribute__((always_inline)) void spool_prefetch(uint8_t *next)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(next[SPOOL_PREFETCH_BYTES])); /* compilers ask for -mprfchw to use it */
#else
    __builtin_prefetch(next + SPOOL_PREFETCH_BYTES, 1);
#endif
}

/* Returns room for a record of bytes (a multiple of 32), zeroed; NULL means that the record is lost, and counted. The
 * caller fills it and calls spool_record_publish. */
static inline void *spool_lane_reserve(struct spool_lane *lane, size_t bytes)
{
    if (__builtin_expect((size_t)(lane->end - lane->next) < bytes, 0))
        return spool_lane_reserve_chunk(lane, bytes);
    void *record = lane->next;
    lane->next += bytes;
    spool_prefetch(lane->next);
    return record;
}

/* Makes a filled record count: readers see a type only together with all that was stored before. */
static inline void spool_record_publish(void *record, enum spool_record_type type)
{
    __atomic_store_n((uint8_t *)record, (uint8_t)type, __ATOMIC_RELEASE);
}

#endif
