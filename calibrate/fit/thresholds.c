/* No source of thresholds is certain: probes may be cut off, an MPI may report nothing or something else than it does,
 * curves break for other reasons. Here the sources are compared and one is chosen, with its origin. */
#include "calibrate/fit/thresholds.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"
#include "share/base/number.h"
#include "calibrate/fit/line.h"
#include "share/base/statistics.h"
#include "share/base/order.h"

/* Finds where curves of time over size break: protocol thresholds that show in the data.
 *
 * Every way to cut the sizes into 1, 2 or 3 pieces of at least 3 sizes a curve is fitted by lines with relative least
 * squares. The Bayesian information criterion chooses: the sum over curves of n ln(RSS/n), and the logarithm of all
 * points for each two parameters of a piece and curve and for each cut. The residuals are relative, as otherwise the
 * largest messages alone would decide. Several curves are cut at the same sizes: whether that beats a cut of each by
 * itself is seen by comparing the criteria.
 *
 * A protocol is a step of the time or a change of its slope, and noise is often cut where neither is. So a cut
 * counts only if it shows in enough of the curves. It shows if the two lines, evaluated at the cut, are SEGMENT_JUMP
 * apart and further than chance allows, or if both slopes are known to be above 0 and their 95 % intervals are
 * apart.
 *
 * All cuts of all curves are tried, so a piece must cost O(1): running sums give the residuals of any piece. */

enum { SEGMENT_MIN_POINTS = 3, SEGMENT_MAX_POINTS = 4096 };

#define SEGMENT_JUMP 0.2
#define SEGMENT_STEP 0.5

struct segmentation {
    int n;
    double begin[SEGMENT_MAX]; /* first x of each segment; begin[0] = 0 */
    double criterion;          /* smaller is better */
};

/* Least relative error of a time: without this limit exact lines would be cut by their rounding. */
#define RELATIVE_FLOOR 1e-3L

/* Weighted sums over the first i points, weights 1/y^2: they give the sum of relative residuals squared of any
 * piece in O(1). They are long double, because a piece is a difference of sums of very different points. */
struct sums {
    long double w, wx, wxx, wy, wxy;
};

/* What the search needs of all curves. */
struct segment_search {
    const struct curve *curves;
    size_t n_curves;
    size_t differ_min;
    bool steps_only;
    struct sums **sums; /* [n_curves][n_points + 1] */
    const double *cuts; /* [n_cuts] sizes where a piece may begin: those of the curve with the most points */
    size_t n_cuts;
    size_t **index; /* [n_curves][n_cuts] first point of the curve at or above the cut */
};

/* The line of a piece, with the errors of a point of variance 1. */
struct piece {
    long double w, mean_x, mean_y, sxx, slope;
    long double rss;
};

static struct piece piece_fit(const struct sums *sums, size_t first, size_t end)
{
    const struct sums *a = &sums[first], *b = &sums[end];
    long double w = b->w - a->w, wx = b->wx - a->wx, wy = b->wy - a->wy;
    long double mean_x = wx / w, mean_y = wy / w;
    long double sxx = b->wxx - a->wxx - mean_x * wx;
    long double sxy = b->wxy - a->wxy - mean_x * wy;
    long double syy = (long double)(end - first) - mean_y * wy; /* w y^2 = 1 a point */
    long double rss = sxx > 0 ? syy - sxy * sxy / sxx : syy;
    return (struct piece){
        .w = w,
        .mean_x = mean_x,
        .mean_y = mean_y,
        .sxx = sxx,
        .slope = sxx > 0 ? sxy / sxx : 0,
        .rss = fmaxl(rss, 0) + (long double)(end - first) * RELATIVE_FLOOR * RELATIVE_FLOOR,
    };
}

