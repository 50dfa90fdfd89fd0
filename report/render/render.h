/* Declares the formats of a report, one file each. All write to a stream whose errors the caller finds in ferror. */
#ifndef MPISTAIR_REPORT_RENDER_H
#define MPISTAIR_REPORT_RENDER_H

#include <stdio.h>

#include "report/render/document.h"
#include "report/render/words.h"
#include "report/collect/report.h"

/* Writes text in 80 columns: lines and the widest words of a table are wrapped; bars are '#' for measured and '|' for
 * modelled. */
void render_text(FILE *stream, const struct document *document);
/* Writes blocks [first, end) of the document as elements of HTML, every text escaped. */
void render_html(FILE *stream, const struct document *document, size_t first, size_t end);
/* Returns the lines that render_text writes of a document, and those that it writes of a line with that text. */
size_t render_lines(const struct document *document);
size_t render_height(const char *text);
/* Writes one row for each rank and model (one for each rank without predictions). */
void render_csv(FILE *stream, const struct report *report);
/* Writes everything that was collected. Returns 0, or -1 without memory. */
int render_json(FILE *stream, const struct report *report, struct error *error);

/* Pads UTF-8 text to width characters. */
void render_padded(FILE *stream, const char *text, size_t width, bool right);

#endif
