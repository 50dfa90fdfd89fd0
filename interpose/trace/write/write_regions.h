/* Writes the tables of regions: region, site_region, region_fault, and, while the totals are added up, region_total and
 * occurrence. */
#ifndef MPISTAIR_TRACE_WRITE_REGIONS_H
#define MPISTAIR_TRACE_WRITE_REGIONS_H

#include "interpose/database/row.h"
#include "interpose/spool/reader.h"
#include "interpose/trace/state/trace.h"

/* The tables region, site_region and region_fault. */
int write_regions(const struct trace *trace, sqlite3 *database);

/* An occurrence whose end lies behind the record just read. */
struct open_region {
    struct spool_region region;
    uint64_t mpi_ticks; /* in calls of its thread that lie within it */
    bool has_gap;       /* records that lie within it are gone */
};

/* The sums of a region in one process. */
struct region_total {
    int64_t occurrences;
    int64_t time_ns;
    int64_t inner_ns;
    int64_t longest_ns;
    int64_t mpi_ns; /* outside of regions within it */
    int64_t inner_mpi_ns;
    double square_s2;
};

struct region_writer {
    const struct trace *trace;
    struct row occurrences, totals;
    int64_t rank;
    uint32_t lane, sequence;  /* of the record just read */
    struct open_region *open; /* [n_open] the outermost first */
    size_t n_open, open_room;
    uint64_t late_inner[SPOOL_REGIONS]; /* by the process's number: ticks of inner regions that nobody has ended */
    size_t hint;
};

void region_writer_begin(struct region_writer *writer, const struct trace *trace, sqlite3 *database);
/* Begins a process, whose records come lane by lane. */
void region_writer_process(struct region_writer *writer, int64_t rank);
/* Takes the next record. Returns whether it is an occurrence, and sets *region to it, with an end. */
bool region_writer_take(struct region_writer *writer, const struct spool_span *span, const uint8_t *record,
                        struct spool_region *region);
/* Says that nothing more than that is taken of a record. */
void region_writer_gap(struct region_writer *writer);
/* Adds time of the call whose record was just taken. */
void region_writer_add_mpi(struct region_writer *writer, uint64_t ticks);
void region_writer_end_process(struct region_writer *writer);
void region_writer_total(struct region_writer *writer, const struct region_total *total, uint32_t region);
/* Returns 0, or -1: the database says why. */
int region_writer_finish(struct region_writer *writer);

#endif
