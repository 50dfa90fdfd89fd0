/* The stretch of the run in which the others wait for one rank, by the course of the run alone. */
#ifndef MPISTAIR_REPORT_COURSE_H
#define MPISTAIR_REPORT_COURSE_H

#include "report/diagnose/diagnosis.h"

/* Adds a finding (late-stretch) to those of a run, or a part of it from from_s on, of run_s seconds that is not known
 * call by call. Returns 0, or -1 with *error. */
int course_collect(struct findings *findings, struct pool *pool, sqlite3 *database, const char *path, double from_s,
                   double run_s, struct error *error);

#endif
