/* Chunks that their lanes have left.
 *
 * An operation may complete long after it was posted, and its record is completed in place. So a chunk stays mapped
 * while a record in it is open; the first open record of each chunk is looked at now and then. The pages of all chunks
 * are given back to the kernel at once, which keeps them in the file's cache, so a late completion costs a page fault.
 * However long the spool grows, the process's resident memory stays the same. Its address space grows only by chunks
 * with open records. */
#ifndef MPISTAIR_SPOOL_LEFT_CHUNKS_H
#define MPISTAIR_SPOOL_LEFT_CHUNKS_H

#include <pthread.h>
#include <stdint.h>

struct left_chunk {
    uint8_t *map;  /* NULL: none */
    uint32_t at;   /* position of the first record that may be open */
    uint32_t used; /* where the records end */
};

struct left_chunks {
    pthread_mutex_t lock;
    struct left_chunk *open; /* [n_open] with an open record */
    uint32_t n_open, room;
    uint32_t next; /* next one to look at again */
};

void left_chunks_init(struct left_chunks *chunks);

/* Takes over a chunk that its lane left so long ago that no call is in it unless a record says so. Looks at some of the
 * others. */
void left_chunks_add(struct left_chunks *chunks, struct left_chunk chunk);

#endif
