/* Compares the runs of one job (A) with those of another one, or of the same one later (B).
 *
 * What a call site adds to the run is the computation before its calls, and the time in them that is not spent waiting
 * for others. These are compared each for itself. A site that is slowed makes others wait elsewhere: that is shown and
 * never named as a cause. */
#ifndef MPISTAIR_COMPARE_COMPARISON_H
#define MPISTAIR_COMPARE_COMPARISON_H

#include "interpose/sums/whole.h"
#include "predictor/run_read/trace_part.h"
#include "report/collect/report.h"
#include "report/render/document.h"

/* What is compared of one run: the time of each call site on each rank, of all calls and span by span.
 *
 * A *cell* is a call site on a rank. Its calls, in their order, fall into PROFILE_SPANS spans of as many calls each. Of
 * a span the *undisturbed* time counts: the mean of the fastest quarter of its calls, times their number. Other load on
 * the machine makes calls slower, never faster; what the program does differently moves all of them. */
enum {
    PROFILE_SPANS = 16,
    PROFILE_FEW_CALLS = 8, /* a cell of fewer calls shows nothing of its own variation */
};

/* Where a call was made, so that the same site can be found in another run's trace. Empty and 0: not known. */
struct profile_site {
    const char *function; /* MPI_Isend; "end" is what comes behind the last call; "": all computation */
    const char *symbol, *file, *module;
    const char *name, *callers; /* as the view site has them: "exchange", "job+0x1a2b"; " in step :17" */
    int64_t line, offset;
    uint64_t bytes;                 /* handed to its calls, of messages what was sent */
    int64_t callsite;               /* the trace's own id, which means nothing in another one; -1: not known */
    enum report_activity_kind kind; /* completions (MPI_Wait...) are of messages */
};

/* Parts of time: computation before a call, the call itself, and within it waiting for others. */
enum profile_part { PROFILE_COMPUTATION, PROFILE_CALL, PROFILE_WAIT, PROFILE_PARTS };

struct profile_cell {
    uint32_t rank, site;
    uint64_t calls;
    double total_s[PROFILE_PARTS];             /* of all calls, disturbed or not */
    float span_s[PROFILE_WAIT][PROFILE_SPANS]; /* undisturbed; of totals all time, divided evenly */
    bool of_totals;                            /* like one of few calls it shows nothing of its own variation */
};

enum { PROFILE_LEVELS = 5 }; /* enum level without a level: not known */

/* The messages of a level, from when both sides had posted to when the receive was complete. */
struct profile_level {
    uint64_t messages, bytes;
    double total_s;
    double span_s[PROFILE_SPANS]; /* undisturbed, as of a cell */
};

struct profile {
    const char *path, *command, *mpi; /* in pool */
    struct whole whole;
    struct trace_part part; /* set by who restricted the trace */
    int64_t started_ns;
    const char *run_key;
    uint32_t n_ranks;
    double duration_s;
    double processor_wait; /* share of the ranks' time that they waited for a processor, 0 where not known */
    struct profile_site *sites;
    size_t n_sites;
    struct profile_cell *cells; /* by rank */
    size_t n_cells;
    struct profile_level levels[PROFILE_LEVELS];
    double run_span_s[PROFILE_SPANS]; /* all time of all ranks, disturbed or not, span by span of each cell */
    struct pool pool;
};

/* Reads a profile from the trace of that path. of_totals: what is in totals alone, as of each run that is compared with
 * one of which not all calls have rows: then all computation of a rank is one cell, and times in calls have the waiting
 * in them. Returns 0, or -1 with the reason; profile_release in either case. */
int profile_read(struct profile *profile, sqlite3 *database, const char *path, bool of_totals, struct error *error);
void profile_release(struct profile *profile);

/* Writes the undisturbed time of each span of n calls, whose values[n] it sorts. */
void profile_spans(double *values, size_t n, double span_s[PROFILE_SPANS]);

/* How large a change between two runs, or two groups of runs, must be to be more than noise.
 *
 * Two runs: span by span the differences are taken. Their mean without the two largest and the two smallest has a
 * standard error (Tukey and McLaughlin), which is widened where neighbouring spans are alike (the effective number of
 * samples of a process of first order). The noise is that times Student's t, plus the floor: what launches of one job
 * differ by.
 *
 * More runs: the spread of the runs' sums is the noise. Since few runs show little of it, it is joined with the one
 * that the floor presumes (a standard deviation of half the floor), weighed as NOISE_PRESUMED more runs. */
enum { NOISE_PRESUMED = 4, NOISE_TRIMMED = 2 };

