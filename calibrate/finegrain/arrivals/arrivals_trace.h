/* Reads from a trace when the threads of a rank were done with their computation before each of its rounds: where the
 * recorder saw the partitions of a message get ready, or else where it saw the sends posted. For the commands: the
 * programs that measure get a file of it, which `fixed:FILE` names.
 *
 * The computation begins where the rank's last call before it returned: for partitions the last one before the first of
 * them was ready, for sends the last one before the rank's first post of the round. */
#ifndef MPISTAIR_CALIBRATE_ARRIVALS_TRACE_H
#define MPISTAIR_CALIBRATE_ARRIVALS_TRACE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "share/base/error.h"
#include "share/base/level.h"

/* What one rank did in one round. */
struct round_arrivals {
    int64_t round, kind;
    uint32_t rank;
    /* Partitions stand for threads: thread t made partition t ready. Else the trace does not say who posted, and each
     * processor from which sends were posted counts as a thread, in the order of their numbers; one, where the MPI was
     * told that one thread calls it. */
    bool partitioned;
    size_t n_threads;      /* at least 1 */
    const double *seconds; /* [n_threads] since the computation began; good during the call of take */
    uint32_t peers;        /* that the rank sent to */
    uint64_t bytes;        /* to all of them */
    enum level level;      /* that most of the bytes take, of equal ones the farther; LEVEL_COUNT: not known */
};

/* Counts what gave no times, by rank and round. */
struct arrivals_left_out {
    size_t unseen;     /* partitioned sends of which no partition was recorded: MPISTAIR_PARTITIONS=1 was not set */
    size_t incomplete; /* partitions that were never ready, or records of them that are missing */
    size_t too_long;   /* computations longer than ARRIVALS_MOST_S */
};

/* Calls take for each rank and round of the trace with sends to other ranks, rank by rank, in the order of rounds. A
 * take that returns non-zero ends the reading and sets error itself. path names the trace in messages. Returns 0 and
 * sets *left_out, or -1 with the reason. */
int arrivals_trace_each(sqlite3 *database, const char *path,
                        int (*take)(void *context, const struct round_arrivals *round, struct error *error),
                        void *context, struct arrivals_left_out *left_out, struct error *error);

/* What arrivals_trace_write found. */
struct arrivals_found {
    uint32_t n_ranks; /* with times */
    size_t n_threads; /* of the first of them */
    size_t n_rounds;  /* written, of all ranks */
    size_t n_others;  /* left out since their rank mostly had another number of threads */
    bool partitioned; /* some of them */
    struct arrivals_left_out left_out;
};

/* Writes the times of the trace.db at trace_path into the file at csv_path, rows that `fixed:` reads: of each rank the
 * rounds with the number of threads that most of its rounds have. Returns 0, or -1 with the reason: no times at all
 * among these. */
int arrivals_trace_write(const char *trace_path, const char *csv_path, struct arrivals_found *found,
                         struct error *error);

/* Does the same with a new file in a folder. Returns its path, which the caller removes and frees, or NULL with the
 * reason. */
char *arrivals_trace_keep(const char *trace_path, const char *folder, struct error *error);

/* Does what arrivals_open does, and takes traces as well: their times go through a file in TMPDIR (/tmp), which is
 * gone when this returns. */
int arrivals_trace_open(const struct arrivals_request *request, double compute_s, struct arrivals **arrivals,
                        struct error *error);

#endif
