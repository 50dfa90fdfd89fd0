/* What the calibration programs share: rank 0 leads, the other ranks sleep until it asks them to exchange messages.
 *
 * A benchmark lists items (who exchanges with whom, how many bytes) and how two ranks exchange. Rank 0 goes through the
 * items in random order (fixed seed), again and again until the time is over. For each it sends a command to the ranks
 * of that item only, the start on the common clock in it; every one of them waits for that moment, exchanges, and
 * returns its time; rank 0 writes a line of CSV on standard output with the time of the slowest. All others sleep
 * between looks at their mailbox: ranks may be more than cores. Lines on standard error that begin with
 * `mpistair-note:` tell `mpistair calibrate` what it needs to know besides (note_KIND below).
 */
#ifndef MPISTAIR_CALIBRATE_MEASURE_H
#define MPISTAIR_CALIBRATE_MEASURE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"
#include "pattern.h"

#define MEASURE_CSV_HEADER "benchmark,level,bytes,n,seconds,launch,ranks,repeats"
#define MEASURE_NOTE       "mpistair-note: "

struct pair {
    int first;
    int second;
};

/* One point of a benchmark: pairs that exchange messages of one size at the same time. */
struct item {
    enum machine_level level;
    uint64_t n; /* processes that share the bandwidth */
    uint64_t bytes;
    int repeats;
    bool both_ways; /* else only pair.first sends; of no meaning to the ping-pong */
    size_t n_pairs;
    const struct pair *pairs; /* [n_pairs], borrowed */
    const char *ranks;        /* for the CSV, borrowed */
};

/* What a rank is told to do. */
struct task {
    double start_s; /* on rank 0's clock */
    uint64_t bytes;
    int repeats;
    int partner;   /* -1: end of the benchmark */
    bool is_first; /* of its pair */
    bool both_ways;
};

struct measure {
    MPI_Comm comm; /* for the messages that are measured */
    int rank;
    int size;
    struct placement placement;
    double seconds; /* limit */
    uint64_t seed;
    unsigned launch;
    size_t buffer_bytes;

    /* private */
    MPI_Comm control;
    int *host;
    double offset_s;
    double lead_s;
    char *send_buffer;
    char *recv_buffer;
    size_t cursor;
    size_t late;
};

struct benchmark_program {
    const char *name;    /* as in the CSV */
    const char *summary; /* for --help */
    /* On rank 0: the items; the benchmark owns them until the program ends. 0, or -1 without memory. */
    int (*list)(const struct measure *measure, struct item **items, size_t *n_items);
    /* On a rank of the item: does the task and returns the seconds of one message. */
    double (*exchange)(struct measure *measure, const struct task *task);
};

/* The main function of a benchmark program: MPI_Init to MPI_Finalize; returns the exit code. */
int measure_main(int argc, char **argv, const struct benchmark_program *program);

/* Reserves repeats places of that size in the long buffers, other ones than the last time as far as the buffers reach,
 * so that a message is not in the cache from the one before. Place i is at *place + i * the returned stride. */
size_t measure_places(struct measure *measure, uint64_t bytes, int repeats, size_t *place);

#endif
