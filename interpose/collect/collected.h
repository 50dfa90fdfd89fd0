/* What the collector (collector.c) and who starts it (interpose/run/collect.c) say to each other by files in the folder
 * of destination. */
#ifndef MPISTAIR_COLLECT_COLLECTED_H
#define MPISTAIR_COLLECT_COLLECTED_H

#include <inttypes.h>

enum { REPORT_HOST_BYTES = 256 };

/* In each folder that the one who ingests sees: a text that only this collection has. */
#define REPORT_TOKEN "collect.token"
/* A line a node, host, files, bytes, files that failed, and why the first of them; then REPORT_WHOLE or REPORT_PARTS
 * with the token. It is written when the last file is there. */
#define REPORT_NAME        "collect.report"
#define REPORT_NODE_FORMAT "node %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n"
/* On standard error: nothing can be brought, whichever MPI is tried. */
#define REPORT_UNSEEN "no process of this launcher sees the folder"
/* On standard error, where the launcher's processes are of another MPI, and another one may be tried. */
#define REPORT_OTHER_MPI "this launcher belongs to another MPI"
#define REPORT_WHOLE     "whole"
#define REPORT_PARTS     "parts"

#endif