/* Returns whether the lines below and above the cut differ, for points of that variance and so many sigma. */
static bool pieces_differ(const struct piece *below, const struct piece *above, double cut, long double variance,
                          double sigmas, bool steps_only)
{
    long double x = cut, y_below = below->mean_y + below->slope * (x - below->mean_x),
                y_above = above->mean_y + above->slope * (x - above->mean_x), jump = fabsl(y_above - y_below);
    long double jump_variance = variance * (1 / below->w + (x - below->mean_x) * (x - below->mean_x) / below->sxx +
                                            1 / above->w + (x - above->mean_x) * (x - above->mean_x) / above->sxx);
    bool beyond_chance = jump > sigmas * sqrtl(jump_variance);
    if (steps_only)
        return beyond_chance && y_above >= (1 + SEGMENT_STEP) * y_below;
    if (beyond_chance && jump >= SEGMENT_JUMP * y_below)
        return true;
    long double half_below = sigmas * sqrtl(variance / below->sxx), half_above = sigmas * sqrtl(variance / above->sxx);
    return below->slope > half_below && above->slope > half_above &&
           fabsl(above->slope - below->slope) > half_below + half_above;
}

/* Returns the sum over the curves of n ln(RSS/n) for pieces that begin at the given cuts; INFINITY where a piece is too
 * short. */
static double misfit(const struct segment_search *search, int n_segments, const size_t *cut)
{
    double sum = 0;
    for (size_t i = 0; i < search->n_curves; i++) {
        size_t n_points = search->curves[i].n_points, first = 0;
        long double rss = 0;
        for (int segment = 0; segment < n_segments; segment++) {
            size_t end = segment + 1 < n_segments ? search->index[i][cut[segment]] : n_points;
            if (n_segments > 1 && end < first + SEGMENT_MIN_POINTS)
                return INFINITY;
            rss += piece_fit(search->sums[i], first, end).rss;
            first = end;
        }
        sum += (double)n_points * log((double)rss / (double)n_points);
    }
    return sum;
}

/* Adds to differ[] which of the n_segments - 1 cuts make a difference in this curve. */
static void count_differences(const struct segment_search *search, size_t curve, int n_segments, const size_t *cut,
                              size_t *differ)
{
    struct piece piece[SEGMENT_MAX];
    size_t n_points = search->curves[curve].n_points, first = 0;
    size_t degrees = n_points - 2 * (size_t)n_segments; /* a piece has three points or more */
    long double rss = 0;
    for (int i = 0; i < n_segments; i++) {
        size_t end = i + 1 < n_segments ? search->index[curve][cut[i]] : n_points;
        piece[i] = piece_fit(search->sums[curve], first, end);
        rss += piece[i].rss;
        first = end;
    }
    for (int i = 0; i + 1 < n_segments; i++)
        differ[i] += pieces_differ(&piece[i], &piece[i + 1], search->cuts[cut[i]], rss / (long double)degrees,
                                   line_quantile(degrees), search->steps_only);
}

static bool identifiable(const struct segment_search *search, int n_segments, const size_t *cut)
{
    size_t differ[SEGMENT_MAX] = {0};
    for (size_t curve = 0; n_segments > 1 && curve < search->n_curves; curve++)
        count_differences(search, curve, n_segments, cut, differ);
    for (int i = 0; i + 1 < n_segments; i++)
        if (differ[i] < search->differ_min)
            return false;
    return true;
}

static void consider(const struct segment_search *search, int n_segments, const size_t *cut, double log_points,
                     struct segmentation *best)
{
    int parameters = 2 * n_segments * (int)search->n_curves + n_segments - 1;
    double criterion = misfit(search, n_segments, cut) + parameters * log_points;
    if (!(criterion < best->criterion) || !identifiable(search, n_segments, cut))
        return;
    *best = (struct segmentation){.n = n_segments, .criterion = criterion};
    for (int i = 1; i < n_segments; i++)
        best->begin[i] = search->cuts[cut[i - 1]];
}

static struct sums *sums_make(const struct curve *curve)
{
    struct sums *sums = xcalloc(curve->n_points + 1, sizeof *sums);
    for (size_t i = 0; i < curve->n_points; i++) {
        long double x = curve->bytes[i], y = curve->seconds[i], w = 1 / (y * y);
        sums[i + 1] = (struct sums){.w = sums[i].w + w,
                                    .wx = sums[i].wx + w * x,
                                    .wxx = sums[i].wxx + w * x * x,
                                    .wy = sums[i].wy + w * y,
                                    .wxy = sums[i].wxy + w * x * y};
    }
    return sums;
}

