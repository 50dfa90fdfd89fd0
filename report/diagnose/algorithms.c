/* Finds collectives that take far longer than the best algorithm of the MPI would on the trace's machine table. Without
 * one, or with several, nothing is named.
 *
 * Measured is what lies between the last arrival at an execution and its last exit: no wait for late ranks is in it.
 * Three quarters of the executions, of ALGORITHM_LEAST_CALLS at least, must take ALGORITHM_FACTOR times the price of
 * the largest one, at the upper end of what the table's intervals allow, so that a few that were disturbed say nothing.
 * Where ranks outnumber processors, who polls makes others slow, whatever the algorithm: such runs are left out. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/machine/machine_database.h"
#include "interpose/sums/crowding.h"
#include "predictor/what_if/algorithms.h"
#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

#define ALGORITHM_FACTOR 2.0

enum { ALGORITHM_LEAST_CALLS = 16 };

/* One execution of a collective. */
struct algorithm_execution {
    double arrived_s, left_s; /* the last ones */
    uint32_t members, site;   /* site: of all members, or UINT32_MAX */
};

struct algorithm_search {
    struct diagnosis *diagnosis;
    struct machine machine;
    struct placement placement;
    struct algorithm_execution *executions; /* [n_collectives] */
    double *took_s;                         /* [n_collectives] of a site */
};

/* Reads the trace's only machine. Returns 0; 1 where there is none, or more; -1 with the error set. */
static int algorithms_load_machine(struct algorithm_search *search)
{
    const struct diagnosis *diagnosis = search->diagnosis;
    struct cursor rows;
    const char *name = "";
    cursor_open(&rows, diagnosis->database, diagnosis->path, "SELECT name FROM machine LIMIT 2", diagnosis->error);
    int64_t n = 0;
    for (; cursor_next(&rows); n++)
        name = cursor_text(&rows, 0, diagnosis->pool);
    if (cursor_close(&rows) != 0)
        return -1;
    return n != 1 ? 1 : machine_load(diagnosis->database, diagnosis->path, name, &search->machine, diagnosis->error);
}

static int algorithms_place(struct algorithm_search *search)
{
    const struct diagnosis *diagnosis = search->diagnosis;
    const struct run_program *program = &diagnosis->program;
    struct cursor rows;
    placement_init(&search->placement, program->n_ranks);
    for (size_t i = 0; i < program->n_ranks; i++)
        search->placement.node[i] = program->ranks[i].node;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT rank, socket FROM process WHERE rank >= 0 AND socket >= 0", diagnosis->error);
    while (cursor_next(&rows))
        if ((size_t)cursor_integer(&rows, 0) < program->n_ranks)
            search->placement.socket[cursor_integer(&rows, 0)] = (uint32_t)cursor_integer(&rows, 1);
    return cursor_close(&rows);
}

static void algorithms_time(struct algorithm_search *search)
{
    const struct diagnosis *diagnosis = search->diagnosis;
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < diagnosis->calls->n; i++) {
        const struct run_timed_call *call = &diagnosis->calls->rows[i];
        const struct run_step *step = &program->steps[call->first_step];
        if (step->kind != STEP_COLLECTIVE)
            continue;
        struct algorithm_execution *execution = &search->executions[program->members[step->object].collective];
        uint32_t site = diagnosis_site_of_step(diagnosis, call->first_step);
        double end_s = diagnosis_call_end_s(call);
        bool first = execution->members++ == 0;
        execution->arrived_s = first ? call->begin_s : fmax(execution->arrived_s, call->begin_s);
        execution->left_s = first ? end_s : fmax(execution->left_s, end_s);
        execution->site = first || execution->site == site ? site : UINT32_MAX;
    }
}

