/* What the kinds of finding share: the recorded run as a program, who waited for whom in it and who is to blame, and
 * how findings are added. */
#ifndef MPISTAIR_REPORT_DIAGNOSIS_H
#define MPISTAIR_REPORT_DIAGNOSIS_H

#include <stdbool.h>

#include "interpose/database/cursor.h"
#include "predictor/run/engine/run_blame.h"
#include "predictor/run/engine/run_retime.h"
#include "report/diagnose/finding.h"
#include "report/diagnose/mend.h"
#include "report/diagnose/pair_sums.h"
#include "share/base/error.h"

/* The parts of a run that are held against each other: what is the same in most of them is no chance. */
enum { DIAGNOSIS_BLOCKS = 8 };

/* The calls of a place, summed. */
struct diagnosis_place {
    uint32_t calls, seen;
    double block_s[DIAGNOSIS_BLOCKS]; /* computation before its calls: the first eighth of them, the second ... */
};

/* Computation of a rank by eighths of the run's time. */
struct diagnosis_course {
    double block_s[DIAGNOSIS_BLOCKS];
};

/* A call for which others waited, and what its computation cost them all. */
struct diagnosis_event {
    size_t step; /* that they waited for */
    uint32_t site, rank;
    double cost_s;
    double direct_s; /* the longest wait for that step */
};

/* What is known of a call site beside the sums of its places. */
struct diagnosis_site {
    struct run_parts measured; /* of all ranks */
    uint64_t calls;
    uint32_t n_ranks;
    bool collective;
};

struct diagnosis {
    sqlite3 *database;
    const char *path;
    struct pool *pool;
    struct findings *findings;
    struct error *error;
    struct run_program program;
    struct simulation_result recorded;
    struct pair_sums *pairs;       /* the caller's */
    struct run_timed_calls *calls; /* the caller's; none where they do not fit the program */
    size_t *first_call;            /* [n_strands + 1] */
    struct run_blame blame;
    double all_s;                     /* time of all ranks */
    double run_s;                     /* what was recorded of the run, as run_retime has it */
    double *rank_s;                   /* [n_ranks] */
    double queued_s;                  /* that computation waited for processors, as far as that is known */
    double all_queued_s;              /* that ranks did, inside MPI too */
    double *busy_share;               /* [n_ranks] of its computation it waited for a processor; 0: not known */
    struct diagnosis_course *courses; /* [n_ranks] less what it waited for a processor */
    struct diagnosis_place *places;   /* [n_places] */
    struct diagnosis_site *sites;     /* [n_sites] */
    struct diagnosis_event *events;   /* [n_events] by site, the costliest first */
    size_t n_events;
};

/* Sums what was read, and the rest of what the structure has. path: of the trace. program and recorded are taken over
 * and empty then. */
void diagnosis_init(struct diagnosis *diagnosis, struct run_program *program, struct simulation_result *recorded);
void diagnosis_release(struct diagnosis *diagnosis);

/* A kind of finding adds as many as it finds. Return 0, or -1 with the error set. */
int diagnose_late_ranks(struct diagnosis *diagnosis); /* late ranks, outliers, late sites, imbalance */
int diagnose_turns(struct diagnosis *diagnosis);      /* chains, sends in turn */
int diagnose_receivers(struct diagnosis *diagnosis);  /* late and hot receivers, sends that need not wait */
int diagnose_receive_order(struct diagnosis *diagnosis);
int diagnose_small_messages(struct diagnosis *diagnosis);
int diagnose_overlap(struct diagnosis *diagnosis);     /* early waits, no progress */
int diagnose_collectives(struct diagnosis *diagnosis); /* small ones, barriers, uneven counts */
int diagnose_algorithms(struct diagnosis *diagnosis);  /* of collectives */
int diagnose_one_sided(struct diagnosis *diagnosis);
int diagnose_files(struct diagnosis *diagnosis);
int diagnose_threads(struct diagnosis *diagnosis);
int diagnose_uneven_threads(struct diagnosis *diagnosis); /* of OpenMP */
int diagnose_slow_links(struct diagnosis *diagnosis);     /* slow links, a busy node */
int diagnose_placement(struct diagnosis *diagnosis);
int diagnose_slow_cores(struct diagnosis *diagnosis);
int diagnose_busy_processors(struct diagnosis *diagnosis);
int diagnose_iterations(struct diagnosis *diagnosis); /* one slow iteration, all slower from a moment on */
int diagnose_ends(struct diagnosis *diagnosis);       /* start-up and shut-down */