static size_t *index_make(const struct segment_search *search, const struct curve *curve)
{
    size_t *index = xcalloc(search->n_cuts, sizeof *index);
    for (size_t cut = 0, point = 0; cut < search->n_cuts; cut++) {
        while (point < curve->n_points && curve->bytes[point] < search->cuts[cut])
            point++;
        index[cut] = point;
    }
    return index;
}

/* Finds the segments of n_curves >= 1 curves, whose seconds are above 0, of at most SEGMENT_MAX_POINTS points.
 * differ_min: in how many of them a cut has to make a difference, 1 to n_curves. With steps_only a difference is a step
 * up of SEGMENT_JUMP, not a change of slope. log_points is the natural logarithm of the points of all curves that are
 * compared. The result is one segment where the points are too few to tell. */
static struct segmentation segment_find(const struct curve *curves, size_t n_curves, size_t differ_min, bool steps_only,
                                        int max_segments, double log_points)
{
    struct segmentation found = {.n = 1, .criterion = INFINITY};
    const struct curve *longest = &curves[0];
    for (size_t i = 1; i < n_curves; i++)
        if (curves[i].n_points > longest->n_points)
            longest = &curves[i];
    struct segment_search search = {.curves = curves,
                                    .n_curves = n_curves,
                                    .differ_min = differ_min,
                                    .steps_only = steps_only,
                                    .sums = xcalloc(n_curves, sizeof *search.sums),
                                    .cuts = longest->bytes,
                                    .n_cuts = longest->n_points,
                                    .index = xcalloc(n_curves, sizeof *search.index)};
    for (size_t i = 0; i < n_curves; i++) {
        search.sums[i] = sums_make(&curves[i]);
        search.index[i] = index_make(&search, &curves[i]);
    }
    consider(&search, 1, NULL, log_points, &found);
    for (size_t first = 1; max_segments >= 2 && first < search.n_cuts; first++) {
        size_t cut[SEGMENT_MAX - 1] = {first, 0};
        consider(&search, 2, cut, log_points, &found);
        for (cut[1] = first + SEGMENT_MIN_POINTS; max_segments >= 3 && cut[1] < search.n_cuts; cut[1]++)
            consider(&search, 3, cut, log_points, &found);
    }
    for (size_t i = 0; i < n_curves; i++) {
        free(search.sums[i]);
        free(search.index[i]);
    }
    free(search.sums);
    free(search.index);
    return found;
}

/* Protocols by their number; two that were found are those that every MPI has, two that a user gives are the first. */
static const enum machine_protocol found_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};
static const enum machine_protocol given_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_SHORT, PROTOCOL_EAGER}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};

/* Largest threshold, B: no MPI has a larger one, and 2^53 is where doubles stop counting bytes. */
#define THRESHOLD_MAX_BYTES (UINT64_C(1) << 53)

/* Factor from which on two sources contradict each other. */
#define APART 2
/* Size up to which a probe must have found no rendezvous, to conclude that there is none, B. */
#define PROBED_MIN_BYTES 1048576

/* What each source says of one level. */
struct sources {
    enum level level;
    struct curve *curve; /* [n_curves] what they point to is borrowed */
    size_t n_curves;
    struct boundary probed; /* where rendezvous begins; bytes 0: not probed; infinity: none was refused */
    double told_bytes;      /* 0: not reported */
    struct segmentation own;
};

/* Finds the curves of a level that span most of its sizes, as a curve of few sizes would forbid cuts of the others.
 * Copies the borrowed points to curve[]; returns their number. */
static size_t spanning_curves(const struct curves *curves, enum level level, struct curve *curve)
{
    size_t widest = 0, n = 0;
    for (size_t i = 0; i < curves->n_curves; i++)
        if (curves->curves[i].level == level && curves->curves[i].n_points > widest)
            widest = curves->curves[i].n_points;
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct curve *from = &curves->curves[i];
        if (from->level == level && 3 * from->n_points >= 2 * widest)
            curve[n++] = *from;
    }
    return n;
}

