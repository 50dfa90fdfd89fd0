/* Restricts an open trace to a part of its run, for all that reads it through this connection: temporary views stand in
 * front of its tables, and its own views are made again upon them. */
#ifndef MPISTAIR_PREDICTOR_TRACE_PART_H
#define MPISTAIR_PREDICTOR_TRACE_PART_H

#include <sqlite3.h>
#include <stdbool.h>

#include "predictor/run_read/run_read.h"
#include "share/base/options.h"

/* The options --from, --to and --region of a command, and what they say. */
struct part_options {
    const char *from, *to, *region; /* as given, or NULL */
    struct run_window window;
};
enum { PART_ROWS = 3 };
/* Writes the rows of the table of options. */
void part_option_rows(struct part_options *options, struct option_row rows[PART_ROWS]);
/* Reads them once all are there. Returns 0, or the exit code after the reason was printed. */
int part_options_check(struct part_options *options, const char *command);

struct trace_part {
    bool is_part;
    double from_s, to_s, run_s; /* on whichever rank it begins first, ends last; length of the run */
    bool at_windows;            /* where not all calls have rows, it begins and ends with windows of the table course */
};

/* Does nothing where the window is NULL or open at both ends. Calls that lie across an end of the part are cut there;
 * messages count whose posting calls both lie inside as a whole, as do collectives, one-sided calls, calls on files and
 * rounds. Totals are those of the rows that are left. Returns 0, or -1 with the reason; an empty part is one. */
int trace_part_apply(sqlite3 *database, const char *path, const struct run_window *window, struct trace_part *part,
                     struct error *error);
/* Writes "from 1.2 to 3.4 s of 10 s, ..." */
enum { PART_TEXT_BYTES = 160 };
void trace_part_text(const struct trace_part *part, char text[PART_TEXT_BYTES]);

#endif
