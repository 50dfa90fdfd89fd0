/* A picture of a calibration: one SVG page with a panel for whatever the table and its samples tell.
 *
 * Panels, each in a file of its own: time over size with the table's lines, thresholds and residuals, a level each
 * (times.c); bandwidth of n processes against the max-rate line, after T Fig. 1 (rates.c); queue search (search.c);
 * contention of a shared link, after B Figs. 7 and 9 (link.c); sizes that were taken or refused (outcomes.c). gnuplot
 * draws them (gnuplot.c); page.c arranges. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_PLOT_H
#define MPISTAIR_CALIBRATE_PLOT_H

#include "share/base/error.h"
#include "calibrate/machine/machine.h"
#include "calibrate/fit/samples.h"

/* Draws machine and samples (sorted; none: only the table's lines) to an SVG file, `-` for standard output. What stood
 * there is replaced only when the picture is complete. 0, or -1 with the reason: nothing to draw, no gnuplot, no
 * memory, not writable. */
int plot_draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error);

#endif
