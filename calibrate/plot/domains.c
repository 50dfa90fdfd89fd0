/* Draws the ping-pong by what the two processes of a pair share: an L3 cache, a NUMA node, or the package only. */
#include <math.h>

#include "calibrate/plot/panel.h"

/* Returns the median of the samples of a domain within a group, whose samples ascend; 0 if it has none. */
static double domain_median(const struct samples *samples, const struct group *group, enum domain domain)
{
    size_t n = 0, seen = 0;
    double before = 0;
    for (size_t i = group->first; i < group->end; i++)
        n += samples->samples[i].domain == domain;
    for (size_t i = group->first; i < group->end; i++) {
        if (samples->samples[i].domain != domain)
            continue;
        if (seen++ == n / 2)
            return n % 2 == 1 ? samples->samples[i].seconds : (before + samples->samples[i].seconds) / 2;
        before = samples->samples[i].seconds;
    }
    return 0;
}

/* Says whether the domain has samples; widens the range of sizes. */
static bool domain_range(const struct picture *picture, enum level level, enum domain domain, double *least_bytes,
                         double *most_bytes)
{
    bool any = false;
    for (size_t i = 0; i < picture->samples->n_samples; i++) {
        const struct sample *sample = &picture->samples->samples[i];
        if (sample->benchmark != BENCHMARK_PINGPONG || sample->level != level || sample->domain != domain ||
            sample->bytes == 0)
            continue;
        *least_bytes = fmin(*least_bytes, (double)sample->bytes);
        *most_bytes = fmax(*most_bytes, (double)sample->bytes);
        any = true;
    }
    return any;
}

static void draw_domain(struct picture *picture, enum level level, enum domain domain)
{
    static const char *const titles[DOMAIN_COUNT] = {"", "same L3", "same NUMA node", "same package"};
    struct group group = {0};
    panel_block(picture);
    while (group_next(picture->samples, BENCHMARK_PINGPONG, &group)) {
        const struct sample *sample = &picture->samples->samples[group.first];
        double seconds =
            sample->level == level && sample->bytes > 0 ? domain_median(picture->samples, &group, domain) : 0;
        if (seconds > 0)
            panel_point(picture, (double)sample->bytes, seconds);
    }
    panel_block_end(picture);
    panel_draw(picture, "with linespoints pt %d ps 0.6 lc rgb '%s' title '%s'", panel_mark[domain - 1],
               panel_color[domain - 1], titles[domain]);
}

void panel_domains(struct picture *picture, enum level level)
{
    char title[96];
    double least_bytes = INFINITY, most_bytes = 0;
    int n_domains = 0;
    for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++)
        n_domains += domain_range(picture, level, (enum domain)domain, &least_bytes, &most_bytes);
    snprintf(title, sizeof title, "%s: ping-pong, by what a pair shares", level_text(level));
    if (n_domains < 2 || !panel_begin(picture, title))
        return;
    fputs("set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\nset bmargin at screen B\n"
          "set key top left Left reverse samplen 1.5\nset logscale y\nset format y '%.0s %cs'\n"
          "set ylabel 'time of a message, median'\nset xlabel 'size of a message'\n",
          picture->panel);
    panel_size_axis(picture, least_bytes, most_bytes, true);
    panel_plot(picture);
    for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++)
        draw_domain(picture, level, (enum domain)domain);
    panel_plot_end(picture);
    panel_end(picture);
}
