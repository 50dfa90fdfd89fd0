/* Says what a fit is told besides the samples. */
#ifndef MPISTAIR_CALIBRATE_FIT_OPTIONS_H
#define MPISTAIR_CALIBRATE_FIT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrate/fit/line.h"
#include "calibrate/samples/samples.h"
#include "calibrate/fit/segment.h"
#include "calibrate/machine/machine.h"
#include "share/base/level.h"

/* Holds the smallest sizes of the protocols of one level: bytes[0] = 0 < bytes[1] < ...; n = 0: to be found in the
 * samples. */
struct fit_thresholds {
    int n;
    double bytes[SEGMENT_MAX];
    enum machine_protocol protocol[SEGMENT_MAX];
    const char *origin[SEGMENT_MAX]; /* for the column method: given, segmentation, mpi_t, probe */
    double low, high;                /* interval of the last one, where a probe found it; n_samples 0: it comes from
                                      * elsewhere */
    size_t n_samples;
};

struct fit_options {
    enum line_method method;
    enum samples_statistic statistic;
    struct fit_thresholds thresholds[LEVEL_COUNT];
    unsigned replicates; /* replicates of the bootstrap; 0: 200 */
    bool may_be_empty;   /* a table without a row is no error */
};

/* Reads `auto` or `0,256,16384` (short, eager, rendezvous in order; a single 0: one protocol for every size) for all
 * levels. Returns 0, or -1 with what was expected in error. */
int fit_thresholds_parse(const char *text, struct fit_options *options, struct error *error);

#endif
