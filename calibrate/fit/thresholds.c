/* No source tells the thresholds for sure: probes may be cut off, an MPI may tell nothing or something else than it
 * does, curves break for other reasons. Here they are compared and one is chosen, with its origin. */
#include "calibrate/fit/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/boundary.h"

/* Names the protocols by their number; two that were found are those that every MPI has. */
static const enum machine_protocol found_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};

/* Two sources that are further apart than this contradict each other. */
#define APART 2
/* A probe that found no rendezvous up to here found that there is none. */
#define PROBED_MIN_BYTES 1048576

/* Holds what each source says of one level. */
struct sources {
    enum level level;
    struct segment_curve *curve; /* [n_curves] */
    size_t n_curves;
    struct boundary probed; /* where rendezvous begins; bytes 0: not probed; infinity: none was refused */
    double told_bytes;      /* 0: not told */
    struct segmentation own;
};

/* Finds the curves of a level that span most of its sizes, as a curve of few sizes would forbid cuts of the others.
 * Copies the borrowed points to curve[]; returns their number. */
static size_t spanning_curves(const struct curves *curves, enum level level, struct segment_curve *curve)
{
    size_t widest = 0, n = 0;
    for (size_t i = 0; i < curves->n_curves; i++)
        if (curves->curves[i].level == level && curves->curves[i].n_points > widest)
            widest = curves->curves[i].n_points;
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct curve *from = &curves->curves[i];
        if (from->level == level && 3 * from->n_points >= 2 * widest)
            curve[n++] = (struct segment_curve){from->bytes, from->seconds, from->n_points};
    }
    return n;
}

/* Returns in how many of a level's curves a break has to show: MPI's protocols are the same for all N. */
static size_t half_of(size_t n_curves)
{
    return (n_curves + 1) / 2;
}

static double log_points(const struct segment_curve *curve, size_t n_curves)
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
static int known_rendezvous(const struct segment_curve *curve, size_t n_curves, double bytes, const char *origin,
                            struct fit_thresholds *thresholds)
{
    struct segment_curve *below = calloc(n_curves + 1, sizeof *below);
    struct segmentation found = {.n = 1};
    size_t n = 0;
    if (below == NULL)
        return -1;
    for (size_t i = 0; i < n_curves; i++) {
        below[n] = curve[i];
        for (below[n].n_points = 0; below[n].n_points < curve[i].n_points && curve[i].x[below[n].n_points] < bytes;)
            below[n].n_points++;
        n += below[n].n_points > 0;
    }
    int result = n > 0 ? segment_find(below, n, n, true, SEGMENT_MAX - 1, log_points(below, n), &found) : 0;
    free(below);
    if (result != 0)
        return -1;
    *thresholds = from_segmentation(&found);
    thresholds->origin[thresholds->n] = origin;
    thresholds->bytes[thresholds->n++] = bytes;
    memcpy(thresholds->protocol, found_names[thresholds->n - 1], sizeof thresholds->protocol);
    return 0;
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
        fprintf(notes, "; the MPI tells %.0f B", told);
    if (!(broken > 0))
        fprintf(notes, "; the curves show no break");
    else if (used > broken || used < broken)
        fprintf(notes, "; the curves break at %.0f B", broken);
    if (apart(used, told) || apart(used, broken) || apart(told, broken))
        fprintf(notes, "; these differ by more than a factor of %d", APART);
    fputc('\n', notes);
}

static int sources_find(const struct samples *samples, const struct curves *curves, enum level level,
                        struct sources *sources)
{
    *sources = (struct sources){.level = level, .curve = calloc(curves->n_curves + 1, sizeof *sources->curve)};
    if (sources->curve == NULL)
        return -1;
    sources->n_curves = spanning_curves(curves, level, sources->curve);
    sources->told_bytes = samples->told_bytes[level];
    const struct boundary *probed = &sources->probed;
    if (boundary_find(samples, BENCHMARK_EAGER, level, &sources->probed) < 0)
        return -1;
    /* A search that was cut off before it knew more than this tells nothing. */
    if (isinf(probed->bytes) ? probed->low <= PROBED_MIN_BYTES : probed->high > APART * probed->low)
        sources->probed = (struct boundary){.bytes = 0};
    return 0;
}