/* Adds a finding whose sentence is printed from the format; its texts must live as long as the pool. It is left out
 * where its cost is less than FINDING_LEAST_SHARE of all ranks' time; the share is set here. Its mend is taken over. */
int diagnosis_add(struct diagnosis *diagnosis, struct finding finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns a finding of that kind with nothing known yet. */
struct finding diagnosis_finding(enum finding_number kind, double cost_s);

enum { DIAGNOSIS_TEXT = 192 };
/* Names a site: sets function, place and call site of the finding, and text[DIAGNOSIS_TEXT] to
 * "MPI_Send (ring halo.c:12)". */
int diagnosis_name_site(struct diagnosis *diagnosis, uint32_t site, struct finding *finding, char *text);
/* Prints seconds with a unit into text[DIAGNOSIS_TEXT]: "1.25 s", "34 ms", and bytes: "12 kB". Returns text. */
const char *diagnosis_seconds(char *text, double seconds);
const char *diagnosis_bytes(char *text, double bytes);

/* Returns the computation of a place in seconds, less what it waited for a processor, as far as that is known. */
double diagnosis_computed(const struct diagnosis *diagnosis, uint32_t place);
/* Returns the site of a function and a call site of the trace (-1: not known), or UINT32_MAX. */
uint32_t diagnosis_site_of(const struct diagnosis *diagnosis, const char *function, int64_t callsite);
/* Returns the place of a rank at a site, or UINT32_MAX. */
uint32_t diagnosis_place_of(const struct diagnosis *diagnosis, uint32_t rank, uint32_t site);
/* Marks in is_place[n_places] those where the messages of a site that sends are received or waited for. */
void diagnosis_find_receives(const struct diagnosis *diagnosis, uint32_t site, bool *is_place);
/* Returns when in the run a time of the program was: seconds since the run began, with what lies between bursts. */
double diagnosis_when_s(const struct diagnosis *diagnosis, double at_s);
/* Returns the time of a site in MPI, all ranks. */
double diagnosis_site_s(const struct diagnosis *diagnosis, uint32_t site);

/* Says whether ranks waited long enough for a finding, beyond what computation that waited for a processor, and those
 * that waited for it, explain. */
static inline bool diagnosis_outlasts_queues(const struct diagnosis *diagnosis, double waited_s)
{
    return waited_s - 2 * diagnosis->queued_s >= FINDING_LEAST_SHARE * diagnosis->all_s;
}

/* Returns the same of waiting for which no rank is named: whoever was kept from its processor, inside MPI too, may have
 * made the others wait. */
static inline bool diagnosis_outlasts_all_queues(const struct diagnosis *diagnosis, double waited_s)
{
    return diagnosis_outlasts_queues(diagnosis, waited_s) &&
           waited_s - diagnosis->all_queued_s >= FINDING_LEAST_SHARE * diagnosis->all_s;
}
static inline double diagnosis_call_end_s(const struct run_timed_call *call)
{
    return call->begin_s + (double)call->length_s;
}
static inline uint32_t diagnosis_site_of_step(const struct diagnosis *diagnosis, size_t step)
{
    return diagnosis->program.places[diagnosis->program.steps[step].place].site;
}
/* Returns the computation before a call of a strand; 0 before its first one. */
static inline double diagnosis_before_s(const struct diagnosis *diagnosis, uint32_t strand, size_t call)
{
    if (call <= diagnosis->first_call[strand])
        return 0;
    double seconds = diagnosis->calls->rows[call].begin_s - diagnosis_call_end_s(&diagnosis->calls->rows[call - 1]);
    return seconds > 0 ? seconds : 0;
}

#endif
