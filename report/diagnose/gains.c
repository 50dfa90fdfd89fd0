/* What mending a finding gains: the recorded run is replayed with it mended (predictor/run/engine/run_retime.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/gains.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Part of what a finding gains by itself that it must still gain beside another one, not to be explained by it. */
#define GAIN_STILL_GAINS 0.25

/* The same of a rank that is late all over the run, beside a single iteration of it that takes long (SLOW_PART of
 * iterations.c), with some room. */
#define GAIN_BESIDE_ITERATION 0.51

/* Steps that all replays together may take, replays at most, and findings that are held against each other. */
enum { GAIN_MOST_STEPS = 150000000, GAIN_MOST_REPLAYS = 64, GAIN_MOST_COMPARED = 6 };

static double gains_of(const struct diagnosis *diagnosis, const struct run_mend *mend)
{
    double mended_s = run_retime(&diagnosis->program, diagnosis->calls, mend);
    return fmax(diagnosis->run_s - mended_s, 0);
}

static double gains_of_both(const struct diagnosis *diagnosis, const struct finding *one, const struct finding *other)
{
    struct run_mend *both = mend_new();
    mend_join(&diagnosis->program, both, one->mend);
    mend_join(&diagnosis->program, both, other->mend);
    double gain_s = gains_of(diagnosis, both);
    mend_release(both);
    return gain_s;
}

static int gains_compare_costs(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    return ORDER(b->cost_s, a->cost_s) ?: ORDER(a->kind, b->kind) ?: ORDER(a->rank, b->rank);
}

/* Returns the gain; where it is not known the cost, divided among the ranks: more it cannot be. */
static double gains_expected_s(const struct finding *finding, const struct diagnosis *diagnosis)
{
    return isnan(finding->gain_s) ? finding->cost_s / (double)diagnosis->program.n_ranks : finding->gain_s;
}

/* Says whether a finding is no fault of the program, but of how it was run: others come before it. */
static bool gains_is_condition(const struct finding *finding)
{
    return finding->kind == FINDING_BUSY_PROCESSORS || finding->kind == FINDING_CROWDED;
}

static int gains_compare_gains(const void *left, const void *right, void *diagnosis)
{
    return ORDER(gains_is_condition(left), gains_is_condition(right)) ?: ORDER(gains_expected_s(right, diagnosis), gains_expected_s(left, diagnosis)) ?: gains_compare_costs(left, right);
}

/* Sets the ends of what a finding gains, where a machine table's intervals have some. */
static void gains_find_ends(const struct diagnosis *diagnosis, struct finding *finding)
{
    uint32_t site = diagnosis_site_of(diagnosis, finding->function, finding->callsite);
    double factors[] = {finding->rest_high, finding->rest_low}, gains[2];
    for (int end = 0; end < 2; end++) {
        struct run_mend *mend = mend_new();
        mend_rests(&diagnosis->program, mend, site, factors[end]);
        gains[end] = gains_of(diagnosis, mend) / diagnosis->run_s;
        mend_release(mend);
    }
    finding->gain_low = fmin(gains[0], finding->gain);
    finding->gain_high = fmax(gains[1], finding->gain);
}

/* Finds the gain of each as far as the steps go; drops what gains too little to be a fault. */
static size_t gains_find(struct diagnosis *diagnosis, size_t replays)
{
    struct findings *findings = diagnosis->findings;
    size_t n = 0;
    for (size_t i = 0; i < findings->n; i++) {
        struct finding finding = findings->rows[i];
        if (finding.mend != NULL && replays > 0) {
            replays--;
            finding.gain_s = gains_of(diagnosis, finding.mend);
            finding.gain = finding.gain_s / diagnosis->run_s;
            if (!isnan(finding.rest_low) && replays >= 2) {
                replays -= 2;
                gains_find_ends(diagnosis, &finding);
            }
        }
        if (isnan(finding.gain) || finding.gain >= finding_kind(finding.kind)->least_gain)
            findings->rows[n++] = finding;
        else
            mend_release(finding.mend);
    }
    findings->n = n;
    return replays;
}

/* Says which of two findings the other one leaves next to nothing to gain. */
static bool gains_leave_nothing(const struct diagnosis *diagnosis, const struct finding *finding,
                                const struct finding *other, size_t *replays, bool *is_explained)
{
    *is_explained = false;
    if (isnan(finding->gain_s) || isnan(other->gain_s) || *replays == 0)
        return finding->callsite >= 0 && finding->callsite == other->callsite &&
               isnan(finding->gain_s) == isnan(other->gain_s);
    --*replays;
    double both_s = gains_of_both(diagnosis, finding, other);
    double part = other->kind == FINDING_SLOW_ITERATION ? GAIN_BESIDE_ITERATION : GAIN_STILL_GAINS;
    *is_explained = both_s - other->gain_s <= part * finding->gain_s;
    return both_s - finding->gain_s <= GAIN_STILL_GAINS * other->gain_s;
}

/* Lets the k-th finding, or its like that says more, explain the i-th, which gains no more. */
static void gains_compare(const struct diagnosis *diagnosis, struct finding *rows, size_t k, size_t i, size_t *replays)
{
    bool is_explained;
    if (rows[k].under >= 0 || !gains_leave_nothing(diagnosis, &rows[k], &rows[i], replays, &is_explained))
        return;
    if (is_explained && finding_kind(rows[k].kind)->general && !finding_kind(rows[i].kind)->general) {
        struct finding swapped = rows[k];
        rows[k] = rows[i];
        rows[i] = swapped;
    }
    rows[i].under = (int64_t)k;
}

/* Finds which findings others explain, and puts them behind these. */
static void gains_explain(struct diagnosis *diagnosis, size_t replays)
{
    struct findings *findings = diagnosis->findings;
    struct finding *rows = xcalloc(findings->n, sizeof *rows);
    size_t n = 0;
    for (size_t i = 1; i < findings->n && i < GAIN_MOST_COMPARED; i++)
        for (size_t k = 0; k < i && findings->rows[i].under < 0; k++)
            gains_compare(diagnosis, findings->rows, k, i, &replays);
    for (size_t i = 0; i < findings->n; i++) {
        size_t first = n;
        if (findings->rows[i].under >= 0)
            continue;
        rows[n++] = findings->rows[i];
        for (size_t k = i + 1; k < findings->n; k++)
            if (findings->rows[k].under == (int64_t)i) {
                rows[n] = findings->rows[k];
                rows[n++].under = (int64_t)first;
            }
    }
    memcpy(findings->rows, rows, n * sizeof *rows); /* which has room to grow */
    free(rows);
}

void gains_collect(struct diagnosis *diagnosis)
{
    struct findings *findings = diagnosis->findings;
    size_t replays = 0;
    qsort(findings->rows, findings->n, sizeof *findings->rows, gains_compare_costs);
    diagnosis->run_s = NAN;
    if (diagnosis->calls->n > 0)
        diagnosis->run_s = run_retime(&diagnosis->program, diagnosis->calls, NULL);
    if (diagnosis->run_s > 0) {
        replays = GAIN_MOST_STEPS / (diagnosis->program.n_steps + 1);
        replays = gains_find(diagnosis, replays < GAIN_MOST_REPLAYS ? replays : GAIN_MOST_REPLAYS);
    }
    if (findings->n == 0)
        return;
    qsort_r(findings->rows, findings->n, sizeof *findings->rows, gains_compare_gains, diagnosis);
    gains_explain(diagnosis, replays);
}
