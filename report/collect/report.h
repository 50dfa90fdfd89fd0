/* What a report says, collected from trace.db before anything is written, so that every format shows the same.
 *
 * Times are seconds, sums over all rounds of the run unless said otherwise. As the rounds of one kind are averaged, a
 * modelled time stands beside the measured one of all rounds of the kinds for which the model was run. A value that is
 * not known is NaN, an integer -1, a text "". Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_REPORT_REPORT_H
#define MPISTAIR_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/machine/machine.h"
#include "interpose/database/cursor.h"
#include "interpose/sums/crowding.h"
#include "interpose/sums/whole.h"
#include "predictor/tables/gpu_paths.h"
#include "predictor/models/model.h"
#include "predictor/run_read/trace_part.h"
#include "report/collect/fields.h"
#include "report/diagnose/findings.h"

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

/* An activity, summed over the ranks. */
struct report_activity {
    const char *name;     /* as in report_activity_name */
    double time_s, share; /* of all ranks */
    double least_s, most_s;
    int64_t most_rank; /* with most_s */
};

/* What a call waited for. */
enum report_waiting {
    WAITING_SENDER,   /* a late sender */
    WAITING_RECEIVER, /* a late receiver */
    WAITING_LAST,     /* the last rank of a collective */
    WAITING_TRANSFER, /* bytes that move */
    WAITING_COUNT
};

/* A place in the source as the view site has it; "" where it is not known. */
struct report_place {
    const char *name, *file, *callers; /* "exchange", or "halo+0x1a2b"; "halo.c"; " in step :17", where inlined */
    int64_t line;
};

/* A function called at a place: time inside MPI of all ranks there. */
struct report_call_site {
    const char *function, *place; /* MPI_Wait; "exchange halo.c:42", "" where it is not known */
    struct report_place parts;    /* of place */
    int64_t callsite;             /* -1: not known */
    enum report_activity_kind kind;
    double time_s, share; /* of all ranks' time */
    double between_s;     /* beside it, between the polls of waits there */
    double waiting_s[WAITING_COUNT];
    int64_t awaited_rank; /* waited for longest, -1: none */
    double awaited_s;
};

enum { REPORT_CALL_SITES = 20, REPORT_OUT_OF_LINE = 3, REPORT_COURSE = 60 };
/* Least length of a run whose course is shown, s. */
#define REPORT_COURSE_S 0.5

/* A rank whose computation, or whose time inside MPI, is far from that of the others. */
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

struct report_run {
    const char *run_key, *version, *mpi_family, *mpi_library, *thread_level, *command, *started_by;
    int64_t started_unix_ns, world_size, spools;
    int64_t eager_limit_bytes, eager_limit_network_bytes; /* inside a node, between nodes */
    double duration_s;
    double own_cost_ns; /* what recording adds to a nonblocking call */
    int64_t launched;   /* as in schema.sql; -1: as many as there are ranks, or not known */
    int64_t nodes;
};

/* A program that ran, by its command line, with its ranks. */
struct report_program {
    const char *command, *where; /* where: the ranks, as in report_count */
    int64_t ranks;
};

/* T Table III's columns for one level. */
struct report_level {
    const char *level; /* "unknown" where a place is not known */
    int64_t messages, max_messages, bytes;
    double share; /* share of all bytes */
};

/* Messages between nodes whose lowest switch above both is that many levels up. */
struct report_distance {
    const char *distance; /* "same switch", "1 level up", ..., "no common switch", "unknown" */
    int64_t messages, max_messages, bytes;
    double share; /* of all bytes */
};

/* Messages between nodes that a switch carries: within it, up to others and down from them. */
struct report_switch {
    const char *name;
    int64_t level, nodes, ranks, within_bytes, up_bytes, down_bytes;
};

