/* Holds what a report says of call sites of collectives, one-sided communication and files: the views collective_site,
 * rma_site and file_site of share/sql/schema.sql. What is not known is as in report.h. */
#ifndef MPISTAIR_REPORT_SITES_H
#define MPISTAIR_REPORT_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPORT_SITES = 8 };

/* Describes the calls of one function at one call site on one communicator. */
struct report_site {
    const char *function;                 /* MPI_Allreduce ... */
    const char *caller, *file;            /* "" where it is not known */
    const char *communicator;             /* its name, or number; "" for MPI_COMM_WORLD, and where there is none */
    int64_t line, calls, failed, bytes;   /* line 0: not known */
    int64_t last_rank;                    /* whom the others waited for longest */
    double time_s, inside_s;              /* from begin to end; inside the calls */
    double wait_s, transfer_s;            /* parts of time_s: until the last rank had arrived, behind that */
    double last_s;                        /* part of wait_s that was for last_rank */
    double bytes_per_s;                   /* of a rank, in transfer_s */
    bool is_transfer, joint, nonblocking; /* moves bytes; all ranks call it together; others report its end */
};

/* Holds the call sites that take most time, and the sums over all. Waiting is that of joint calls. */
struct report_sites {
    struct report_site rows[REPORT_SITES];
    size_t n;
    int64_t sites, calls, failed, bytes;
    double time_s, inside_s, wait_s, transfer_s;
    double transfers_s; /* part of inside_s in calls that move bytes */
};

#endif
