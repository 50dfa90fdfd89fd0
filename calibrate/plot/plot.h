/* Draws a picture of a calibration: one SVG page with a panel for whatever the table and its samples tell. Each panel
 * has a file of its own:
 *
 *   times.c      time over size with the table's lines, thresholds and residuals, one for each level
 *   domains.c    ping-pong by what the two processes of a pair share
 *   rates.c      bandwidth of n processes against the max-rate line, after T Fig. 1
 *   search.c     queue search
 *   link.c       contention of a shared link, after B Figs. 7 and 9
 *   outcomes.c   sizes that were taken or refused
 *
 * plot.c says which there are, plot_page.c arranges, gnuplot draws (gnuplot.c). Papers are named as in
 * share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_PLOT_H
#define MPISTAIR_CALIBRATE_PLOT_H

#include "share/base/error.h"
#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"

/* Draws machine and samples (sorted; none: only the table's lines) to an SVG file, `-` for standard output. What stood
 * there is replaced only when the picture is complete. Returns 0, or -1 with the reason: nothing to draw, no gnuplot,
 * no memory, not writable. */
int plot_draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error);

#endif
