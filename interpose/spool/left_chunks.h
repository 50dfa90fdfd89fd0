/* Chunks that their lanes have left, until they are used again.
 *
 * An operation may complete long after it was posted, and its record is completed in place. So a chunk stays mapped
 * while a record in it is open; the first open record of each chunk is looked at now and then. The pages of all chunks
 * are given back to the kernel at once, which keeps them in the file's cache, so a late completion costs a page fault.
 * However long the spool grows, the process's resident memory stays the same. Its address space grows only by chunks
 * with open records.
 *
 * Where room gets short the chunks of some bursts stay (event.h), and the others are taken to be folded. */
#ifndef MPISTAIR_SPOOL_LEFT_CHUNKS_H
#define MPISTAIR_SPOOL_LEFT_CHUNKS_H

#include <pthread.h>
#include <stdint.h>

#include "interpose/spool/event.h"

struct left_chunk {
    uint8_t *map;             /* NULL: none, or not mapped */
    uint32_t number;          /* in the file */
    uint32_t at;              /* position of the first record that may be open */
    uint32_t used;            /* where the records end */
    int is_left;              /* 0: a lane has it, or nobody yet; it is not foldable */
    int64_t begin_ns, end_ns; /* when its lane filled it, CLOCK_MONOTONIC of the node */
};

struct left_chunks {
    pthread_mutex_t lock;
    struct spool_header *header;
    struct left_chunk *chunks; /* [n] by number */
    uint32_t n, room;
    uint32_t next;   /* next one to look at again */
    uint32_t latest; /* the last that was added */
    uint32_t fixed;  /* those with lower numbers stay mapped: the process may not be allowed to map again */
};

/* Returns whether a call may still store into the chunk, which must be mapped. */
int left_chunk_is_open(struct left_chunk *chunk);

void left_chunks_open(struct left_chunks *chunks, struct spool_header *header);

/* Unmaps all of them, and what they are kept in. */
void left_chunks_unmap(struct left_chunks *chunks);

/* None is unmapped any more, as the process cannot map it again. */
void left_chunks_stay_mapped(struct left_chunks *chunks);

/* Takes over a chunk that its lane left so long ago that no call is in it unless a record says so. Looks at some of the
 * others, and unmaps what can be. soon: it may be taken at once, so stays mapped. */
void left_chunks_add(struct left_chunks *chunks, struct left_chunk chunk, int soon);

enum left_choice {
    LEFT_SHORTER, /* where there is none fewer or shorter bursts stay from now on */
    LEFT_ANY,     /* the same, and none where a chunk of the last one is all that there is */
};

/* Takes a chunk that need not stay, of all or of those that are mapped. Returns 0, or -1 where there is none without
 * open records. */
int left_chunks_take(struct left_chunks *chunks, struct left_chunk *taken, enum left_choice choice, int is_mapped);

/* Makes fewer or shorter bursts stay from now on. */
void left_chunks_keep_less(struct left_chunks *chunks);

#endif
