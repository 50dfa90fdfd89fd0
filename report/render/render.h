/* Declares the formats of a report, one file each. All write to a stream whose errors the caller finds in ferror. */
#ifndef MPISTAIR_REPORT_RENDER_H
#define MPISTAIR_REPORT_RENDER_H

#include <stdio.h>

#include "report/render/document.h"
#include "report/collect/report.h"

/* Builds the document of text and HTML. If there are more than 64 ranks, only the 16 worst are shown unless all_ranks.
 * Returns 0, or -1 without memory; document_release in either case. */
int present(struct document *document, const struct report *report, bool all_ranks, struct error *error);

/* Adds the section on the whole run; none where no replay is stored. */
void present_replay(struct document *document, const struct report *report);

/* Adds the section on what the recording lacks. */
void present_completeness(struct document *document, const struct report *report);

/* Adds the section on what stays visible of communication where ranks compute meanwhile; none where they do not. */
void present_overlap(struct document *document, const struct report *report);

/* Adds the section on why ranks take their time. */
void present_why(struct document *document, const struct report *report);

/* Writes text, in 80 columns where the strings allow it; bars are '#' for measured and '|' for modelled. */
void render_text(FILE *stream, const struct document *document);
/* Writes one page, with no scripts and nothing from elsewhere. */
void render_html(FILE *stream, const struct document *document, const char *title);
/* Writes one row for each rank and model (one for each rank without predictions). */
void render_csv(FILE *stream, const struct report *report);
/* Writes everything that was collected. Returns 0, or -1 without memory. */
int render_json(FILE *stream, const struct report *report, struct error *error);

/* Writes a CSV field, quoted where RFC 4180 asks for it. */
void render_csv_text(FILE *stream, const char *text);
/* Pads UTF-8 text to width characters. */
void render_padded(FILE *stream, const char *text, size_t width, bool right);
size_t render_width(const char *text);

#endif
