#include "thresholds.h"

#include <math.h>
#include <string.h>

#include "number.h"

/* A size above this is no threshold of any MPI, and 2^53 is where doubles stop counting bytes. */
#define THRESHOLD_MAX_BYTES (UINT64_C(1) << 53)

/* Names by the number of protocols; two that were found are those that every MPI has. */
static const enum machine_protocol given_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_SHORT, PROTOCOL_EAGER}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};
static const enum machine_protocol found_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};

/* One size of the list at *at, which moves behind its comma, to NULL at the end. NULL, or what is wrong. */
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

static const struct curve *widest_curve(const struct curves *curves, enum machine_level level)
{
    const struct curve *best = NULL;
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        if (curve->level != level)
            continue;
        bool single = curve->n == 1, best_single = best != NULL && best->n == 1;
        if (best == NULL || (single && !best_single) || (single == best_single && curve->n_points > best->n_points))
            best = curve;
    }
    return best;
}

static struct fit_thresholds from_segmentation(const struct segmentation *found, double told_bytes)
{
    struct fit_thresholds thresholds = {.n = found->n, .origin = {"segmentation", "segmentation", "segmentation"}};
    memcpy(thresholds.bytes, found->begin, sizeof thresholds.bytes);
    if (told_bytes > 0) {
        thresholds.origin[thresholds.n] = "mpi_t";
        thresholds.bytes[thresholds.n++] = told_bytes;
    }
    memcpy(thresholds.protocol, found_names[thresholds.n - 1], sizeof thresholds.protocol);
    return thresholds;
}

/* The levels whose thresholds nobody told. */
struct unknown {
    enum machine_level level[LEVEL_COUNT];
    struct segment_curve curve[LEVEL_COUNT];
    size_t n;
};

static int find_unknown(const struct unknown *unknown, struct fit_thresholds *thresholds)
{
    struct segmentation common, own[LEVEL_COUNT];
    size_t points = 0;
    double apart = 0;
    for (size_t i = 0; i < unknown->n; i++)
        points += unknown->curve[i].n_points;
    if (unknown->n == 0)
        return 0;
    double log_points = log((double)points);
    if (segment_find(unknown->curve, unknown->n, SEGMENT_MAX, log_points, &common) != 0)
        return -1;
    for (size_t i = 0; i < unknown->n; i++) {
        if (segment_find(&unknown->curve[i], 1, SEGMENT_MAX, log_points, &own[i]) != 0)
            return -1;
        apart += own[i].criterion;
    }
    for (size_t i = 0; i < unknown->n; i++)
        thresholds[unknown->level[i]] = from_segmentation(common.criterion <= apart ? &common : &own[i], 0);
    return 0;
}

int fit_thresholds_find(const struct curves *curves, const struct fit_options *options,
                        struct fit_thresholds thresholds[LEVEL_COUNT], struct error *error)
{
    struct unknown unknown = {.n = 0};
    int result = 0;
    for (int i = 0; i < LEVEL_COUNT && result == 0; i++) {
        enum machine_level level = (enum machine_level)i;
        const struct curve *widest = widest_curve(curves, level);
        double told_bytes = options->rendezvous_bytes[level];
        thresholds[level] = options->thresholds[level];
        if (thresholds[level].n > 0 || widest == NULL)
            continue;
        struct segment_curve curve = {widest->bytes, widest->seconds, widest->n_points};
        if (!(told_bytes > 0)) {
            unknown.level[unknown.n] = level;
            unknown.curve[unknown.n++] = curve;
            continue;
        }
        struct segmentation found = {.n = 1};
        size_t first;
        curve_range(widest, 0, told_bytes, &first, &curve.n_points);
        if (curve.n_points > 0)
            result = segment_find(&curve, 1, SEGMENT_MAX - 1, log((double)curve.n_points), &found);
        thresholds[level] = from_segmentation(&found, told_bytes);
    }
    if (result == 0)
        result = find_unknown(&unknown, thresholds);
    if (result != 0)
        return error_set(error,
                         "no memory, or more than %d different sizes, to find thresholds in; give them by "
                         "--thresholds",
                         SEGMENT_MAX_POINTS);
    return 0;
}
