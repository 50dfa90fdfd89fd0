/* Lays out a page of panels, under the name and source of their machine, and lets gnuplot draw it. */
#ifndef MPISTAIR_CALIBRATE_PLOT_PAGE_H
#define MPISTAIR_CALIBRATE_PLOT_PAGE_H

#include "calibrate/plot/panel.h"
#include "share/base/error.h"

/* Begins a page; picture->machine and what the panels take from it is set, all else 0. Panels come next (panel.h), then
 * page_end(). Returns 0, or -1 without memory. */
int page_begin(struct picture *picture, struct error *error);
/* Draws the page to an SVG file, `-` for standard output, and releases what panels wrote. What stood there is replaced
 * only when the picture is complete. Returns 0, or -1 with the reason: no panel, which is told in the words of
 * `nothing`; no gnuplot, no memory, not writable. */
int page_end(struct picture *picture, const char *nothing, const char *path, struct error *error);

#endif
