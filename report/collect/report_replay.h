/* Holds what a report says of a stored replay of the whole run. Times are seconds; NaN: not known. */
#ifndef MPISTAIR_REPORT_REPLAY_H
#define MPISTAIR_REPORT_REPLAY_H

#include <stddef.h>
#include <stdint.h>

enum { REPORT_BLAMED = 3, REPORT_CRITICAL = 5, REPORT_SLOWER = 3, REPORT_PARTS = 16, REPORT_EFFICIENCIES = 5 };

/* Transfers that take this share of the ranks' time longer than predicted are told of. */
#define REPORT_SLOWER_SHARE 0.01

/* Names a rank and a call of it, with a time and its share. */
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
    const char *name;
    double measured, predicted;
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

#endif
