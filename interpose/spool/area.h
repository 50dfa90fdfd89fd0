/* What a process keeps of records that it has dropped, byte by byte: the area between header and chunks of its spool.
 *
 * A chunk is folded in steps of STEP records at most. Each step is atomic, whenever the process is killed: `journal`
 * has what the step changes as it was before, until the step counts. */
#ifndef MPISTAIR_SPOOL_AREA_H
#define MPISTAIR_SPOOL_AREA_H

#include "interpose/spool/totals.h"

/* What entries of ghosts count. */
enum spool_ghost_sort {
    GHOST_SEND = 0,    /* sends that have their place in the order of matching */
    GHOST_RECEIVE = 1, /* receives that have, with the peer and the tag of their message */
    GHOST_START = 2,   /* starts of a partitioned request; peer: its spool_persistent.number, tag 0 */
    GHOST_JOINT = 3,   /* GHOST_JOINT + function: calls of it that all ranks of the communicator make together; peer: of
                        * collectives their `persistent`, of windows and files 0; tag 0 */
};

struct spool_ghost_entry {
    uint32_t communicator;
    int32_t peer;
    int32_t tag;
    uint32_t sort;
    uint64_t count;
};

/* Fills what a record counts for matching, with a count of 1; returns 0 where it counts nothing. The recorder counts
 * what it drops by it, ingest what is there, so that both make one number. */
int spool_ghost_of(const void *record, struct spool_ghost_entry *entry);

/* Stands for chunks of a lane that are gone: their records in so far as others count them. */
struct spool_ghost {
    uint32_t lane;
    uint32_t first_sequence, last_sequence;
    uint32_t n;
    struct spool_ghost_entry entries[];
};

enum spool_journal_state {
    JOURNAL_EMPTY = 0,
    JOURNAL_FOLDING = 1, /* what is in the journal is to be put back */
    JOURNAL_FOLDED = 2,  /* the records of `chunk` before `until` are in the totals; from SPOOL_CHUNK_BYTES on the chunk
                          * is gone, whatever it holds */
};

enum { TOTALS_SLOTS = 8192, JOURNAL_STEP = 512, GHOST_BYTES = 704 << 10 };

struct spool_journal {
    uint32_t state; /* stored last (release) */
    uint32_t chunk; /* number in the file */
    uint32_t until;
    uint32_t n_slots;      /* stored after the slot */
    uint32_t ghosts_half;  /* as in spool_area */
    uint32_t ghosts_bytes; /* those behind are to be ignored */
    struct {
        uint32_t number;
        uint32_t pad;
        struct spool_total slot;
    } slots[JOURNAL_STEP];
    struct spool_course course;
};

/* Ghosts lie behind each other in one of two halves; one that lies within a later one is dead. When the half is full
 * those that live go to the other one. */
struct spool_area {
    uint32_t ghosts_half;  /* 0 or 1 */
    uint32_t ghosts_bytes; /* used of that half */
    uint64_t pad[7];
    struct spool_journal journal;
    struct spool_course course;
    struct spool_total slots[TOTALS_SLOTS];
    uint64_t ghosts[2][GHOST_BYTES / sizeof(uint64_t)];
};

_Static_assert(sizeof(struct spool_total) == 64, "an entry of the totals is one cache line");
_Static_assert(sizeof(struct spool_window) == 80, "a window has no holes");
_Static_assert(sizeof(struct spool_ghost_entry) == 24 && sizeof(struct spool_ghost) == 16, "ghosts have no holes");
_Static_assert(sizeof(struct spool_area) <= SPOOL_TOTALS_BYTES, "the area must fit its room");

static inline size_t spool_ghost_bytes(uint32_t n)
{
    return sizeof(struct spool_ghost) + n * sizeof(struct spool_ghost_entry);
}

#endif