/* Returns in how many of a level's curves a break has to show: MPI's protocols are the same for all N. */
static size_t half_of(size_t n_curves)
{
    return (n_curves + 1) / 2;
}

static double log_points(const struct curve *curve, size_t n_curves)
{
    size_t points = 0;
    for (size_t i = 0; i < n_curves; i++)
        points += curve[i].n_points;
    return log((double)(points > 0 ? points : 1));
}

static struct fit_thresholds from_segmentation(const struct segmentation *found)
{
    struct fit_thresholds thresholds = {.n = found->n, .origin = {"segmentation", "segmentation", "segmentation"}};
    memcpy(thresholds.bytes, found->begin, sizeof thresholds.bytes);
    memcpy(thresholds.protocol, found_names[found->n - 1], sizeof thresholds.protocol);
    return thresholds;
}

/* Takes rendezvous from bytes on. Below it there is one protocol, or two where every curve shows a step: what copies
 * cost changes its slope at many sizes, in one run here and in the next there, and is no protocol. */
static struct fit_thresholds known_rendezvous(const struct sources *sources, double bytes, const char *origin)
{
    struct curve *below = xcalloc(sources->n_curves, sizeof *below);
    struct segmentation found = {.n = 1};
    size_t n = 0;
    for (size_t i = 0; i < sources->n_curves; i++) {
        const struct curve *curve = &sources->curve[i];
        below[n] = *curve;
        for (below[n].n_points = 0; below[n].n_points < curve->n_points && curve->bytes[below[n].n_points] < bytes;)
            below[n].n_points++;
        n += below[n].n_points > 0;
    }
    if (n > 0)
        found = segment_find(below, n, n, true, SEGMENT_MAX - 1, log_points(below, n));
    free(below);
    struct fit_thresholds thresholds = from_segmentation(&found);
    thresholds.origin[thresholds.n] = origin;
    thresholds.bytes[thresholds.n++] = bytes;
    memcpy(thresholds.protocol, found_names[thresholds.n - 1], sizeof thresholds.protocol);
    return thresholds;
}

/* Returns the break of the curves next to a size, 0 where they have none. */
static double nearest_break(const struct segmentation *own, double bytes)
{
    double nearest = 0;
    for (int i = 1; i < own->n; i++)
        if (!(nearest > 0) || fabs(log(own->begin[i] / bytes)) < fabs(log(nearest / bytes)))
            nearest = own->begin[i];
    return nearest;
}

static bool apart(double a, double b)
{
    return a > 0 && b > 0 && isfinite(a) && isfinite(b) && (a > APART * b || b > APART * a);
}

static void say(const struct sources *sources, const struct fit_thresholds *thresholds, FILE *notes)
{
    double used = thresholds->n > 1 ? thresholds->bytes[thresholds->n - 1] : 0;
    double probed = sources->probed.bytes, told = sources->told_bytes;
    double broken = nearest_break(&sources->own, used > 0 ? used : 1);
    if (notes == NULL)
        return;
    fprintf(notes, "%s: ", level_name[sources->level]);
    if (used > 0)
        fprintf(notes, "rendezvous from %.0f B by %s", used, thresholds->origin[thresholds->n - 1]);
    else
        fprintf(notes, "one protocol for all sizes");
    if (isinf(probed))
        fprintf(notes, "; the probe found no size that waits for its receive");
    if (told > 0)
        fprintf(notes, "; the MPI reports %.0f B", told);
    if (!(broken > 0))
        fprintf(notes, "; the curves show no break");
    else if (used > broken || used < broken)
        fprintf(notes, "; the curves break at %.0f B", broken);
    if (apart(used, told) || apart(used, broken) || apart(told, broken))
        fprintf(notes, "; these differ by more than a factor of %d", APART);
    fputc('\n', notes);
}

