/* Finds a rank that takes longer for everything by the same factor: not more work, but a slower core; and a node, where
 * all its ranks do.
 *
 * More work is more at the lines that do it. A slow core shows at all lines alike: CORE_LEAST_SITES of them at least,
 * each of CORE_LEAST_PART of the computation, and the factor of each is within CORE_SPREAD of their mean. That so many
 * agree by chance is less likely the more lines there are; of a balanced job each factor is near 1, which is not named.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

#define CORE_LEAST_FACTOR 1.15
#define CORE_SPREAD       0.15
#define CORE_LEAST_PART   0.02

enum { CORE_LEAST_SITES = 3, CORE_LEAST_RANKS = 3 };

struct found_core {
    size_t n;
    double least, most, sum, cost_s;
};

/* Compares the ranks at a site with their median. */
static void cores_compare_site(const struct diagnosis *diagnosis, const uint32_t *places, size_t n, double all_s,
                               struct found_core *cores)
{
    double sum_s = 0, *values = xcalloc(n, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        values[i] = diagnosis_computed(diagnosis, places[i]);
        sum_s += values[i];
    }
    double median_s = n > 0 ? unsorted_median(values, n) : 0;
    for (size_t i = 0; n == diagnosis->program.n_ranks && sum_s >= CORE_LEAST_PART * all_s && median_s > 0 && i < n;
         i++) {
        double factor = diagnosis_computed(diagnosis, places[i]) / median_s;
        struct found_core *core = &cores[diagnosis->program.places[places[i]].rank];
        core->least = core->n == 0 ? factor : fmin(core->least, factor);
        core->most = core->n == 0 ? factor : fmax(core->most, factor);
        core->sum += factor;
        core->n++;
        core->cost_s += diagnosis->blame.cost_s[places[i]];
    }
    free(values);
}

static bool cores_is_slow(const struct found_core *core)
{
    return core->n >= CORE_LEAST_SITES && core->least >= CORE_LEAST_FACTOR &&
           core->most - core->least <= CORE_SPREAD * core->sum / (double)core->n;
}

static int cores_add(struct diagnosis *diagnosis, const struct found_core *cores, size_t rank, bool of_node)
{
    const struct run_program *program = &diagnosis->program;
    double cost_s = 0, factor = cores[rank].sum / (double)cores[rank].n;
    struct finding finding;
    char waited[DIAGNOSIS_TEXT];
    for (size_t i = 0; i < program->n_ranks; i++)
        if (i == rank || (of_node && program->ranks[i].node == program->ranks[rank].node))
            cost_s += cores[i].cost_s;
    finding = diagnosis_finding(FINDING_SLOW_CORE, cost_s);
    finding.rank = (int64_t)rank;
    finding.mend = mend_new();
    for (size_t i = 0; i < program->n_places; i++) {
        uint32_t other = program->places[i].rank;
        if (other == rank || (of_node && program->ranks[other].node == program->ranks[rank].node))
            mend_scale(&diagnosis->program, finding.mend, (uint32_t)i, 1 / (cores[other].sum / (double)cores[other].n));
    }
    return diagnosis_add(
        diagnosis, finding,
        "rank %zu%s takes %.2f times as long as the others at each of %zu lines: a slow %s; they wait %s for it", rank,
        of_node ? " and all of its node" : "", factor, cores[rank].n, of_node ? "node" : "core",
        diagnosis_seconds(waited, cost_s));
}

int diagnose_slow_cores(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct found_core *cores = xcalloc(program->n_ranks, sizeof *cores);
    uint32_t *places = xcalloc(program->n_ranks, sizeof *places);
    double all_s = 0;
    size_t slow = 0;
    int result = 0;
    for (uint32_t i = 0; i < program->n_places; i++)
        all_s += diagnosis_computed(diagnosis, i);
    for (uint32_t site = 0; program->n_ranks >= CORE_LEAST_RANKS && site < program->n_sites; site++) {
        size_t n = 0;
        for (uint32_t i = 0; i < program->n_places && diagnosis->sites[site].n_ranks == program->n_ranks; i++)
            if (program->places[i].site == site)
                places[n++] = i;
        cores_compare_site(diagnosis, places, n, all_s, cores);
    }
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        slow += cores_is_slow(&cores[rank]);
    for (size_t rank = 0; result == 0 && slow * 2 < program->n_ranks && rank < program->n_ranks; rank++) {
        size_t of_node = 0, slow_of_node = 0;
        bool first = true;
        for (size_t i = 0; i < program->n_ranks; i++)
            if (program->ranks[i].node == program->ranks[rank].node) {
                of_node++;
                slow_of_node += cores_is_slow(&cores[i]);
                first = first && (i >= rank || !cores_is_slow(&cores[i]));
            }
        bool whole = of_node > 1 && of_node == slow_of_node && of_node < program->n_ranks;
        if (cores_is_slow(&cores[rank]) && (first || !whole))
            result = cores_add(diagnosis, cores, rank, whole);
    }
    free(cores);
    free(places);
    return result;
}
