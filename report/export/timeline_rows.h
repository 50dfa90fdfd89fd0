/* Reads the rows of a timeline, sorted by rank and time. */
#ifndef MPISTAIR_EXPORT_TIMELINE_ROWS_H
#define MPISTAIR_EXPORT_TIMELINE_ROWS_H

#include "report/export/timeline_event.h"

struct timeline_row {
    uint32_t rank;
    int64_t at_ns;
    enum { ROW_OP, ROW_CALL, ROW_MARK } kind;
    struct timeline_op op;   /* of ROW_OP */
    uint32_t function, site; /* of the call */
    int64_t call_ns;         /* EXPORT_NOTHING: not known */
    int64_t idle_calls;
    int64_t number;      /* of ROW_MARK */
    bool stands;         /* this row stands for the call */
    bool never_returned; /* a call that waits, and that nobody saw return */
};

struct timeline_rows {
    struct export *export;
    const struct export_names *names;
    struct cursor cursor;
};

/* Begins to read, with the operations before the calls of the same time. A failure shows in timeline_rows_next (false)
 * and timeline_rows_close (-1). */
void timeline_rows_open(struct timeline_rows *rows, struct export *export, const struct export_names *names);
bool timeline_rows_next(struct timeline_rows *rows, struct timeline_row *row);
int timeline_rows_close(struct timeline_rows *rows);

#endif
