/* Draws what the search of the receive queues costs (B section 4.1): times of n messages whose receives are posted in
 * the order of arrival or against it, and the table's cost of a step, c(n). Papers are named as in share/doc/MODELS.md.
 */
#include <math.h>
#include <string.h>

#include "calibrate/plot/panel.h"

static const struct {
    enum variant variant;
    const char *title;
    const char *color;
    int mark;
} variants[] = {
    {VARIANT_POSTED_INORDER, "posted, in order", "#0072b2", 6},
    {VARIANT_POSTED_REVERSED, "posted, reversed", "#0072b2", 7},
    {VARIANT_UNEXPECTED_INORDER, "unexpected, in order", "#d55e00", 4},
    {VARIANT_UNEXPECTED_REVERSED, "unexpected, reversed", "#d55e00", 5},
};
static const struct {
    const char *quantity;
    const char *title;
    const char *color;
    int mark;
} steps[] = {
    {"queue_step", "posted", "#0072b2", 7},
    {"queue_step_unexpected", "unexpected", "#d55e00", 5},
};

static bool is_step(const struct machine_parameter *row, size_t which)
{
    return strcmp(row->quantity, steps[which].quantity) == 0 && row->n != MACHINE_NO_N;
}

/* Returns the first level of which there are samples. */
static enum level level_first(const struct samples *samples)
{
    struct group group = {0};
    return group_next(samples, BENCHMARK_QUEUE, &group) ? (enum level)samples->samples[group.first].level : LEVEL_COUNT;
}

/* Draws the samples, or with median their medians. */
static void draw_variant(struct picture *picture, enum level level, size_t which, bool median)
{
    struct group group = {0};
    panel_block(picture);
    while (group_next(picture->samples, BENCHMARK_QUEUE, &group)) {
        const struct sample *sample = &picture->samples->samples[group.first];
        if (sample->variant != variants[which].variant || sample->level != level)
            continue;
        if (median)
            panel_point(picture, (double)sample->n, group_median(picture->samples, &group));
        else
            group_draw(picture, &group, (double)sample->n);
    }
    panel_block_end(picture);
    if (median)
        panel_draw(picture, "with linespoints pt %d ps 0.6 lc rgb '%s' title '%s'", variants[which].mark,
                   variants[which].color, variants[which].title);
    else
        panel_draw(picture, "with points pt 7 ps 0.25 lc rgb '#a8%s' notitle", variants[which].color + 1);
}

static void draw_steps(struct picture *picture, const char *place)
{
    const struct machine *machine = picture->machine;
    fprintf(picture->panel, "%sset format y '%%g'\nset ylabel 'a step c(n), ns'\nset yrange [0:*]\n", place);
    fputs("set xlabel 'messages, n'\nset format x '%.0f'\n", picture->panel);
    panel_plot(picture);
    for (size_t which = 0; which < sizeof steps / sizeof steps[0]; which++) {
        panel_block(picture);
        for (size_t i = 0; i < machine->n_parameters; i++) {
            const struct machine_parameter *row = &machine->parameters[i];
            if (is_step(row, which))
                panel_interval(picture, (double)row->n, row->value, row->ci_low, row->ci_high);
        }
        panel_block_end(picture);
        panel_draw(picture, "using 1:($2*1e9) with lines lc rgb '%s' notitle", steps[which].color);
        panel_draw(picture,
                   "using 1:($2*1e9):($3*1e9):($4*1e9) with yerrorbars pt %d ps 0.6 lc rgb '%s' title 'c(n), %s'",
                   steps[which].mark, steps[which].color, steps[which].title);
    }
    panel_plot_end(picture);
}

static bool has_steps(const struct machine *machine)
{
    for (size_t i = 0; i < machine->n_parameters; i++)
        for (size_t which = 0; which < sizeof steps / sizeof steps[0]; which++)
            if (is_step(&machine->parameters[i], which))
                return true;
    return false;
}

static double most_n(const struct picture *picture)
{
    const struct machine *machine = picture->machine;
    struct group group = {0};
    double most = 2;
    while (group_next(picture->samples, BENCHMARK_QUEUE, &group))
        most = fmax(most, (double)picture->samples->samples[group.first].n);
    for (size_t i = 0; i < machine->n_parameters; i++)
        for (size_t which = 0; which < sizeof steps / sizeof steps[0]; which++)
            if (is_step(&machine->parameters[i], which))
                most = fmax(most, (double)machine->parameters[i].n);
    return most;
}

void panel_queue(struct picture *picture)
{
    enum level level = level_first(picture->samples);
    bool times = level != LEVEL_COUNT, shown_steps = has_steps(picture->machine);
    char title[96];
    snprintf(title, sizeof title, "Search of the receive queues%s%s", times ? ", " : "",
             times ? level_text(level) : "");
    if ((!times && !shown_steps) || !panel_begin(picture, title))
        return;
    FILE *panel = picture->panel;
    fputs("set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\nset logscale x\n"
          "set key top left Left reverse samplen 1.5\n",
          panel);
    fprintf(panel, "set bmargin at screen B%s\nset xrange [0.7:%.9g]\n", times && shown_steps ? " + 0.4*(T-B)" : "",
            1.4 * most_n(picture));
    if (times) {
        fputs("set logscale y\nset format y '%.0s %cs'\nset ylabel 'time of n messages'\n", panel);
        fprintf(panel, "set format x '%s'\n%s", shown_steps ? "" : "%.0f",
                shown_steps ? "" : "set xlabel 'messages, n'\n");
        panel_plot(picture);
        for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
            draw_variant(picture, level, i, false);
        for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
            draw_variant(picture, level, i, true);
        panel_plot_end(picture);
    }
    if (shown_steps)
        draw_steps(picture, times ? "unset title\nunset logscale y\nset tmargin at screen B + 0.34*(T-B)\n"
                                    "set bmargin at screen B\n"
                                  : "");
    panel_end(picture);
}
