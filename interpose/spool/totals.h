/* Totals of a process: all its calls, added up in a table of fixed size, and the course of its time in windows.
 *
 * The recorder adds up chunks that it uses again, ingest those that are left, by the same functions. So what both have
 * found adds up to all calls, however much of the run has records. A table is memory of the caller: of the spool, or of
 * ingest. Nothing here allocates, prints or fails: where a table gets full, new entries name less. */
#ifndef MPISTAIR_SPOOL_TOTALS_H
#define MPISTAIR_SPOOL_TOTALS_H

#include <stdint.h>

#include "interpose/spool/event.h"

/* Values of spool_total.peer besides ranks, SPOOL_ANY, SPOOL_PROC_NULL and SPOOL_UNKNOWN. */
#define TOTAL_SEVERAL (-4) /* the table had no room for each */
#define TOTAL_NO_PEER (-5)

enum spool_total_flag {
    TOTAL_RECEIVE = 1U << 0, /* a receive; without it an operation is a send */
    TOTAL_OFF = 1U << 1,     /* recording was off */
    TOTAL_IDLE = 1U << 2,    /* tests and probes without a result */
    TOTAL_REGION = 1U << 3,  /* occurrences of a region, whose number the site has, and no calls */
};

/* All calls of one function at one place, or all its operations with one peer. An operation counts as a call of the
 * function that posted it, with the time of that call; the receive of MPI_Sendrecv has no time, nor
 * have those that MPI_Startall starts behind the first. */
struct spool_total {
    uint64_t site;
    uint32_t communicator; /* SPOOL_NO_COMMUNICATOR: none, or several */
    int32_t peer;          /* rank in it */
    uint16_t function;
    uint8_t bin;   /* of the bytes of a call: 0 of none, k from 2^(k-1) to below 2^k; TOTAL_IDLE: enum total_idle_bin */
    uint8_t flags; /* enum spool_total_flag */
    uint32_t pad;
    uint64_t calls; /* 0: the slot is free */
    uint64_t bytes; /* TOTAL_IDLE: calls whose time was taken; TOTAL_REGION: ticks in regions within it */
    uint64_t ticks; /* entry to return, added up; TOTAL_IDLE: of the calls whose time was taken */
    uint64_t longest_ticks;
    double square; /* TOTAL_IDLE, TOTAL_REGION: sum of the squares of these ticks */
};

/* Of tests without a result the first of each row has its time taken, and of the others the second and about one in 64.
 * The first is slower, so that they are kept apart. */
enum total_idle_bin { TOTAL_IDLE_FIRST = 0, TOTAL_IDLE_OTHERS = 1 };

enum spool_window_family {
    WINDOW_POINT_TO_POINT = 0, /* posts, blocking calls */
    WINDOW_WAIT = 1,           /* completion calls, probes, MPI_Cancel */
    WINDOW_IDLE = 2,           /* tests and probes without a result */
    WINDOW_COLLECTIVE = 3,     /* also creations of communicators */
    WINDOW_ONE_SIDED = 4,
    WINDOW_FILE = 5,
    WINDOW_OTHER = 6,
    WINDOW_FAMILIES = 7,
};

/* Part of the course of a process. A call counts where it begins; its time is divided among the windows in which it
 * passes. */
struct spool_window {
    uint64_t ticks[WINDOW_FAMILIES];
    uint64_t calls;
    uint64_t sent_bytes;
    uint64_t pad;
};

enum { TOTALS_WINDOWS = 512, TOTALS_FIRST_SHIFT = 20 };

/* Window i is from i << shift to (i + 1) << shift ticks after the start of the process. When time passes the last one,
 * neighbours join, and shift grows by 1. */
struct spool_course {
    uint32_t shift; /* 0: not begun, TOTALS_FIRST_SHIFT */
    uint32_t n;     /* windows up to the last call */
    struct spool_window windows[TOTALS_WINDOWS];
};

struct totals {
    struct spool_total *slots; /* [n_slots], a power of two, zeroed at first */
    struct spool_course *course;
    uint64_t start_ticks; /* header.start.ticks of the spool */
    uint32_t n_slots;
    uint32_t n_used;
    uint64_t startall_ticks; /* entry of the last MPI_Startall */
    uint64_t added_ticks;    /* time of the calls of the last record that was added */
    /* Called before a slot changes, with its number; NULL: not needed. */
    void (*changing)(void *context, uint32_t slot);
    void *context;
};

static inline uint8_t total_bin(uint64_t bytes)
{
    return bytes == 0 ? 0 : (uint8_t)(64 - __builtin_clzll(bytes));
}

/* Adds `one`, which may stand for many calls, to the entry of its key, and returns that; NULL for no calls. Where the
 * table is half full, a new key gives up its peer, at three quarters its communicator, at seven eighths its site, then
 * what else it has. */
struct spool_total *totals_add(struct totals *totals, const struct spool_total *one);

/* Adds the time from begin_ticks on to the windows of the course, and one call with its bytes to the first. */
void totals_pass(struct totals *totals, enum spool_window_family family, uint64_t begin_ticks, uint64_t ticks,
                 uint64_t calls, uint64_t sent_bytes);

/* Adds what a record says of calls; nothing for records that stand for none. */
void totals_add_record(struct totals *totals, const void *record);

/* Adds up the tables of two processes or two parts of one; both have the same start_ticks. */
void totals_join(struct totals *totals, const struct totals *others);

#endif