/* A quantity in one run. */
struct noise_sample {
    double span_s[PROFILE_SPANS];
    double floor_s; /* presumed to be different in the next launch of the same job; at least 0 */
    bool present;
    double total_s, wait_s; /* all time without waiting, and the waiting; the noise looks at neither */
};

struct noise_result {
    double a_s, b_s; /* means over the runs of a group; NaN: none has it */
    double change_s; /* b_s - a_s; NaN where one of them is */
    double noise_s;  /* what a change must exceed; NaN: not known */
    double steady_s; /* of two runs: the change without its NOISE_TRIMMED largest and smallest spans, which must exceed
                      * it as well, since a change of some spans alone is not one of the site; else NaN */
    bool above;
};

/* Compares samples[n_a] with samples[n_a .. n_a + n_b]. probability: of a change above noise where there is none.
 * groups: how many of the spans are independent, PROFILE_FEW_CALLS to PROFILE_SPANS; fewer: nothing is known. */
struct noise_result noise_compare(const struct noise_sample *samples, size_t n_a, size_t n_b, size_t groups,
                                  double probability);

enum comparison_table {
    COMPARISON_RUN,  /* one row: first MPI_Init to the last event */
    COMPARISON_KIND, /* enum report_activity_kind from computation to other calls, then waiting */
    COMPARISON_SITE, /* the site on all ranks: the computation before its calls, and the calls */
    COMPARISON_CELL, /* the site on one rank; only where that is above noise */
    COMPARISON_RANK,
    COMPARISON_LEVEL,
    COMPARISON_TABLES
};

/* Why a row has no noise. */
enum comparison_state {
    COMPARISON_TESTED,
    COMPARISON_SMALL,     /* too little time to matter */
    COMPARISON_FEW_CALLS, /* too few calls to know its noise from one run */
    COMPARISON_ONLY_A,
    COMPARISON_ONLY_B,
    COMPARISON_SHOWN, /* follows from the others: never above noise */
};

struct comparison_row {
    enum comparison_table table;
    enum comparison_state state;
    const char *name;                /* kind or level; of a site its function */
    const struct profile_site *site; /* of sites, else NULL */
    enum profile_part part;          /* of sites: the computation before the call, or the call */
    int64_t rank;                    /* -1: all */
    struct noise_result result;      /* undisturbed time, but of the run and of waiting */
    double total_s[2], wait_s[2];    /* A, B: means over the runs of all time, of waiting within it */
    double calls[2], bytes[2];       /* the same; bytes of levels, and that sites sent */
    struct noise_sample *samples;    /* [n_a + n_b] */
    size_t groups;                   /* of noise_compare */
};

struct comparison_options {
    double floor;      /* what launches of one job differ by: this share of computation */
    double floor_call; /* and this one of time in calls */
    bool other_ranks;  /* runs have other numbers of ranks on purpose */
    bool in_order;     /* of versions: a call site may have moved between any two runs, not only between A and B */
};

struct comparison {
    const struct profile *profiles; /* [n_a + n_b], A first */
    size_t n_a, n_b;
    struct comparison_options options;
    struct comparison_row *rows; /* by table; sites by what they add, what is above noise first */
    size_t n_rows;
    size_t n_above;
    char **warnings; /* [n_warnings] sentences on why the runs are not alike */
    size_t n_warnings;
};

/* Compares. The profiles stay the caller's and outlive the comparison. */
void comparison_make(struct comparison *comparison, const struct profile *profiles, size_t n_a, size_t n_b,
                     const struct comparison_options *options);
void comparison_release(struct comparison *comparison);

/* The formats of a comparison. All write to a stream whose errors the caller finds in ferror. */

/* Builds the document of text and HTML: the verdict, what changed most, what is in one trace only. all: every row. */
void show_document(struct document *document, const struct comparison *comparison, bool all);
/* Writes a row for each that is compared. */
void show_csv(FILE *stream, const struct comparison *comparison);
/* Writes runs, warnings and rows. Returns 0, or -1 without memory. */
int show_json(FILE *stream, const struct comparison *comparison, struct error *error);
/* Returns the site above noise that changed most, which is where the change begins, or NULL. */
const struct comparison_row *show_culprit(const struct comparison *comparison);
/* Returns change and noise as shares of A; NaN where A is 0. */
double show_share(const struct comparison_row *row, double seconds);
/* Writes "before MPI_Send" or "in MPI_Send" with file and line, or what is known of the place; for ranks and levels
 * their name. brief: without "MPI_". */
void show_place(const struct comparison_row *row, bool brief, char *text, size_t size);

#endif
