/* Declares what the calibration programs share: rank 0 leads, the other ranks sleep until it asks them to exchange
 * messages.
 *
 * A benchmark says how two ranks exchange. Most list items (who exchanges with whom, how many bytes), which schedule.c
 * measures in random order until they are known well enough. Others lead themselves, one series of samples after the
 * other. For a series rank 0 sends a command to the ranks of that item only, with the start on the common clock in it.
 * Every one of them waits for that moment, exchanges, and returns its time; rank 0 writes a line of CSV on standard
 * output with the time of the slowest. All others sleep between looks at their mailbox: ranks may be more than cores.
 * Lines on standard error that begin with `mpistair-note:` tell `mpistair calibrate` what it needs to know besides. */
#ifndef MPISTAIR_CALIBRATE_MEASURE_H
#define MPISTAIR_CALIBRATE_MEASURE_H

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/measure/levels.h"
#include "calibrate/measure/shared_clock.h"
#include "calibrate/samples/notes.h"
#include "calibrate/samples/probing.h"
#include "calibrate/samples/resume.h"

/* The columns:
 *
 *   variant  what the benchmark distinguishes
 *   n        processes that share a bandwidth, or as the benchmark says
 *   count    messages of a process in one repetition
 *   domain   what an on-socket pair shares, `l3`, `numa` or `package`, else empty
 *   waited   share of the processor time that the ranks of the series wanted and others had, empty where they were more
 *            than processors
 *   at_s     since the program began
 */
#define MEASURE_CSV_HEADER "benchmark,variant,level,bytes,n,count,seconds,launch,ranks,domain,repeats,waited,at_s"

/* One point of a benchmark: pairs that exchange messages of one size at the same time. */
struct item {
    enum level level;
    int mode;                 /* the benchmark's own; handed to exchange */
    const char *variant;      /* for the CSV, borrowed; "" where there is one only */
    uint64_t n;               /* for the CSV: processes that share the bandwidth */
    uint64_t bytes;           /* size of a message */
    int count;                /* messages of a process in one repetition */
    int repeats;              /* repeats of a sample, at most; the schedule takes as many as make a sample of 1 ms */
    int batch;                /* repetitions that belong together, as posted at once; 0: one */
    struct pair pair;         /* who exchanges, a rank with itself once; not used where there are pairs */
    const struct pair *pairs; /* [n_pairs], borrowed; NULL: pair alone */
    size_t n_pairs;
    const char *ranks;  /* for the CSV, borrowed; NULL: those of the first pair, "0-4" or "0" */
    const char *domain; /* for the CSV, borrowed; NULL: none */
    int part;           /* which part of a benchmark that is made of others; set by the schedule */
    double weight;      /* its time against that of other items, 1 on average; set by the schedule */
};

/* The items of a benchmark; begins zeroed. */
struct item_list {
    struct item *items; /* [n] for free() */
    size_t n;
};

/* Append an item: one, or one for each size from least to most, each step times the one before. variant "", n and
 * count 1 need not be set. */
void item_add(struct item_list *list, struct item item);
void item_add_sizes(struct item_list *list, struct item item, uint64_t least, uint64_t most, uint64_t step);

/* What a rank has to do. */
struct task {
    double start_s; /* on rank 0's clock, of the first sample */
    double gap_s;   /* time from start to start of the samples; 0: one directly after the other */
    uint64_t bytes;
    int part;
    int mode;
    int count;
    int repeats;
    int batch; /* <= repeats */
    int samples;
    int partner;   /* -1: end of the benchmark */
    bool is_first; /* this rank is the first of its pair */
};

