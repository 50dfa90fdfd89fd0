/* Binds what the queries of pictures need: widths of bins, numbers of ranks, limits. */
#include "report/html/picture_query.h"

void picture_query(struct cursor *rows, const struct picture_source *source, const char *sql, const int64_t *values,
                   size_t n, struct error *error)
{
    cursor_open(rows, source->database, source->report->path, sql, error);
    for (size_t i = 0; rows->result == 0 && i < n; i++)
        sqlite3_bind_int64(rows->statement, (int)i + 1, values[i]);
}
