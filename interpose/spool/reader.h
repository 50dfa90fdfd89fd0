/* Reads a spool file that anything may have happened to: its process was killed, its disk was full, its copy was cut
 * off, or it is not a spool at all. The file is mapped; nothing in it is trusted before it has been checked. What is
 * cut off it meanwhile reads as if it had never been written. */
#ifndef MPISTAIR_SPOOL_READER_H
#define MPISTAIR_SPOOL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "interpose/spool/area.h"
#include "interpose/spool/counters.h"

/* World sizes beyond this are taken for damage, as are times over 9 years (2 with a TSC of 4 GHz): what is computed
 * with them stays far from overflow. */
#define SPOOL_WORLD_LIMIT (1 << 24)
#define SPOOL_TIME_LIMIT  (UINT64_C(1) << 58)
/* The same for the calls of one sum. */
#define SPOOL_CALLS_LIMIT (UINT64_C(1) << 50)
/* A program may name any number of bytes, which the recorder stores up to this one, the largest that SQL can hold. */
#define SPOOL_BYTES_LIMIT ((uint64_t)INT64_MAX)

/* The room for records in one chunk. */
struct spool_span {
    uint32_t lane;
    uint32_t sequence;
    size_t begin; /* bytes from the start of the file */
    size_t end;
    size_t folded; /* records before this are in the totals of the area */
};

struct spool {
    char *path;
    struct mapped_file *file; /* NULL: none is open */
    const uint8_t *data;      /* [size] of the file, except the first SPOOL_HEADER_BYTES */
    size_t size;
    struct spool_header
        header;     /* a copy, without totals_bytes where the file ends before, with all strings terminated */
    uint32_t world; /* number (0, 1, ...) of its MPI_COMM_WORLD in the run, and that world's first rank there; the
                     * reader leaves 0 */
    int32_t world_first;
    struct spool_span *spans; /* [n_spans] by lane, then sequence */
    size_t n_spans;
    struct spool_clock_pair *pairs; /* [n_pairs] strictly ascending in both clocks; at least the header's start */
    size_t n_pairs;
    uint64_t cut_off; /* records missing at the end of the file, at 64 bytes a record */
    uint64_t damaged; /* records that cannot be read, those of unreadable chunks at 64 bytes a record */
};

enum spool_open_result {
    SPOOL_READY = 0,
    SPOOL_UNUSABLE = 1, /* this file gives nothing, others may be good: it is damaged, too short, or has no rank yet */
    SPOOL_BEGUN = 2,    /* as SPOOL_UNUSABLE: its process ended before it had said in the header who it is */
    SPOOL_FOREIGN = -1, /* from another version or another mpi.tbl: the whole run was recorded by another build */
};

/* Opens one file. Unless it returns SPOOL_READY, error says why and spool is untouched. */
enum spool_open_result spool_open(const char *path, struct spool *spool, struct error *error);
void spool_close(struct spool *spool);
/* True if a read found the file shorter than it was when it was opened: what was behind its end reads as zeroes. */
bool spool_is_cut(const struct spool *spool);

/* Returns by how much ticks that are CLOCK_MONOTONIC are ahead of the node's: the process was in a time namespace. */
int64_t spool_ahead_ns(const struct spool_header *header);

/* Reads the samples of counters that can be true, each later than the one before, into samples[SPOOL_COUNTER_SAMPLES].
 * Returns how many there are, 0 where there are none or the file is gone. *perf becomes enum spool_counters_perf. */
size_t spool_counters_read(const struct spool *spool, struct spool_counter_sample *samples, uint32_t *perf);

/* Reads what was counted of the network into *network, as far as it can be true; n is 0 where there is nothing. */
void spool_network_read(const struct spool *spool, struct spool_network *network);

/* Walks all records, lane by lane, in the order in which they were written. */
struct spool_cursor {
    const struct spool *spool;
    size_t span;
    size_t at;
    uint64_t damaged; /* records skipped so far */
    size_t end_span;  /* stop before this span; 0: after the last */
    bool is_folded;   /* the record returned last is in the totals of the area already */
};
/* Returns the next record (its first byte is its type, SPOOL_OPERATION ...), NULL after the last one. The memory of
 * chunks that were read through is given back to the system: a record may be looked at again, but that costs a page
 * fault. */
const void *spool_next(struct spool_cursor *cursor);
/* Gives the memory of a span back in the same way. */
void spool_forget(const struct spool *spool, const struct spool_span *span);
/* Ends the text, puts a blank for a tab ("MPICH Version:\t4.0.2") and '?' for what would harm a terminal or a database.
 */
void spool_clean_text(char *text, size_t size);

/* Chunks of a lane that are gone, and what their records count for matching. Numbers in there are not checked. */
struct spool_gap {
    uint32_t lane;
    uint32_t first_sequence, last_sequence;
    uint32_t n;
    const struct spool_ghost_entry *entries; /* [n] */
};

/* What the recorder had added up: a copy of the area as its journal says. Records of the chunks that are there, unless
 * cursor.is_folded, come on top. */
struct spool_folded {
    struct totals totals;   /* slots NULL: the spool has none. To be added to. */
    struct spool_gap *gaps; /* [n_gaps] by lane, then sequence; none within another */
    size_t n_gaps;
    uint64_t damaged; /* entries and ghosts that cannot be read */
    void *area;
};
void spool_folded_read(const struct spool *spool, struct spool_folded *folded);
void spool_folded_free(struct spool_folded *folded);

#endif