/* Prints the variable of the MPI: "coll_tuned_bcast_algorithm=binomial". */
static const char *algorithms_print(const struct run_program *program, enum run_collective_kind kind, const char *best,
                                    char *text)
{
    bool bcast = kind == COLLECTIVE_BCAST;
    if (program->mpi_family == MPI_FAMILY_OPEN_MPI)
        snprintf(text, DIAGNOSIS_TEXT, "coll_tuned_%s_algorithm=%s", bcast ? "bcast" : "allgather", best);
    else
        snprintf(text, DIAGNOSIS_TEXT, "MPIR_CVAR_%s_INTRA_ALGORITHM=%s", bcast ? "BCAST" : "ALLGATHER", best);
    return text;
}

static int algorithms_judge(struct algorithm_search *search, uint32_t site)
{
    struct diagnosis *diagnosis = search->diagnosis;
    const struct run_program *program = &diagnosis->program;
    uint32_t largest = 0;
    size_t n = 0;
    double sum_s = 0, bytes = -1;
    struct algorithm_price best;
    if (diagnosis_site_s(diagnosis, site) < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    for (uint32_t i = 0; i < program->n_collectives; i++) {
        const struct algorithm_execution *execution = &search->executions[i];
        const struct run_collective *collective = &program->collectives[i];
        if (execution->site != site || execution->members != collective->n_members || execution->members == 0)
            continue;
        double own = 0;
        for (uint32_t k = 0; k < collective->n_members; k++)
            own = fmax(own, program->members[collective->first_member + k].bytes);
        largest = own > bytes ? i : largest;
        bytes = fmax(bytes, own);
        search->took_s[n] = fmax(execution->left_s - execution->arrived_s, 0);
        sum_s += search->took_s[n++] * collective->n_members;
    }
    if (n < ALGORITHM_LEAST_CALLS || !diagnosis_outlasts_queues(diagnosis, sum_s))
        return 0;
    sort_doubles(search->took_s, n);
    double median_s = sorted_quantile(search->took_s, n, 0.5), least_s = sorted_quantile(search->took_s, n, 0.25);
    if (!algorithms_best(program, largest, &search->machine, &search->placement, &best) ||
        least_s < ALGORITHM_FACTOR * best.seconds)
        return 0;
    algorithms_interval(program, largest, &search->machine, &search->placement, &best);
    if (least_s < ALGORITHM_FACTOR * best.high_s)
        return 0;
    struct finding finding = diagnosis_finding(FINDING_ALGORITHM, sum_s * (1 - best.seconds / median_s));
    char text[DIAGNOSIS_TEXT], size[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], least[DIAGNOSIS_TEXT], set[DIAGNOSIS_TEXT];
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    mend_rests(program, finding.mend, site, best.seconds / median_s);
    if (best.low_s < best.high_s) {
        finding.rest_low = best.low_s / median_s;
        finding.rest_high = best.high_s / median_s;
    }
    return diagnosis_add(
        diagnosis, finding, "%s, %zu times %s among %" PRIu32 " ranks, takes %s; %s with %s", text, n,
        diagnosis_bytes(size, bytes), program->collectives[largest].n_members, diagnosis_seconds(took, median_s),
        diagnosis_seconds(least, best.seconds),
        algorithms_print(program, (enum run_collective_kind)program->collectives[largest].kind, best.name, set));
}

int diagnose_algorithms(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct algorithm_search search = {.diagnosis = diagnosis};
    struct crowding crowded;
    int result = crowding_find(diagnosis->database, diagnosis->path, &crowded, diagnosis->error);
    if (result != 0 || crowded.nodes > 0)
        return result;
    result = algorithms_load_machine(&search);
    if (result != 0)
        return result < 0 ? -1 : 0;
    search.executions = xcalloc(program->n_collectives, sizeof *search.executions);
    search.took_s = xcalloc(program->n_collectives, sizeof *search.took_s);
    result = algorithms_place(&search);
    algorithms_time(&search);
    for (uint32_t site = 0; result == 0 && site < program->n_sites; site++)
        if (diagnosis->sites[site].collective)
            result = algorithms_judge(&search, site);
    free(search.executions);
    free(search.took_s);
    placement_release(&search.placement);
    machine_release(&search.machine);
    return result;
}
