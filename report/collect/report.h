/* Holds what a report says, collected from trace.db before anything is written: every renderer shows the same.
 *
 * Times are seconds, sums over all rounds of the run unless said otherwise. As the rounds of one kind are averaged, a
 * modelled time stands beside the measured one of all rounds of the kinds for which the model was run. A value that is
 * not known is NaN, an integer -1, a text "". Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_REPORT_REPORT_H
#define MPISTAIR_REPORT_REPORT_H

#include "interpose/sums/crowding.h"
#include "predictor/model.h"
#include "interpose/database/cursor.h"
#include "interpose/sums/whole.h"
#include "report/collect/report_activity.h"
#include "report/collect/report_replay.h"
#include "report/diagnose/finding.h"
#include "report/collect/report_fine_grained.h"
#include "report/collect/report_gpu.h"
#include "report/collect/report_partitions.h"
#include "report/collect/report_sites.h"

struct report_run {
    const char *run_key, *version, *mpi_family, *mpi_library, *thread_level, *command, *started_by;
    int64_t started_unix_ns, world_size, spools;
    int64_t eager_limit_bytes, eager_limit_network_bytes; /* inside a node, between nodes */
    double duration_s;
    double own_cost_ns; /* what recording adds to a nonblocking call */
    int64_t launched;   /* as in schema.sql; 0: as many as there are ranks, or not known */
};

/* Names a program that ran, by its command line, with its ranks. */
struct report_program {
    const char *command, *where; /* where: the ranks, as in report_count */
    int64_t ranks;
};

/* Holds T Table III's columns for one level. */
struct report_level {
    const char *level; /* "unknown" where a place is not known */
    int64_t messages, max_messages, bytes;
    double share; /* share of all bytes */
};

/* Describes something that is missing or in doubt, added over the ranks: a cause, a function, a reason. */
struct report_count {
    const char *name;
    int64_t n, ranks;
    const char *where; /* the ranks: "1, 3-5", cut behind RANGES_NAMED; "" where it concerns no rank */
    bool affects_messages;
};

/* Describes times without recording (MPI_Pcontrol). */
struct report_off {
    int64_t times, ranks, operations, partners; /* operations left out; their partners, left out as well */
    double time_s;                              /* over all ranks */
    const char *where;
};

/* Counts ranks that waited for a processor for REPORT_WAITED of their time and more, and describes the one that waited
 * most. */
struct report_waited {
    int64_t ranks, worst_rank, switches;
    double wait_share, run_share, observed_s; /* values of the worst; NaN: not known for any rank */
};

#define REPORT_WAITED 0.05

/* Sums calls of a kind of which only sums are kept, without those made while recording was off. */
struct report_sum {
    const char *kind;
    int64_t calls, ranks;
    double from_s; /* when the first was made */
};

struct report_completeness {
    int64_t posted, matched, unmatched, lost, untracked, uncertain, missing_processes, left_out;
    int64_t unknown_communicators; /* identified by guess */
    int64_t idle_calls;            /* unsuccessful tests and probes: kept as sums */
    const char *verdict;
    struct report_off off;
    struct report_sum *sums; /* [n_sums] */
    size_t n_sums;
};

struct report_model {
    const char *machine, *model, *options;
    const char *title; /* model and options */
    bool extrapolated;
    double error, mape, bias; /* T eq. 11, mean absolute percentage error, bias */
    int64_t worst_rank;
    double coverage;                    /* share of the measured time that lies in the kinds that were modelled */
    double visible_error, visible_bias; /* T eq. 11 and bias of the time that stays visible in MPI */
    double computing, compute_slowdown; /* what +memory says: threads of a socket that compute while messages arrive
                                         * there, and how many times as long they take; 0: it says nothing */
};

/* Is a row of T Table III: the traffic of one round. */
struct report_kind {
    int64_t id, rounds, messages, max_messages, bytes;
    double intra_socket, inter_socket, inter_node; /* shares of bytes */
    double time_s;                                 /* over all ranks and rounds */
    double time_share;
    double *error; /* [n_models], T eq. 11 within the kind */
};