/* Something that is missing or in doubt, added over the ranks: a cause, a function, a reason. */
struct report_count {
    const char *name;
    int64_t n, ranks;
    const char *where; /* the ranks: "1, 3-5", cut behind RANGES_NAMED; "" where it concerns no rank */
    bool affects_messages;
};

/* Times without recording (MPI_Pcontrol). */
struct report_off {
    int64_t times, ranks, operations, partners; /* operations left out; their partners, left out as well */
    double time_s;                              /* over all ranks */
    const char *where;
};

/* Ranks that waited for a processor for REPORT_WAITED of their time and more, and the one that waited most. */
struct report_waited {
    int64_t ranks, worst_rank, switches;
    double wait_share, run_share, observed_s; /* values of the worst; NaN: not known for any rank */
};

#define REPORT_WAITED "0.05"

/* A network interface of that name, on all nodes together; NaN: not known. */
struct report_interface {
    const char *name;
    double bytes, packets, errors, retransmissions; /* both ways */
};

struct report_completeness {
    int64_t posted, matched, unmatched, lost, untracked, uncertain, missing_processes, left_out;
    int64_t unknown_communicators; /* identified by guess */
    int64_t idle_calls;            /* unsuccessful tests and probes: kept as sums */
    const char *verdict;
    struct report_off off;
};

struct report_model {
    const char *machine, *model, *options;
    const char *title; /* model and options */
    bool rounds;       /* of rounds one by one; else a law over the whole run */
    bool withheld;     /* of rounds that overlap so much that its error is no claim */
    bool extrapolated;
    const char *judgement;    /* of its error, as judgement_of says; "" where it is withheld */
    double error, mape, bias; /* T eq. 11, mean absolute percentage error, bias */
    int64_t worst_rank;
    double worst_actual_s, worst_model_s;
    double coverage;                    /* share of the measured time that was modelled */
    double visible_error, visible_bias; /* T eq. 11 and bias of the time that stays visible in MPI */
};

/* A row of T Table III: the traffic of one round. */
struct report_kind {
    int64_t kind, rounds, messages, max_messages, bytes;
    double intra_socket, inter_socket, inter_node; /* shares of bytes */
    double time_s;                                 /* over all ranks and rounds */
    double time_share;
    double *error; /* [n_models], T eq. 11 within the kind */
};

/* What a model says of a rank: of its time inside messages, or in the kinds of rounds for which it was run. */
struct report_rank_model {
    double actual_s; /* measured */
    double model_s;
    double off_s;                    /* |actual - modelled|, of rounds summed over kinds: what T eq. 11 sums */
    double error;                    /* off_s as a share of actual_s */
    double part_s[STORED_PARTS];     /* what model_s is made of */
    double low_s, high_s;            /* the interval of model_s */
    double outside_s, in_mpi_s;      /* as the view rank_visible: parts of actual_s */
    double visible_s, visible_off_s; /* visible_off_s: |in_mpi - visible|, summed over the kinds */
    const char *mostly;              /* name of the largest part */
    bool extrapolated;               /* beyond a table's ends in one of its kinds */
};
#define REPORT_RANK_MODEL_UNKNOWN                                                                                      \
    {                                                                                                                  \
        NAN, NAN, NAN, NAN, {NAN, NAN, NAN, NAN, NAN, NAN}, NAN, NAN, NAN, NAN, NAN, NAN, "", false                    \
    }
#define REPORT_PART_FIELD(name, i) FIELD_AS(name, report_rank_model, part_s[i])
#define REPORT_PART_FIELDS                                                                                             \
    REPORT_PART_FIELD("latency_s", 0), REPORT_PART_FIELD("bandwidth_s", 1), REPORT_PART_FIELD("contention_s", 2),      \
        REPORT_PART_FIELD("queue_s", 3), REPORT_PART_FIELD("link_s", 4), REPORT_PART_FIELD("skew_s", 5)

