/* Prints plain tables for people, CSV and JSON with the digits that give back the same double. Papers are named as in
 * share/doc/MODELS.md. */
#include "predictor/replay/show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "predictor/models/model.h"
#include "interpose/sums/concurrent_rounds.h"
#include "interpose/database/cursor.h"
#include "share/base/csv.h"
#include "share/base/json.h"
#include "share/base/progress.h"
#include "share/base/text_table.h"

enum { ROWS_AT_ONCE = 4096 };

/* Says which parts have a column in text: those that are not zero for every rank and model. */
struct shown_parts {
    bool part[PART_COUNT];
};

static struct shown_parts shown_parts_of(const struct predict_options *options, const struct prediction *predictions)
{
    struct shown_parts shown = {{false}};
    for (size_t m = 0; m < options->n_models; m++)
        for (size_t part = 0; part < PART_COUNT; part++)
            for (size_t rank = 0; rank < predictions[m].n_ranks && !shown.part[part]; rank++)
                shown.part[part] = predictions[m].part_s[part][rank] > 0;
    return shown;
}

static struct text_table *times_table(const struct predict_options *options, const struct shown_parts *shown)
{
    struct text_table *table = text_table_new();
    text_table_column(table, "rank", TEXT_RIGHT);
    text_table_column(table, "model", TEXT_LEFT);
    text_table_column(table, "time [us]", TEXT_RIGHT);
    if (options->run.interval) {
        text_table_column(table, "low [us]", TEXT_RIGHT);
        text_table_column(table, "high [us]", TEXT_RIGHT);
    }
    for (size_t part = 0; part < PART_COUNT; part++)
        if (shown->part[part]) {
            char title[32];
            snprintf(title, sizeof title, "%.*s [us]", (int)strlen(prediction_part_name[part]) - 2,
                     prediction_part_name[part]);
            text_table_column(table, title, TEXT_RIGHT);
        }
    if (predict_options_computing(options))
        text_table_column(table, "compute slowdown", TEXT_RIGHT);
    return table;
}

/* Sets the next cell, or widens the column for it. */
static void time_row_cell(struct text_table *table, bool widths, size_t *column, const char *text)
{
    if (widths)
        text_table_widen(table, *column, text);
    else
        text_table_text(table, text);
    ++*column;
}

static void time_cell(struct text_table *table, bool widths, size_t *column, double seconds)
{
    char text[32] = "-";
    if (!isnan(seconds))
        snprintf(text, sizeof text, "%.3f", seconds * 1e6);
    time_row_cell(table, widths, column, text);
}

/* Goes over all rows, once for the widths and once for the rows: there may be millions. */
static void times_rows(FILE *stream, struct text_table *table, const struct predict_options *options,
                       const struct prediction *predictions, bool widths)
{
    struct shown_parts shown = shown_parts_of(options, predictions);
    size_t n = 0;
    for (size_t m = 0; m < options->n_models; m++)
        for (size_t rank = 0; rank < predictions[m].n_ranks; rank++) {
            const struct prediction *p = &predictions[m];
            char number[24];
            size_t column = 0;
            snprintf(number, sizeof number, "%zu", rank);
            time_row_cell(table, widths, &column, number);
            time_row_cell(table, widths, &column, options->models[m].name);
            time_cell(table, widths, &column, p->time_s[rank]);
            for (int end = 0; options->run.interval && end < 2; end++)
                time_cell(table, widths, &column, (end == 0 ? p->low_s : p->high_s)[rank]);
            for (size_t part = 0; part < PART_COUNT; part++)
                if (shown.part[part])
                    time_cell(table, widths, &column, p->part_s[part][rank]);
            if (predict_options_computing(options) && !widths)
                text_table_cell(table, "%.3f", prediction_compute_slowdown(&p->memory, rank));
            if (!widths && ++n % ROWS_AT_ONCE == 0)
                text_table_print(table, stream);
        }
}

static int show_times_text(FILE *stream, const struct predict_options *options, const struct prediction *predictions)
{
    struct shown_parts shown = shown_parts_of(options, predictions);
    struct text_table *table = times_table(options, &shown);
    times_rows(stream, table, options, predictions, true);
    times_rows(stream, table, options, predictions, false);
    text_table_end(table, stream);
    return 0;
}

static void show_time_csv(FILE *stream, const struct predict_options *options, size_t rank, const char *model,
                          const struct prediction *p)
{
    bool interval = options->run.interval;
    fprintf(stream, "%zu,%s,%.17g", rank, model, p->time_s[rank]);
    if (interval && isnan(p->low_s[rank]))
        fputs(",,", stream);
    else if (interval)
        fprintf(stream, ",%.17g,%.17g", p->low_s[rank], p->high_s[rank]);
    if (predict_options_computing(options))
        fprintf(stream, ",%.17g", prediction_compute_slowdown(&p->memory, rank));
    fputc('\n', stream);
}

