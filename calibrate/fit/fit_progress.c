/* Fits who must be inside MPI for bytes to move, for each level and protocol: progress of the table, 0 neither, 1 the
 * sender, 2 the receiver, 3 both (share/doc/MODELS.md, Whole run).
 *
 * The samples (calibrate/benchmark/progress.c) are what was left of a transfer after a computation of the sender, of
 * the receiver, or of both, that lasts twice as long, and the transfer alone. Latencies run in any case, so that bytes
 * are judged, not messages: times are taken less those of the smallest size, which holds latencies alone. Over the
 * sizes of a protocol
 *
 *     left = sum(left(s) - left(smallest)) / sum(alone(s) - alone(smallest))
 *
 * is the share of the bytes that stood still. Up to a quarter they moved, from three quarters on they stood still. What
 * moved while both computed needs neither. Otherwise, what moved while the sender computed needs the receiver alone,
 * and the other way; what stood still in both needs both. Anything else is ambiguous: no row, and a note. So are
 *   - a share in between. Eager messages within a node are copied twice, in MPI_Isend and by the receiver, who so has
 *     about half of the work;
 *   - a share of more than twice the transfer, which is no transfer but others on the processor;
 *   - bytes that either side moves by itself, but not when both compute;
 *   - sizes whose bytes take too little of the time to tell, or that were not measured often enough in all cases.
 *
 * A single copy (CMA, XPMEM, KNEM) is done by the receiver in one call, once it has seen the sender's announcement: 2,
 * though the sender's own completion still waits until it looks. Over TCP a rendezvous needs an answer of each side in
 * turn: 3. What fits in the buffers of kernel or network card moves by itself: 0. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fits.h"
#include "share/base/array.h"

#define MOVED_MAX   0.25
#define STOPPED_MIN 0.75
#define STOPPED_MAX 2.0 /* more than the transfer itself is something else */
/* Least share of the transfers that their bytes must take. */
#define BYTES_MIN 0.2
/* Samples that a size needs in each case: a median of fewer may be a disturbance. */
#define PROGRESS_SAMPLES_MIN 3

/* Who computes meanwhile. */
enum { NOBODY, SENDER, RECEIVER, BOTH, N_CASES };
enum fit_progress_outcome { MOVED, STOPPED, UNCLEAR };

static const enum variant variant_of[N_CASES] = {VARIANT_ALONE, VARIANT_SENDER, VARIANT_RECEIVER, VARIANT_BOTH};

/* One size that was measured often enough. */
struct progress_size {
    double bytes;
    double left_s[N_CASES];
    int n_cases; /* in which it was */
    size_t n_samples;
};

/* What is known of one protocol. */
struct known {
    double left[N_CASES]; /* share; NaN: not known */
    bool is_too_small;
    size_t n_sizes;
    size_t n_samples;
};

/* Finds the sizes with which nobody computed, ascending, for free(), and what they had in the other cases. Returns
 * their number; raw files of earlier versions have no sample at all. */
static size_t find_progress_sizes(const struct fit *fit, enum level level, struct progress_size **sizes,
                                  bool *is_measured)
{
    size_t n = 0;
    for (int i = NOBODY; i < N_CASES; i++) {
        const struct points_wanted wanted = {
            .like = {
                .benchmark = BENCHMARK_PROGRESS, .variant = (uint8_t)variant_of[i], .level = (uint8_t)level, .n = 1}};
        struct points points = points_make(fit->samples, fit->options->statistic, &wanted);
        *is_measured = *is_measured || points.n_points > 0;
        for (size_t k = 0, at = 0; k < points.n_points; k++) {
            if (points.counts[k] < PROGRESS_SAMPLES_MIN)
                continue;
            if (i == NOBODY) {
                array_grow(sizes, n, sizeof **sizes);
                (*sizes)[n++] = (struct progress_size){.bytes = points.bytes[k]};
            }
            while (at < n && (*sizes)[at].bytes < points.bytes[k])
                at++;
            if (at == n || (*sizes)[at].bytes > points.bytes[k])
                continue;
            (*sizes)[at].left_s[i] = points.seconds[k];
            (*sizes)[at].n_samples += points.counts[k];
            (*sizes)[at].n_cases++;
        }
        points_release(&points);
    }
    return n;
}

