/* A rank follows one of a lower number, so one pass adds up all of a place. See run_presence.h. */
#include "predictor/run/run_presence.h"

#include <math.h>

struct run_presence run_presence_of(const struct run_program *program, double *seconds)
{
    double ranks = 0, sum_s = 0, most_s = 0;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        uint32_t follows = program->ranks[rank].follows;
        ranks += 1 - program->ranks[rank].absent_share;
        sum_s += seconds[rank];
        if (follows > 0 && follows <= rank)
            seconds[rank] += seconds[follows - 1];
        most_s = fmax(most_s, seconds[rank]);
    }
    double mean_s = ranks > 0 ? sum_s / ranks : 0;
    return (struct run_presence){mean_s, fmax(most_s, mean_s)};
}
