/* Draws results of the benchmark of fine-grained messaging after M Figs. 5 to 7: the speed-up over the size of a
 * buffer, a line an interface and number of parts, a chart a number of peers and arrivals. Papers are named as in
 * share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_SWEEP_PLOT_H
#define MPISTAIR_CALIBRATE_SWEEP_PLOT_H

#include "share/base/error.h"

/* Draws the rows of a file to an HTML file, `-` for standard output, as charts_write does. Void rows are marked, values
 * that are no numbers left out. Returns 0, or -1 with the reason. */
int sweep_plot(const char *rows_path, const char *path, struct error *error);

#endif
