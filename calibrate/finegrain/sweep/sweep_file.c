/* Each value is checked where it is read, by the row of the option itself, so that an error names its line. */
#include "calibrate/finegrain/sweep/sweep_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "share/base/array.h"
#include "share/base/nearest.h"
#include "share/base/text_file.h"

enum { MAX_LINE_BYTES = 1 << 16 };
static const char BLANKS[] = " \t\r";

struct reading {
    struct sweep *sweep;
    const struct finegrain_config *base;
    size_t line;
};

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
    if (sweep_set_value(&scratch, list->row, value, error) != 0 ||
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

int sweep_read(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error)
{
    *sweep = (struct sweep){0};
    struct reading reading = {.sweep = sweep, .base = base};
    int result = text_file_lines(path, MAX_LINE_BYTES, take_line, &reading, error);
    if (result == 0 && sweep->n_lists == 0)
        result = error_set(error, "%s: no option in it; expected lines as '--bytes 4096 65536'", path);
    if (result == 0)
        result = sweep_combine(path, base, sweep, error);
    if (result != 0)
        sweep_release(sweep);
    return result;
}
