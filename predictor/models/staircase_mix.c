/* Computes the rate of one rank whose bytes are of several levels and protocols. staircase.c has the symbols. */
#include "predictor/models/staircase_steps.h"

struct staircase_mix staircase_mix_of(const struct traffic *traffic, unsigned levels, size_t rank)
{
    struct staircase_mix mix = {0};
    double volume = traffic_bytes(traffic, rank, INCOMING, levels);
    for (size_t c = 0; c < traffic->n_classes; c++) {
        enum level level = traffic->classes[c].level;
        double bytes = traffic->bytes[INCOMING][rank * traffic->n_classes + c];
        if (!(bytes > 0) || !traffic_class_in(traffic, c, levels))
            continue;
        double of_level = traffic_bytes(traffic, rank, INCOMING, LEVEL_BIT(level));
        if (mix.n_classes > 0 && traffic->classes[mix.parts[mix.n_classes - 1].class].level == level)
            mix.parts[mix.n_classes - 1].last_of_level = false;
        mix.parts[mix.n_classes].class = c;
        mix.parts[mix.n_classes].in_level = bytes / of_level;
        mix.parts[mix.n_classes].level = of_level / volume;
        mix.parts[mix.n_classes++].last_of_level = true;
    }
    return mix;
}

double staircase_mix_bandwidth(const struct staircase_mix *mix, struct bandwidth_steps *steps, size_t n)
{
    double sum = 0, inverse = 0;
    for (size_t i = 0; i < mix->n_classes; i++) {
        inverse += mix->parts[i].in_level / bandwidth_steps_at(steps, mix->parts[i].class, n);
        if (!mix->parts[i].last_of_level)
            continue;
        sum += mix->parts[i].level / inverse;
        inverse = 0;
    }
    return sum / (double)n;
}

size_t staircase_only_class(const struct traffic *traffic, unsigned levels, const uint32_t *ranks, size_t n)
{
    size_t only = NO_CLASS;
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < traffic->n_classes; c++) {
            bool carries = traffic->bytes[INCOMING][ranks[i] * traffic->n_classes + c] > 0;
            if (!carries || !traffic_class_in(traffic, c, levels) || c == only)
                continue;
            if (only != NO_CLASS)
                return NO_CLASS;
            only = c;
        }
    }
    return only;
}
