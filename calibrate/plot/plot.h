/* Draws a calibration: one page with a chart for whatever the table and its samples show. */
#ifndef MPISTAIR_CALIBRATE_PLOT_H
#define MPISTAIR_CALIBRATE_PLOT_H

#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"
#include "share/base/error.h"

/* Draws machine and samples (sorted; none: only the table's lines) to an HTML file, `-` for standard output, as
 * charts_write does. Returns 0, or -1 with the reason. */
int plot_draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error);

#endif
