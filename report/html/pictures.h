/* What the pictures of the page share, and what collects the data of each. A new one is a row of the table in page.c, a
 * function here, and a specification in share/html. */
#ifndef MPISTAIR_REPORT_PICTURES_H
#define MPISTAIR_REPORT_PICTURES_H

#include <sqlite3.h>

#include "report/collect/report.h"
#include "share/base/html_page.h"

/* Puts ranks into bins of neighbours, so that a picture of thousands of ranks has no more rows than can be seen. */
struct rank_bins {
    int64_t ranks; /* of the trace: 0 ... ranks - 1 */
    int64_t width; /* ranks of a bin; the last one may have fewer */
    int64_t n;     /* bins */
};

/* Returns bins of equal width, at most `most` of them. */
struct rank_bins rank_bins_of(int64_t ranks, int64_t most);
/* Returns how many ranks a bin has. */
int64_t rank_bins_size(const struct rank_bins *bins, int64_t bin);

struct picture_rows;

/* What all pictures are made from. */
struct picture_source {
    sqlite3 *database;
    const struct report *report;
    struct rank_bins bins, rows;      /* rows: of the timeline */
    const struct picture_rows *found; /* in messages and calls (picture_scan.h) */
    struct error *error;
};

/* Opens a query of the trace; letters and values of its parameters follow, as cursor_bind has them. */
#define picture_query(rows, source, sql, ...)                                                                          \
    (cursor_open(rows, (source)->database, (source)->report->path, sql, (source)->error),                              \
     cursor_bind(rows, __VA_ARGS__))

extern const char *const activity_name[SPENT_COUNT]; /* for a reader: computation, point-to-point ... */

/* Notes how many ranks a row or column (what) stands for, where it is more than one. */
void picture_note_bins(struct picture *picture, const struct rank_bins *bins, const char *what);
/* Sets the values span and ranks to the bins, and notes them. */
void picture_bins(struct picture *picture, const struct rank_bins *bins, const char *what);

/* Fill a picture, each from the source. Return 0, or -1 with the reason. */
int picture_matrix(struct picture *picture, const struct picture_source *source);
int picture_timeline(struct picture *picture, const struct picture_source *source);
int picture_efficiency(struct picture *picture, const struct picture_source *source);
int picture_course(struct picture *picture, const struct picture_source *source);
int picture_ranks(struct picture *picture, const struct picture_source *source);
int picture_scatter(struct picture *picture, const struct picture_source *source);
int picture_sizes(struct picture *picture, const struct picture_source *source);
int picture_map(struct picture *picture, const struct picture_source *source);
int picture_path(struct picture *picture, const struct picture_source *source);

#endif
