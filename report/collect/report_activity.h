/* Holds what the ranks did with their time, as recorded: computation and each kind of communication, and the places in
 * the source that cost most of it. Nothing of this needs a model. Times are seconds. */
#ifndef MPISTAIR_REPORT_TIME_H
#define MPISTAIR_REPORT_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_activity_kind {
    SPENT_COMPUTATION, /* outside MPI */
    SPENT_MESSAGES,    /* point-to-point */
    SPENT_COLLECTIVES,
    SPENT_ONE_SIDED,
    SPENT_FILES,
    SPENT_OTHER,        /* other calls of MPI that were recorded */
    SPENT_POLLING,      /* outside MPI, between polls that are a wait */
    SPENT_NOT_RECORDED, /* neither: recording had stopped */
    SPENT_COUNT
};
extern const char *const report_activity_name[SPENT_COUNT]; /* computation, point_to_point ... */
/* Returns what a function of MPI belongs to: "MPI_Wait" to messages. */
enum report_activity_kind activity_kind(const char *function);

/* Sums an activity over the ranks. */
struct report_activity {
    double time_s, share; /* of all ranks */
    double least_s, most_s;
    int64_t most_rank; /* with most_s */
};

/* Says what a call waited for. */
enum report_waiting {
    WAITING_SENDER,   /* a late sender */
    WAITING_RECEIVER, /* a late receiver */
    WAITING_LAST,     /* the last rank of a collective */
    WAITING_TRANSFER, /* bytes that move */
    WAITING_COUNT
};

/* Names a place in the source as the view site does; "" where it is not known. */
struct report_place {
    const char *name, *file, *callers; /* "exchange", or "halo+0x1a2b"; "halo.c"; " in step :17", where inlined */
    int64_t line;
};

/* Describes a function called at a place: time inside MPI of all ranks there. */
struct report_call_site {
    const char *function, *place; /* MPI_Wait; "exchange halo.c:42", "" where it is not known */
    struct report_place parts;    /* of place */
    int64_t callsite;             /* -1: not known */
    enum report_activity_kind kind;
    double time_s, share; /* of all ranks' time */
    double between_s;     /* beside it, between the polls of waits there */
    double waiting_s[WAITING_COUNT];
    int64_t awaited_rank; /* waited for longest, -1: nobody */
    double awaited_s;
};

enum { REPORT_CALL_SITES = 20, REPORT_OUT_OF_LINE = 3 };

/* Names a rank whose computation, or whose time inside MPI, is far from that of the others. */
struct report_out_of_line {
    int64_t rank;
    bool in_mpi; /* else computation */
    double time_s, median_s;
};

struct report_activities {
    const char *unknown; /* why nothing of this is known; NULL: it is */
    double run_s;        /* first begin to last end */
    double ranks_s;      /* of all ranks */
    struct report_activity rows[SPENT_COUNT];
    struct report_call_site sites[REPORT_CALL_SITES]; /* those that cost most, the costliest first */
    size_t n_sites, all_sites;
    struct report_out_of_line out_of_line[REPORT_OUT_OF_LINE]; /* those furthest off first */
    size_t n_out_of_line, all_out_of_line;
    double load_balance, communication, parallel; /* efficiencies, 0 to 1; NaN: not known */
};

#endif