struct report_rank {
    int64_t rank, node, socket, core;
    const char *host, *ended, *command; /* command: "" where it is not known */
    int64_t sent_messages, sent_bytes, received_messages, received_bytes;
    double actual_s, in_mpi_s;
    double late_senders_s, late_receivers_s; /* parts of actual_s: while a receive waited to be sent, a send to be
                                              * received */
    double activity_s[SPENT_COUNT];          /* of all that was recorded */
    double waited_s;                         /* for a processor that others had; NaN: not known */
    double run_in_mpi_s, run_in_mpi_predicted_s, blamed_s; /* of the replay of the whole run */
    double first_half_s, second_half_s;                    /* the two halves of the replicate error */
    struct report_rank_model *models;                      /* [n_models] */
};

enum { REPORT_WORST = 5, REPORT_PARTNERS = 3 };

/* What a rank's messages with a partner would take alone, at BW(1). */
struct report_partner {
    int64_t rank, messages, bytes;
    const char *direction, *level; /* from or to the partner */
    double alone_s, share;         /* share of all the rank's messages in that direction */
};

/* Share of a rank's time in rounds from which on the report shows overlap. */
#define REPORT_OVERLAP 0.05

/* One of the ranks with the longest measured time, and why. */
struct report_worst {
    const struct report_rank *rank;
    struct report_partner partners[REPORT_PARTNERS]; /* those that cost most */
    size_t n_partners;
};

/* How long ranks of a kind's rounds that are done wait for the last one; as the view kind_wait. */
struct report_wait {
    int64_t kind, rounds, ranks, last_rank, last_rounds;
    double wait_s, mean_s, longest_s, share;
};

/* How far the best law is off at a call site, over all ranks; as the view site_error. */
struct report_site_error {
    const char *function, *place; /* place: "?" where it is not known */
    double actual_s, model_s, off_s;
};
enum { REPORT_SITE_ERRORS = 5 };

/* How far the best law is off in a window of the run, or in a region; as the views window_error and region_error. */
struct report_part_error {
    const char *path, *scope; /* of a region; "": a window */
    int64_t worst_rank;
    double begin_s, end_s; /* of a window */
    double actual_s, model_s, off_s, error, bias;
};
/* Least part of the time inside messages of a window or a region that is named as the worst. */
#define REPORT_ERROR_SHARE 0.02

/* The ranks with the longest time outside MPI in their rounds, where one spends enough of it there. */
struct report_overlap {
    bool matters; /* a rank spends REPORT_OVERLAP of its rounds or more outside MPI */
    double share; /* share of the time of all ranks in rounds that is outside MPI */
    const struct report_rank *ranks[REPORT_WORST];
    size_t n_ranks;
};

/* Who waited longest for whom; as the view late_partner. */
struct report_late {
    int64_t rank, partner, messages;
    const char *cause, *function, *place; /* sender or receiver; of the post that waited */
    double late_s, longest_s;
};

enum { REPORT_BLAMED = 3, REPORT_CRITICAL = 5, REPORT_SLOWER = 3, REPORT_PARTS = 16, REPORT_EFFICIENCIES = 5 };

/* Least share of the ranks' time by which transfers must be slower than predicted, to be shown. */
#define REPORT_SLOWER_SHARE 0.01

/* A rank and a call of it, with a time and its share. */
struct report_replay_place {
    int64_t rank;
    const char *function, *place; /* MPI_Send; "exchange halo.c:42" */
    double time_s, share;
};
struct report_replay_places {
    struct report_replay_place rows[REPORT_CRITICAL];
    size_t n;
    double all_s; /* of all places, the rows' among them */
};

struct report_replay_part {
    const char *name; /* computation, late_sender ... */
    double measured_s, predicted_s;
};

struct report_replay_efficiency {
    const char *name; /* parallel, load_balance ... */
    double measured, predicted;
    const char *measured_bound, *predicted_bound; /* "at most", "at least"; "": it is the value */
};

