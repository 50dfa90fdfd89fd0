/* Findings: what a run lost time to, in one sentence each: which rank, which line, how much, and what mending it gains.
 *
 * All but collective-algorithm come from recorded times, without a machine table. What is below FINDING_LEAST_SHARE of
 * all ranks' time, or may as well be by chance, is not reported. kinds.c has the table of kinds; the files beside it
 * have a kind, or a few close ones, each. */
#ifndef MPISTAIR_REPORT_FINDING_H
#define MPISTAIR_REPORT_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/run/engine/run_retime.h"

#define FINDING_LEAST_SHARE 0.03

enum finding_number {
    FINDING_LATE_RANK,
    FINDING_LATE_STRETCH,
    FINDING_LATE_TREND,
    FINDING_OUTLIERS,
    FINDING_ROOT_PART,
    FINDING_LATE_SITE,
    FINDING_IMBALANCE,
    FINDING_CHAIN,
    FINDING_SENDS_IN_TURN,
    FINDING_LATE_RECEIVER,
    FINDING_HOT_RECEIVER,
    FINDING_SYNCHRONOUS,
    FINDING_MISSES_EAGER,
    FINDING_RECEIVE_ORDER,
    FINDING_SMALL_MESSAGES,
    FINDING_EARLY_WAIT,
    FINDING_NO_PROGRESS,
    FINDING_SMALL_COLLECTIVES,
    FINDING_BARRIERS,
    FINDING_UNEVEN_COUNTS,
    FINDING_ALGORITHM,
    FINDING_SERIAL_LOCKS,
    FINDING_MANY_FLUSHES,
    FINDING_WIDE_FENCE,
    FINDING_ONE_WRITER,
    FINDING_SMALL_ACCESSES,
    FINDING_INTERLEAVED_ACCESSES,
    FINDING_THREADS_IN_TURN,
    FINDING_UNEVEN_THREADS,
    FINDING_SLOW_LINK,
    FINDING_BUSY_NODE,
    FINDING_PLACEMENT,
    FINDING_SLOW_CORE,
    FINDING_BUSY_PROCESSORS,
    FINDING_CROWDED,
    FINDING_BINDING,
    FINDING_SLOW_ITERATION,
    FINDING_SLOWER,
    FINDING_START_UP,
    FINDING_SHUT_DOWN,
    FINDING_KIND_COUNT
};

/* Why a rank computes longer than the others (causes.c). */
enum finding_cause {
    CAUSE_UNKNOWN,
    CAUSE_WORK,
    CAUSE_CYCLES, /* fewer instructions per cycle */
    CAUSE_FREQUENCY,
    CAUSE_TAKEN, /* its processor, by others */
    CAUSE_FAULTS,
    CAUSE_KERNEL,
    CAUSE_BLOCKED,
    CAUSE_THREADS, /* of OpenMP, which have nothing to do */
};

/* What was counted of a rank, or of the others in the median; NaN: not known. */
struct finding_counts {
    double time_s, computed_s, run_s, kernel_s, taken_s, slept_s, faults, hertz;
    double instructions, per_cycle; /* of its computation */
    double regions_s, threads;      /* OpenMP's parallel regions, and how many threads they have in the mean */
    double idle;                    /* share of the regions' time that a thread has nothing to do, in the mean */
};

struct diagnosis;

struct finding_kind {
    const char *name;                /* "late-rank" */
    const char *literature;          /* Scalasca's pattern, or POP's efficiency; "" where there is none */
    const char *what;                /* one sentence, without a stop */
    const char *advice;              /* what one does about it, without a stop */
    int (*find)(struct diagnosis *); /* NULL: the function of the kind before finds it, too */
    double least_gain;               /* share of the run below which it is no fault, where the gain is known */
    bool general;                    /* another kind that explains the same says more */
};

/* Returns a kind: number < FINDING_KIND_COUNT. */
const struct finding_kind *finding_kind(enum finding_number number);

enum { EVIDENCE_COLUMNS = 60, EVIDENCE_RANKS = 8, EVIDENCE_CALLS = 5 };

/* The calls of a rank at the line, or the work before them. */
struct evidence_rank {
    int64_t rank, calls;
    double time_s, longest_s;
    double columns[EVIDENCE_COLUMNS]; /* their share of each part of the run */
};

struct evidence_call {
    int64_t rank;
    double begin_s, length_s; /* begin: since that of the run */
};

/* The calls of a finding's line. */
struct evidence {
    struct evidence_rank ranks[EVIDENCE_RANKS]; /* [n_ranks] the longest inside first, and the finding's own */
    size_t n_ranks, all_ranks;
    struct evidence_call calls[EVIDENCE_CALLS]; /* the longest */
    size_t n_calls;
    bool of_work;      /* late ranks and uneven work show in the work before the calls */
    const char *query; /* SQL that gives the calls */
};

struct finding {
    enum finding_number kind;
    int64_t rank, partner;        /* -1: none; of a slow link the lowest of the nodes it leads from and to */
    int64_t callsite;             /* id of the trace's table; -1: none */
    int64_t under;                /* place in rows of the finding that explains this one, too; -1: none does */
    double cost_s;                /* ranks' time that it took, or, for what could be better, may have taken at most */
    double share;                 /* of all ranks' time */
    double gain_s, gain;          /* by how much the run is shorter with it mended, and its share; NaN: not known */
    double gain_low, gain_high;   /* the gain by the intervals of a machine table; NaN: it needs none, or has none */
    double begin_s, end_s;        /* when, since the begin of the run; NaN: all the time */
    const char *function, *place; /* MPI's, and "caller file:line"; "": none */
    const char *sentence;         /* one plain sentence, without a stop; at most 160 characters, 60 more with "why:" */
    enum finding_cause cause;
    double excess_s;                   /* of the rank's computation over that of the others; 0: nothing was counted */
    struct finding_counts own, others; /* with excess_s */
    struct evidence *evidence;         /* NULL: it is of no line */
    struct run_mend *mend;             /* while findings are looked for */
    double rest_low, rest_high; /* the same: factors of what its line's calls take, at the ends of the intervals */
};

struct findings {
    struct finding *rows; /* [n], by gain, then cost; those under another one behind it */
    size_t n;
    const char
        *uncounted; /* why instructions and cycles are not known, and what to do; NULL: they are, or nothing is */
};

/* Returns "late-rank", "late-site" ... */
const char *finding_name(enum finding_number kind);

#endif
