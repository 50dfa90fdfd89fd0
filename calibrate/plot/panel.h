/* Declares what the panels of a picture share: where their commands and data go, colours, groups of samples.
 *
 * A panel writes gnuplot commands between panel_begin() and panel_end(). Its place on the page is not known then: the
 * page sets L, R, B, T before it, the edges of its drawing area as fractions of the page. Numbers stand in named data
 * blocks ahead of all panels, so that no text of a user is near them. A function that draws a panel returns without one
 * where neither table nor samples hold what it shows. */
#ifndef MPISTAIR_CALIBRATE_PANEL_H
#define MPISTAIR_CALIBRATE_PANEL_H

#include <stdbool.h>
#include <stdio.h>

#include "calibrate/fit/fit_machine.h"
#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"

enum { PANEL_MAX = 64, PANEL_COLORS = 7, PANEL_CURVES_MAX = 6 };

/* Lists colours that stay apart for colour-blind readers (Okabe and Ito); they come with different marks. */
extern const char *const panel_color[PANEL_COLORS];
extern const int panel_mark[PANEL_COLORS]; /* gnuplot point types */

struct picture {
    const struct machine *machine;
    const struct samples *samples; /* sorted */
    const struct curves *curves;   /* medians, as the fit takes them */
    size_t columns;                /* panels side by side; 0: as many as look well */
    bool right_axis;               /* every panel has marks on its right side */
    FILE *data;
    char *data_text;
    size_t data_size;
    int n_blocks;
    size_t n_points;         /* points of the last block */
    char *panels[PANEL_MAX]; /* commands of each panel */
    size_t n_panels;
    FILE *panel; /* the panel that is being written */
    size_t panel_size;
    int n_elements; /* elements of its plot command */
    int n_plots;
    bool failed; /* no memory */
};

/* Begins a panel. Returns false without memory; then nothing may be written. */
bool panel_begin(struct picture *picture, const char *title);
void panel_end(struct picture *picture);

/* Writes a data block: points go between panel_block() and panel_block_end(), then panel_draw() puts it into the plot
 * command: `format` is what stands behind its name. A block without points is not drawn. Points that gnuplot could not
 * place, not finite or beyond 1e30 or (not 0) below 1e-30, are left out. */
void panel_block(struct picture *picture);
void panel_point(struct picture *picture, double x, double y);
void panel_interval(struct picture *picture, double x, double y, double low, double high); /* NaN: that end is y */
void panel_gap(struct picture *picture);                                                   /* lines break here */
void panel_block_end(struct picture *picture);
void panel_draw(struct picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a plot command: panel_draw(), and panel_element() for what is no block, go between these two. One without
 * elements is not written, and a panel without plot commands is dropped. */
void panel_plot(struct picture *picture);
void panel_element(struct picture *picture, const char *format, ...) __attribute__((format(printf, 2, 3)));
void panel_plot_end(struct picture *picture);

/* Makes the x axis for sizes from least_bytes > 0 to most_bytes, logarithmic, with marks at powers of 2. */
void panel_size_axis(struct picture *picture, double least_bytes, double most_bytes, bool labelled);

/* Holds samples that differ in nothing but their time: [first, end) of the sorted samples. */
struct group {
    size_t first;
    size_t end;
};
/* Goes on to the next group of a benchmark, from group->end on; returns false if there is none. Begin with {0, 0}. */
bool group_next(const struct samples *samples, enum benchmark benchmark, struct group *group);
double group_median(const struct samples *samples, const struct group *group);

/* Limits how many samples of a group are drawn: evenly spaced from the least to the largest. */
enum { GROUP_DRAWN_MAX = 16 };
/* Writes rows "x seconds" of what is drawn of a group. */
void group_draw(struct picture *picture, const struct group *group, double x);

/* Returns the row of a quantity at a level (LEVEL_COUNT: `any`), of the first protocol that has it; NULL if there is
 * none. */
const struct machine_parameter *panel_row(const struct machine *machine, enum level level, const char *quantity);

/* Draw the panels. */
void panel_times(struct picture *picture, enum level level);
void panel_bandwidth(struct picture *picture, enum level level);
void panel_domains(struct picture *picture, enum level level);
void panel_injection(struct picture *picture);
void panel_queue(struct picture *picture);
void panel_contention(struct picture *picture);
void panel_outcomes(struct picture *picture);

#endif
