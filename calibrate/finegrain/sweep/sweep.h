/* Measures many configurations of the benchmark of fine-grained messaging, one launch each, and adds a row for each to
 * a file (share/man/mpistair.5, SWEEP). A sweep that was killed goes on: what has a row there is not measured again. */
#ifndef MPISTAIR_CALIBRATE_SWEEP_H
#define MPISTAIR_CALIBRATE_SWEEP_H

#include <stddef.h>

#include "calibrate/finegrain/finegrain_config.h"
#include "calibrate/job/launcher.h"
#include "share/base/error.h"

/* The values that a line of the sweep file lists for its option. */
struct sweep_list {
    size_t row;    /* of finegrain_config_rows() */
    char *text;    /* holds the values */
    char **values; /* [n]; NULL stands for an option without a value */
    size_t n;
};

struct sweep_config {
    struct finegrain_config config;
    char *key;   /* what a row of results says of it; no two configurations of a sweep have the same */
    size_t line; /* of its row in the file when the sweep begins; 0: it has none and is measured */
};

struct sweep {
    struct sweep_list *lists; /* [n_lists] */
    size_t n_lists;
    struct sweep_config *configs; /* [n]; the last line of the sweep file changes fastest */
    size_t n;
    void *by_key;       /* tree of configs, for tfind() */
    size_t n_unfit;     /* combinations that are left out, since their values do not fit each other */
    struct error unfit; /* why the first of them is */
};

/* Reads a sweep file; an option that it does not list has its value of base, whose texts are borrowed. Returns 0, or -1
 * with the reason and nothing to release: not readable, an option that does not exist, a wrong value, too many
 * combinations, none that fits. */
int sweep_read(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error);
void sweep_release(struct sweep *sweep);

/* Measures what has no row in the file at path yet, and adds it there. base is as for sweep_read(); its seed gives the
 * order, too. The launcher's words are set. Shows on a terminal how much is left, and reports on stderr what was left
 * out, what was measured and what went wrong. Returns the exit code. */
int sweep_run(const char *sweep_file, const struct finegrain_config *base, struct launcher *launcher, const char *path);

/* Reads the results of the benchmark of fine-grained messaging, one row a configuration (share/man/mpistair.5,
 * FINE-GRAINED RESULTS). */

struct sweep_row {
    struct finegrain_config config; /* its columns; the others are zero */
    char *arrivals, *mpi;           /* own */
    uint64_t ranks;
    double speedup_percent, low_percent, high_percent; /* NaN: the field is empty */
    bool is_void;
    size_t line; /* of the file */
};

struct sweep_rows {
    struct sweep_row *rows; /* [n] in the order of the file */
    size_t n;
};

/* Reads a file. Returns 0, or -1 with file:line and what was expected, and nothing to release. */
int sweep_rows_read(const char *path, struct sweep_rows *rows, struct error *error);
void sweep_rows_release(struct sweep_rows *rows);

/* Draws results of the benchmark of fine-grained messaging after M Figs. 5 to 7: the speed-up over the size of a
 * buffer, a line an interface and number of parts, a chart a number of peers and arrivals. Papers are named as in
 * share/doc/MODELS.md. */

/* Draws the rows of a file to an HTML file, `-` for standard output, as charts_write does. Void rows are marked, values
 * that are no numbers left out. Returns 0, or -1 with the reason. */
int sweep_plot(const char *rows_path, const char *path, struct error *error);

#endif
