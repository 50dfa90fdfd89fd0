/* A combination is a number whose digits are places of values: the last line changes fastest. Combinations that are the
 * same for the benchmark are found by sorting them as sweep_compare() does. */
#include "calibrate/finegrain/sweep/sweep_combine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sweep_set_value(struct finegrain_config *config, size_t row, const char *value, struct error *error)
{
    struct option_row rows[FINEGRAIN_ROWS];
    finegrain_config_rows(config, rows);
    return option_set(&rows[row], value, error);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static double nine_digits(double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", value);
    return strtod(text, NULL);
}

int sweep_compare(const struct finegrain_config *a, const struct finegrain_config *b)
{
    bool rma = a->interface == FINEGRAIN_RMA && b->interface == FINEGRAIN_RMA;
    const uint64_t numbers[][2] = {{(uint64_t)a->interface, (uint64_t)b->interface},
                                   {rma ? (uint64_t)a->rma : 0, rma ? (uint64_t)b->rma : 0},
                                   {a->peers, b->peers},
                                   {a->bytes, b->bytes},
                                   {a->threads, b->threads},
                                   {a->parts, b->parts},
                                   {a->seed, b->seed},
                                   {a->trials, b->trials},
                                   {a->iterations, b->iterations}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i][0] != numbers[i][1])
            return compare_numbers(numbers[i][0], numbers[i][1]);
    double first_s = nine_digits(a->compute_s), second_s = nine_digits(b->compute_s);
    if (first_s < second_s || first_s > second_s)
        return first_s < second_s ? -1 : 1;
    return strcmp(a->arrivals, b->arrivals);
}

/* Leaves away what has no meaning beside the other values. */
static void simplify(struct finegrain_config *config)
{
    if (config->interface != FINEGRAIN_RMA) {
        config->rma_given = false;
        config->rma = FINEGRAIN_FENCE;
    }
    if (strncmp(config->arrivals, "kde:", 4) != 0) {
        config->width_given = false;
        config->width_s = 0;
    }
}

static const char *value_of(const struct sweep_list *list, size_t place)
{
    return list->values[place % list->n];
}

/* Makes the combination of that number. Returns 1, 0 if its values do not fit each other, or -1 with the reason. */
static int combine(struct sweep *sweep, const struct finegrain_config *base, size_t number,
                   struct finegrain_config *config, struct error *error)
{
    struct error reason;
    *config = *base;
    for (size_t i = sweep->n_lists; i-- > 0; number /= sweep->lists[i].n)
        if (sweep_set_value(config, sweep->lists[i].row, value_of(&sweep->lists[i], number), error) != 0)
            return -1;
    simplify(config);
    if (finegrain_config_check(config, &reason) == 0)
        return 1;
    if (sweep->n_unfit++ == 0)
        sweep->unfit = reason;
    return 0;
}

struct numbered {
    const struct finegrain_config *config;
    size_t number;
};

static int compare_numbered(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    int order = sweep_compare(a->config, b->config);
    return order != 0 ? order : compare_numbers(a->number, b->number);
}

/* Keeps the first of configurations that are the same, as p2p with either epoch of rma is. Returns 0, or -1 without
 * memory. */
static int keep_different(struct sweep *sweep)
{
    struct numbered *sorted = malloc((sweep->n + 1) * sizeof *sorted);
    bool *again = calloc(sweep->n + 1, sizeof *again);
    size_t kept = 0;
    if (sorted != NULL && again != NULL) {
        for (size_t i = 0; i < sweep->n; i++)
            sorted[i] = (struct numbered){&sweep->configs[i], i};
        qsort(sorted, sweep->n, sizeof *sorted, compare_numbered);
        for (size_t i = 1; i < sweep->n; i++)
            again[sorted[i].number] = sweep_compare(sorted[i - 1].config, sorted[i].config) == 0;
        for (size_t i = 0; i < sweep->n; i++)
            if (!again[i])
                sweep->configs[kept++] = sweep->configs[i];
        sweep->n = kept;
    }
    int result = sorted != NULL && again != NULL ? 0 : -1;
    free(sorted);
    free(again);
    return result;
}

int sweep_combine(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error)
{
    size_t n = 1;
    for (size_t i = 0; i < sweep->n_lists; i++) {
        if (sweep->lists[i].n > SWEEP_MOST / n)
            return error_set(error, "%s: more than %d combinations of values; expected fewer", path, SWEEP_MOST);
        n *= sweep->lists[i].n;
    }
    sweep->configs = calloc(n, sizeof *sweep->configs);
    if (sweep->configs == NULL)
        return error_set(error, "%s: no memory for %zu configurations", path, n);
    for (size_t i = 0; i < n; i++) {
        int fits = combine(sweep, base, i, &sweep->configs[sweep->n], error);
        if (fits < 0)
            return -1;
        sweep->n += fits > 0;
    }
    if (sweep->n == 0)
        return error_set(error, "%s: none of %zu combinations of values can be: %.600s", path, n, sweep->unfit.text);
    return keep_different(sweep) == 0 ? 0 : error_set(error, "%s: no memory for %zu configurations", path, n);
}

void sweep_release(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->n_lists; i++) {
        free(sweep->lists[i].values);
        free(sweep->lists[i].text);
    }
    free(sweep->lists);
    free(sweep->configs);
    *sweep = (struct sweep){0};
}
