/* Every quotient is of times that are ordered, mean <= longest computation <= ideal run <= run, so that none is above
 * 1. See run_efficiency.h. */
#include "predictor/run/run_efficiency.h"

#include <math.h>

/* The part of itself by which the ideal run may be too long or too short by rounding alone. */
static const double EFFICIENCY_ROUNDING = 1e-9;

const char *const run_efficiency_name[EFFICIENCY_COUNT] = {
    [EFFICIENCY_PARALLEL] = "parallel",           [EFFICIENCY_LOAD_BALANCE] = "load_balance",
    [EFFICIENCY_COMMUNICATION] = "communication", [EFFICIENCY_SERIALISATION] = "serialisation",
    [EFFICIENCY_TRANSFER] = "transfer",
};

/* Computation of ranks of which some were not there all the time. */
struct presence {
    double mean_s; /* of those that there were at a time */
    double most_s; /* of one, or of ranks that followed each other in one place */
};

/* A rank follows one of a lower number, so one pass adds up all of a place. */
static struct presence presence_of(const struct run_program *program, double *computed_s, double run_s)
{
    double ranks = 0, sum_s = 0, most_s = 0;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        uint32_t follows = program->ranks[rank].follows;
        computed_s[rank] = fmin(computed_s[rank], run_s); /* several threads may compute at once */
        ranks += 1 - program->ranks[rank].absent_share;
        sum_s += computed_s[rank];
        if (follows > 0 && follows <= rank)
            computed_s[rank] += computed_s[follows - 1];
        most_s = fmax(most_s, computed_s[rank]);
    }
    most_s = fmin(most_s, run_s); /* one may begin before the one whose place it takes has ended, as predicted */
    double mean_s = ranks > 0 ? fmin(sum_s / ranks, run_s) : 0;
    return (struct presence){mean_s, fmax(most_s, mean_s)};
}

struct run_efficiencies run_efficiencies_of(const struct run_program *program, double *computed_s, double run_s,
                                            double ideal_s)
{
    const struct presence computed = presence_of(program, computed_s, run_s);
    if (!(computed.most_s > 0) || !(run_s > 0))
        return RUN_EFFICIENCIES_UNKNOWN;
    double bounded_s = isnan(ideal_s) ? (double)NAN : fmin(fmax(ideal_s, computed.most_s), run_s);
    return (struct run_efficiencies){.share = {[EFFICIENCY_PARALLEL] = computed.mean_s / run_s,
                                               [EFFICIENCY_LOAD_BALANCE] = computed.mean_s / computed.most_s,
                                               [EFFICIENCY_COMMUNICATION] = computed.most_s / run_s,
                                               [EFFICIENCY_SERIALISATION] = computed.most_s / bounded_s,
                                               [EFFICIENCY_TRANSFER] = bounded_s / run_s},
                                     .ideal = ideal_s / run_s};
}

int run_efficiency_bound(enum run_efficiency efficiency, double communication, double ideal)
{
    int of_transfer = ideal > 1 + EFFICIENCY_ROUNDING ? -1 : ideal < communication * (1 - EFFICIENCY_ROUNDING) ? 1 : 0;
    return efficiency == EFFICIENCY_TRANSFER ? of_transfer : efficiency == EFFICIENCY_SERIALISATION ? -of_transfer : 0;
}
