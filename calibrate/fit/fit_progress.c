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

#include "calibrate/fit/fits.h"

#define MOVED_MAX   0.25
#define STOPPED_MIN 0.75
#define STOPPED_MAX 2.0 /* more than the transfer itself is something else */
/* Least share of the transfers that their bytes must take. */
#define BYTES_MIN 0.2
/* Samples that a size needs in each case: a median of fewer may be a disturbance. */
#define PROGRESS_SAMPLES_MIN 3

enum computing { SENDER, RECEIVER, BOTH, N_COMPUTING };
enum fit_progress_outcome { MOVED, STOPPED, UNCLEAR };

static const enum variant variant_of[N_COMPUTING] = {VARIANT_SENDER, VARIANT_RECEIVER, VARIANT_BOTH};

/* Times of one level, by who computes; the last ones are those where neither does. */
struct times {
    struct points left[N_COMPUTING];
    struct points alone;
};

/* What is known of one protocol. */
struct known {
    double left[N_COMPUTING]; /* share; NaN: not known */
    bool is_too_small;
    size_t n_sizes;
    size_t n_samples;
};

static void release(struct times *times)
{
    for (int i = 0; i < N_COMPUTING; i++)
        points_release(&times->left[i]);
    points_release(&times->alone);
}

static struct times make_times(const struct fit *fit, enum level level)
{
    struct points_wanted wanted = {
        .like = {.benchmark = BENCHMARK_PROGRESS, .variant = VARIANT_ALONE, .level = (uint8_t)level, .n = 1}};
    struct times times = {.alone = points_make(fit->samples, fit->options->statistic, &wanted)};
    for (int i = 0; i < N_COMPUTING; i++) {
        wanted.like.variant = (uint8_t)variant_of[i];
        times.left[i] = points_make(fit->samples, fit->options->statistic, &wanted);
    }
    return times;
}

/* Returns whether there is any sample; raw files of earlier versions have none. */
static bool fit_progress_is_measured(const struct times *times)
{
    bool is = times->alone.n_points > 0;
    for (int i = 0; i < N_COMPUTING; i++)
        is = is || times->left[i].n_points > 0;
    return is;
}

/* One size that was measured in all cases. */
struct progress_size {
    double bytes;
    double alone_s;
    double left_s[N_COMPUTING];
    size_t n_samples;
};

/* Returns the place of that size; n_points where it was not measured often enough. */
static size_t fit_progress_find(const struct points *points, double bytes)
{
    size_t i = 0;
    while (i < points->n_points && points->bytes[i] < bytes)
        i++;
    bool found = i < points->n_points && !(points->bytes[i] > bytes) && points->counts[i] >= PROGRESS_SAMPLES_MIN;
    return found ? i : points->n_points;
}

/* Fills in the i-th size; returns false where a case lacks it. */
static bool size_of(const struct times *times, size_t i, struct progress_size *size)
{
    const struct points *alone = &times->alone;
    *size = (struct progress_size){alone->bytes[i], alone->seconds[i], {0}, alone->counts[i]};
    for (int j = 0; j < N_COMPUTING; j++) {
        size_t place = fit_progress_find(&times->left[j], size->bytes);
        if (place == times->left[j].n_points)
            return false;
        size->left_s[j] = times->left[j].seconds[place];
        size->n_samples += times->left[j].counts[place];
    }
    return alone->counts[i] >= PROGRESS_SAMPLES_MIN;
}

static struct known know(const struct times *times, const struct machine_protocols *protocols,
                         enum machine_protocol protocol)
{
    struct known known = {.left = {NAN, NAN, NAN}};
    struct progress_size smallest = {0}, size;
    double all_s = 0, bytes_s = 0, left_s[N_COMPUTING] = {0};
    for (size_t i = 0; i < times->alone.n_points; i++) {
        if (!size_of(times, i, &size))
            continue;
        if (smallest.n_samples == 0)
            smallest = size;
        if (!(size.bytes > smallest.bytes) || machine_protocol_of(protocols, (uint64_t)size.bytes) != protocol)
            continue;
        all_s += size.alone_s;
        bytes_s += size.alone_s - smallest.alone_s;
        for (int j = 0; j < N_COMPUTING; j++)
            left_s[j] += size.left_s[j] - smallest.left_s[j];
        known.n_sizes++;
        known.n_samples += size.n_samples;
    }
    known.is_too_small = known.n_sizes > 0 && bytes_s < BYTES_MIN * all_s;
    for (int j = 0; j < N_COMPUTING && known.n_sizes > 0 && !known.is_too_small; j++)
        known.left[j] = left_s[j] / bytes_s;
    return known;
}

static enum fit_progress_outcome outcome_of(double left)
{
    return left <= MOVED_MAX ? MOVED : left >= STOPPED_MIN && left <= STOPPED_MAX ? STOPPED : UNCLEAR;
}

/* Returns the value of the row; -1 where the shares are ambiguous. */
static int decide(const double left[N_COMPUTING])
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
        struct times times = make_times(fit, level);
        for (size_t i = 0; i < protocols.n && fit_progress_is_measured(&times); i++) {
            struct known known = know(&times, &protocols, protocols.protocol[i]);
            fit_progress_append(fit, &known, level, protocols.protocol[i]);
        }
        release(&times);
    }
}
