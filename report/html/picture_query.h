/* Opens queries of pictures, whose parameters ?1, ?2, ... are integers. */
#ifndef MPISTAIR_REPORT_PICTURE_QUERY_H
#define MPISTAIR_REPORT_PICTURE_QUERY_H

#include "report/html/pictures.h"

/* As cursor_open; values[n] are those of ?1, ?2, ... */
void picture_query(struct cursor *rows, const struct picture_source *source, const char *sql, const int64_t *values,
                   size_t n, struct error *error);

/* Says which numbers stand for ?1, ?2, ...: picture_query(rows, source, sql, PICTURE_VALUES(width, ranks), error). */
#define PICTURE_VALUES(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

#endif
