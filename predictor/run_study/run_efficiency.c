/* Computes the efficiencies of the POP method (M. Wagner, S. Mohr, J. Gimenez and J. Labarta, A structured approach
 * to performance analysis, Tools for High Performance Computing 2017, doi:10.1007/978-3-030-11987-4_1). */
#include <math.h>
#include <stdlib.h>

#include "predictor/run/run_presence.h"
#include "predictor/run_study/run_study.h"

struct run_efficiencies run_efficiencies_of(const struct run_program *program, const struct run_parts *by_rank,
                                            double run_s, double ideal_s)
{
    struct run_efficiencies none = {NAN, NAN, NAN, NAN, NAN};
    double *computed_s = malloc((program->n_ranks + 1) * sizeof *computed_s);
    if (computed_s == NULL)
        return none;
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        computed_s[rank] = by_rank[rank].part_s[RUN_COMPUTATION];
    const struct run_presence presence = run_presence_of(program, computed_s);
    double mean_s = presence.mean_s, most_s = presence.most_s;
    free(computed_s);
    if (!(most_s > 0) || !(run_s > 0) || !(ideal_s > 0))
        return none;
    return (struct run_efficiencies){.load_balance = mean_s / most_s,
                                     .serialisation = most_s / ideal_s,
                                     .transfer = ideal_s / run_s,
                                     .communication = most_s / run_s,
                                     .parallel = mean_s / run_s};
}
