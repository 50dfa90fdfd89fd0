/* Makes the chunks of a spool ahead of need.
 *
 * A chunk costs 0.5 to 1 ms (blocks on the disk, 256 pages of the file's cache), which is more than the records in it.
 * So a thread of our own makes the next chunk while the application computes, and gives chunks that lanes have left
 * back to the kernel. The thread starts with a process's second chunk only: a process that records little never has
 * one. It takes no signals, calls no MPI, and may run on any processor of the job, not only on those to which the rank
 * is bound. Where the thread cannot be started, the recording thread makes its chunks itself.
 *
 * Once half of the chunks are made, those that need not stay (left_chunks.h) are folded and used again; where none can
 * be, as long as all have open records, the other half is made. So a process that calls fast has its records folded
 * while it computes.
 *
 * A process that may not allocate later, as filters of seccomp have it, gets chunks at the start. They are taken first;
 * the thread starts when all are. */
#ifndef MPISTAIR_SPOOL_CHUNK_SUPPLY_H
#define MPISTAIR_SPOOL_CHUNK_SUPPLY_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "interpose/spool/fold.h"
#include "interpose/spool/left_chunks.h"
#include "interpose/spool/spool_file.h"

enum { SUPPLY_READY = 8, SUPPLY_LEFT = 2 };

/* A chunk of the file: zeroed, allocated, mapped. */
struct supply_chunk {
    uint8_t *map;
    uint32_t number;
};

struct supply {
    pthread_mutex_t lock;  /* guards all that follows; never held while pages are made */
    pthread_cond_t needed; /* signalled to the thread */
    pthread_cond_t made;   /* signalled by the thread */
    pthread_t thread;
    const struct spool_file *file;
    int running, stop;
    int making; /* the thread is making one */
    int failed; /* no thread, or it could not make a chunk: a lane that needs one tries by itself */
    int stuck;  /* it could not for the moment, until a lane leaves a chunk */
    struct fold *fold;
    uint32_t limit;     /* chunks of the file at most */
    uint32_t half;      /* from so many on chunks are used again */
    uint32_t reserved;  /* numbers handed out */
    uint32_t allocated; /* chunks that have their blocks */
    uint32_t wanted;    /* chunks to hold ready */
    uint8_t *first;     /* the chunks made at the start, mapped together: numbers 0 to n_first - 1 */
    uint32_t n_first, n_first_taken;
    uint32_t n_ready, n_left;
    struct supply_chunk ready[SUPPLY_READY]; /* oldest first */
    struct left_chunk left[SUPPLY_LEFT];     /* chunks to be given back */
    struct left_chunks given_back;
};

/* Prepares a supply of at most limit chunks. File and fold stay the caller's. */
void supply_open(struct supply *supply, const struct spool_file *file, uint32_t limit, struct fold *fold);

/* Makes n chunks at once, limit at most, before any other. Returns 0, or an errno value with *cause set, and none is
 * made. */
int supply_make_first(struct supply *supply, uint32_t n, enum spool_loss *cause);

/* Takes the next chunk: ready, made now, or used again by choice. Returns 0, or -1 with *cause and errno set. */
int supply_take(struct supply *supply, struct supply_chunk *chunk, enum left_choice choice, enum spool_loss *cause);

/* From now on every recording thread makes its chunks itself. */
void supply_without_thread(struct supply *supply);

/* Holds n chunks ready from now on, SUPPLY_READY at most; starts the thread if there is none and those of the start are
 * taken. */
void supply_ahead(struct supply *supply, uint32_t n);

/* Takes over a chunk that its lane left long ago, to give it back. */
void supply_leave(struct supply *supply, struct left_chunk chunk);

/* Ends the thread; no chunk may be taken afterwards. Gives back the blocks of chunks that nobody took, except those at
 * the end of the file, which the caller cuts. */
void supply_close(struct supply *supply);

/* Returns where chunk `number` begins in the file, in bytes. */
static inline off_t supply_offset(uint32_t number)
{
    return (off_t)SPOOL_CHUNKS_BEGIN + (off_t)number * (off_t)SPOOL_CHUNK_BYTES;
}

#endif
