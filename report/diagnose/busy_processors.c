/* Finds that ranks waited for processors that others had: other programs, more ranks than there are processors, or
 * ranks that were bound to the same one. Then what looks like a slow rank may be the scheduler.
 *
 * A rank that polls inside MPI loses nothing by waiting for a processor, so only the computation's part counts
 * (diagnosis.c, busy_share). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/sums/crowding.h"
#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"

/* How much of a processor the ranks that are on it use together, if they are bound to it: all, and no more. */
#define BUSY_LEAST_FULL 0.9
#define BUSY_MOST_FULL  1.1

/* Finds ranks that have a processor of a machine to themselves, but not each of them: the first two. */
static bool busy_find_shared(const struct diagnosis *diagnosis, size_t *one, size_t *other)
{
    const struct run_rank *ranks = diagnosis->program.ranks;
    size_t n = diagnosis->program.n_ranks;
    for (*one = 0; *one < n; ++*one) {
        double used_s = fmax(ranks[*one].run_s, 0);
        *other = 0;
        for (size_t i = *one + 1; ranks[*one].processor >= 0 && i < n; i++) {
            if (ranks[i].machine != ranks[*one].machine || ranks[i].processor != ranks[*one].processor)
                continue;
            *other = *other == 0 ? i : *other;
            used_s += fmax(ranks[i].run_s, 0);
        }
        double share = used_s / fmax(diagnosis->rank_s[*one], 1e-9);
        if (*other > 0 && share >= BUSY_LEAST_FULL && share <= BUSY_MOST_FULL)
            return true;
    }
    return false;
}

/* Returns on how many processors all ranks together ran in the mean, NaN where that is not known. */
static double busy_used(const struct diagnosis *diagnosis)
{
    double ran_s = 0, longest_s = 0;
    for (size_t i = 0; i < diagnosis->program.n_ranks; i++) {
        ran_s += diagnosis->program.ranks[i].run_s;
        longest_s = fmax(longest_s, diagnosis->rank_s[i]);
    }
    return ran_s / longest_s;
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
    if (crowded.nodes == 0 && busy_find_shared(diagnosis, &one, &other)) {
        finding.kind = FINDING_BINDING;
        for (uint32_t i = 0; i < program->n_places; i++)
            mend_rest(program, finding.mend, i, 1 - diagnosis->busy_share[program->places[i].rank]);
        snprintf(crowd, sizeof crowd, ": ranks %zu and %zu share processor %" PRId32 ", nobody else is on it", one,
                 other, program->ranks[one].processor);
    }
    if (crowded.nodes > 0)
        snprintf(crowd, sizeof crowd, ": %" PRId64 " ranks share %" PRId64, crowded.ranks, crowded.processors);
    int64_t processors = 0;
    if (result == 0 && finding.kind == FINDING_BUSY_PROCESSORS)
        result = cursor_numbers(
            diagnosis->database, diagnosis->path,
            "SELECT iif(count(processors) = count(*) AND count(DISTINCT coalesce(machine, id)) = count(*), "
            "total(processors), 0) FROM node",
            &processors, 1, diagnosis->error);
    double used = busy_used(diagnosis);
    if (processors > 0 && used < (double)processors)
        snprintf(crowd, sizeof crowd, ": the ranks ran on %.1f of %" PRId64 " processors", used, processors);
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
