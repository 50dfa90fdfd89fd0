/* Users give thresholds by hand where they know their MPI better than the samples show; a slip there would spoil the
 * whole table, so each size is checked. */
#include <string.h>

#include "calibrate/fit/fit_options.h"
#include "share/base/number.h"

/* A size above this is no threshold of any MPI, and 2^53 is where doubles stop counting bytes. */
#define THRESHOLD_MAX_BYTES (UINT64_C(1) << 53)

/* Names the protocols by their number. */
static const enum machine_protocol given_names[SEGMENT_MAX][SEGMENT_MAX] = {
    {PROTOCOL_ANY}, {PROTOCOL_SHORT, PROTOCOL_EAGER}, {PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS}};

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
