/* Holds the data of one picture of the page, on its way to JSON: tables of rows, single values, and sentences
 * below the picture. How it is drawn stands in share/html/NAME.vg.json, a specification for Vega. */
#ifndef MPISTAIR_REPORT_PICTURE_H
#define MPISTAIR_REPORT_PICTURE_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "report/collect/report.h"
#include "report/html/rank_bins.h"

/* Says what all pictures are made from. */
struct picture_source {
    sqlite3 *database;
    const struct report *report;
    struct rank_bins bins;
};

struct picture {
    json_t *tables, *values, *notes, *missing; /* missing: why there is nothing to draw; NULL: there is */
    json_t *rows;                              /* of the last table begun */
    bool failed;                               /* no memory */
};

/* Returns 0, or -1 without memory; picture_release in either case. */
int picture_init(struct picture *picture);
void picture_release(struct picture *picture);

/* Begins a table; fields has the names of its columns with blanks between. */
void picture_table(struct picture *picture, const char *name, const char *fields);
/* Adds a row to it. Each column has a letter: i int64_t; d double, null where it is not finite; t text in UTF-8. */
void picture_row(struct picture *picture, const char *letters, ...);
/* Sets a value that the specification asks for by name; takes the reference. */
void picture_value(struct picture *picture, const char *name, json_t *value);
/* Adds a sentence below the picture. */
void picture_note(struct picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says why there is nothing to draw. */
void picture_lacks(struct picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes how many ranks a row or column stands for, where it is more than one. */
void picture_note_bins(struct picture *picture, const struct rank_bins *bins, const char *what);

#endif
