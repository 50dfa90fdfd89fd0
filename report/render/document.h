/* A report as headings, lines and tables of finished strings, and how it is written as text and as HTML. sections.c
 * builds it from struct report. */
#ifndef MPISTAIR_REPORT_DOCUMENT_H
#define MPISTAIR_REPORT_DOCUMENT_H

#include <stdio.h>

#include "interpose/database/cursor.h"

enum { DOCUMENT_MAX_COLUMNS = 16 };

enum document_kind { DOCUMENT_HEADING, DOCUMENT_LINE, DOCUMENT_WARNING, DOCUMENT_TABLE };

struct document_column {
    const char *title;
    bool right; /* numbers */
};

/* Compares measured with modelled in one row, as lengths of at least 0, NaN where there is none. */
struct document_bar {
    double measured, modelled;
};

struct document_block {
    enum document_kind kind;
    const char *text;   /* heading, line, warning */
    const char *anchor; /* on a page a heading has this name, and a line leads there; NULL: none */
    struct document_column columns[DOCUMENT_MAX_COLUMNS];
    size_t n_columns;
    bool titled;
    const char **cells; /* [rows * n_columns] */
    size_t n_cells;
    struct document_bar *bars; /* [rows], behind the last column; or NULL */
    size_t n_bars;
    double bar_end; /* length of the longest */
};

struct document {
    struct pool pool;
    struct document_block *blocks;
    size_t n_blocks;
    size_t n_first;      /* blocks of its first section */
    bool is_titled;      /* begins with a heading that is the title of all */
    bool all_sections;   /* has all that can be asked for */
    bool whole_percents; /* the noise is so large that decimals of a percentage mean nothing */
    bool all_ranks;      /* wanted: all of more than 64 ranks */
    bool partial;        /* of a run that is not whole: percentages get the mark of interpose/sums/whole.h */
    bool marked;         /* a percentage got it since the mark was explained */
};

/* Explains the mark of percentages in a line, where a percentage has it. */
void document_explain_mark(struct document *document, const char *reason);
void document_release(struct document *document);
void document_add(struct document *document, enum document_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define document_heading(document, ...) document_add(document, DOCUMENT_HEADING, __VA_ARGS__)
#define document_line(document, ...)    document_add(document, DOCUMENT_LINE, __VA_ARGS__)
#define document_warning(document, ...) document_add(document, DOCUMENT_WARNING, __VA_ARGS__)

/* Gives the last block an anchor. */
void document_anchor(struct document *document, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins a table of at most DOCUMENT_MAX_COLUMNS columns, "rank>|time>|call": those with '>' have numbers. Where none
 * has a title there is no line of titles. */
void document_table(struct document *document, const char *columns);
/* Add the next cell, or the bar of the row just ended, to the last table begun. */
void document_cell(struct document *document, const char *format, ...) __attribute__((format(printf, 2, 3)));
void document_bar(struct document *document, double measured, double modelled);
/* Adds a cell for each letter, quantities with three significant digits; NaN is "-":
 *     i   int64_t
 *     o   int64_t, "-" below zero
 *     t   text
 *     s   seconds: "12.3 ms"
 *     b   bytes, a double: "4.56 MB"
 *     p   a share in percent: "7.8 %"
 *     w   the same without decimals, "<1 %" below a half
 *     c   a change in percent, with its sign */
void document_cells(struct document *document, const char *letters, ...);

/* What writes to a stream leaves errors of it to the caller, who finds them in ferror. */

/* Writes text in 80 columns: lines and the widest words of a table are wrapped; bars are '#' for measured and '|' for
 * modelled. */
void render_text(FILE *stream, const struct document *document);
/* Writes blocks [first, end) of the document as elements of HTML, every text escaped. */
void render_html(FILE *stream, const struct document *document, size_t first, size_t end);
/* Returns the lines that render_text writes of a document, and those that it writes of a line with that text. */
size_t render_lines(const struct document *document);
size_t render_height(const char *text);
/* Print into text[size], and return it: "12.3 ms", "4.56 MB", with three significant digits; "not known" for NaN. */
const char *words_seconds(char *text, size_t size, double seconds);
const char *words_bytes(char *text, size_t size, double bytes);
/* Returns the characters of UTF-8 text. */
size_t render_width(const char *text);

#endif
