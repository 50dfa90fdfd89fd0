/* Writes the program of a run for other simulators: as GOAL text for LogGOPSim, as a time-independent trace for SMPI
 * of SimGrid (man 5 mpistair, GOAL and TIME-INDEPENDENT TRACE). */
#ifndef MPISTAIR_PREDICTOR_RUN_EXPORT_H
#define MPISTAIR_PREDICTOR_RUN_EXPORT_H

#include <stdio.h>

#include "predictor/run/run_program.h"
#include "share/base/error.h"

/* Writes a checked program to the files named, of which either may be NULL. What a format cannot say is approximated,
 * counted, and noted on stderr. A file is complete or untouched. Returns 0, or -1 with the reason. */
int run_export(const struct run_program *program, const char *goal, const char *tit, struct error *error);

/* The rest is what both formats share while they are written. */

#define EXPORT_NOBODY UINT32_MAX

/* What a format cannot express. */
enum export_limit {
    LIMIT_COLLECTIVES, /* as messages */
    LIMIT_RECORDED,    /* collectives whose bytes nothing tells: messages without bytes, and the recorded rest */
    LIMIT_NONBLOCKING, /* collectives whose rounds do not wait for each other */
    LIMIT_ONE_SIDED,
    LIMIT_SYNCHRONOUS,
    LIMIT_PROBES,
    LIMIT_SPENDING, /* calls */
    LIMIT_THREADS,  /* threads beyond the first one of a rank */
    LIMIT_FOREIGN,  /* waits for what another thread posted */
    LIMIT_COUNT
};

enum export_collective_flag {
    COLLECTIVE_BEGUN = 1U << 0,  /* a member takes part by STEP_BEGIN */
    COLLECTIVE_NATIVE = 1U << 1, /* the format has it */
    COLLECTIVE_MESSAGES = 1U << 2,
};

struct export_context {
    const struct run_program *program;
    FILE *stream;
    double begin_s;           /* of the run: the first strand's */
    uint32_t *first_strand;   /* [n_ranks + 1] */
    uint32_t *send_strand;    /* [n_messages] who posts the send */
    uint32_t *receive_strand; /* [n_messages] who posts the receive; of one-sided ones the target's first strand */
    uint32_t *member_strand;  /* [n_members] */
    uint8_t *collectives;     /* [n_collectives] enum export_collective_flag */
    uint32_t *one_sided;      /* [n_ranks] first one-sided message to the rank, or EXPORT_NOBODY */
    uint32_t *next_one_sided; /* [n_messages] the next one to the same rank */
    uint64_t limits[LIMIT_COUNT];
    double spent_s;
};

/* Divides time into whole ns such that their sum is exact to one. */
struct export_clock {
    double exact_s;
    uint64_t told_ns;
};
static inline uint64_t export_ns(struct export_clock *clock, double seconds)
{
    clock->exact_s += seconds;
    uint64_t now_ns = (uint64_t)(clock->exact_s * 1e9 + 0.5);
    uint64_t ns = now_ns > clock->told_ns ? now_ns - clock->told_ns : 0;
    clock->told_ns += ns;
    return ns;
}

static inline uint32_t export_collective_tag(const struct export_context *context, uint32_t member)
{
    return (uint32_t)context->program->n_messages + context->program->members[member].collective;
}
static inline const struct run_collective *export_collective(const struct export_context *context, uint32_t member)
{
    return &context->program->collectives[context->program->members[member].collective];
}

/* Counts a step that posts nothing and waits for nothing; returns the seconds that it spends in MPI. */
double export_idle_step(struct export_context *context, const struct run_step *step);

/* goal.c, tit.c: write the context's program to its stream. */
void goal_write(struct export_context *context);
void tit_write(struct export_context *context);

/* The messages that stand for a collective where a format has none, or not this one. Members are known by their number
 * in it. In a round a member sends at most one message and receives at most one, then goes on to
 * the next round once both are complete:
 *
 *   DEPENDS_ON_ALL    dissemination: in round k from i to i + 2^k (modulo n)
 *   DEPENDS_ON_ROOT   binomial tree from the root
 *   DEPENDS_OF_ROOT   the same tree, backwards
 *   DEPENDS_ON_LOWER  in round k from i to i + 2^k, if there is one
 *   DEPENDS_ON_NOBODY none
 *
 * Two members exchange at most one message in each direction. */
struct exchange_round {
    uint32_t to, from; /* members (in program->members), or EXPORT_NOBODY */
    uint64_t sent_bytes, received_bytes;
};
unsigned exchange_rounds(const struct run_collective *collective);
struct exchange_round exchange_round(const struct run_program *program, uint32_t member, unsigned round);
/* Returns whether nobody knows the collective's bytes, so that its recorded time (after_s) follows its messages. */
bool exchange_as_recorded(const struct run_collective *collective);

#endif