struct report_replay {
    int64_t id; /* of the last replay of a wanted machine, -1: none is stored */
    int64_t stored;
    const char *machine, *law, *collectives, *options;
    double measured_s, predicted_s, mpi_error;
    double ranks_s; /* of all ranks; measured, where that is known */
    struct report_replay_places blamed, critical;
    struct report_replay_places slower; /* transfers: measured beyond predicted; share of ranks_s */
    struct report_replay_part parts[REPORT_PARTS];
    struct report_replay_efficiency efficiencies[REPORT_EFFICIENCIES];
    size_t n_parts, n_efficiencies;
};

enum { REPORT_SITES = 8 };

/* The calls of one function at one call site on one communicator. */
struct report_site {
    const char *function;                 /* MPI_Allreduce ... */
    const char *caller, *file;            /* "" where it is not known */
    const char *communicator;             /* its name, or number; "" for MPI_COMM_WORLD, and where there is none */
    int64_t line, calls, failed, bytes;   /* line 0: not known */
    int64_t last_rank;                    /* the rank that the others waited for longest */
    double time_s, inside_s;              /* from begin to end; inside the calls */
    double wait_s, transfer_s;            /* parts of time_s: until the last rank had arrived, behind that */
    double last_s;                        /* part of wait_s that was for last_rank */
    double bytes_per_s;                   /* of a rank, in transfer_s */
    bool is_transfer, joint, nonblocking; /* moves bytes; all ranks call it together; others report its end */
};

/* The call sites that take most time, and the sums over all. Waiting is that of joint calls. */
struct report_sites {
    struct report_site rows[REPORT_SITES];
    size_t n;
    int64_t sites, calls, failed, bytes;
    double time_s, inside_s, wait_s, transfer_s;
    double transfers_s; /* part of inside_s in calls that move bytes */
};

/* The messages that one call site started, of one number of partitions. Times are means of a message. */
struct report_partitioned {
    struct report_site site; /* names the call site; its other members are not used */
    int64_t partitions, messages;
    double bytes;        /* of all messages */
    double ready_s;      /* from the first to the last partition made ready */
    double arrival_s;    /* from there until all had arrived */
    double hidden_share; /* of the bytes that had arrived before the last partition was ready */
};

/* The call sites that sent most, and the sums over all. */
struct report_partitions {
    struct report_partitioned rows[REPORT_SITES];
    size_t n;
    int64_t sites, messages;
    double bytes;
};

/* Numbers of parts of a buffer: 2, 4 and 8. */
enum { REPORT_FINE_PARTS = 3 };
extern const uint32_t report_parts[REPORT_FINE_PARTS];

enum report_fine_by { FINE_BY_P2P, FINE_BY_RMA, FINE_BY_PARTITIONED, FINE_BY_BOUND, FINE_BY_COUNT };
/* Their names: the interfaces, and "at most" for the bound that none can pass. */
extern const char *const report_fine_by_name[FINE_BY_COUNT];

/* The sends of a kind of rounds by ranks with so many threads. */
struct report_fine_kind {
    int64_t kind, threads;
    int64_t times;       /* rounds, each counted for every rank that sent in it */
    double peers, bytes; /* means: peers of a rank, bytes to each of them */
    double late_s;       /* mean time from the first thread that was done to the last */
    double whole_s;      /* sum of the times from the begin of the computation until all was sent whole */
    double limit_share;  /* share of that which no number of parts can save */
    /* Share of the time that parts would have saved, negative where they cost time; NaN: they do not divide the
     * threads, the bytes are fewer, or the table does not know the interface. */
    double saved[FINE_BY_COUNT][REPORT_FINE_PARTS];
};

enum { REPORT_FINE_KINDS = 6 };

