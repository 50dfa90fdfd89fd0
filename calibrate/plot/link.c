/* Draws the contention of a shared link: time over the bytes that cross it, for each number of messages, for the pairs
 * of nodes together and for each alone; and delta l, the table's cost of contention (B eq. 5, Figs. 7 and 9). Papers
 * are named as in share/doc/MODELS.md. */
#include <math.h>

#include "calibrate/plot/panel.h"

/* Finds the numbers of messages that were measured, ascending, at most PANEL_COLORS, and the bytes that crossed. */
static size_t counts_find(const struct picture *picture, uint32_t counts[PANEL_COLORS], double *least_bytes,
                          double *most_bytes)
{
    struct group group = {0};
    size_t n_counts = 0;
    while (group_next(picture->samples, BENCHMARK_CONTENTION, &group)) {
        const struct sample *sample = &picture->samples->samples[group.first];
        double bytes = (double)sample->n * sample->count * (double)sample->bytes;
        *least_bytes = fmin(*least_bytes, bytes);
        *most_bytes = fmax(*most_bytes, bytes);
        size_t at = 0;
        while (at < n_counts && counts[at] < sample->count)
            at++;
        if (n_counts == PANEL_COLORS || (at < n_counts && counts[at] == sample->count))
            continue;
        for (size_t i = n_counts++; i > at; i--)
            counts[i] = counts[i - 1];
        counts[at] = sample->count;
    }
    return n_counts;
}

static void draw_count(struct picture *picture, uint32_t count, enum variant variant, int color)
{
    struct group group = {0};
    panel_block(picture);
    while (group_next(picture->samples, BENCHMARK_CONTENTION, &group)) {
        const struct sample *sample = &picture->samples->samples[group.first];
        if (sample->count == count && sample->variant == variant)
            panel_point(picture, (double)sample->n * count * (double)sample->bytes,
                        group_median(picture->samples, &group));
    }
    panel_block_end(picture);
    if (variant == VARIANT_SHARED)
        panel_draw(picture, "with points pt %d ps 0.7 lc rgb '%s' title 'messages a process: %u'", panel_mark[color],
                   panel_color[color], count);
    else
        panel_draw(picture, "with points pt 1 ps 0.5 lc rgb '%s' %s", panel_color[color],
                   color == 0 ? "title 'the pairs of nodes alone'" : "notitle");
}

void panel_contention(struct picture *picture)
{
    const struct machine_parameter *delta = panel_row(picture->machine, LEVEL_INTER_NODE, "delta");
    uint32_t counts[PANEL_COLORS];
    double least_bytes = INFINITY, most_bytes = 0;
    size_t n_counts = counts_find(picture, counts, &least_bytes, &most_bytes);
    if (n_counts == 0 || !(least_bytes > 0) || !panel_begin(picture, "inter_node: a link shared by pairs of nodes"))
        return;
    fputs("set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\nset bmargin at screen B\n"
          "set key top left Left reverse samplen 1.5\nset logscale y\nset format y '%.0s %cs'\n"
          "set ylabel 'time of all messages'\nset xlabel 'bytes across the link in one direction, l'\n",
          picture->panel);
    panel_size_axis(picture, least_bytes, most_bytes, true);
    panel_plot(picture);
    for (size_t i = 0; i < n_counts; i++)
        draw_count(picture, counts[i], VARIANT_SHARED, (int)i);
    for (size_t i = 0; i < n_counts; i++)
        draw_count(picture, counts[i], VARIANT_ALONE, (int)i);
    if (delta != NULL && delta->value > 0) {
        panel_block(picture);
        panel_point(picture, least_bytes, delta->value * least_bytes);
        panel_point(picture, most_bytes, delta->value * most_bytes);
        panel_block_end(picture);
        panel_draw(picture, "with lines lw 1.5 lc rgb '#000000' title 'delta l, delta = %.4g s/B'", delta->value);
    }
    panel_plot_end(picture);
    panel_end(picture);
}
