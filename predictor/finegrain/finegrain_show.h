/* Prints what fine-grained messages are predicted to gain: a row an interface and a number of parts. */
#ifndef MPISTAIR_PREDICTOR_FINEGRAIN_SHOW_H
#define MPISTAIR_PREDICTOR_FINEGRAIN_SHOW_H

#include <stdio.h>

#include "predictor/finegrain/finegrain_rows.h"

/* Prints text, behind the rows for each interface the best number of parts and that from which it loses; name is that
 * of the machine. Returns 0, or -1 with the reason, as the others. */
int finegrain_show_text(FILE *stream, const struct finegrain_rows *rows, const struct finegrain_options *options,
                        const char *name);
/* Prints the columns interface,parts,bsp_s,fine_s,speedup_percent,low_percent,high_percent,bound_percent. */
int finegrain_show_csv(FILE *stream, const struct finegrain_rows *rows);
/* Prints an object: limit_percent, rows with the keys of CSV, and interfaces with best_parts and loses_from_parts. */
int finegrain_show_json(FILE *stream, const struct finegrain_rows *rows, struct error *error);
/* Prints lines on stderr: which rows the table lacks, and what was taken in their place. */
void finegrain_show_notes(const struct finegrain_rows *rows, const struct finegrain_options *options, const char *name);

#endif
