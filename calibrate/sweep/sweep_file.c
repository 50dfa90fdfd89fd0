/* Each value is checked where it is read, by the row of the option itself, so that an error names its line. */
#include "calibrate/sweep/sweep_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/arrivals/arrivals_trace.h"
#include "share/base/array.h"
#include "share/base/nearest.h"
#include "share/base/text_file.h"

enum { MAX_LINE_BYTES = 1 << 16 };
static const char BLANKS[] = " \t\r";

struct sweep_list {
    size_t row;    /* of the option's table */
    char *text;    /* owns the values */
    char **values; /* [n]; one that is NULL: an option without a value */
    size_t n;
};

struct reading {
    struct sweep *sweep;
    const struct finegrain_config *base;
    size_t line;
};

/* Sets an option of a config, row by its place in the table. */
static int set_value(struct finegrain_config *config, size_t row, const char *value, struct error *error)
{
    struct option_row rows[FINEGRAIN_ROWS];
    finegrain_config_rows(config, rows);
    return option_set(&rows[row], value, error);
}

/* Finds an option of the benchmark that a sweep may list. */
static int find_row(struct reading *reading, const char *word, size_t *row, struct option_row *found,
                    struct error *error)
{
    struct finegrain_config scratch = *reading->base;
    struct option_row rows[FINEGRAIN_ROWS];
    struct nearest nearest = nearest_to(word);
    size_t n = finegrain_config_rows(&scratch, rows);
    for (size_t i = 0; i < n; i++) {
        char option[64];
        snprintf(option, sizeof option, "--%s", rows[i].name);
        nearest_add(&nearest, option);
        if (strcmp(option, word) != 0)
            continue;
        if (strcmp(rows[i].name, "seed") == 0)
            return error_set(error, "--seed: not in a sweep; it is an option of the command, for all configurations");
        for (size_t list = 0; list < reading->sweep->n_lists; list++)
            if (reading->sweep->lists[list].row == i)
                return error_set(error, "%s: is in a line before as well; expected all its values in one", option);
        *row = i;
        *found = rows[i];
        return 0;
    }
    return error_set(error, "'%.40s': expected an option of mpistair finegrain, as --bytes%s", word,
                     nearest_hint(&nearest));
}

/* Opens the arrivals once, so that a file that is missing or wrong is told before anything is measured. */
static int check_arrivals(const struct reading *reading, const char *text, struct error *error)
{
    struct arrivals_request request;
    struct arrivals *arrivals;
    if (arrivals_parse(text, &request, error) != 0)
        return -1;
    request.width_s = reading->base->width_s;
    if (arrivals_trace_open(&request, reading->base->compute_s, &arrivals, error) != 0)
        return -1;
    arrivals_close(arrivals);
    return 0;
}

static int add_value(struct reading *reading, struct sweep_list *list, const struct option_row *row, char *value,
                     struct error *error)
{
    struct finegrain_config scratch = *reading->base;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->values[i], value) == 0)
            return error_set(error, "--%s %.40s: stands twice in the line", row->name, value);
    if (set_value(&scratch, list->row, value, error) != 0 ||
        (row->text != NULL && check_arrivals(reading, value, error) != 0))
        return -1;
    if (array_grow(&list->values, list->n, sizeof *list->values) != 0)
        return error_set(error, "no memory for its values");
    list->values[list->n++] = value;
    return 0;
}

/* Reads the values of a line whose option is known. */
static int take_values(struct reading *reading, struct sweep_list *list, const struct option_row *row, char *words,
                       struct error *error)
{
    char *rest = NULL;
    for (char *word = strtok_r(words, BLANKS, &rest); word != NULL; word = strtok_r(NULL, BLANKS, &rest)) {
        if (row->argument == NULL)
            return error_set(error, "--%s %.40s: takes no value", row->name, word);
        if (add_value(reading, list, row, word, error) != 0)
            return -1;
    }
    if (row->argument == NULL) {
        if (array_grow(&list->values, 0, sizeof *list->values) != 0)
            return error_set(error, "no memory for its values");
        list->values[list->n++] = NULL;
    }
    if (list->n == 0)
        return error_set(error, "--%s: a value is missing; expected one or several, with blanks between", row->name);
    if (list->n > 1 && strcmp(row->name, "width") == 0)
        return error_set(error, "--width: one value at most, since a row of results does not have it");
    return 0;
}

static int take_line(void *context, char *line, struct error *error)
{
    struct reading *reading = context;
    struct sweep *sweep = reading->sweep;
    if (reading->line++ == 0 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, BLANKS);
    if (line[0] == '\0')
        return 0;
    size_t length = strcspn(line, BLANKS);
    char *words = line[length] == '\0' ? line + length : line + length + 1;
    line[length] = '\0';
    struct sweep_list list = {.row = 0};
    struct option_row row;
    if (find_row(reading, line, &list.row, &row, error) != 0)
        return -1;
    list.text = strdup(words);
    if (list.text == NULL || array_grow(&sweep->lists, sweep->n_lists, sizeof *sweep->lists) != 0) {
        free(list.text);
        return error_set(error, "no memory for its values");
    }
    int result = take_values(reading, &list, &row, list.text, error);
    sweep->lists[sweep->n_lists++] = list;
    return result;
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
        if (set_value(config, sweep->lists[i].row, value_of(&sweep->lists[i], number), error) != 0)
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

static int make_configs(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error)
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

int sweep_read(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error)
{
    *sweep = (struct sweep){0};
    struct reading reading = {.sweep = sweep, .base = base};
    int result = text_file_lines(path, MAX_LINE_BYTES, take_line, &reading, error);
    if (result == 0 && sweep->n_lists == 0)
        result = error_set(error, "%s: no option in it; expected lines as '--bytes 4096 65536'", path);
    if (result == 0)
        result = make_configs(path, base, sweep, error);
    if (result != 0)
        sweep_release(sweep);
    return result;
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
