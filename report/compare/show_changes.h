/* Declares the formats of a comparison. All write to a stream whose errors the caller finds in ferror. */
#ifndef MPISTAIR_COMPARE_SHOW_CHANGES_H
#define MPISTAIR_COMPARE_SHOW_CHANGES_H

#include <stdio.h>

#include "report/compare/comparison.h"
#include "report/render/document.h"

/* Says whether all traces have all of their runs. */
bool show_is_whole(const struct comparison *comparison);

/* Builds the document of text and HTML: the verdict, what changed most, what is in one trace only. all: every row. */
void show_document(struct document *document, const struct comparison *comparison, bool all);
/* Writes a row for each that is compared. */
void show_csv(FILE *stream, const struct comparison *comparison);
/* Writes runs, warnings and rows. Returns 0, or -1 without memory. */
int show_json(FILE *stream, const struct comparison *comparison, struct error *error);

/* Calls add with each sentence on why the runs are not alike. */
void show_warnings(const struct comparison *comparison, void (*add)(void *context, const char *text), void *context);

/* Returns the row of the run's time. */
const struct comparison_row *show_run(const struct comparison *comparison);
/* Returns the site above noise that changed most, which is where the change begins, or NULL. */
const struct comparison_row *show_culprit(const struct comparison *comparison);
/* Returns change and noise as shares of A; NaN where A is 0. */
double show_share(const struct comparison_row *row, double seconds);
/* Says whether a row's change exceeds the noise, but in some spans of the run alone, so that it is not above it. */
bool show_unsteady(const struct comparison_row *row);
/* Returns what decided on a row: "above noise", "within noise", "in few spans only"; "" where nothing did. */
const char *show_decision(const struct comparison_row *row);
/* Returns by how much other work a site had: the larger change of calls and bytes as a share of A's, 0 below 1 %. */
double show_other_work(const struct comparison_row *row);
/* Writes "before MPI_Send" or "in MPI_Send" with file and line, or what is known of the place; for ranks and levels
 * their name. brief: without "MPI_". */
void show_place(const struct comparison_row *row, bool brief, char *text, size_t size);
/* Writes a share as "+12.3 %", at most 7 characters wide; "-" for NaN. */
void show_percent(double share, bool sign, char *text, size_t size);

#endif