struct measure {
    MPI_Comm comm; /* carries the messages that are measured */
    int rank;
    int size;
    struct placement placement;
    double seconds; /* limit */
    uint64_t seed;
    unsigned launch;
    size_t buffer_bytes;
    bool cached;      /* every message at the same place */
    double begin_s;   /* begin of the benchmark, on the own clock; resumed: the time that was spent before lies behind
                       * it */
    double gap_s;     /* time from start to start of the samples of a series, for the next ones */
    double longest_s; /* longest of the samples of the last series, from start to end of exchange() */
    double shortest_s;
    size_t late;       /* samples that were dropped because a rank could not start in time */
    bool drop_shared;  /* drop samples in which ranks shared a processor (processor.h), for the next series */
    size_t shared;     /* samples that were dropped for that */
    double waited;     /* share of the processor time that the ranks of the last series wanted and others had; NaN: they
                       * were more than processors, and wait for each other by nature */
    const char *paths; /* ways of a GPU's data to measure, as --path gave them, borrowed; NULL: all */
    const char *link;  /* pairs of nodes that share a link, as --link gave them, borrowed; NULL: not given */
    const struct benchmark_program *program;

    /* The rest is private. */
    MPI_Comm control;
    int *host;
    uint64_t machine;  /* processor.h */
    cpu_set_t cpus;    /* processors on which this rank may run */
    int n_processors;  /* how many of these */
    int shared_on_end; /* samples */
    double offset_s;
    double lead_s;
    double expected_s; /* time from the start of a sample to its end, for the next series */
    /* Count since the last probe (machine_probe.c): series, and what their ranks wanted of processors and lost. */
    size_t n_series;
    double wanted_s;
    double lost_s;
    double stolen_s; /* time stolen from the processors of the ranks of the last probe, since boot, added up */
    double all_s;
    char *send_buffer;
    char *recv_buffer;
    size_t cursor;
    const char *resume_path;
    struct resume resume;
};

/* Limits the samples of one series; MEASURE_PROBE is the part of an item that probes the machine (machine_probe.c),
 * in any program. */
enum { MEASURE_SAMPLES_MAX = 16, MEASURE_PROBE = -1 };

/* Time between polls of ranks without a task, at its multiples on rank 0's clock, s. */
#define MEASURE_IDLE_S 5e-3

struct benchmark_part;

struct benchmark_program {
    const char *name;    /* as in the CSV */
    const char *summary; /* for --help */
    /* Runs all of it instead of the functions below; argv[0] is the name. Returns the exit code. */
    int (*run)(int argc, char **argv);
    /* Lists benchmarks that list items and are measured together, in one random order, instead of the functions below.
     */
    const struct benchmark_part *parts; /* [n_parts] */
    int n_parts;
    bool is_threaded; /* asks for MPI_THREAD_MULTIPLE; what it got MPI_Query_thread() says */
    /* Called on every rank, once the places are known; may be NULL. Returns 0, or an exit code, the same on all of
     * them, if this job or these options are not for this benchmark. Only the rank with speak set says why. */
    int (*prepare)(struct measure *measure, bool speak);
    /* Appends the items on rank 0; what they borrow lives as long as the program. */
    void (*list)(const struct measure *measure, struct item_list *list);
    /* Measures on rank 0, instead of list, by measure_samples() and writes by measure_write(). */
    void (*lead)(struct measure *measure);
    /* Does the task once on a rank of the item and returns the seconds of one repetition; 0 where only the partner's
     * time counts. */
    double (*exchange)(struct measure *measure, const struct task *task);
    /* Called on every rank at the end, if prepare returned 0; may be NULL. */
    void (*release)(struct measure *measure);
};

struct benchmark_part {
    const struct benchmark_program *program;
    double weight; /* share of the time, against those of the other parts that have items */
    /* Samples without which an item is of no use; they come ahead of all others. */
    size_t first_samples;
};

extern const struct benchmark_program self_program, finegrain_program;

/* Initializes MPI with that level of threads (MPI_THREAD_SINGLE ...) and returns what it provides. From here on exit()
 * ends all ranks, as where memory runs out. With MPI_THREAD_MULTIPLE the process keeps the memory that it frees, as one
 * that has run for a while does. */
int mpi_job_init(int *argc, char ***argv, int threads);

/* Notes on rank 0, for mpistair calibrate, how many ranks the job has and which MPI it is. */
void mpi_job_note(int size);

