/* Tables that are written once all operations were read. Each function returns 0, or -1: the database says why. */
#ifndef MPISTAIR_TRACE_TABLES_H
#define MPISTAIR_TRACE_TABLES_H

#include <sqlite3.h>

#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "interpose/trace/write/sums.h"

/* Rows that describe the run: processes, nodes, clocks, communicators, call sites, and what is missing. */
int write_run(const struct trace *trace, sqlite3 *database);
/* The table node_switch. */
int write_switches(const struct trace *trace, sqlite3 *database);

/* The tables collective, and rma and file_call, with their rows of `call` where the sink, which has ended, wants
 * calls. */
int write_collectives(const struct trace *trace, sqlite3 *database, struct sink *sink);
int write_accesses(const struct trace *trace, sqlite3 *database, struct sink *sink);
/* The tables persistent, origin, partition, stack, rejected, mark, recording_off. */
int write_records(const struct trace *trace, sqlite3 *database);
int write_kinds(const struct trace *trace, sqlite3 *database);
/* Numbers the joint calls of all ranks, before they are written. */
void number_joint_calls(struct trace *trace);
/* The table joint_sum: the view joint_call of share/sql/schema.sql, added up by call site and by whom the others waited
 * for. */
int write_joint_sums(const struct trace *trace, sqlite3 *database);
/* The tables total and course: all calls of each process, and the course of its time. Reads once more all records of
 * the ranks whose sums were not made ahead (NULL: none were). */
int write_totals(const struct trace *trace, sqlite3 *database, struct sums_ahead *ahead);
/* The tables counter, counter_source and network: what the kernel counted of each process, and of each node. */
int write_counters(const struct trace *trace, sqlite3 *database);

#endif
