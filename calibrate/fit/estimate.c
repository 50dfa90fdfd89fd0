#include "estimate.h"

#include <math.h>
#include <stdlib.h>

/* How far the copying rate of a protocol may be off that of the next one. */
#define SHARED_SIGMA 0.5

/* A curve of the level within one protocol. */
struct n_line {
    const struct curve *curve;
    size_t first, end; /* points */
    bool fits;
    struct line line;
    size_t samples;
};

struct level {
    const struct fit_thresholds *thresholds;
    const struct fit_options *options;
    size_t n_curves;
    struct n_line *lines; /* [thresholds->n][n_curves] */
};

static struct n_line *lines_of(const struct level *level, int part)
{
    return &level->lines[(size_t)part * level->n_curves];
}

static int fit_line(struct n_line *line, enum line_method method, const struct line_hint *hint)
{
    return line_fit(&line->curve->bytes[line->first], &line->curve->seconds[line->first], line->end - line->first,
                    method, hint, &line->line);
}

static int level_init(struct level *level, const struct curves *curves, enum machine_level name)
{
    size_t n_parts = (size_t)level->thresholds->n;
    level->lines = calloc(n_parts * curves->n_curves + 1, sizeof *level->lines);
    if (level->lines == NULL)
        return -1;
    for (size_t i = 0; i < curves->n_curves; i++)
        level->n_curves += curves->curves[i].level == name;
    for (size_t i = 0, index = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        for (size_t part = 0; part < n_parts && curve->level == name; part++) {
            struct n_line *line = &lines_of(level, (int)part)[index];
            line->curve = curve;
            curve_range(curve, level->thresholds->bytes[part],
                        part + 1 < n_parts ? level->thresholds->bytes[part + 1] : INFINITY, &line->first, &line->end);
            for (size_t point = line->first; point < line->end; point++)
                line->samples += curve->n_samples[point];
            line->fits = fit_line(line, level->options->method, NULL) == 0;
        }
        index += curve->level == name;
    }
    return 0;
}

static void say_left_out(const struct level *level, enum machine_level name, FILE *notes)
{
    for (int part = 0; part < level->thresholds->n; part++)
        for (size_t i = 0; i < level->n_curves && notes != NULL; i++) {
            const struct n_line *line = &lines_of(level, part)[i];
            if (!line->fits)
                fprintf(notes, "%s %s: n = %llu left out: %zu sizes measured, a line needs two\n",
                        machine_level_name[name], machine_protocol_name[level->thresholds->protocol[part]],
                        (unsigned long long)line->curve->n, line->end - line->first);
        }
}

static bool below_rendezvous(const struct level *level, int part)
{
    return part < level->thresholds->n && level->thresholds->protocol[part] != PROTOCOL_RENDEZVOUS;
}

/* Fits the lines of one curve again, from the largest messages to the smallest, with what the others know: first the
 * slopes, then, upwards, the floors. */
static void refine_curve(const struct level *level, size_t curve)
{
    struct line_hint hint[SEGMENT_MAX] = {{.degrees = 0}};
    double sum_of_squares = 0;
    size_t degrees = 0;
    int n_parts = level->thresholds->n;
    for (int part = 0; part < n_parts; part++) {
        const struct n_line *line = &lines_of(level, part)[curve];
        sum_of_squares += line->fits ? line->line.sum_of_squares : 0;
        degrees += line->fits ? line->line.degrees : 0;
    }
    for (int part = n_parts - 1; part >= 0; part--) {
        struct n_line *line = &lines_of(level, part)[curve];
        hint[part].degrees = degrees;
        hint[part].variance = degrees > 0 ? sum_of_squares / (double)degrees : 0;
        if (below_rendezvous(level, part + 1)) {
            const struct n_line *next = &lines_of(level, part + 1)[curve];
            hint[part].slope = next->fits && next->line.kind != LINE_FLAT ? next->line.slope.value : 0;
            hint[part].slope_sigma = SHARED_SIGMA;
        }
        if (line->fits)
            (void)fit_line(line, LINE_RELATIVE, &hint[part]);
    }
    struct line_value floor = {0, 0, 0};
    for (int part = 0; part < n_parts; part++) {
        struct n_line *line = &lines_of(level, part)[curve];
        hint[part].floor = floor;
        if (line->fits && line->line.intercept.value < floor.value)
            (void)fit_line(line, LINE_RELATIVE, &hint[part]);
        if (line->fits && line->line.intercept.value >= floor.value)
            floor = line->line.intercept;
    }
}

