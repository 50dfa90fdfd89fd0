/* What a rank of a thinned run did outside of bursts, as far as matching counts it. */
#ifndef MPISTAIR_TRACE_OUTSIDE_H
#define MPISTAIR_TRACE_OUTSIDE_H

#include "interpose/trace/state/trace.h"
#include "interpose/trace/stream/match.h"
#include "share/base/map.h"

/* A gap that a lane has come to: its chunks from first on, before end_sequence. */
struct passed_gap {
    uint32_t lane;
    uint32_t first, end_sequence;
    int64_t until_place; /* of what comes behind it; INT64_MIN: no burst lies in it */
};

/* Starts as zeroes. */
struct outside_calls {
    struct spool_gap *gaps; /* [n_gaps] by lane, then sequence; their entries are not read */
    size_t *first;          /* [n_gaps + 1] of the counts of a gap */
    size_t n_gaps;
    struct outside_count *counts;
    size_t n_counts;
    struct map persistents;    /* number of a request -> trace.persistents */
    struct passed_gap *passed; /* [n_passed] that are not counted yet */
    size_t n_passed;
    bool is_uncounted; /* chunks are gone for which nothing stands */
};

/* Reads what stands for chunks that are gone, and counts those of lanes that left none. */
void outside_begin(struct outside_calls *outside, struct trace *trace, struct matcher *matcher, uint32_t rank);
void outside_release(struct outside_calls *outside);

void outside_pass(struct outside_calls *outside, struct passed_gap gap);
/* Counts the gaps that were passed. */
void outside_count_passed(struct outside_calls *outside, struct matcher *matcher);
/* Counts an operation; returns false if it has no place in matching. */
bool outside_count_record(struct outside_calls *outside, struct matcher *matcher, uint32_t rank,
                          const struct spool_operation *record);

#endif
