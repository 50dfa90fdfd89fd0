/* Why a rank computes longer than the others, by what the kernel counted of them (tables counter and course). */
#ifndef MPISTAIR_REPORT_CAUSES_H
#define MPISTAIR_REPORT_CAUSES_H

#include "interpose/database/cursor.h"
#include "report/diagnose/findings.h"

/* Gives each finding of a rank that computes longer its cause, where counters tell one, and the rest of its sentence.
 * Returns 0, or -1 with the reason. */
int causes_collect(struct findings *findings, struct pool *pool, sqlite3 *database, const char *path,
                   struct error *error);

/* Returns "work", "page-faults" ...; "" for CAUSE_UNKNOWN. */
const char *cause_name(enum finding_cause cause);

#endif
