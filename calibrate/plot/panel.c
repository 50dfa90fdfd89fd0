/* Every panel needs axes, data blocks and colours that do not collide with those of others, so all commands for gnuplot
 * are written here. */
#include "calibrate/plot/panel.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const panel_color[PANEL_COLORS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                               "#e69f00", "#56b4e9", "#333333"};
const int panel_mark[PANEL_COLORS] = {7, 5, 9, 11, 13, 6, 2};

bool panel_begin(struct picture *picture, const char *title)
{
    picture->panel = picture->n_panels < PANEL_MAX
                         ? open_memstream(&picture->panels[picture->n_panels], &picture->panel_size)
                         : NULL;
    if (picture->panel == NULL) {
        picture->failed = true;
        return false;
    }
    picture->n_plots = 0;
    fprintf(picture->panel, "set title '%s' font ',12'\n", title);
    return true;
}

void panel_end(struct picture *picture)
{
    if (fclose(picture->panel) != 0)
        picture->failed = true;
    picture->panel = NULL;
    if (!picture->failed && picture->n_plots > 0) {
        picture->n_panels++;
    } else {
        free(picture->panels[picture->n_panels]);
        picture->panels[picture->n_panels] = NULL;
    }
}

void panel_block(struct picture *picture)
{
    fprintf(picture->data, "$b%d << END\n", ++picture->n_blocks);
    picture->n_points = 0;
}

static bool has_place(double value)
{
    double size = fabs(value);
    return size <= 1e30 && (size >= 1e-30 || !(size > 0));
}

void panel_point(struct picture *picture, double x, double y)
{
    if (!has_place(x) || !has_place(y))
        return;
    fprintf(picture->data, "%.9g %.9g\n", x, y);
    picture->n_points++;
}

void panel_interval(struct picture *picture, double x, double y, double low, double high)
{
    if (!has_place(x) || !has_place(y))
        return;
    fprintf(picture->data, "%.9g %.9g %.9g %.9g\n", x, y, has_place(low) ? low : y, has_place(high) ? high : y);
    picture->n_points++;
}

void panel_gap(struct picture *picture)
{
    fputc('\n', picture->data);
}

void panel_block_end(struct picture *picture)
{
    fputs("END\n", picture->data);
}

static void element_begin(struct picture *picture)
{
    fputs(picture->n_elements++ == 0 ? "plot " : ", ", picture->panel);
}

void panel_draw(struct picture *picture, const char *format, ...)
{
    if (picture->n_points == 0)
        return;
    va_list arguments;
    element_begin(picture);
    fprintf(picture->panel, "$b%d ", picture->n_blocks);
    va_start(arguments, format);
    vfprintf(picture->panel, format, arguments);
    va_end(arguments);
}

void panel_plot(struct picture *picture)
{
    picture->n_elements = 0;
}

void panel_element(struct picture *picture, const char *format, ...)
{
    va_list arguments;
    element_begin(picture);
    va_start(arguments, format);
    vfprintf(picture->panel, format, arguments);
    va_end(arguments);
}

void panel_plot_end(struct picture *picture)
{
    if (picture->n_elements == 0)
        return;
    fputc('\n', picture->panel);
    picture->n_plots++;
}

void panel_size_axis(struct picture *picture, double least_bytes, double most_bytes, bool labelled)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti"};
    double span = most_bytes / least_bytes;
    int step = span > 4096 ? 3 : span > 64 ? 2 : 1;
    fprintf(picture->panel, "set logscale x\nset xrange [%.9g:%.9g]\nset xtics scale 0.5 (", least_bytes / 1.5,
            most_bytes * 1.5);
    for (int power = 0; power < 50; power += step) {
        fputs(power == 0 ? "" : ", ", picture->panel);
        if (labelled)
            fprintf(picture->panel, "'%llu %sB' %llu", 1ULL << power % 10, units[power / 10], 1ULL << power);
        else
            fprintf(picture->panel, "'' %llu", 1ULL << power);
    }
    fputs(")\n", picture->panel);
}

static bool same_group(const struct sample *a, const struct sample *b)
{
    return a->level == b->level && a->n == b->n && a->benchmark == b->benchmark && a->variant == b->variant &&
           a->bytes == b->bytes && a->count == b->count;
}

bool group_next(const struct samples *samples, enum benchmark benchmark, struct group *group)
{
    size_t first = group->end;
    while (first < samples->n_samples && samples->samples[first].benchmark != benchmark)
        first++;
    size_t end = first;
    while (end < samples->n_samples && same_group(&samples->samples[first], &samples->samples[end]))
        end++;
    *group = (struct group){.first = first, .end = end};
    return end > first;
}

double group_median(const struct samples *samples, const struct group *group)
{
    size_t n = group->end - group->first, middle = group->first + n / 2;
    const struct sample *sample = samples->samples;
    return n % 2 == 1 ? sample[middle].seconds : (sample[middle - 1].seconds + sample[middle].seconds) / 2;
}

static size_t group_drawn(const struct group *group)
{
    size_t n = group->end - group->first;
    return n < GROUP_DRAWN_MAX ? n : GROUP_DRAWN_MAX;
}

static size_t group_drawn_index(const struct group *group, size_t i)
{
    size_t n = group->end - group->first, drawn = group_drawn(group);
    return group->first + (drawn < 2 ? 0 : i * (n - 1) / (drawn - 1));
}

void group_draw(struct picture *picture, const struct group *group, double x)
{
    for (size_t i = 0; i < group_drawn(group); i++)
        panel_point(picture, x, picture->samples->samples[group_drawn_index(group, i)].seconds);
}

const struct machine_parameter *panel_row(const struct machine *machine, enum level level, const char *quantity)
{
    for (size_t i = 0; i < machine->n_parameters; i++)
        if (machine->parameters[i].level == level && strcmp(machine->parameters[i].quantity, quantity) == 0)
            return &machine->parameters[i];
    return NULL;
}
