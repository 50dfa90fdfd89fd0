/* Prints plain tables for people, CSV and JSON with the digits that give back the same double. Papers are named as in
 * share/doc/MODELS.md. */
#include "predictor/replay/rounds.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "interpose/sums/concurrent_rounds.h"
#include "interpose/database/cursor.h"
#include "share/base/json.h"
#include "share/base/progress.h"
#include "share/base/text_table.h"

enum { ROWS_AT_ONCE = 4096 };

/* The table of times for people. */
struct times_table {
    struct text_table *table;
    bool shown[PART_COUNT]; /* parts that are not zero for every rank and model have a column */
    bool widths;            /* this pass is for the widths of columns, as there may be millions of rows */
    size_t column;          /* the next one */
};

static void find_shown(const struct models_run *run, bool shown[PART_COUNT])
{
    for (size_t m = 0; m < run->options->n_models; m++)
        for (size_t part = 0; part < PART_COUNT; part++)
            for (size_t rank = 0; rank < run->predictions[m].n_ranks && !shown[part]; rank++)
                shown[part] = run->predictions[m].part_s[part][rank] > 0;
}

static void times_columns(const struct models_run *run, const struct times_table *times)
{
    struct text_table *table = times->table;
    text_table_column(table, "rank", TEXT_RIGHT);
    text_table_column(table, "model", TEXT_LEFT);
    text_table_column(table, "time [us]", TEXT_RIGHT);
    if (run->options->run.interval) {
        text_table_column(table, "low [us]", TEXT_RIGHT);
        text_table_column(table, "high [us]", TEXT_RIGHT);
    }
    for (size_t part = 0; part < PART_COUNT; part++)
        if (times->shown[part]) {
            char title[32];
            snprintf(title, sizeof title, "%.*s [us]", (int)strlen(prediction_part_name[part]) - 2,
                     prediction_part_name[part]);
            text_table_column(table, title, TEXT_RIGHT);
        }
    if (predict_options_computing(run->options))
        text_table_column(table, "compute slowdown", TEXT_RIGHT);
}

/* Sets the next cell, or widens its column. */
static void number_cell(struct times_table *times, double value, int digits)
{
    char text[32] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.*f", digits, value);
    if (times->widths)
        text_table_widen(times->table, times->column, text);
    else
        text_table_text(times->table, text);
    times->column++;
}

static void times_rows(FILE *stream, struct times_table *times, const struct models_run *run)
{
    size_t n = 0;
    for (size_t m = 0; m < run->options->n_models; m++)
        for (size_t rank = 0; rank < run->predictions[m].n_ranks; rank++) {
            const struct prediction *p = &run->predictions[m];
            times->column = 0;
            number_cell(times, (double)rank, 0);
            if (times->widths)
                text_table_widen(times->table, 1, run->options->models[m].name);
            else
                text_table_text(times->table, run->options->models[m].name);
            times->column++;
            number_cell(times, p->time_s[rank] * 1e6, 3);
            for (int end = 0; run->options->run.interval && end < 2; end++)
                number_cell(times, (end == 0 ? p->low_s : p->high_s)[rank] * 1e6, 3);
            for (size_t part = 0; part < PART_COUNT; part++)
                if (times->shown[part])
                    number_cell(times, p->part_s[part][rank] * 1e6, 3);
            if (predict_options_computing(run->options))
                number_cell(times, prediction_compute_slowdown(&p->memory, rank), 3);
            if (!times->widths && ++n % ROWS_AT_ONCE == 0)
                text_table_print(times->table, stream);
        }
}

/* The row of CSV has no parts, and only what was asked for. */
static struct json *time_json(const struct models_run *run, size_t model, size_t rank, bool csv)
{
    const struct model_choice *choice = &run->options->models[model];
    const struct prediction *p = &run->predictions[model];
    struct json *row =
        json_pack("{sI ss so}", "rank", (int64_t)rank, "model", choice->name, "time_s", json_finite(p->time_s[rank]));
    for (size_t part = 0; !csv && part < PART_COUNT; part++)
        json_set(row, prediction_part_name[part], json_finite(p->part_s[part][rank]));
    if (!csv || run->options->run.interval) {
        json_set(row, "low_s", json_finite(p->low_s[rank]));
        json_set(row, "high_s", json_finite(p->high_s[rank]));
    }
    if (csv ? predict_options_computing(run->options) : choice->computing)
        json_set(row, "compute_slowdown", json_finite(prediction_compute_slowdown(&p->memory, rank)));
    return row;
}

int show_times(FILE *stream, const struct models_run *run, struct error *error)
{
    if (run->options->run.format == FORMAT_TEXT) {
        struct times_table times = {.table = text_table_new(), .widths = true};
        find_shown(run, times.shown);
        times_columns(run, &times);
        times_rows(stream, &times, run);
        times.widths = false;
        times_rows(stream, &times, run);
        text_table_end(times.table, stream);
        return 0;
    }
    struct json_rows rows = {.stream = stream, .csv = run->options->run.format == FORMAT_CSV};
    for (size_t m = 0; m < run->options->n_models; m++)
        for (size_t rank = 0; rank < run->predictions[m].n_ranks; rank++)
            json_rows_add(&rows, time_json(run, m, rank, rows.csv));
    return json_rows_end(&rows, error);
}

/* Holds a row of the view model_error; NaN and worst_rank -1 where nothing was measured. */
struct model_error {
    double values[3]; /* error, mape, bias */
    long long worst_rank;
};