static struct known know(const struct progress_size *sizes, size_t n, const struct machine_protocols *protocols,
                         enum machine_protocol protocol)
{
    struct known known = {.left = {NAN, NAN, NAN, NAN}};
    const struct progress_size *smallest = NULL;
    double all_s = 0, left_s[N_CASES] = {0};
    for (size_t i = 0; i < n; i++) {
        if (sizes[i].n_cases < N_CASES)
            continue;
        if (smallest == NULL)
            smallest = &sizes[i];
        if (smallest == &sizes[i] || machine_protocol_of(protocols, (uint64_t)sizes[i].bytes) != protocol)
            continue;
        all_s += sizes[i].left_s[NOBODY];
        for (int j = 0; j < N_CASES; j++)
            left_s[j] += sizes[i].left_s[j] - smallest->left_s[j];
        known.n_sizes++;
        known.n_samples += sizes[i].n_samples;
    }
    known.is_too_small = known.n_sizes > 0 && left_s[NOBODY] < BYTES_MIN * all_s;
    for (int j = 0; j < N_CASES && known.n_sizes > 0 && !known.is_too_small; j++)
        known.left[j] = left_s[j] / left_s[NOBODY];
    return known;
}

static enum fit_progress_outcome outcome_of(double left)
{
    return left <= MOVED_MAX ? MOVED : left >= STOPPED_MIN && left <= STOPPED_MAX ? STOPPED : UNCLEAR;
}

/* Returns the value of the row; -1 where the shares are ambiguous. */
static int decide(const double left[N_CASES])
{
    enum fit_progress_outcome sender = outcome_of(left[SENDER]), receiver = outcome_of(left[RECEIVER]),
                              both = outcome_of(left[BOTH]);
    if (both == MOVED)
        return sender == STOPPED || receiver == STOPPED ? -1 : 0;
    if (both != STOPPED || sender == UNCLEAR || receiver == UNCLEAR)
        return -1;
    if (sender == MOVED)
        return receiver == MOVED ? -1 : 2;
    return receiver == MOVED ? 1 : 3;
}

/* Appends the row of one protocol, or says why there is none. */
static void fit_progress_append(const struct fit *fit, const struct known *known, enum level level,
                                enum machine_protocol protocol)
{
    const char *name = machine_protocol_name[protocol];
    int who = decide(known->left);
    if (who >= 0)
        fit_row(fit->machine, level, protocol, "progress", MACHINE_NO_N, (struct line_value){who, NAN, NAN},
                known->n_samples, "overlap");
    else if (known->n_sizes == 0)
        fit_note(fit->notes, "%s %s: progress left out: not all cases of two sizes were measured %d times",
                 level_name[level], name, PROGRESS_SAMPLES_MIN);
    else if (known->is_too_small)
        fit_note(fit->notes, "%s %s: progress left out: bytes take too little of the time to tell", level_name[level],
                 name);
    else
        fit_note(fit->notes,
                 "%s %s: progress left out: of the bytes %.0f %% stood still while the sender computed, %.0f %% "
                 "while the receiver did, %.0f %% while both did",
                 level_name[level], name, 100 * known->left[SENDER], 100 * known->left[RECEIVER],
                 100 * known->left[BOTH]);
}

void fit_progress(const struct fit *fit)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct machine_protocols protocols;
        if (machine_protocols(fit->machine, level, &protocols, NULL) != 0)
            continue;
        struct progress_size *sizes = NULL;
        bool is_measured = false;
        size_t n = find_progress_sizes(fit, level, &sizes, &is_measured);
        for (size_t i = 0; i < protocols.n && is_measured; i++) {
            struct known known = know(sizes, n, &protocols, protocols.protocol[i]);
            fit_progress_append(fit, &known, level, protocols.protocol[i]);
        }
        free(sizes);
    }
}
