/* What the kinds of finding share: the recorded run as a program, who waited for whom in it and who is to blame, and
 * how findings are added. */
#ifndef MPISTAIR_REPORT_DIAGNOSIS_H
#define MPISTAIR_REPORT_DIAGNOSIS_H

#include <stdbool.h>

#include "predictor/run/engine/run_blame.h"
#include "report/diagnose/finding.h"

/* The calls of a place, summed. */
struct diagnosis_place {
    uint32_t calls;
    double half_s[2]; /* computation before its calls: the 1st, 3rd ... and the 2nd, 4th ... */
};

/* A call for which others waited, and what its computation cost them all. */
struct diagnosis_event {
    size_t step; /* that they waited for */
    uint32_t site, rank;
    double cost_s;
    double direct_s; /* the longest wait for that step */
};

struct diagnosis {
    sqlite3 *database;
    const char *path;
    struct pool *pool;
    struct findings *findings;
    struct error *error;
    struct run_program program;
    struct simulation_result recorded;
    struct pair_sums *pairs; /* the caller's */
    struct run_blame blame;
    double all_s;                   /* time of all ranks */
    double *rank_s;                 /* [n_ranks] */
    double *busy_share;             /* [n_ranks] of its time it waited for a processor; 0 where that is not known */
    struct diagnosis_place *places; /* [n_places] */
    bool *collective;               /* [n_sites] whether it is a collective's */
    struct diagnosis_event *events; /* [n_events] by site, the costliest first */
    size_t n_events;
};

/* Return 0, or -1 with the error set. A kind of finding adds as many as it finds. */
int diagnose_late_ranks(struct diagnosis *diagnosis); /* late ranks, late sites, and imbalance */
int diagnose_slow_links(struct diagnosis *diagnosis);
int diagnose_small_messages(struct diagnosis *diagnosis);
int diagnose_placement(struct diagnosis *diagnosis);
int diagnose_busy_processors(struct diagnosis *diagnosis);

/* Adds a finding whose sentence is printed from the format; its texts must live as long as the pool. It is left out
 * where its cost is less than FINDING_LEAST_SHARE of all ranks' time; the share is set here. */
int diagnosis_add(struct diagnosis *diagnosis, struct finding finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum { DIAGNOSIS_TEXT = 192 };
/* Names a site: sets function and place of the finding, and text[DIAGNOSIS_TEXT] to "MPI_Send (ring halo.c:12)". */
int diagnosis_name_site(struct diagnosis *diagnosis, uint32_t site, struct finding *finding, char *text);
/* Prints seconds with a unit into text[DIAGNOSIS_TEXT]: "1.25 s", "34 ms", and bytes: "12 kB". Returns text. */
const char *diagnosis_seconds(char *text, double seconds);
const char *diagnosis_bytes(char *text, double bytes);

/* Returns the computation of a place in seconds, less what it waited for a processor, as far as that is known. */
double diagnosis_computed(const struct diagnosis *diagnosis, uint32_t place);

#endif
