/* Divides the time inside messages by windows of the run, measured and by a law: where on the time line a law is off.
 * A call counts in the window in which it began as recorded, with both its times, however much earlier or later it
 * comes in a replay; so the windows add up to the run. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_RUN_WINDOWS_H
#define MPISTAIR_PREDICTOR_RUN_WINDOWS_H

#include "predictor/run_study/run_messages.h"

/* Number of windows, equal parts of the run; as many as the first screen of the report has for its course. */
enum { RUN_WINDOWS = 60 };

struct run_windows {
    struct simulation_windows simulated; /* what replays need of them */
    struct simulation_mark *marks;       /* of it */
    double *measured_s;                  /* [n_ranks * RUN_WINDOWS] inside messages */
    size_t rank_room;
    /* The rest is of the rank that is read. */
    uint32_t rank;
    size_t first_place, end_place; /* places that it has so far */
    double *place_s;               /* [n_places * RUN_WINDOWS * 2] at 1 with collectives */
    size_t place_room;
    size_t n_strands, n_steps; /* until the end of the last call */
};

/* Is told every call, in the order of a run_watch, and what of it is inside messages, without and with collectives;
 * messages knows its steps by then. */
void run_windows_add(struct run_windows *windows, const struct run_program *program, const struct run_call *call,
                     const double inside_s[2], const struct run_messages *messages);
/* Ends the last rank. What replays need is complete then; it borrows from messages. */
void run_windows_end(struct run_windows *windows, const struct run_program *program,
                     const struct run_messages *messages);
void run_windows_release(struct run_windows *windows);

/* What a law says of a window: T eq. 11 is off_s / measured_s. */
struct run_window_error {
    double measured_s, modelled_s, off_s; /* of all ranks; off_s: sum of |measured - modelled| */
    uint32_t worst_rank;                  /* furthest off */
};
/* Fills errors[RUN_WINDOWS] by what a replay gave for the windows. */
void run_window_errors(const struct run_program *program, const struct run_windows *windows, const double *modelled_s,
                       struct run_window_error *errors);

/* Returns when a window begins, as a time of the program, s; of RUN_WINDOWS: when the last one ends. */
double run_window_begin_s(const struct run_program *program, size_t window);

#endif
