/* What all formats of `mpistair export` share: the trace, what of it is selected, and the functions that write. */
#ifndef MPISTAIR_TRACE_EXPORT_H
#define MPISTAIR_TRACE_EXPORT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "predictor/run_read/run_read.h"
#include "share/base/error.h"

/* A time or a number that is not known. */
#define EXPORT_NOTHING INT64_MIN

struct rank_range {
    uint32_t first, last;
};

/* The part of the trace that the command line asks for. */
struct export_wish {
    struct rank_range *ranks; /* [n_ranks]; none: all */
    size_t n_ranks;
    struct run_window window;
};

/* The selected part, by rank. The SQL function kept(rank, begin_ns, end_ns) says whether something lies inside as a
 * whole, end_ns may be NULL; kept(rank), whether the rank is wanted. The temporary tables export_message and
 * export_call have the rows of message_row and call_row (with id, their rowid) that may be wanted, so that the large
 * ones are read once. */
struct selection {
    size_t n_ranks;
    uint8_t *wanted;          /* [n_ranks] */
    int64_t *from_ns, *to_ns; /* [n_ranks] */
    bool all, part_of_ranks;  /* all: nothing is left out */
    bool few_rounds;          /* the messages are looked up by their rounds */
};

struct export
{
    sqlite3 *database;
    const char *path;   /* of the trace */
    const char *output; /* NULL: standard output */
    const struct export_wish *wish;
    struct selection selection;
    struct error *error;
};

/* Opens a query on the trace, for cursor_close. */
static inline void export_query(const struct export *export, struct cursor *rows, const char *sql)
{
    cursor_open(rows, export->database, export->path, sql, export->error);
}

/* Runs statements on the trace. Returns 0, or -1 with the reason. */
static inline int export_run(const struct export *export, const char *sql)
{
    return sqlite3_exec(export->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : database_error(export->database, export->path, "cannot be read", export->error);
}

/* In SQL: whether both sides of a message lie inside. */
#define MESSAGE_IS_KEPT                                                                                                \
    "kept(src, send_post_ns, send_post_ns + send_ns)"                                                                  \
    " AND kept(dst, send_post_ns + late_ns, send_post_ns + late_ns + recv_ns)"

/* Write the export. Return 0, or -1 with the reason. A file is complete or untouched. */
int export_perfetto(struct export *export);
int export_otf2(struct export *export);
/* Returns whether mpistair was built with libotf2. */
bool export_otf2_is_built(void);
int export_csv(struct export *export);
int export_dot(struct export *export);

#endif
