/* Holds what a report says of partitioned messages: the view partition_site of share/sql/schema.sql. Values that are
 * not known are as in report.h. */
#ifndef MPISTAIR_REPORT_PARTITIONS_H
#define MPISTAIR_REPORT_PARTITIONS_H

#include "report/collect/report_sites.h"

/* Describes the messages that one call site started, of one number of partitions. Times are means of a message. */
struct report_partitioned {
    struct report_site site; /* names the call site; its other members say nothing */
    int64_t partitions, messages;
    double bytes;     /* of all messages */
    double ready_s;   /* from the first to the last partition made ready */
    double arrival_s; /* from there until all had arrived */
    double hidden;    /* share of the bytes that had arrived before the last partition was ready */
};

/* Holds the call sites that sent most, and the sums over all. */
struct report_partitions {
    struct report_partitioned rows[REPORT_SITES];
    size_t n;
    int64_t sites, messages;
    double bytes;
    bool unsummed; /* the trace was made before it had the sums */
};

#endif
