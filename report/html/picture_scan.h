/* What pictures take out of all messages and calls, in one pass over them. */
#ifndef MPISTAIR_REPORT_PICTURE_SCAN_H
#define MPISTAIR_REPORT_PICTURE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/collect/report.h"
#include "share/base/level.h"

/* Messages from the ranks of one bin to those of another. */
struct matrix_cell {
    int64_t messages;
    int64_t bytes, time_ns;
    int64_t timed_ns; /* of messages of which it is known how long they would take alone, */
    double alone_s;   /* and that */
};

enum { SIZE_POWERS = 64, SIZE_LEVELS = LEVEL_COUNT + 1 }; /* power 0: no bytes; the last level: not known */

struct size_sum {
    int64_t messages, bytes;
};

enum { TIMELINE_COLUMNS = 240, TIMELINE_BARS = 6000, TIMELINE_LINES = 1000 };

/* One of the longest calls. source, number: where its row stands, which orders calls of one length. */
struct timeline_bar {
    int64_t rank, function, callsite; /* -1: not known */
    enum report_activity_kind activity;
    double begin_ns;
    int64_t call_ns;
    int64_t source, number;
};

struct timeline_line {
    int64_t id, src, dst, bytes;
    double from_ns, to_ns;
};

/* Functions that stand for rounds of messages and for collectives, of traces that have no calls. */
enum { SCAN_ROUND = -1, SCAN_COLLECTIVE = -2 };

struct picture_rows {
    struct matrix_cell *cells; /* [bins.n * bins.n] by sender and receiver */
    struct size_sum sizes[SIZE_LEVELS][SIZE_POWERS];
    uint64_t *shades; /* [rows.n * TIMELINE_COLUMNS * SPENT_COUNT] in parts of a column, SHADE_UNITS of them */
    int64_t calls;
    bool seen[SPENT_COUNT];
    struct timeline_bar *bars; /* [n_bars] the longest first */
    struct timeline_line *lines;
    size_t n_bars, n_lines; /* no bars where neighbours share a row */
};

#define SHADE_UNITS 68719476736.0 /* 2^36: integers, whose sums depend on no order */

struct picture_source;

/* Reads all rows; picture_rows_release in either case. Returns 0, or -1 with the reason. */
int picture_rows_read(struct picture_rows *rows, const struct picture_source *source);
void picture_rows_release(struct picture_rows *rows);

/* Finds the time that pictures over time cover, in ns since the begin of the run. Returns 0, or -1 with the reason. */
int picture_span(const struct picture_source *source, double *begin_ns, double *end_ns);

/* Returns the machine by which messages are modelled, "" for none. */
const char *picture_machine(const struct report *report);

#endif
