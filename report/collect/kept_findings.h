/* Keeps the findings of a long run, and the sums of its activities, in its trace, so that --explain, and the next
 * report, need not read the run again. */
#ifndef MPISTAIR_REPORT_KEPT_FINDINGS_H
#define MPISTAIR_REPORT_KEPT_FINDINGS_H

#include <sqlite3.h>
#include <stdbool.h>

#include "interpose/database/cursor.h"
#include "report/collect/activity_sums.h"
#include "report/diagnose/finding.h"

/* Keeps them, where the trace, of which the database is, can be written: tables finding, finding_rank, finding_part,
 * finding_call, spent_run, spent_rank and spent_site. What was kept before goes. Without effect where that fails: they
 * can be found again. */
void kept_findings_store(const struct findings *findings, const struct activity_sums *sums, sqlite3 *database);
/* Fills *findings and *sums, which must be empty, with what this build of the program has kept, unless the trace was
 * changed since. sums may be NULL: not wanted. Returns whether it did; texts are the pool's, sites lack their kind. */
bool kept_findings_read(struct findings *findings, struct activity_sums *sums, struct pool *pool, sqlite3 *database,
                        const char *path);

#endif
