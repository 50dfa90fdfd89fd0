#include "thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A size above this is no threshold of any MPI, and 2^53 is where doubles stop counting bytes. */
#define THRESHOLD_MAX_BYTES 9007199254740992.0

/* Names by the number of protocols; two that were found are those that every MPI has. */
static const enum machine_protocol given_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_SHORT, PROTOCOL_EAGER}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};
static const enum machine_protocol found_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};

int fit_thresholds_parse(const char *text, struct fit_options *options, struct error *error)
{
    struct fit_thresholds thresholds = {.origin = {"given", "given", "given"}};
    if (strcmp(text, "auto") != 0) {
        const char *at = text;
        for (;;) {
            char *end;
            double bytes = at[0] >= '0' && at[0] <= '9' ? strtod(at, &end) : NAN;
            if (!(bytes >= 0) || bytes > THRESHOLD_MAX_BYTES || floor(bytes) < bytes || (*end != ',' && *end != '\0'))
                return error_set(error, "--thresholds %s: expected auto, or sizes in bytes such as 0,256,16384", text);
            if (thresholds.n == SEGMENT_MAX)
                return error_set(error, "--thresholds %s: more than three protocols", text);
            if (thresholds.n == 0 ? bytes > 0 : bytes <= thresholds.bytes[thresholds.n - 1])
                return error_set(error, "--thresholds %s: expected 0 first, then larger and larger sizes", text);
            thresholds.bytes[thresholds.n++] = bytes;
            if (*end == '\0')
                break;
            at = end + 1;
        }
        memcpy(thresholds.protocol, given_names[thresholds.n - 1], sizeof thresholds.protocol);
    }
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

int fit_thresholds_find(const struct curves *curves, enum machine_level level, const struct fit_options *options,
                        struct fit_thresholds *thresholds, struct error *error)
{
    if (options->thresholds[level].n > 0) {
        *thresholds = options->thresholds[level];
        return 0;
    }
    const struct curve *curve = widest_curve(curves, level);
    double told_bytes = options->rendezvous_bytes[level];
    size_t begin[SEGMENT_MAX], first = 0, end = curve->n_points;
    if (told_bytes > 0)
        curve_range(curve, 0, told_bytes, &first, &end);
    int n = segment_find(curve->bytes, curve->seconds, end, told_bytes > 0 ? 2 : SEGMENT_MAX, begin);
    if (n < 0)
        return error_set(error, "%s: %zu different sizes are too many to find thresholds in; give them by --thresholds",
                         machine_level_name[level], end);
    *thresholds = (struct fit_thresholds){.n = n, .origin = {"segmentation", "segmentation", "segmentation"}};
    for (int i = 1; i < n; i++)
        thresholds->bytes[i] = curve->bytes[begin[i]];
    if (told_bytes > 0) {
        thresholds->origin[thresholds->n] = "mpi_t";
        thresholds->bytes[thresholds->n++] = told_bytes;
    }
    memcpy(thresholds->protocol, found_names[thresholds->n - 1], sizeof thresholds->protocol);
    return 0;
}
