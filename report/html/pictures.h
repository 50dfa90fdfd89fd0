/* Lists the pictures of the page in their order. A new one is a row of the table in pictures.c, a function that
 * collects its data, and a specification in share/html. */
#ifndef MPISTAIR_REPORT_PICTURES_H
#define MPISTAIR_REPORT_PICTURES_H

#include <sqlite3.h>

#include "report/collect/report.h"
#include "report/html/rank_bins.h"
#include "share/base/html_page.h"

/* What all pictures are made from. */
struct picture_source {
    sqlite3 *database;
    const struct report *report;
    struct rank_bins bins;
};

struct picture_kind {
    const char *name;    /* of the specification, share/html/NAME.vg.json, and of the element on the page */
    const char *title;   /* the heading */
    const char *caption; /* what is seen, for those who see it and those who do not */
    bool wide;           /* takes the whole width of the page */
    /* Fills the picture. Returns 0, or -1 with the reason. */
    int (*collect)(struct picture *picture, const struct picture_source *source, struct error *error);
};

extern const struct picture_kind picture_kinds[];
extern const size_t n_picture_kinds;

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
