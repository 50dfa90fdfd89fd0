/* Finds collectives that are slow by the way they are used: many small ones right behind each other, barriers without
 * which ranks would wait less, and counts of which few ranks have nearly all.
 *
 * What calls follow each other, and how many bytes a rank hands in, is no matter of chance. Whether a barrier costs
 * anything is: where ranks are late by chance, the next meeting waits for them as well, so that a barrier is named only
 * if the run without it is shorter, and if ranks wait there for longer than computation that
 * waited for processors, and those that wait for it, explain. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"

/* Least part of the calls that come right behind another one. */
#define JOINT_MOST_CALLS 0.6
/* How many times the mean the bytes of the rank with most must be: half of what they can be at most. */
#define JOINT_LEAST_UNEVEN 0.5

enum { JOINT_SMALL_BYTES = 1024, JOINT_LEAST_CALLS = 32, JOINT_LEAST_BARRIERS = 16 };

/* One execution of a collective. */
struct joint_execution {
    uint32_t behind;         /* members that come right from another one */
    double length_s, rest_s; /* of all members; rest: behind the last one's arrival */
};

struct collective_site {
    uint64_t calls, behind; /* behind: of executions whose members all come right from another one */
    double behind_s, behind_rest_s, rest_s, bytes;
    bool one_sided; /* transfers or file calls lie between its calls */
};

static bool joint_is_blocking(const struct run_program *program, size_t step)
{
    return program->steps[step].kind == STEP_COLLECTIVE;
}

static double joint_bytes_of(const struct run_program *program, size_t step)
{
    return program->members[program->steps[step].object].bytes;
}

static void joint_sum_call(const struct diagnosis *diagnosis, uint32_t strand, size_t at, struct collective_site *sites,
                           struct joint_execution *executions)
{
    const struct run_program *program = &diagnosis->program;
    const struct run_timed_call *call = &diagnosis->calls->rows[at];
    if (!joint_is_blocking(program, call->first_step))
        return;
    struct collective_site *site = &sites[diagnosis_site_of_step(diagnosis, call->first_step)];
    site->calls++;
    site->bytes += joint_bytes_of(program, call->first_step);
    struct joint_execution *execution =
        &executions[program->members[program->steps[call->first_step].object].collective];
    execution->length_s += (double)call->length_s;
    execution->rest_s += fmax((double)call->rest_s, 0);
    if (at == diagnosis->first_call[strand])
        return;
    size_t before = diagnosis->calls->rows[at - 1].first_step;
    if (joint_is_blocking(program, before) && joint_bytes_of(program, before) < JOINT_SMALL_BYTES &&
        diagnosis_before_s(diagnosis, strand, at) <= (double)call->length_s)
        execution->behind++;
}

/* Adds each execution to the sites of its members. */
static void joint_sum_executions(const struct diagnosis *diagnosis, const struct joint_execution *executions,
                                 struct collective_site *sites)
{
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < program->n_steps; i++) {
        if (!joint_is_blocking(program, i))
            continue;
        uint32_t number = program->members[program->steps[i].object].collective;
        const struct run_collective *collective = &program->collectives[number];
        struct collective_site *site = &sites[diagnosis_site_of_step(diagnosis, i)];
        site->rest_s += executions[number].rest_s / collective->n_members;
        if (executions[number].behind == collective->n_members) {
            site->behind++;
            site->behind_s += executions[number].length_s / collective->n_members;
            site->behind_rest_s += executions[number].rest_s / collective->n_members;
        }
    }
}

static int joint_judge_small(struct diagnosis *diagnosis, uint32_t site, const struct collective_site *sums)
{
    struct finding finding = diagnosis_finding(FINDING_SMALL_COLLECTIVES, sums->behind_s);
    uint64_t each = sums->calls / diagnosis->sites[site].n_ranks;
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT];
    if (run_collective_named(diagnosis->program.sites[site].function, "barrier") || each < JOINT_LEAST_CALLS ||
        (double)sums->behind < JOINT_MOST_CALLS * (double)sums->calls ||
        sums->bytes >= JOINT_SMALL_BYTES * (double)sums->calls ||
        finding.cost_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    mend_rests(&diagnosis->program, finding.mend, site, sums->rest_s > 0 ? 1 - sums->behind_rest_s / sums->rest_s : 1);
    return diagnosis_add(diagnosis, finding,
                         "%s is called %" PRIu64
                         " times by a rank for %s each, right behind each other: %s, %.0f %% of all "
                         "time; join them",
                         text, each, diagnosis_bytes(bytes, sums->bytes / (double)sums->calls),
                         diagnosis_seconds(took, sums->behind_s), 100 * sums->behind_s / diagnosis->all_s);
}

