/* One page of HTML with pictures: text, and data that Vega, a chart library, draws in the browser. The page holds all
 * it needs: nothing on it comes from elsewhere.
 *
 * The frame is share/html/page.html. How a picture is drawn stands in share/html/NAME.vg.json, a specification for
 * Vega; its data are a struct picture: tables of rows, single values, and sentences below the picture. */
#ifndef MPISTAIR_BASE_HTML_PAGE_H
#define MPISTAIR_BASE_HTML_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "share/base/error.h"
#include "share/base/json.h"

struct picture {
    struct json *tables, *values;
    struct json *rows; /* of the last table begun */
    char **notes;      /* [n_notes] */
    size_t n_notes;
    char *missing; /* why there is nothing to draw; NULL: there is */
};

/* picture_release afterwards. */
void picture_init(struct picture *picture);
void picture_release(struct picture *picture);

/* Begins a table; fields has the names of its columns with blanks between. */
void picture_table(struct picture *picture, const char *name, const char *fields);
/* Adds a row to it. Each column has a letter: i int64_t; d double, null where it is not finite; t text in UTF-8. */
void picture_row(struct picture *picture, const char *letters, ...);
/* Sets a value that the specification asks for by name; owns it from then on. */
void picture_value(struct picture *picture, const char *name, struct json *value);
/* Adds a sentence below the picture. */
void picture_note(struct picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets why there is nothing to draw. */
void picture_lacks(struct picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A picture and its place. */
struct page_picture {
    const char *name;    /* of the element on the page */
    const char *drawing; /* of the specification, share/html/DRAWING.vg.json */
    const char *title;   /* the heading */
    const char *caption; /* what the picture shows; also for screen readers */
    bool wide;           /* takes the whole width of the page */
    struct picture data;
};

struct html_page {
    const char *title;
    const struct page_picture *pictures; /* [n_pictures] */
    size_t n_pictures;
    void (*write_summary)(FILE *stream, const void *context); /* above the pictures */
    void (*write_details)(FILE *stream, const void *context); /* below them; NULL: nothing */
    const void *context;
};

/* Returns whether Vega is installed. A page without it says so in place of its pictures, whose data are not used. */
bool html_page_draws(void);

/* Writes the page. Returns 0, or -1 with the reason; the caller finds errors of the stream by ferror. */
int html_page_write(FILE *stream, const struct html_page *page, struct error *error);

/* Writes text with HTML's special characters escaped. */
void html_text(FILE *stream, const char *text);

#endif
