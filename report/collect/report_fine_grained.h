/* Holds what a report says of sending the buffers of recorded rounds in parts: what they would have given, had they
 * left as threads got done (share/doc/MODELS.md, Fine-grained messages). Values that are not known are as in
 * report.h. */
#ifndef MPISTAIR_REPORT_FINE_GRAINED_H
#define MPISTAIR_REPORT_FINE_GRAINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists the numbers of parts of a buffer: 2, 4 and 8. */
enum { REPORT_FINE_PARTS = 3 };
extern const uint32_t report_parts[REPORT_FINE_PARTS];

enum report_fine_by { FINE_BY_P2P, FINE_BY_RMA, FINE_BY_PARTITIONED, FINE_BY_BOUND, FINE_BY_COUNT };
/* Names them: the interfaces, and "at most" for what none can pass. */
extern const char *const report_fine_by_name[FINE_BY_COUNT];

/* Describes the sends of a kind of rounds by ranks with so many threads. */
struct report_fine_kind {
    int64_t kind, threads;
    int64_t times;       /* rounds, each counted for every rank that sent in it */
    double peers, bytes; /* means: peers of a rank, bytes to each of them */
    double late_s;       /* mean time from the first thread that was done to the last */
    double whole_s;      /* sum of the times from the begin of the computation until all was sent whole */
    double limit;        /* share of that which no number of parts can save */
    /* Holds the share of the time that parts would have saved, negative where they cost time; NaN: they do not divide
     * the threads, the bytes are fewer, or the table does not know the interface. */
    double saved[FINE_BY_COUNT][REPORT_FINE_PARTS];
};

enum { REPORT_FINE_KINDS = 6 };

/* Holds the kinds whose rounds take longest, in that order. */
struct report_fine_grained {
    const char *machine; /* whose table was taken; "": none is stored in the trace */
    const char *unknown; /* why nothing is known; NULL: it is */
    struct report_fine_kind rows[REPORT_FINE_KINDS];
    size_t n, all;
    int64_t unseen, left_out; /* rounds of ranks without times of partitions, and without level or complete times */
    bool one_thread;          /* some were posted by one thread */
    bool tau_missing;         /* the table's tau stands for the cost of parts by point-to-point messages */
};

#endif
