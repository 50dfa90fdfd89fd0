/* Writes the report as one page of HTML, with text, tables and pictures. */
#ifndef MPISTAIR_REPORT_PAGE_H
#define MPISTAIR_REPORT_PAGE_H

#include <sqlite3.h>
#include <stdio.h>

#include "report/collect/report.h"
#include "report/render/document.h"

/* Writes the first section of the document, the pictures, then the other sections; the page loads nothing from
 * elsewhere. Where the chart library is not installed the page says so instead of the pictures. Returns 0, or -1 with
 * the reason; the caller finds errors of the stream by ferror. */
int page_write_report(FILE *stream, const struct document *document, const struct report *report, sqlite3 *database,
                      struct error *error);
/* Writes a document alone, without pictures. Returns as page_write_report does. */
int page_write(FILE *stream, const struct document *document, const char *title, struct error *error);

#endif