struct report_rank {
    int64_t rank, node, socket, core;
    const char *host, *ended, *command;                 /* command: "" where it is not known */
    int64_t sent, sent_bytes, received, received_bytes; /* messages and bytes */
    double actual_s, in_mpi_s;
    double late_senders_s, late_receivers_s; /* parts of actual_s: while a receive waited to be sent, a send to be
                                              * received */
    double activity_s[SPENT_COUNT];          /* of all that was recorded */
    double waited_s;                         /* for a processor that others had; NaN: not known */
    double run_in_mpi_s, run_in_mpi_predicted_s, blamed_s; /* of the replay of the whole run */
    double first_s, second_s;                              /* the two halves of the replicate error */
    double *covered_s;      /* [n_models]: the measured time of the kinds that were modelled */
    double *model_s;        /* [n_models] */
    double *off_s;          /* [n_models] |covered - modelled|, summed over the kinds: what T eq. 11 sums */
    double *part_s;         /* [n_models * STORED_PARTS] what model_s is made of */
    double *low_s, *high_s; /* [n_models] the interval of model_s */
    double *outside_s, *inside_s,
        *visible_s;        /* [n_models] as the view rank_visible: parts of covered_s outside and inside MPI */
    double *visible_off_s; /* [n_models] |inside - visible|, summed over the kinds */
    const char **mostly;   /* [n_models] name of the largest part */
    bool *extrapolated;    /* [n_models] beyond a table's ends in one of its kinds */
};

enum { REPORT_WORST = 5, REPORT_PARTNERS = 3 };

/* Says what a rank's messages with a partner would take alone, at BW(1). */
struct report_partner {
    int64_t rank, messages, bytes;
    const char *direction, *level; /* from or to the partner */
    double alone_s, share;         /* share of all the rank's messages in that direction */
};

/* The report speaks of overlap from this share of a rank's time in rounds on. */
#define REPORT_OVERLAP 0.05

/* Describes one of the ranks with the longest measured time, and why. */
struct report_worst {
    const struct report_rank *rank;
    struct report_partner partners[REPORT_PARTNERS]; /* those that cost most */
    size_t n_partners;
};

/* Says how long ranks of a kind's rounds that are done wait for the last one; as the view kind_wait. */
struct report_wait {
    int64_t kind, rounds, ranks, last_rank, last_rounds;
    double wait_s, mean_s, longest_s, share;
};

/* Lists the ranks with the longest time outside MPI in their rounds, where one spends enough of it there. */
struct report_overlap {
    bool matters; /* a rank spends REPORT_OVERLAP of its rounds or more outside MPI */
    double share; /* share of the time of all ranks in rounds that is outside MPI */
    const struct report_rank *ranks[REPORT_WORST];
    size_t n_ranks;
};

/* Says who waited longest for whom; as the view late_partner. */
struct report_late {
    int64_t rank, partner, messages;
    const char *cause, *function, *place; /* sender or receiver; of the post that waited */
    double late_s, longest_s;
};

struct report {
    const char *path;
    struct pool pool;
    struct report_run run;
    struct crowding crowding;
    struct report_waited waited;
    struct report_completeness completeness;
    struct whole whole;              /* where it is not, shares are of what was recorded alone */
    struct report_program *programs; /* in the order of their first ranks; none in a trace of an earlier version */
    struct report_level *levels;
    struct report_count *losses, *untracked, *unmatched, *doubts, *rejected, *unnamed;
    struct report_model *models;
    struct report_kind *kinds; /* the heaviest */
    struct report_rank *ranks; /* in the order of ranks */
    struct report_worst worst[REPORT_WORST];
    struct report_overlap overlap;
    struct report_replay replay;
    struct report_sites collectives, rma, files;
    struct report_partitions partitions;
    struct report_fine_grained fine_grained;
    struct report_gpu gpu;
    struct report_activities activities;
    struct findings findings;
    const char *no_findings;   /* why none were looked for; NULL: they were */
    struct report_wait *waits; /* the kinds with the longest */
    struct report_late *late;
    size_t n_programs, n_levels, n_losses, n_untracked, n_unmatched, n_doubts, n_rejected, n_unnamed, n_models, n_kinds,
        n_ranks, n_worst, n_waits, n_late;
    int64_t nodes, messages, max_messages, bytes, rounds, all_kinds, families;
    int64_t round_messages;                          /* in all rounds, which models are judged by */
    double actual_s;                                 /* over all ranks and rounds */
    double late_senders_share, late_receivers_share; /* parts of it */
    double repeated_share;                           /* part of it that lies in kinds of three and more rounds */
    double family_share;                             /* part of it that lies in families of three and more rounds */
    double concurrent_share; /* part of it that passed while another round was under way on the same socket or NIC */
    bool errors_withheld;    /* concurrent_share is so large that errors of single rounds are no claim */
    double wait_s;           /* time after it, until the last rank of the round was done, over all ranks and rounds */
    double replicate_error, replicate_share;
    int64_t replicate_kinds;
    const char *replicate_basis;
};