static struct sources sources_find(const struct samples *samples, const struct curves *curves, enum level level)
{
    struct sources sources = {.level = level, .curve = xcalloc(curves->n_curves, sizeof *sources.curve)};
    sources.n_curves = spanning_curves(curves, level, sources.curve);
    sources.told_bytes = samples->told_bytes[level];
    const struct boundary *probed = &sources.probed;
    boundary_find(samples, BENCHMARK_EAGER, level, &sources.probed);
    /* A search that was cut off before it knew more than this gives nothing. */
    if (isinf(probed->bytes) ? probed->low <= PROBED_MIN_BYTES : probed->high > APART * probed->low)
        sources.probed = (struct boundary){.bytes = 0};
    return sources;
}

/* Cuts the levels that only their curves show: all alike, if the break shows at one of them, or each by itself where
 * that explains them better. */
static void cut_unknown(struct sources *unknown, size_t n_unknown, struct fit_thresholds *thresholds)
{
    size_t n_curves = 0, differ_min = SIZE_MAX;
    double separately = 0;
    for (size_t i = 0; i < n_unknown; i++) {
        size_t half = half_of(unknown[i].n_curves);
        n_curves += unknown[i].n_curves;
        differ_min = half < differ_min ? half : differ_min;
    }
    if (n_unknown == 0)
        return;
    struct curve *all = xcalloc(n_curves, sizeof *all);
    for (size_t i = 0, n = 0; i < n_unknown; n += unknown[i++].n_curves)
        memcpy(&all[n], unknown[i].curve, unknown[i].n_curves * sizeof *all);
    double log_all = log_points(all, n_curves);
    struct segmentation common = segment_find(all, n_curves, differ_min, false, SEGMENT_MAX, log_all);
    for (size_t i = 0; i < n_unknown; i++) {
        struct sources *level = &unknown[i];
        level->own = segment_find(level->curve, level->n_curves, half_of(level->n_curves), false, SEGMENT_MAX, log_all);
        separately += level->own.criterion;
    }
    for (size_t i = 0; i < n_unknown; i++) {
        if (common.criterion <= separately)
            unknown[i].own = common;
        thresholds[unknown[i].level] = from_segmentation(&unknown[i].own);
    }
    free(all);
}

/* Returns whether the probe found a size: the best source. */
static bool is_probed(const struct sources *sources)
{
    return sources->probed.bytes > 0 && isfinite(sources->probed.bytes);
}

static void cut_known(struct sources *sources, struct fit_thresholds *thresholds)
{
    bool probed = is_probed(sources);
    sources->own = segment_find(sources->curve, sources->n_curves, half_of(sources->n_curves), false, SEGMENT_MAX,
                                log_points(sources->curve, sources->n_curves));
    *thresholds =
        known_rendezvous(sources, probed ? sources->probed.bytes : sources->told_bytes, probed ? "probe" : "mpi_t");
    thresholds->low = sources->probed.low;
    thresholds->high = isfinite(sources->probed.high) ? sources->probed.high : NAN;
    thresholds->n_samples = probed ? sources->probed.n_samples : 0;
}

int fit_thresholds_find(const struct samples *samples, const struct curves *curves, const struct fit_options *options,
                        struct fit_thresholds thresholds[LEVEL_COUNT], FILE *notes, struct error *error)
{
    /* Levels that only the curves show come first, then the others. */
    struct sources sources[LEVEL_COUNT];
    size_t n = 0, n_unknown = 0;
    for (size_t i = 0; i < curves->n_curves; i++)
        if (curves->curves[i].n_points > SEGMENT_MAX_POINTS && options->thresholds[curves->curves[i].level].n == 0)
            return error_set(error,
                             "%s, n = %llu: %zu sizes, expected at most %d to find thresholds in; give them by "
                             "--thresholds",
                             level_name[curves->curves[i].level], (unsigned long long)curves->curves[i].n,
                             curves->curves[i].n_points, SEGMENT_MAX_POINTS);
    for (int i = 0; i < LEVEL_COUNT; i++) {
        thresholds[i] = options->thresholds[i];
        if (thresholds[i].n > 0)
            continue;
        struct sources found = sources_find(samples, curves, (enum level)i);
        if (found.n_curves == 0) {
            free(found.curve);
            continue;
        }
        sources[n++] = found;
        if (found.told_bytes > 0 || is_probed(&found))
            continue;
        sources[n - 1] = sources[n_unknown];
        sources[n_unknown++] = found;
    }
    cut_unknown(sources, n_unknown, thresholds);
    for (size_t i = n_unknown; i < n; i++)
        cut_known(&sources[i], &thresholds[sources[i].level]);
    for (size_t i = 0; i < n; i++) {
        say(&sources[i], &thresholds[sources[i].level], notes);
        free(sources[i].curve);
    }
    return 0;
}

