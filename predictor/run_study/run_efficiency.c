/* Computes the efficiencies of the POP method (M. Wagner, S. Mohr, J. Gimenez and J. Labarta, A structured approach
 * to performance analysis, Tools for High Performance Computing 2017, doi:10.1007/978-3-030-11987-4_1). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "predictor/run/run_presence.h"
#include "predictor/run_study/run_study.h"

/* The ideal run may differ by so much from what it is held against by rounding alone. */
static const double ROUNDING = 1e-6;

struct run_efficiencies run_efficiencies_of(const struct run_program *program, const struct run_parts *by_rank,
                                            double run_s, double ideal_s)
{
    struct run_efficiencies none = {NAN, NAN, NAN, NAN, NAN};
    double *computed_s = malloc((program->n_ranks + 1) * sizeof *computed_s);
    if (computed_s == NULL)
        return none;
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        computed_s[rank] = fmin(by_rank[rank].part_s[RUN_COMPUTATION], run_s); /* several threads may compute at once */
    const struct run_presence presence = run_presence_of(program, computed_s);
    double mean_s = presence.mean_s, most_s = presence.most_s;
    free(computed_s);
    if (!(most_s > 0) || !(run_s > 0) || !(ideal_s > 0))
        return none;
    bool divides = ideal_s >= most_s * (1 - ROUNDING) && ideal_s <= run_s * (1 + ROUNDING);
    ideal_s = fmin(fmax(ideal_s, most_s), run_s);
    return (struct run_efficiencies){.load_balance = fmin(mean_s / most_s, 1),
                                     .serialisation = divides ? most_s / ideal_s : (double)NAN,
                                     .transfer = divides ? ideal_s / run_s : (double)NAN,
                                     .communication = most_s / run_s,
                                     .parallel = fmin(mean_s / run_s, 1)};
}

void run_efficiencies_unknown(struct run_study *study)
{
    const struct run_efficiencies none = {NAN, NAN, NAN, NAN, NAN};
    study->no_efficiencies[0] = '\0';
    if (!study->whole.times_known) {
        study->measured = study->predicted = study->otherwise = none;
        snprintf(study->no_efficiencies, sizeof study->no_efficiencies,
                 "not given, as what ranks computed is not known: %s", study->whole.reason);
    } else if (isnan(study->measured.transfer) && !isnan(study->measured.communication)) {
        snprintf(study->no_efficiencies, sizeof study->no_efficiencies,
                 "serialisation and transfer are not given: the replay on an ideal network does not lie between the "
                 "longest computation, which may hold waits for processors, and the run");
    }
}