/* Says which predictions are wanted, NULL: all; and whether details are: without them overlap, why, and the call sites
 * of collectives, one-sided communication, files and partitioned messages stay empty, as the first screen needs none of
 * them. */
struct report_choice {
    const char *machine, *model;
    bool details;
    bool fine_grained; /* what sending in parts would give, which goes through all messages */
    bool gpu;          /* which way the data between GPUs should take, likewise where there are any */
};

/* Collects everything. Returns 0, or -1 with the reason; report_release in either case. */
int report_collect(struct report *report, sqlite3 *database, const char *path, const struct report_choice *choice,
                   struct error *error);
void report_release(struct report *report);

/* Collect the parts, one file each: the run and its traffic; what is missing; rounds, models and ranks; why. */
/* Comes behind report_collect_rounds, which finds the ranks. */
int report_collect_programs(struct report *report, sqlite3 *database, struct error *error);
int report_collect_run(struct report *report, sqlite3 *database, struct error *error);
int report_collect_completeness(struct report *report, sqlite3 *database, struct error *error);
int report_collect_rounds(struct report *report, sqlite3 *database, const struct report_choice *choice,
                          struct error *error);
/* Collects, after the ranks, what stays visible in MPI where ranks compute between post and wait. */
int report_collect_overlap(struct report *report, sqlite3 *database, struct error *error);
/* Returns a rank's time in rounds outside MPI, in s; NaN where it is not known. */
double report_outside_s(const struct report_rank *rank);
/* Collects, after the ranks, parts, partners, waits, and who was late. */
int report_collect_why(struct report *report, sqlite3 *database, struct error *error);
/* Collects, after the ranks, the last replay of the whole run. */
int report_collect_replay(struct report *report, sqlite3 *database, const struct report_choice *choice,
                          struct error *error);
/* Collects the call sites of collectives, one-sided communication and files. */
int report_collect_sites(struct report *report, sqlite3 *database, struct error *error);
/* Collects the call sites of partitioned messages. */
int report_collect_partitions(struct report *report, sqlite3 *database, struct error *error);
/* Collects, after the models, what it would have given to send buffers in parts; nothing where no machine is stored. */
int report_collect_fine_grained(struct report *report, sqlite3 *database, const struct report_choice *choice,
                                struct error *error);
/* Collects, after the models, which way the data between GPUs should take; nothing where there are none, or no machine
 * is stored. */
int report_collect_gpu(struct report *report, sqlite3 *database, const struct report_choice *choice,
                       struct error *error);
/* Collects, after the ranks, what they did with their time. Where the recorded run cannot be read, as without times of
 * calls, report->activities.unknown says why. */
int report_collect_activity(struct report *report, sqlite3 *database, struct error *error);
/* Makes room for what each model says. Returns 0, or -1 without memory; report_rank_release in either case. */
int report_rank_init(struct report_rank *rank, size_t n_models);
void report_rank_release(struct report_rank *rank);
/* Returns the model that the columns machine, model, options name, from first_column on; n_models for one that is not
 * wanted. */
size_t report_find_model(const struct report *report, struct cursor *rows, int first_column);
/* Puts a rank into longest[n] if its time_s is among the REPORT_WORST longest, in their order; among equal ones the one
 * that came first stands before. */
void report_keep_longest(const struct report_rank *longest[REPORT_WORST], size_t *n, const struct report_rank *rank,
                         double (*time_s)(const struct report_rank *rank));
/* Returns the rank of that number, NULL if there is none. */
struct report_rank *report_find_rank(const struct report *report, int64_t number);

/* Returns the model with the smallest error, n_models where none has one. */
size_t report_best_model(const struct report *report);

#endif