/* The kinds whose rounds take longest, in that order. */
struct report_fine_grained {
    const char *machine; /* whose table was taken; "": none is stored in the trace */
    const char *unknown; /* why nothing is known; NULL: it is */
    struct report_fine_kind rows[REPORT_FINE_KINDS];
    size_t n, all;
    int64_t unseen, left_out; /* rounds of ranks without times of partitions, and without level or complete times */
    bool one_thread;          /* some were posted by one thread */
    bool tau_missing;         /* the table's tau stands for the cost of parts by point-to-point messages */
};

/* The messages of a kind of rounds between GPUs at a level. A rank that sends from a GPU's memory counts as a GPU. */
struct report_gpu_kind {
    int64_t kind, rounds;
    enum level level;                     /* intra_socket, inter_socket, inter_node */
    uint32_t gpus;                        /* of the node of the slowest rank that send at once */
    uint32_t ppn;                         /* processes of that node that can share their work */
    double messages;                      /* of the rank that takes longest by the MPI alone, in a round */
    double bytes;                         /* of these messages */
    double path_s[GPU_PATH_COUNT];        /* of a round, whose slowest rank counts; NaN: the table lacks rows */
    const char *reason[GPU_PATH_COUNT];   /* which; NULL where path_s is known */
    const char *function, *file, *caller; /* of the call site with most of the bytes; "" where it is not known */
    int64_t line;
};

enum { REPORT_GPU_KINDS = 6 };

/* The kinds that another path would help most, then those that take longest. */
struct report_gpu {
    const char *machine; /* whose table was taken; "": none is stored in the trace */
    const char *unknown; /* why nothing is known; NULL: it is */
    struct report_gpu_kind rows[REPORT_GPU_KINDS];
    size_t n, all;
    int64_t messages; /* between GPUs, in rounds */
    int64_t one_side; /* messages of which one side alone is on a GPU */
};

/* The members of these structs, as queries read them, and JSON and CSV show them. */
extern const struct fields report_region_fields, report_region_efficiency_fields,
    report_slow_fields; /* of a row of report_regions */
extern const struct fields report_run_fields, report_run_numbers, report_program_fields, report_level_fields,
    report_distance_fields, report_switch_fields, report_count_fields, report_off_fields, report_waited_fields,
    report_interface_fields, report_completeness_fields, report_model_fields, report_model_values, report_kind_fields,
    report_rank_model_fields, report_rank_part_fields, report_rank_visible_fields, report_rank_fields,
    report_partner_fields, report_wait_fields, report_site_error_fields, report_window_error_fields,
    report_region_error_fields, report_late_fields, report_replay_place_fields, report_replay_part_fields,
    report_replay_efficiency_fields, report_replay_fields, report_site_name_fields, report_site_fields,
    report_sites_fields, report_partitioned_fields, report_partitions_fields, report_fine_kind_fields;

/* A region of the program, over all ranks: sums of all its occurrences. */
struct report_region {
    const char *path, *way;
    int64_t ranks, occurrences;
    double time_s, own_s, mpi_s; /* from begin to end; of that outside of regions within it; of time_s inside MPI */
    double share;                /* own_s, of all ranks' time */
    double longest_s;            /* of one occurrence */
    int64_t longest_rank;
    double most_s, least_s; /* outside of MPI, on one rank */
    int64_t most_rank;
};

/* The efficiencies of a region, as the view region_efficiency. */
struct report_region_efficiency {
    const char *path, *scope; /* scope: run, inclusive, exclusive, outside */
    int64_t ranks, most_rank;
    double there_s, computed_s, longest_s, most_s; /* of all ranks; of the one there longest, that computes longest */
    double parallel, load_balance, communication, serialisation, transfer;
};

/* An occurrence that took much longer outside of MPI than the others. */
struct report_slow {
    const char *path;
    int64_t rank, number; /* 1, 2, ... on its rank, of those that have a record */
    double begin_s, time_s, own_s, median_s;
};

