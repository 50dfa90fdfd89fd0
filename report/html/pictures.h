/* The pictures of the page in their order. A new one is a row of the table in pictures.c, a function that collects its
 * data, and a specification in share/html. */
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
/* Reads how many ranks the trace has. Returns 0, or -1 with the reason. */
int rank_bins_count(int64_t *ranks, sqlite3 *database, const char *path, struct error *error);
/* Returns how many ranks a bin has. */
int64_t rank_bins_size(const struct rank_bins *bins, int64_t bin);

/* What all pictures are made from. */
struct picture_source {
    sqlite3 *database;
    const struct report *report;
    struct rank_bins bins;
};

struct picture_kind {
    const char *name;    /* of the specification, share/html/NAME.vg.json, and of the element on the page */
    const char *title;   /* the heading */
    const char *caption; /* what the picture shows; also for screen readers */
    bool wide;           /* takes the whole width of the page */
    /* Fills the picture. Returns 0, or -1 with the reason. */
    int (*collect)(struct picture *picture, const struct picture_source *source, struct error *error);
};

extern const struct picture_kind picture_kinds[];
extern const size_t n_picture_kinds;

/* As cursor_open; values[n] are the integers for the parameters ?1, ?2, ... */
void picture_query(struct cursor *rows, const struct picture_source *source, const char *sql, const int64_t *values,
                   size_t n, struct error *error);

/* The numbers for ?1, ?2, ...: picture_query(rows, source, sql, PICTURE_VALUES(width, ranks), error). */
#define PICTURE_VALUES(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

extern const char *const activity_name[SPENT_COUNT]; /* for a reader: computation, point-to-point ... */

/* Makes temp.function_activity(id, name, activity), of the trace's functions, the view temp.activity_call(rank,
 * function, activity, begin_ns, call_ns, callsite) of all calls, and temp.activity_round with the same columns:
 * rounds of messages and collectives, of traces that have no calls. Returns 0, or -1 with the reason. */
int activity_tables_make(sqlite3 *database, const char *path, struct error *error);

/* Notes how many ranks a row or column stands for, where it is more than one. */
void picture_note_bins(struct picture *picture, const struct rank_bins *bins, const char *what);

int picture_matrix(struct picture *picture, const struct picture_source *source, struct error *error);
int picture_timeline(struct picture *picture, const struct picture_source *source, struct error *error);
int picture_ranks(struct picture *picture, const struct picture_source *source, struct error *error);
int picture_scatter(struct picture *picture, const struct picture_source *source, struct error *error);
int picture_sizes(struct picture *picture, const struct picture_source *source, struct error *error);
int picture_map(struct picture *picture, const struct picture_source *source, struct error *error);
int picture_path(struct picture *picture, const struct picture_source *source, struct error *error);

#endif
