/* Draws sizes that came through while the receiver did nothing, and sizes that did not: crossed sends without a receive
 * (the rendezvous threshold) and a send to a paused receiver (the bytes that the transport takes), with the table's
 * value of each. Each level and benchmark has a line: what was taken stands above it, what was refused below. */
#include <math.h>
#include <string.h>

#include "calibrate/plot/panel.h"

enum { LINES_MAX = 2 * LEVEL_COUNT };

struct outcome_line {
    enum level level;
    enum benchmark benchmark;
};

static size_t lines_find(const struct picture *picture, struct outcome_line lines[LINES_MAX], double *least_bytes,
                         double *most_bytes)
{
    size_t n_lines = 0;
    for (int level = 0; level < LEVEL_COUNT; level++)
        for (int b = BENCHMARK_BUFFER; b <= BENCHMARK_EAGER; b++) {
            struct group group = {0};
            bool any = false;
            while (group_next(picture->samples, (enum benchmark)b, &group)) {
                const struct sample *sample = &picture->samples->samples[group.first];
                if (sample->level != level || sample->bytes == 0)
                    continue;
                *least_bytes = fmin(*least_bytes, (double)sample->bytes);
                *most_bytes = fmax(*most_bytes, (double)sample->bytes);
                any = true;
            }
            if (any)
                lines[n_lines++] = (struct outcome_line){(enum level)level, (enum benchmark)b};
        }
    return n_lines;
}

static bool of_line(const struct sample *sample, const struct outcome_line *line)
{
    return sample->level == line->level && sample->bytes > 0;
}

static void draw_variant(struct picture *picture, const struct outcome_line *lines, size_t n_lines,
                         enum variant variant)
{
    bool taken = variant == VARIANT_TAKEN;
    panel_block(picture);
    for (size_t i = 0; i < n_lines; i++) {
        struct group group = {0};
        while (group_next(picture->samples, lines[i].benchmark, &group)) {
            const struct sample *sample = &picture->samples->samples[group.first];
            if (of_line(sample, &lines[i]) && sample->variant == variant)
                panel_point(picture, (double)sample->bytes, (double)(n_lines - i) + (taken ? 0.18 : -0.18));
        }
    }
    panel_block_end(picture);
    panel_draw(picture, "with points pt %d ps 0.6 lc rgb '%s' title '%s'", taken ? 6 : 2, taken ? "#0072b2" : "#d55e00",
               taken ? "taken" : "refused");
}

static const struct machine_parameter *value_of(const struct machine *machine, const struct outcome_line *line)
{
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (row->level == line->level &&
            (line->benchmark == BENCHMARK_BUFFER
                 ? strcmp(row->quantity, "buffer") == 0
                 : row->protocol == PROTOCOL_RENDEZVOUS && strcmp(row->quantity, "threshold") == 0))
            return row;
    }
    return NULL;
}

static void draw_values(struct picture *picture, const struct outcome_line *lines, size_t n_lines)
{
    panel_block(picture);
    for (size_t i = 0; i < n_lines; i++) {
        const struct machine_parameter *row = value_of(picture->machine, &lines[i]);
        if (row != NULL && row->value > 0)
            panel_interval(picture, row->value, (double)(n_lines - i), row->ci_low > 0 ? row->ci_low : row->value,
                           isnan(row->ci_high) ? row->value : row->ci_high);
    }
    panel_block_end(picture);
    panel_draw(picture, "with xerrorbars pt 9 ps 0.8 lw 1.3 lc rgb '#000000' title 'in the table'");
}

void panel_outcomes(struct picture *picture)
{
    struct outcome_line lines[LINES_MAX];
    double least_bytes = INFINITY, most_bytes = 0;
    size_t n_lines = lines_find(picture, lines, &least_bytes, &most_bytes);
    if (n_lines == 0 || !panel_begin(picture, "Sizes taken or refused without the receiver"))
        return;
    FILE *panel = picture->panel;
    fputs("set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\nset bmargin at screen B\n"
          "set key top left horizontal samplen 1.5\nset xlabel 'size of a message'\n",
          panel);
    panel_size_axis(picture, least_bytes, most_bytes, true);
    fprintf(panel, "set yrange [0.5:%zu.2]\nset grid noytics\nset ytics scale 0 (", n_lines + 1);
    for (size_t i = 0; i < n_lines; i++)
        fprintf(panel, "%s\"%s\\n%s\" %zu", i == 0 ? "" : ", ", level_text(lines[i].level),
                benchmark_name[lines[i].benchmark], n_lines - i);
    fputs(")\n", panel);
    panel_plot(picture);
    draw_variant(picture, lines, n_lines, VARIANT_TAKEN);
    draw_variant(picture, lines, n_lines, VARIANT_REFUSED);
    draw_values(picture, lines, n_lines);
    panel_plot_end(picture);
    panel_end(picture);
}
