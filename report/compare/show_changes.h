/* Declares the formats of a comparison. All write to a stream whose errors the caller finds in ferror. */
#ifndef MPISTAIR_COMPARE_SHOW_CHANGES_H
#define MPISTAIR_COMPARE_SHOW_CHANGES_H

#include <stdio.h>

#include "report/compare/comparison.h"
#include "report/render/document.h"

/* Builds the document of text and HTML: the verdict, what changed most, what is in one trace only. all: every row. */
void show_document(struct document *document, const struct comparison *comparison, bool all);
/* Writes a row for each that is compared. */
void show_csv(FILE *stream, const struct comparison *comparison);
/* Writes runs, warnings and rows. Returns 0, or -1 without memory. */
int show_json(FILE *stream, const struct comparison *comparison, struct error *error);
/* Returns the site above noise that changed most, which is where the change begins, or NULL. */
const struct comparison_row *show_culprit(const struct comparison *comparison);
/* Returns change and noise as shares of A; NaN where A is 0. */
double show_share(const struct comparison_row *row, double seconds);
/* Writes "before MPI_Send" or "in MPI_Send" with file and line, or what is known of the place; for ranks and levels
 * their name. brief: without "MPI_". */
void show_place(const struct comparison_row *row, bool brief, char *text, size_t size);

#endif
