/* Adds up the time that a run spends inside messages, measured and by a law: what T eq. 11 is about. Papers are named
 * as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_RUN_MESSAGES_H
#define MPISTAIR_PREDICTOR_RUN_MESSAGES_H

#include "predictor/run/engine/simulate.h"
#include "predictor/run_read/run_read.h"
#include "share/base/map.h"

/* The parts of the time inside messages; the other parts of enum run_part are computation, collectives. */
enum { RUN_MESSAGE_FIRST = RUN_LATE_SENDER, RUN_MESSAGE_LAST = RUN_PROGRESS };

/* Says which places of a program are calls for messages, and what of their time is copied from the recording. */
struct run_messages {
    size_t n_places, n_steps; /* for which they are known */
    size_t room[3];           /* of the arrays */
    bool *is_message;         /* [n_places] a call there posts messages, waits or probes for them */
    bool *is_mixed;   /* [n_places] a call there waits for a collective as well: which of both it waited for, nobody
                       * knows, so that all of it counts */
    double *copied_s; /* [n_places] time of calls there that is as recorded: failed tests, files */
};
/* Takes the steps that were added to the program since the last time. All 0 before the first one. */
void run_messages_add(struct run_messages *messages, const struct run_program *program);
void run_messages_release(struct run_messages *messages);

/* Finds what of the time of a call, or of a place, counts where it is inside messages: without collectives, with. */
void run_messages_inside(const struct run_parts *parts, double inside_s[2]);
/* Returns the time inside messages of a place, s; 0 where it is no call for messages. parts: program->measured, or what
 * a replay predicted. */
double run_messages_s(const struct run_messages *messages, const struct run_parts *parts, size_t place);

/* Holds T eq. 11 over the run: sum over ranks |measured - modelled| / sum measured. NaN where nothing was measured. */
struct run_error {
    double error, mape, bias; /* mape: mean of the ranks' own errors */
    double measured_s;        /* of all ranks, inside messages */
    uint32_t worst_rank;      /* with the largest |measured - modelled| */
    double worst_measured_s, worst_modelled_s;
};
struct run_error run_error_of(const struct run_program *program, const struct run_messages *messages,
                              const struct run_parts *predicted);

/* Adds up every second call of a place while a run is read: its watch. */
struct run_half {
    uint32_t rank, site;
    double odd_s[2], even_s[2]; /* of whole pairs of calls; at 1 with collectives, until run_halves_keep */
    double last_s[2];           /* of an odd call whose even one has not come yet */
    bool has_last;
};
struct run_halves {
    struct map of; /* (rank, site) to its number in rows */
    struct run_half *rows;
    size_t n;
};
/* Is told every call, and what of it is inside messages, without and with collectives. */
void run_halves_add(struct run_halves *halves, const struct run_call *call, const double inside_s[2]);
/* Leaves out the places that are no calls for messages, or whose time is in part copied. odd_s[0] and even_s[0] are
 * what counts. */
void run_halves_keep(struct run_halves *halves, const struct run_program *program, const struct run_messages *messages);
/* Returns the sum over ranks |odd - even| / half of all, NaN without any. */
double run_halves_error(const struct run_halves *halves, size_t n_ranks);
void run_halves_release(struct run_halves *halves);

#endif