enum { REPORT_REGIONS = 20, REPORT_SLOW = 10, REPORT_OCCURRENCES = 500000 };
struct report_regions {
    struct report_region *rows;                    /* [n] those with most time of their own first */
    struct report_slow *slow;                      /* [n_slow] those that lost most first */
    struct report_region_efficiency *efficiencies; /* [n_efficiencies] run, regions in the order of rows, outside */
    size_t n, n_efficiencies, n_slow;
    int64_t all, all_slow; /* how many there are; all_slow -1: not looked for, there are too many occurrences */
    bool marked;           /* the program marks regions, also where none lies in the part */
    int64_t no_begin, no_end, no_number, no_room; /* borders that went wrong: table region_fault */
};

/* What is wrong with the shards of the trace. */
struct report_shards {
    const char *
        *faults; /* [n_faults] "shard t.db.shard-2-... is missing: messages to ranks 32-63, ... are not shown" */
    size_t n_faults;
    bool by_sums; /* rows of single calls and messages are not read: some are missing, or they are too many */
    int64_t
        page_rows; /* sides of messages and calls, where a page leaves out what needs all in memory; 0: it does not */
};

struct report {
    const char *path;
    sqlite3 *database;
    struct error *error; /* of report_collect */
    int result;          /* 0, or -1 once the error is set */
    struct pool pool;
    struct report_run run;
    struct crowding crowding;
    struct report_waited waited;
    struct report_interface *interfaces; /* [n_interfaces] those with most bytes first */
    size_t n_interfaces;
    double between_nodes_bytes; /* of messages, in and out */
    struct report_completeness completeness;
    struct report_shards shards;
    struct trace_part part;
    bool other_switches;             /* those of --topology, so that findings are not those that the trace keeps */
    struct whole whole;              /* where it is not, shares are of what was recorded alone */
    struct report_program *programs; /* in the order of their first ranks */
    struct report_level *levels;
    struct report_distance *distances; /* none where no switches are known */
    struct report_switch *switches;    /* those with most bytes */
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
    struct report_regions regions;
    /* Course of the run: share of the ranks' time inside MPI, by parts of equal length; NaN where no rank was. */
    double course[REPORT_COURSE];
    bool has_course; /* the run is long enough for one */
    /* Who computes so much longer than the others in these parts that they wait: rank or -1. */
    int64_t course_rank[REPORT_COURSE];
    bool course_changes; /* it is not one rank all along, nor nobody */
    struct findings findings;
    const char *no_findings;                                  /* why none were looked for; NULL: they were */
    struct report_site_error site_errors[REPORT_SITE_ERRORS]; /* the furthest off first */
    size_t n_site_errors;
    struct report_part_error *window_errors, *region_errors; /* by time; by path */
    size_t n_window_errors, n_region_errors;
    struct report_wait *waits; /* the kinds with the longest */
    struct report_late *late;
    size_t n_programs, n_levels, n_distances, n_switches, n_losses, n_untracked, n_unmatched, n_doubts, n_rejected,
        n_unnamed, n_models, n_kinds, n_ranks, n_worst, n_waits, n_late;
    int64_t messages, max_messages, bytes, rounds, all_kinds, families;
    int64_t round_messages;                          /* in all rounds, which models are judged by */
    double actual_s;                                 /* over all ranks and rounds */
    double late_senders_share, late_receivers_share; /* parts of it */
    double repeated_share;                           /* part of it that lies in kinds of three and more rounds */
    double family_share;                             /* part of it that lies in families of three and more rounds */
    double concurrent_share; /* part of it that passed while another round was under way on the same socket or NIC */
    double wait_s;           /* time after it, until the last rank of the round was done, over all ranks and rounds */
    double replicate_error, replicate_share; /* of what the best model is judged by: the whole run, or rounds */
    const char *replicate_basis;
};

/* Which predictions are wanted, NULL: all; and whether details are: without them overlap, why, and the call sites of
 * collectives, one-sided communication, files and partitioned messages stay empty, as the first screen needs none of
 * them. */