/* Prints `mpistair: rank N: ...` and ends all ranks. */
void abort_all(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Runs a benchmark from MPI_Init to MPI_Finalize; returns the exit code. */
int measure_main(int argc, char **argv, const struct benchmark_program *program);

/* Returns the benchmark to which an item or a task belongs. */
static inline const struct benchmark_program *benchmark_of(const struct measure *measure, int part)
{
    if (part == MEASURE_PROBE)
        return &self_program;
    return measure->program->n_parts > 0 ? measure->program->parts[part].program : measure->program;
}

/* Takes on rank 0 a series of n_samples <= MEASURE_SAMPLES_MAX samples, measure->gap_s apart. seconds[n_samples] are
 * those of the slowest rank. They are -1 for a sample that is lost: a rank got it too late to start with the others, it
 * had to wait for the end of the one before, or ranks shared a processor. */
void measure_samples(struct measure *measure, const struct item *item, int repeats, int n_samples, double *seconds);

/* Takes one sample of one repetition; returns its seconds, or -1. */
double measure_once(struct measure *measure, const struct item *item);

/* Does on other ranks what rank 0 commands, until it calls measure_end(). */
void measure_follow(struct measure *measure);
void measure_end(struct measure *measure);

/* Writes a row of the CSV, on rank 0. */
void measure_write(const struct measure *measure, const struct item *item, int repeats, double seconds);

/* Finds on rank 0 the seconds of the samples of that item that --resume found, the first max of them in seconds[],
 * which may be NULL where max is 0. Returns how many there are. Their time is spent already: see begin_s. */
size_t measure_resumed(const struct measure *measure, const struct item *item, double *seconds, size_t max);

/* Waits until both ranks of the pair are here, so that they begin together. */
void measure_meet(const struct measure *measure, const struct task *task);

/* Reserves n places of that size in the long buffers, other ones than the last time, wrapping at their end, so that a
 * message is not in the cache from the one before; the first ones always where --cached was asked for. Place i is at
 * *place + i * the returned stride. Where n of them do not fit at all, places overlap: take fewer at a time where
 * several are in use at once. bytes <= buffer_bytes. */
size_t measure_places(struct measure *measure, uint64_t bytes, int n, size_t *place);
/* Reserves one place. */
size_t measure_place(struct measure *measure, uint64_t bytes);
/* Returns a place of that size in the buffer from which the first rank of a pair sends, or in that into which the
 * second receives. */
char *measure_data(struct measure *measure, const struct task *task, uint64_t bytes);

/* Waits for requests without keeping a processor from others. */
void wait_yielding(int n, MPI_Request *requests);

/* Decides which item of a benchmark is measured when.
 *
 * A sample is a warm loop of about 1 ms (plan.h). A series takes a few samples of an item, and series come in random
 * order, so that a disturbance does not fall on neighbouring sizes. Each item is first measured once without being
 * written: that opens connections and shows how long a repetition takes; if a fifth of the time suffices, all are
 * measured so before anything is written. Then items that say nothing below some samples get these; then every item
 * gets its minimum of samples, in equal shares where time is short; then those whose median is not yet known within 2
 * % share the rest of the time.
 *
 * Lists on rank 0 the items of the benchmark and measures them until each is known or measure->seconds are over,
 * counted from measure->begin_s. */
void schedule_lead(struct measure *measure);

/* Probes the machine (probing.h) by messages of ranks to themselves, on ranks that have a processor each.
 *
 * Chooses which ranks are probed. Collective. They are at most PROBE_RANKS_MAX of the job, spread over it, and on a
 * machine not more than it has processors. */
enum { PROBE_RANKS_MAX = 64 };
void probe_prepare(struct measure *measure);

/* For rank 0, as the next function. Probes, judges the time since the last probe and writes its line, except for the
 * first one, which begins the first epoch. Returns what that time was like. */
enum probing_verdict probe_take(struct measure *measure);
/* Returns whether the last probe is more than a second old. */
bool probe_is_due(const struct measure *measure);

#endif