static struct json *error_json(const char *machine, const char *model, const char *options,
                               const struct model_error *row, const char *judgement)
{
    return json_pack("{ss ss ss so so so so ss}", "machine", machine, "model", model, "options", options, "error",
                     json_finite(row->values[0]), "mape", json_finite(row->values[1]), "bias",
                     json_finite(row->values[2]), "worst_rank",
                     row->worst_rank >= 0 ? json_integer(row->worst_rank) : json_null(), "judgement", judgement);
}

static void read_error_row(struct cursor *cursor, const struct predict_options *options, struct model_error *rows)
{
    struct model_options_text own;
    for (size_t m = 0; m < options->n_models; m++) {
        const char *model = (const char *)sqlite3_column_text(cursor->statement, 0);
        const char *text = (const char *)sqlite3_column_text(cursor->statement, 1);
        if (model == NULL || text == NULL || strcmp(model, options->models[m].name) != 0 ||
            strcmp(text, model_options_text(&options->models[m], &options->model, &own)) != 0)
            continue;
        for (int i = 0; i < 3; i++)
            rows[m].values[i] = cursor_real(cursor, 2 + i);
        if (sqlite3_column_type(cursor->statement, 5) != SQLITE_NULL)
            rows[m].worst_rank = cursor_integer(cursor, 5);
    }
}

static void show_errors_text(FILE *stream, const struct predict_options *options, const char *machine,
                             const struct model_error *rows)
{
    static const char *const titles[] = {"model", "error", "MAPE", "bias", "worst rank"};
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        text_table_column(table, titles[i], i == 0 ? TEXT_LEFT : TEXT_RIGHT);
    fprintf(stream, "machine %s\n", machine);
    for (size_t m = 0; m < options->n_models; m++) {
        text_table_text(table, options->models[m].name);
        for (int i = 0; i < 3; i++)
            text_table_real(table, 100 * rows[m].values[i], 1, " %");
        text_table_real(table, rows[m].worst_rank >= 0 ? (double)rows[m].worst_rank : (double)NAN, 0, "");
    }
    text_table_end(table, stream);
}

/* Reads the rows of all models in one query: the view goes over all rounds. */
static int read_error_rows(sqlite3 *database, const struct predict_options *options, const char *machine,
                           struct model_error *rows, struct error *error)
{
    struct cursor cursor;
    for (size_t m = 0; m < options->n_models; m++)
        rows[m] = (struct model_error){.values = {NAN, NAN, NAN}, .worst_rank = -1};
    cursor_open(&cursor, database, options->run.trace,
                "SELECT model, options, error, mape, bias, worst_rank FROM round_model_error WHERE machine = ?", error);
    sqlite3_bind_text(cursor.statement, 1, machine, -1, SQLITE_STATIC);
    while (cursor_next(&cursor))
        read_error_row(&cursor, options, rows);
    return cursor_close(&cursor);
}

/* Says where the errors that are shown say little, or that a model explains little. */
static void show_judgement(FILE *stream, const struct predict_options *options, const struct model_error *rows,
                           int64_t messages)
{
    size_t n = 0, judged = 0;
    bool few = false;
    for (size_t m = 0; m < options->n_models; m++) {
        const char *judgement = judgement_of(rows[m].values[0], messages);
        few = few || strcmp(judgement, "too few messages") == 0;
        n += judgement[0] != '\0' ? 1 : 0;
        judged += isnan(rows[m].values[0]) ? 0 : 1;
    }
    if (few)
        fprintf(stream, "too little to judge a model by: the rounds have %" PRId64 " message%s\n", messages,
                messages == 1 ? "" : "s");
    else if (n > 0 && n == judged)
        fprintf(stream, "%s even half of the time in messages\n",
                judged == 1 ? "the model does not explain" : "no model explains");
}

int show_errors(FILE *stream, const struct predict_options *options, sqlite3 *database, const char *machine,
                struct error *error)
{
    struct model_error rows[MAX_MODELS];
    struct model_options_text text;
    double share;
    int64_t messages;
    if (concurrent_rounds_share(database, options->run.trace, &share, error) != 0 ||
        cursor_numbers(database, options->run.trace, "SELECT total(1.0 * rounds * messages) FROM kind", &messages, 1,
                       error) != 0 ||
        read_error_rows(database, options, machine, rows, error) != 0)
        return -1;
    progress_show(NULL);
    bool withheld = options->run.format == FORMAT_TEXT && share > CONCURRENT_LIMIT;
    for (size_t m = 0; withheld && m < options->n_models; m++)
        for (size_t i = 0; i < sizeof rows[m].values / sizeof rows[m].values[0]; i++)
            rows[m].values[i] = NAN;
    if (options->run.format != FORMAT_TEXT) {
        struct json_rows out = {.stream = stream, .csv = options->run.format == FORMAT_CSV};
        for (size_t m = 0; m < options->n_models; m++)
            json_rows_add(&out, error_json(machine, options->models[m].name,
                                           model_options_text(&options->models[m], &options->model, &text), &rows[m],
                                           judgement_of(rows[m].values[0], messages)));
        return json_rows_end(&out, error);
    }
    show_errors_text(stream, options, machine, rows);
    show_judgement(stream, options, rows, messages);
    if (withheld)
        fprintf(stream,
                "no error is claimed: in %.1f %% of the time another round was under way on the same\n"
                "socket or NIC, and the models take rounds one by one; the view round_model_error has\n"
                "the figures all the same\n",
                100 * share);
    return 0;
}
