/* What the files that fill a report share: queries whose first error stays in the report, and looking up its ranks,
 * models and machine. */
#include "report/collect/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine_database.h"
#include "share/base/array.h"
#include "share/base/order.h"

void report_query(struct report *report, struct cursor *rows, const char *sql)
{
    *rows = (struct cursor){.result = -1};
    if (report->result == 0)
        cursor_open(rows, report->database, report->path, sql, report->error);
}

void report_query_end(struct report *report, struct cursor *rows)
{
    report->result = cursor_close(rows);
}

void report_read_row(struct report *report, const char *sql, const struct fields *fields, void *row)
{
    struct cursor rows;
    report_query(report, &rows, sql);
    if (cursor_next(&rows))
        fields_read(fields, row, &rows, 0, &report->pool);
    report_query_end(report, &rows);
}

void report_read_rows(struct report *report, const char *sql, const struct fields *fields, void *array, size_t *n)
{
    struct cursor rows;
    report_query(report, &rows, sql);
    while (cursor_next(&rows)) {
        array_grow(array, *n, fields->bytes);
        void *row = *(char **)array + *n * fields->bytes;
        memset(row, 0, fields->bytes);
        fields_read(fields, row, &rows, 0, &report->pool);
        ++*n;
    }
    report_query_end(report, &rows);
}

const char *report_reason(struct report *report, const struct error *reason)
{
    size_t named = strlen(report->path);
    const char *text = reason->text;
    if (strncmp(text, report->path, named) == 0 && text[named] == ':')
        text += named + 2;
    return pool_clean(&report->pool, text, strlen(text));
}

size_t report_find_model(const struct report *report, struct cursor *rows, int first_column)
{
    const char *key[3];
    for (int i = 0; i < 3; i++) {
        key[i] = (const char *)sqlite3_column_text(rows->statement, first_column + i);
        if (key[i] == NULL)
            return report->n_models;
    }
    size_t at = 0;
    while (at < report->n_models &&
           (strcmp(key[0], report->models[at].machine) != 0 || strcmp(key[1], report->models[at].model) != 0 ||
            strcmp(key[2], report->models[at].options) != 0))
        at++;
    return at;
}

static size_t best_of(const struct report *report, bool rounds)
{
    size_t best = report->n_models;
    for (size_t i = 0; i < report->n_models; i++)
        if (report->models[i].rounds == rounds && !isnan(report->models[i].error) &&
            (best == report->n_models || report->models[i].error < report->models[best].error))
            best = i;
    return best;
}

size_t report_best_of_rounds(const struct report *report)
{
    return best_of(report, true);
}

size_t report_best_model(const struct report *report)
{
    size_t best = best_of(report, false);
    return best < report->n_models ? best : report_best_of_rounds(report);
}

static int compare_rank(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = ((const struct report_rank *)right)->rank;
    return ORDER(a, b);
}

struct report_rank *report_find_rank(const struct report *report, int64_t number)
{
    return report->n_ranks == 0 ? NULL
                                : bsearch(&number, report->ranks, report->n_ranks, sizeof *report->ranks, compare_rank);
}

double report_outside_s(const struct report_rank *rank)
{
    return rank->actual_s - rank->in_mpi_s;
}

enum gpu_path report_gpu_fastest(const struct report_gpu_kind *kind)
{
    enum gpu_path best = GPU_PATH_COUNT;
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (!isnan(kind->path_s[path]) && (best == GPU_PATH_COUNT || kind->path_s[path] < kind->path_s[best]))
            best = (enum gpu_path)path;
    return best;
}

bool report_load_machine(struct report *report, const struct report_choice *choice, const char **name,
                         const char **unknown, struct machine *machine)
{
    struct cursor rows;
    struct error error;
    size_t best = report_best_model(report);
    cursor_open(&rows, report->database, report->path, "SELECT min(name) FROM machine", &error);
    *name = cursor_next(&rows) ? cursor_text(&rows, 0, &report->pool) : "";
    if (choice->machine != NULL)
        *name = choice->machine;
    else if (best < report->n_models)
        *name = report->models[best].machine;
    int result = cursor_close(&rows);
    if (result == 0)
        result = (*name)[0] == '\0' ? 1 : machine_load(report->database, report->path, *name, machine, &error);
    if (result == 1)
        *name = "";
    if (result < 0)
        *unknown = pool_clean(&report->pool, error.text, strlen(error.text));
    return result == 0;
}

void report_release(struct report *report)
{
    void *const arrays[] = {
        report->programs,      report->interfaces,    report->levels,       report->distances,
        report->switches,      report->shards.faults, report->losses,       report->untracked,
        report->unmatched,     report->doubts,        report->rejected,     report->unnamed,
        report->models,        report->kinds,         report->ranks,        report->waits,
        report->late,          report->regions.rows,  report->regions.slow, report->regions.efficiencies,
        report->window_errors, report->region_errors};
    for (size_t i = 0; i < report->n_ranks; i++)
        free(report->ranks[i].models);
    for (size_t i = 0; i < report->n_kinds; i++)
        free(report->kinds[i].error);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    findings_release(&report->findings);
    pool_release(&report->pool);
    *report = (struct report){0};
}