static struct json *time_json(size_t rank, const struct model_choice *choice, const struct prediction *p)
{
    struct json *row =
        json_pack("{sI ss so}", "rank", (int64_t)rank, "model", choice->name, "time_s", json_finite(p->time_s[rank]));
    for (size_t part = 0; part < PART_COUNT; part++)
        json_set(row, prediction_part_name[part], json_finite(p->part_s[part][rank]));
    json_set(row, "low_s", json_finite(p->low_s[rank]));
    json_set(row, "high_s", json_finite(p->high_s[rank]));
    if (model_choice_computing(choice))
        json_set(row, "compute_slowdown", json_finite(prediction_compute_slowdown(&p->memory, rank)));
    return row;
}

int show_times(FILE *stream, const struct predict_options *options, const struct prediction *predictions,
               struct error *error)
{
    struct json_rows rows = {.stream = stream};
    if (options->run.format == FORMAT_TEXT)
        return show_times_text(stream, options, predictions);
    if (options->run.format == FORMAT_CSV)
        fprintf(stream, "rank,model,time_s%s%s\n", options->run.interval ? ",low_s,high_s" : "",
                predict_options_computing(options) ? ",compute_slowdown" : "");
    for (size_t m = 0; m < options->n_models; m++)
        for (size_t rank = 0; rank < predictions[m].n_ranks; rank++) {
            if (options->run.format == FORMAT_CSV)
                show_time_csv(stream, options, rank, options->models[m].name, &predictions[m]);
            else
                json_rows_add(&rows, time_json(rank, &options->models[m], &predictions[m]));
        }
    return options->run.format == FORMAT_JSON ? json_rows_end(&rows, error) : 0;
}

/* Holds a row of the view model_error; NaN and worst_rank -1 where nothing was measured. */
struct model_error {
    double values[3]; /* error, mape, bias */
    long long worst_rank;
};

static struct text_table *errors_table(void)
{
    static const char *const titles[] = {"error", "MAPE", "bias", "worst rank"};
    struct text_table *table = text_table_new();
    text_table_column(table, "model", TEXT_LEFT);
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        text_table_column(table, titles[i], TEXT_RIGHT);
    return table;
}

static void show_error_text(struct text_table *table, const char *model, const struct model_error *row)
{
    text_table_text(table, model);
    for (int i = 0; i < 3; i++)
        text_table_real(table, 100 * row->values[i], 1, " %");
    text_table_real(table, row->worst_rank >= 0 ? (double)row->worst_rank : (double)NAN, 0, "");
}

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

static int count_messages(sqlite3 *database, const char *path, int64_t *messages, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path, "SELECT total(1.0 * rounds * messages) FROM kind", error);
    *messages = cursor_next(&rows) ? cursor_integer(&rows, 0) : 0;
    return cursor_close(&rows);
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
        count_messages(database, options->run.trace, &messages, error) != 0 ||
        read_error_rows(database, options, machine, rows, error) != 0)
        return -1;
    progress_show(NULL);
    bool withheld = options->run.format == FORMAT_TEXT && share > CONCURRENT_LIMIT;
    for (size_t m = 0; withheld && m < options->n_models; m++)
        for (size_t i = 0; i < sizeof rows[m].values / sizeof rows[m].values[0]; i++)
            rows[m].values[i] = NAN;
    struct json_rows out = {.stream = stream, .csv = options->run.format == FORMAT_CSV};
    struct text_table *table = options->run.format == FORMAT_TEXT ? errors_table() : NULL;
    if (options->run.format == FORMAT_TEXT)
        fprintf(stream, "machine %s\n", machine);
    for (size_t m = 0; m < options->n_models; m++) {
        const char *model = options->models[m].name;
        const char *own = model_options_text(&options->models[m], &options->model, &text);
        const char *judgement = judgement_of(rows[m].values[0], messages);
        if (options->run.format == FORMAT_TEXT)
            show_error_text(table, model, &rows[m]);
        else
            json_rows_add(&out, error_json(machine, model, own, &rows[m], judgement));
    }
    if (options->run.format == FORMAT_JSON)
        return json_rows_end(&out, error);
    if (options->run.format == FORMAT_TEXT) {
        text_table_end(table, stream);
        show_judgement(stream, options, rows, messages);
    }
    if (withheld)
        fprintf(stream,
                "no error is claimed: in %.1f %% of the time another round was under way on the same\n"
                "socket or NIC, and the models take rounds one by one; the view round_model_error has\n"
                "the figures all the same\n",
                100 * share);
    return 0;
}
