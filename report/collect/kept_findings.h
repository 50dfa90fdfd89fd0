/* Keeps the findings of a long run in its trace, so that --explain, and the next report, need not look for them
 * again. */
#ifndef MPISTAIR_REPORT_KEPT_FINDINGS_H
#define MPISTAIR_REPORT_KEPT_FINDINGS_H

#include <sqlite3.h>
#include <stdbool.h>

#include "interpose/database/cursor.h"
#include "report/diagnose/finding.h"

/* Keeps them, where the trace, of which the database is, can be written: tables finding, finding_rank, finding_part and
 * finding_call. What was kept before goes. Without effect where that fails: they can be found again. */
void kept_findings_store(const struct findings *findings, sqlite3 *database);
/* Fills *findings, which must be empty, with what this build of the program has kept, unless the trace was changed
 * since. Returns whether it did; texts are the pool's. */
bool kept_findings_read(struct findings *findings, struct pool *pool, sqlite3 *database, const char *path);

#endif