static int joint_judge_barrier(struct diagnosis *diagnosis, uint32_t site, const struct collective_site *sums)
{
    double wait_s = diagnosis->sites[site].measured.part_s[RUN_COLLECTIVE_WAIT];
    struct finding finding = diagnosis_finding(FINDING_BARRIERS, wait_s);
    uint64_t each = sums->calls / diagnosis->sites[site].n_ranks;
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (!run_collective_named(diagnosis->program.sites[site].function, "barrier") || each < JOINT_LEAST_BARRIERS ||
        sums->one_sided || !diagnosis_outlasts_queues(diagnosis, wait_s))
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    mend_site(&diagnosis->program, finding.mend, site, MEND_APART);
    mend_rests(&diagnosis->program, finding.mend, site, 0);
    return diagnosis_add(diagnosis, finding,
                         "ranks wait %s in %" PRIu64
                         " calls of %s, %.0f %% of all time; if the data need it not, leave it out",
                         diagnosis_seconds(waited, wait_s), each, text, 100 * wait_s / diagnosis->all_s);
}

/* Of MPI_Gatherv and MPI_Scatterv the root handles the sum, however it is divided. */
static bool joint_has_counts(const char *function)
{
    static const char *const names[] = {"allgatherv", "alltoallv", "alltoallw", "reduce_scatter"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (run_collective_named(function, names[i]))
            return true;
    return false;
}

/* Says whether ranks are on several nodes: inside one, all copy from whoever has the bytes; even shares gain little. */
static bool joint_spans_nodes(const struct run_program *program)
{
    for (size_t i = 1; i < program->n_ranks; i++)
        if (program->ranks[i].node != program->ranks[0].node)
            return true;
    return false;
}

static int joint_judge_counts(struct diagnosis *diagnosis, uint32_t site, double *rank_bytes)
{
    const struct run_program *program = &diagnosis->program;
    double transfer_s = diagnosis->sites[site].measured.part_s[RUN_COLLECTIVE_TRANSFER] +
                        diagnosis->sites[site].measured.part_s[RUN_COLLECTIVE_WAIT];
    size_t n = diagnosis->sites[site].n_ranks, worst = 0;
    double sum = 0;
    if (!joint_has_counts(program->sites[site].function) || n < 2 ||
        transfer_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    for (size_t i = 0; i < program->n_ranks; i++)
        rank_bytes[i] = 0;
    for (size_t i = 0; i < program->n_steps; i++)
        if (joint_is_blocking(program, i) && diagnosis_site_of_step(diagnosis, i) == site)
            rank_bytes[program->places[program->steps[i].place].rank] += joint_bytes_of(program, i);
    for (size_t i = 0; i < program->n_ranks; i++) {
        sum += rank_bytes[i];
        worst = rank_bytes[i] > rank_bytes[worst] ? i : worst;
    }
    double even = sum / (double)n, share = sum > 0 ? rank_bytes[worst] / sum : 0;
    if (!(sum > 0) || share < 1.0 / (double)n + JOINT_LEAST_UNEVEN * (1 - 1.0 / (double)n))
        return 0;
    struct finding finding = diagnosis_finding(FINDING_UNEVEN_COUNTS, transfer_s * (1 - even / rank_bytes[worst]));
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT];
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.rank = (int64_t)worst;
    if (joint_spans_nodes(program)) {
        finding.mend = mend_new();
        mend_rests(&diagnosis->program, finding.mend, site, even / rank_bytes[worst]);
    }
    return diagnosis_add(diagnosis, finding,
                         "rank %zu has %.0f %% of the bytes of %s, %zu ranks share the rest: %s, %.0f %% of all time",
                         worst, 100 * share, text, n - 1, diagnosis_seconds(took, transfer_s),
                         100 * transfer_s / diagnosis->all_s);
}

/* Notes the barriers of ranks that also access windows or files: these may order that. */
static void joint_find_accesses(const struct diagnosis *diagnosis, struct collective_site *sites)
{
    const struct run_program *program = &diagnosis->program;
    bool *accesses = xcalloc(program->n_ranks, sizeof *accesses);
    for (size_t i = 0; i < program->n_places; i++)
        if (strncmp(program->sites[program->places[i].site].function, "MPI_Win_", 8) == 0 ||
            strncmp(program->sites[program->places[i].site].function, "MPI_File_", 9) == 0)
            accesses[program->places[i].rank] = true;
    for (size_t i = 0; i < program->n_places; i++)
        if (accesses[program->places[i].rank])
            sites[program->places[i].site].one_sided = true;
    free(accesses);
}

int diagnose_collectives(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct collective_site *sites = xcalloc(program->n_sites, sizeof *sites);
    struct joint_execution *executions = xcalloc(program->n_collectives, sizeof *executions);
    double *rank_bytes = xcalloc(program->n_ranks, sizeof *rank_bytes);
    int result = 0;
    for (uint32_t strand = 0; strand < program->n_strands; strand++)
        for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1]; i++)
            joint_sum_call(diagnosis, strand, i, sites, executions);
    joint_sum_executions(diagnosis, executions, sites);
    joint_find_accesses(diagnosis, sites);
    for (uint32_t site = 0; result == 0 && site < program->n_sites; site++) {
        if (sites[site].calls == 0)
            continue;
        result = joint_judge_small(diagnosis, site, &sites[site]);
        if (result == 0)
            result = joint_judge_barrier(diagnosis, site, &sites[site]);
        if (result == 0)
            result = joint_judge_counts(diagnosis, site, rank_bytes);
    }
    free(sites);
    free(rank_bytes);
    free(executions);
    return result;
}
