/* Finds a start-up or a shut-down that takes more than a tenth of the run: what comes before the first call, or behind
 * the last one, of the lines that ranks call again and again. Named is what ranks wait there; where all compute it is
 * work like any other. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"

/* Least share of the run, and least length: MPI itself takes some time to begin. */
#define END_TENTH   0.1
#define END_LEAST_S 0.05

enum { END_LEAST_CALLS = 8 };

struct end_bounds {
    double first_s, last_s;
};

/* Finds when the lines that a rank calls END_LEAST_CALLS times and more are called first and last, by any rank. */
static struct end_bounds ends_find_loop(const struct diagnosis *diagnosis)
{
    struct end_bounds loop = {INFINITY, -INFINITY};
    for (size_t i = 0; i < diagnosis->calls->n; i++) {
        const struct run_timed_call *call = &diagnosis->calls->rows[i];
        uint32_t place = diagnosis->program.steps[call->first_step].place;
        if (diagnosis->places[place].calls < END_LEAST_CALLS)
            continue;
        loop.first_s = fmin(loop.first_s, call->begin_s);
        loop.last_s = fmax(loop.last_s, diagnosis_call_end_s(call));
    }
    return loop;
}

/* Adds up what ranks wait between two times, and finds for whom they wait longest and where. */
static double ends_sum_waits(const struct diagnosis *diagnosis, double from_s, double to_s, uint32_t *rank,
                             uint32_t *site)
{
    const struct run_program *program = &diagnosis->program;
    double sum_s = 0, longest_s = 0;
    for (size_t i = 0; i < diagnosis->recorded.n_waits; i++) {
        const struct run_wait *wait = &diagnosis->recorded.waits[i];
        double seconds = fmin(wait->cause.at_s, to_s) - fmax(wait->begin.at_s, from_s);
        if (seconds <= 0)
            continue;
        sum_s += seconds;
        if (seconds > longest_s) {
            longest_s = seconds;
            *rank = program->strands[wait->cause.strand].rank;
            *site = diagnosis_site_of_step(diagnosis, wait->cause.step);
        }
    }
    return sum_s;
}

static int ends_judge(struct diagnosis *diagnosis, enum finding_number kind, double from_s, double to_s)
{
    double begin_s = diagnosis_when_s(diagnosis, from_s), end_s = diagnosis_when_s(diagnosis, to_s);
    double length_s = end_s - begin_s, run_s = diagnosis_when_s(diagnosis, diagnosis->recorded.end_s);
    uint32_t rank = 0, site = UINT32_MAX;
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (!(length_s >= fmax(END_TENTH * run_s, END_LEAST_S)))
        return 0;
    double cost_s = ends_sum_waits(diagnosis, from_s, to_s, &rank, &site);
    struct finding finding = diagnosis_finding(kind, cost_s);
    if (site == UINT32_MAX || !diagnosis_outlasts_queues(diagnosis, cost_s))
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.rank = rank;
    finding.begin_s = begin_s;
    finding.end_s = end_s;
    uint32_t place = diagnosis_place_of(diagnosis, rank, site);
    if (place != UINT32_MAX) {
        finding.mend = mend_new();
        mend_scale(&diagnosis->program, finding.mend, place, 1.0 / (double)diagnosis->program.n_ranks);
    }
    return diagnosis_add(diagnosis, finding,
                         "the %s takes %s, %.0f %% of the run; ranks wait %s in it, most for rank %" PRIu32 " at %s",
                         kind == FINDING_START_UP ? "start-up" : "shut-down", diagnosis_seconds(took, length_s),
                         100 * length_s / run_s, diagnosis_seconds(waited, cost_s), rank, text);
}

int diagnose_ends(struct diagnosis *diagnosis)
{
    const struct end_bounds loop = ends_find_loop(diagnosis);
    if (!(loop.first_s <= loop.last_s))
        return 0;
    int result = ends_judge(diagnosis, FINDING_START_UP, diagnosis->recorded.begin_s, loop.first_s);
    return result == 0 ? ends_judge(diagnosis, FINDING_SHUT_DOWN, loop.last_s, diagnosis->recorded.end_s) : -1;
}