/* Cuts the levels of which only their curves tell: all alike, if the break shows at one of them, or each by itself
 * where that explains them better. */
static int cut_unknown(struct sources *unknown, size_t n_unknown, struct fit_thresholds *thresholds)
{
    size_t n_curves = 0, differ_min = SIZE_MAX;
    double separately = 0;
    for (size_t i = 0; i < n_unknown; i++) {
        size_t half = half_of(unknown[i].n_curves);
        n_curves += unknown[i].n_curves;
        differ_min = half < differ_min ? half : differ_min;
    }
    struct segment_curve *all = calloc(n_curves + 1, sizeof *all);
    if (all == NULL)
        return -1;
    for (size_t i = 0, n = 0; i < n_unknown; n += unknown[i++].n_curves)
        memcpy(&all[n], unknown[i].curve, unknown[i].n_curves * sizeof *all);
    struct segmentation common;
    double log_all = log_points(all, n_curves);
    int result = n_curves > 0 ? segment_find(all, n_curves, differ_min, false, SEGMENT_MAX, log_all, &common) : 0;
    for (size_t i = 0; i < n_unknown && result == 0; i++) {
        struct sources *level = &unknown[i];
        result = segment_find(level->curve, level->n_curves, half_of(level->n_curves), false, SEGMENT_MAX, log_all,
                              &level->own);
        separately += level->own.criterion;
    }
    for (size_t i = 0; i < n_unknown && result == 0; i++) {
        if (common.criterion <= separately)
            unknown[i].own = common;
        thresholds[unknown[i].level] = from_segmentation(&unknown[i].own);
    }
    free(all);
    return result;
}

/* Says whether the probe found a size: the best source. */
static bool is_probed(const struct sources *sources)
{
    return sources->probed.bytes > 0 && isfinite(sources->probed.bytes);
}

static int cut_known(struct sources *sources, struct fit_thresholds *thresholds)
{
    bool probed = is_probed(sources);
    if (segment_find(sources->curve, sources->n_curves, half_of(sources->n_curves), false, SEGMENT_MAX,
                     log_points(sources->curve, sources->n_curves), &sources->own) != 0)
        return -1;
    if (known_rendezvous(sources->curve, sources->n_curves, probed ? sources->probed.bytes : sources->told_bytes,
                         probed ? "probe" : "mpi_t", thresholds) != 0)
        return -1;
    thresholds->low = sources->probed.low;
    thresholds->high = isfinite(sources->probed.high) ? sources->probed.high : NAN;
    thresholds->n_samples = probed ? sources->probed.n_samples : 0;
    return 0;
}

int fit_thresholds_find(const struct samples *samples, const struct curves *curves, const struct fit_options *options,
                        struct fit_thresholds thresholds[LEVEL_COUNT], FILE *notes, struct error *error)
{
    /* Levels of which only the curves tell come first, then the others. */
    struct sources sources[LEVEL_COUNT];
    size_t n = 0, n_unknown = 0;
    int result = 0;
    for (int i = 0; i < LEVEL_COUNT && result == 0; i++) {
        thresholds[i] = options->thresholds[i];
        if (thresholds[i].n > 0)
            continue;
        struct sources found;
        result = sources_find(samples, curves, (enum level)i, &found);
        if (result != 0 || found.n_curves == 0) {
            free(found.curve);
            continue;
        }
        sources[n++] = found;
        if (found.told_bytes > 0 || is_probed(&found))
            continue;
        sources[n - 1] = sources[n_unknown];
        sources[n_unknown++] = found;
    }
    if (result == 0)
        result = cut_unknown(sources, n_unknown, thresholds);
    for (size_t i = n_unknown; i < n && result == 0; i++)
        result = cut_known(&sources[i], &thresholds[sources[i].level]);
    for (size_t i = 0; i < n; i++) {
        if (result == 0)
            say(&sources[i], &thresholds[sources[i].level], notes);
        free(sources[i].curve);
    }
    if (result != 0)
        return error_set(error,
                         "no memory, or more than %d different sizes, to find thresholds in; give them by "
                         "--thresholds",
                         SEGMENT_MAX_POINTS);
    return 0;
}
