/* Finds that ranks waited for processors that others had: other programs, more ranks than there are processors, or
 * ranks that were bound to the same one. Then what looks like a slow rank may be the scheduler.
 *
 * A rank that polls inside MPI loses nothing by waiting for a processor, so only the computation's part counts
 * (diagnosis.c, busy_share). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/sums/crowding.h"
#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"

/* Least part of its calls that a rank makes on a processor that it is bound to: others move when they wait. */
#define BUSY_BOUND 0.95

static bool busy_is_bound(const struct run_program *program, size_t rank)
{
    double there = 0, all = 0;
    for (size_t i = 0; i < program->n_strands; i++)
        for (size_t k = 0; program->strands[i].rank == rank && k < program->strands[i].n_steps; k++) {
            int32_t processor = program->steps[program->strands[i].first_step + k].processor;
            all += processor > 0;
            there += processor > 0 && processor == program->ranks[rank].processor + 1;
        }
    return there >= BUSY_BOUND * all;
}

/* Finds two ranks that were on the same processor of a machine: the first two. */
static bool busy_find_shared(const struct run_program *program, size_t *one, size_t *other)
{
    for (*one = 0; *one < program->n_ranks; ++*one)
        for (*other = *one + 1; program->ranks[*one].processor >= 0 && *other < program->n_ranks; ++*other)
            if (program->ranks[*one].machine == program->ranks[*other].machine &&
                program->ranks[*one].processor == program->ranks[*other].processor &&
                program->ranks[*other].follows != *one + 1 && busy_is_bound(program, *one) &&
                busy_is_bound(program, *other))
                return true;
    return false;
}

int diagnose_busy_processors(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    double *waited_s = xcalloc(program->n_ranks, sizeof *waited_s), sum_s = 0;
    struct crowding crowded;
    size_t worst = 0, one, other;
    char waited[DIAGNOSIS_TEXT], crowd[DIAGNOSIS_TEXT] = "";
    for (size_t i = 0; i < program->n_places; i++) {
        uint32_t rank = program->places[i].rank;
        waited_s[rank] += program->measured[i].part_s[RUN_COMPUTATION] * diagnosis->busy_share[rank];
    }
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        sum_s += waited_s[rank];
        worst = waited_s[rank] > waited_s[worst] ? rank : worst;
    }
    struct finding finding = diagnosis_finding(FINDING_BUSY_PROCESSORS, sum_s);
    finding.rank = (int64_t)worst;
    finding.mend = mend_new();
    for (uint32_t i = 0; i < program->n_places; i++)
        mend_scale(&diagnosis->program, finding.mend, i, 1 - diagnosis->busy_share[program->places[i].rank]);
    int result = crowding_find(diagnosis->database, diagnosis->path, &crowded, diagnosis->error);
    if (crowded.nodes > 0)
        finding.kind = FINDING_CROWDED;
    if (crowded.nodes == 0 && busy_find_shared(program, &one, &other)) {
        finding.kind = FINDING_BINDING;
        for (uint32_t i = 0; i < program->n_places; i++)
            mend_rest(program, finding.mend, i, 1 - diagnosis->busy_share[program->places[i].rank]);
        snprintf(crowd, sizeof crowd, ": ranks %zu and %zu share processor %" PRId32 ", others are free", one, other,
                 program->ranks[one].processor);
    }
    if (crowded.nodes > 0)
        snprintf(crowd, sizeof crowd, ": %" PRId64 " ranks share %" PRId64, crowded.ranks, crowded.processors);
    if (result != 0 || !(diagnosis->rank_s[worst] > 0))
        mend_release(finding.mend);
    else
        result = diagnosis_add(
            diagnosis, finding,
            "computation waited about %s for processors that others had, rank %zu %.0f %% of its time%s",
            diagnosis_seconds(waited, sum_s), worst, 100 * waited_s[worst] / diagnosis->rank_s[worst], crowd);
    free(waited_s);
    return result;
}