int fit_thresholds_parse(const char *text, struct fit_options *options, struct error *error)
{
    struct fit_thresholds thresholds = {.origin = {"given", "given", "given"}};
    char *copy = xstrdup(text), *rest = strcmp(text, "auto") == 0 ? NULL : copy;
    int result = 0;
    while (result == 0 && rest != NULL) {
        uint64_t size;
        const char *wrong = number_u64(strsep(&rest, ","), &size);
        if (wrong == NULL && size > THRESHOLD_MAX_BYTES)
            wrong = "is too large";
        if (wrong != NULL)
            result = error_set(
                error, "--thresholds %s: a size %s; expected auto, or sizes in bytes such as 0,256,16384", text, wrong);
        else if (thresholds.n == SEGMENT_MAX)
            result = error_set(error, "--thresholds %s: more than three protocols", text);
        else if (thresholds.n == 0 ? size > 0 : (double)size <= thresholds.bytes[thresholds.n - 1])
            result = error_set(error, "--thresholds %s: expected 0 first, then larger and larger sizes", text);
        else
            thresholds.bytes[thresholds.n++] = (double)size;
    }
    free(copy);
    if (result != 0)
        return -1;
    if (thresholds.n > 0)
        memcpy(thresholds.protocol, given_names[thresholds.n - 1], sizeof thresholds.protocol);
    for (int level = 0; level < LEVEL_COUNT; level++)
        options->thresholds[level] = thresholds;
    return 0;
}

/* Each search of a benchmark (samples of one n and launch) gives a boundary of its own: the cut with the fewest samples
 * on the wrong side, refused ones below it or taken ones from it on. Several searches are summed up by their median and
 * by their quantiles of 2.5 and 97.5 %.
 *
 * A search's true boundary lies in the gap between its largest taken and its smallest refused size, or, where refused
 * sizes lie below taken ones, in that overlap; a size that was both taken and refused belongs to it.
 *
 * fit_buffer makes a row of it: B of share/doc/MODELS.md, flow, the bytes that the transport takes without a receiver's
 * progress. The samples (calibrate/benchmark/buffer.c) are messages that were taken from the sender while the receiver
 * was paused, or refused. B is the largest size that is taken, so one byte less than the boundary, for each level. Its
 * interval shows how far the windows of a transport differ from pair to pair. */

#define TAIL 0.025

struct boundary_outcome {
    uint32_t launch;
    uint64_t n;
    uint64_t bytes;
    bool taken;
};

static int compare_outcomes(const void *left, const void *right)
{
    const struct boundary_outcome *a = left, *b = right;
    return ORDER(a->launch, b->launch) ?: ORDER(a->n, b->n) ?: ORDER(a->bytes, b->bytes);
}

/* Returns the cut of one search, outcomes sorted by size; the smallest of equally good ones. */
static double best_cut(const struct boundary_outcome *outcomes, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += outcomes[i].taken;
    size_t fewest = wrong;
    double best = (double)outcomes[0].bytes;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && outcomes[end].bytes == outcomes[first].bytes; end++)
            wrong = outcomes[end].taken ? wrong - 1 : wrong + 1;
        if (wrong < fewest) {
            fewest = wrong;
            best = end < n ? (double)outcomes[end].bytes : INFINITY;
        }
    }
    return best;
}

