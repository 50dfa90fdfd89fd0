/* Computes the efficiencies of the POP method (M. Wagner, S. Mohr, J. Gimenez and J. Labarta, A structured approach
 * to performance analysis, Tools for High Performance Computing 2017, doi:10.1007/978-3-030-11987-4_1). */
#include <math.h>

#include "predictor/run_study/run_study.h"

struct run_efficiencies run_efficiencies_of(const struct run_program *program, const struct run_parts *by_rank,
                                            double run_s, double ideal_s)
{
    double sum_s = 0, most_s = 0;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        sum_s += by_rank[rank].part_s[RUN_COMPUTATION];
        most_s = fmax(most_s, by_rank[rank].part_s[RUN_COMPUTATION]);
    }
    double mean_s = program->n_ranks > 0 ? sum_s / (double)program->n_ranks : 0;
    struct run_efficiencies none = {NAN, NAN, NAN, NAN, NAN};
    if (!(most_s > 0) || !(run_s > 0) || !(ideal_s > 0))
        return none;
    return (struct run_efficiencies){.load_balance = mean_s / most_s,
                                     .serialisation = most_s / ideal_s,
                                     .transfer = ideal_s / run_s,
                                     .communication = most_s / run_s,
                                     .parallel = mean_s / run_s};
}