struct report_choice {
    const char *machine, *model;
    const char *topology; /* whose switches count; NULL: those of the trace */
    bool details;
    bool is_page;           /* of HTML, whose memory does not grow with the run */
    bool fine_grained;      /* what sending in parts would give, which goes through all messages */
    struct trace_part part; /* to which the trace was restricted */
    bool gpu;               /* which way the data between GPUs should take, likewise where there are any */
};

/* Collects everything; path names the trace in errors. Returns 0, or -1 with the reason; report_release in either
 * case. */
int report_collect(struct report *report, sqlite3 *database, const char *path, const struct report_choice *choice,
                   struct error *error);
void report_release(struct report *report);

/* Opens a query of the report's trace. An error stays in the report: no later query has rows, and report_collect
 * returns it. */
void report_query(struct report *report, struct cursor *rows, const char *sql);
void report_query_end(struct report *report, struct cursor *rows);
/* Reads the first row of a query, if there is one, into the members that the fields describe. */
void report_read_row(struct report *report, const char *sql, const struct fields *fields, void *row);
/* Appends all rows of a query to the array at *(T **)array, of which *n are in use. */
void report_read_rows(struct report *report, const char *sql, const struct fields *fields, void *array, size_t *n);
/* Keeps the reason why a section is empty, without the name of the trace. */
const char *report_reason(struct report *report, const struct error *reason);

/* What report_collect calls, in this order; each fills a part of the report. */
void report_collect_shards(struct report *report, bool is_page); /* first: whether all can be read */
void report_collect_run(struct report *report);                  /* the run, its traffic, how complete it is */
/* Rounds, models and ranks; with the details also the overlap, and why ranks take their time. */
void report_collect_rounds(struct report *report, const struct report_choice *choice);
void report_collect_programs(struct report *report);
void report_collect_sites(struct report *report); /* of collectives, one-sided communication, files, partitions */
/* Of a part of a run the sums are of the occurrences that have a record. */
void report_collect_regions(struct report *report, const struct report_choice *choice);
/* Nothing where no machine is stored. */
void report_collect_fine_grained(struct report *report, const struct report_choice *choice);
/* Nothing where no message is between GPUs, or no machine is stored. */
void report_collect_gpu(struct report *report, const struct report_choice *choice);
void report_collect_replay(struct report *report, const char *machine); /* NULL: the last one of any machine */
/* What ranks did with their time, and the findings. activities.unknown gives the reason where the recorded run cannot
 * be read. */
void report_collect_activity(struct report *report);

/* Returns the model that the columns machine, model, options name, from first_column on; n_models for one that is not
 * wanted. */
size_t report_find_model(const struct report *report, struct cursor *rows, int first_column);
/* Returns the law with the smallest error, else the model of rounds with that; n_models where none has one. */
size_t report_best_model(const struct report *report);
/* Returns the model of rounds with the smallest error, n_models where none has one. */
size_t report_best_of_rounds(const struct report *report);
/* Returns which of these is worst, by its error, of those that count: n where none does. */
size_t report_worst_part(const struct report_part_error *parts, size_t n);
/* Returns the rank of that number, NULL if there is none. */
struct report_rank *report_find_rank(const struct report *report, int64_t number);
/* Returns a rank's time in rounds outside MPI, in s; NaN where it is not known. */
double report_outside_s(const struct report_rank *rank);
/* Returns the fastest path of a kind; GPU_PATH_COUNT where none is known. */
enum gpu_path report_gpu_fastest(const struct report_gpu_kind *kind);

/* Loads the machine for a section that predicts by itself: the one that was asked for, else that of the best model,
 * else the first that is stored. *name is "" where there is none, and *unknown why the section has nothing where the
 * table is damaged, which costs that section alone; both live as long as the report. Returns whether it is there; then
 * machine_release is due. */
bool report_load_machine(struct report *report, const struct report_choice *choice, const char **name,
                         const char **unknown, struct machine *machine);

#endif