static struct boundary boundary_of(const struct boundary_outcome *outcomes, size_t n)
{
    double largest_taken = 0, smallest_refused = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double bytes = (double)outcomes[i].bytes;
        if (outcomes[i].taken)
            largest_taken = bytes;
        else if (bytes < smallest_refused)
            smallest_refused = bytes;
    }
    double after_taken = largest_taken + 1; /* sizes are whole bytes */
    return (struct boundary){
        .bytes = best_cut(outcomes, n),
        .low = fmin(after_taken, smallest_refused),
        .high = fmax(after_taken, smallest_refused),
        .n_samples = n,
    };
}

static double median(const double *sorted, size_t n)
{
    double below = sorted[(n - 1) / 2], above = sorted[n / 2];
    return isinf(above) ? below : ceil((below + above) / 2);
}

/* Sums up searches[n]. values[3n] is room. */
static struct boundary sum_up(const struct boundary *searches, size_t n, double *values)
{
    double *bytes = values, *low = values + n, *high = values + 2 * n;
    size_t tail = (size_t)(TAIL * (double)n);
    struct boundary boundary = {.n_samples = 0};
    for (size_t i = 0; i < n; i++) {
        bytes[i] = searches[i].bytes;
        low[i] = searches[i].low;
        high[i] = searches[i].high;
        boundary.n_samples += searches[i].n_samples;
    }
    sort_doubles(bytes, n);
    sort_doubles(low, n);
    sort_doubles(high, n);
    boundary.bytes = median(bytes, n);
    boundary.low = low[tail];
    boundary.high = high[n - 1 - tail];
    return boundary;
}

/* Fills searches[n]; leaves out a search that the end of the time cut off before its first refusal, or its first taken
 * size, where others have both. Returns their number. */
static size_t boundaries_find(const struct boundary_outcome *outcomes, size_t n, struct boundary *searches)
{
    size_t n_searches = 0, n_whole = 0;
    for (size_t first = 0, end; first < n; first = end) {
        size_t taken = outcomes[first].taken;
        for (end = first + 1;
             end < n && outcomes[end].n == outcomes[first].n && outcomes[end].launch == outcomes[first].launch; end++)
            taken += outcomes[end].taken;
        bool whole = taken > 0 && taken < end - first;
        if (whole && n_whole++ == 0)
            n_searches = 0;
        if (whole || n_whole == 0)
            searches[n_searches++] = boundary_of(&outcomes[first], end - first);
    }
    return n_searches;
}

bool boundary_find(const struct samples *samples, enum benchmark benchmark, enum level level, struct boundary *boundary)
{
    size_t n = 0;
    struct boundary_outcome *outcomes = xcalloc(samples->n_samples, sizeof *outcomes);
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        if (sample->benchmark == benchmark && sample->level == level &&
            (sample->variant == VARIANT_TAKEN || sample->variant == VARIANT_REFUSED))
            outcomes[n++] =
                (struct boundary_outcome){sample->launch, sample->n, sample->bytes, sample->variant == VARIANT_TAKEN};
    }
    if (n > 0) {
        struct boundary *searches = xcalloc(n, sizeof *searches);
        double *values = xcalloc(3 * n, sizeof *values);
        qsort(outcomes, n, sizeof *outcomes, compare_outcomes);
        *boundary = sum_up(searches, boundaries_find(outcomes, n, searches), values);
        free(searches);
        free(values);
    }
    free(outcomes);
    return n > 0;
}

void fit_buffer(const struct fit *fit)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct boundary boundary;
        if (!boundary_find(fit->samples, BENCHMARK_BUFFER, (enum level)level, &boundary))
            continue;
        if (isinf(boundary.bytes))
            fit_note(fit->notes, "%s buffer: left out: the transport took all that was tried, up to %.0f B",
                     level_name[level], boundary.low - 1);
        else
            fit_row(fit->machine, (enum level)level, PROTOCOL_ANY, "buffer", MACHINE_NO_N,
                    (struct line_value){boundary.bytes - 1, boundary.low - 1, boundary.high - 1}, boundary.n_samples,
                    "boundary");
    }
}