static bool large_messages(enum machine_protocol protocol)
{
    return protocol == PROTOCOL_RENDEZVOUS || protocol == PROTOCOL_ANY;
}

static const struct n_line *line_find(const struct level *level, int part, uint64_t n, enum benchmark preferred)
{
    const struct n_line *found = NULL;
    for (size_t i = 0; i < level->n_curves; i++) {
        const struct n_line *line = &lines_of(level, part)[i];
        if (line->fits && line->curve->n == n && (found == NULL || line->curve->benchmark == preferred))
            found = line;
    }
    return found;
}

static const struct n_line *line_of_tau(const struct level *level, int part)
{
    bool large = large_messages(level->thresholds->protocol[part]);
    const struct n_line *found = NULL;
    for (int i = 0; i < 2 && found == NULL; i++)
        found = line_find(level, part, (i == 0) == large ? 2 : 1, BENCHMARK_PINGPONG);
    for (size_t i = 0; i < level->n_curves && found == NULL; i++)
        if (lines_of(level, part)[i].fits)
            found = &lines_of(level, part)[i];
    return found;
}

static void append(struct estimates *estimates, const struct level *level, int part, uint64_t n,
                   const struct n_line *line)
{
    estimates->estimates[estimates->n_estimates++] = (struct estimate){
        .protocol = level->thresholds->protocol[part],
        .n = n,
        .value = n == MACHINE_NO_N ? line->line.intercept : line->line.slope,
        .kind = line->line.kind,
        .samples = line->samples,
    };
}

/* The latency of the part, not below floor, which it replaces. */
static void append_tau(struct estimates *estimates, const struct level *level, int part, struct line_value *floor)
{
    append(estimates, level, part, MACHINE_NO_N, line_of_tau(level, part));
    struct estimate *tau = &estimates->estimates[estimates->n_estimates - 1];
    if (level->options->method == LINE_RELATIVE && line_value_raise(&tau->value, floor))
        tau->kind = LINE_FLOOR;
    *floor = tau->value;
}

static void collect(const struct level *level, struct estimates *estimates)
{
    struct line_value floor = {0, 0, 0};
    for (int part = 0; part < level->thresholds->n; part++) {
        uint64_t last_n = 0;
        bool large = large_messages(level->thresholds->protocol[part]);
        if (line_of_tau(level, part) == NULL)
            continue;
        append_tau(estimates, level, part, &floor);
        for (size_t i = 0; i < level->n_curves; i++) { /* by n */
            const struct n_line *line = &lines_of(level, part)[i];
            if (!line->fits || line->curve->n == last_n)
                continue;
            last_n = line->curve->n;
            append(estimates, level, part, last_n,
                   line_find(level, part, last_n, large ? BENCHMARK_ALGORITHM1 : BENCHMARK_PINGPONG));
        }
    }
}

int estimate_level(const struct curves *curves, enum machine_level name, const struct fit_thresholds *thresholds,
                   const struct fit_options *options, FILE *notes, struct estimates *estimates)
{
    struct level level = {.thresholds = thresholds, .options = options};
    size_t most = (size_t)thresholds->n * (curves->n_curves + 1);
    *estimates = (struct estimates){.estimates = calloc(most + 1, sizeof *estimates->estimates)};
    if (estimates->estimates == NULL || level_init(&level, curves, name) != 0) {
        estimates_release(estimates);
        return -1;
    }
    say_left_out(&level, name, notes);
    for (size_t i = 0; i < level.n_curves && options->method == LINE_RELATIVE; i++)
        refine_curve(&level, i);
    collect(&level, estimates);
    free(level.lines);
    return 0;
}

void estimates_release(struct estimates *estimates)
{
    free(estimates->estimates);
    *estimates = (struct estimates){0};
}
