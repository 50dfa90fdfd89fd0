/* Folds chunks: adds their records to the totals of the area, counts for matching what was in there, and wipes them
 * out, so that they can be used again. A process that is killed in the middle leaves an area that is true (area.h). */
#ifndef MPISTAIR_SPOOL_FOLD_H
#define MPISTAIR_SPOOL_FOLD_H

#include <pthread.h>

#include "interpose/spool/area.h"

struct ghost_table;

struct fold {
    struct spool_header *header;
    struct spool_area *area;    /* NULL: there is none, and nothing can be folded */
    pthread_mutex_t lock;       /* guards the totals; held for a step */
    pthread_mutex_t chunk_lock; /* held for a chunk */
    struct totals totals;
    struct ghost_table *ghosts; /* NULL before the first chunk */
    uint32_t live_bytes;        /* of ghosts, when they were last moved */
};

void fold_open(struct fold *fold, struct spool_header *header, struct spool_area *area);

/* Adds a record that is in no chunk to the totals. Without an area it does nothing. */
void fold_record(struct fold *fold, const void *record);

/* Folds a chunk of the file in which no record is open any more. Returns 0, and the chunk is zeroed; -1 where that
 * cannot be done, and nothing is changed. */
int fold_chunk(struct fold *fold, uint8_t *chunk, uint32_t number);

/* Returns whether ghosts take so much room that fewer, longer gaps would be better; once that is taken care of,
 * call fold_relieved. */
int fold_is_tight(const struct fold *fold);
void fold_relieved(struct fold *fold);

#endif
