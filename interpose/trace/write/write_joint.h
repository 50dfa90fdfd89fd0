/* Writes the table joint_sum: the view joint_call of share/sql/schema.sql, added up by call site and by whom the others
 * waited for. */
#ifndef MPISTAIR_TRACE_WRITE_JOINT_H
#define MPISTAIR_TRACE_WRITE_JOINT_H

#include <sqlite3.h>

#include "interpose/trace/state/trace.h"

/* Returns 0, or -1: the database says why. */
int write_joint_sums(const struct trace *trace, sqlite3 *database);

#endif
