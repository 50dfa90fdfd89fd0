/* No source tells the thresholds for sure: probes may be cut off, an MPI may tell nothing or something else than it
 * does, curves break for other reasons. Here they are compared and one is chosen, with its origin. */
#include "calibrate/fit/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/boundary.h"
#include "share/base/memory.h"
#include "share/base/number.h"

/* Protocols by their number; two that were found are those that every MPI has, two that a user gives are the first. */
static const enum machine_protocol found_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};
static const enum machine_protocol given_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_SHORT, PROTOCOL_EAGER}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};

/* A size above this is no threshold of any MPI, and 2^53 is where doubles stop counting bytes. */
#define THRESHOLD_MAX_BYTES (UINT64_C(1) << 53)

/* Two sources that are further apart than this contradict each other. */
#define APART 2
/* A probe that found no rendezvous up to here found that there is none. */
#define PROBED_MIN_BYTES 1048576

/* What each source says of one level. */
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
static struct fit_thresholds known_rendezvous(const struct sources *sources, double bytes, const char *origin)
{
    struct segment_curve *below = xcalloc(sources->n_curves, sizeof *below);
    struct segmentation found = {.n = 1};
    size_t n = 0;
    for (size_t i = 0; i < sources->n_curves; i++) {
        const struct segment_curve *curve = &sources->curve[i];
        below[n] = *curve;
        for (below[n].n_points = 0; below[n].n_points < curve->n_points && curve->x[below[n].n_points] < bytes;)
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
        fprintf(notes, "; the MPI tells %.0f B", told);
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
    /* A search that was cut off before it knew more than this tells nothing. */
    if (isinf(probed->bytes) ? probed->low <= PROBED_MIN_BYTES : probed->high > APART * probed->low)
        sources.probed = (struct boundary){.bytes = 0};
    return sources;
}

/* Cuts the levels of which only their curves tell: all alike, if the break shows at one of them, or each by itself
 * where that explains them better. */
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
    struct segment_curve *all = xcalloc(n_curves, sizeof *all);
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

/* Whether the probe found a size: the best source. */
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
    /* Levels of which only the curves tell come first, then the others. */
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

/* Parses one size of the list at *at, which moves behind its comma, to NULL at the end. Returns NULL, or what is wrong.
 */
static const char *parse_size(const char **at, double *bytes)
{
    char digits[24];
    size_t length = strcspn(*at, ",");
    uint64_t size;
    if (length >= sizeof digits)
        return "is too large";
    memcpy(digits, *at, length);
    digits[length] = '\0';
    const char *wrong = number_u64(digits, &size);
    if (wrong == NULL && size > THRESHOLD_MAX_BYTES)
        wrong = "is too large";
    if (wrong == NULL)
        *bytes = (double)size;
    *at = (*at)[length] == ',' ? *at + length + 1 : NULL;
    return wrong;
}

int fit_thresholds_parse(const char *text, struct fit_options *options, struct error *error)
{
    struct fit_thresholds thresholds = {.origin = {"given", "given", "given"}};
    const char *at = strcmp(text, "auto") == 0 ? NULL : text;
    while (at != NULL) {
        double bytes, last = thresholds.n == 0 ? -1 : thresholds.bytes[thresholds.n - 1];
        const char *wrong = parse_size(&at, &bytes);
        if (wrong != NULL)
            return error_set(error, "--thresholds %s: a size %s; expected auto, or sizes in bytes such as 0,256,16384",
                             text, wrong);
        if (thresholds.n == SEGMENT_MAX)
            return error_set(error, "--thresholds %s: more than three protocols", text);
        if (thresholds.n == 0 ? bytes > 0 : bytes <= last)
            return error_set(error, "--thresholds %s: expected 0 first, then larger and larger sizes", text);
        thresholds.bytes[thresholds.n++] = bytes;
    }
    if (thresholds.n > 0)
        memcpy(thresholds.protocol, given_names[thresholds.n - 1], sizeof thresholds.protocol);
    for (int level = 0; level < LEVEL_COUNT; level++)
        options->thresholds[level] = thresholds;
    return 0;
}
