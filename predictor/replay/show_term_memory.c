/* Text has a line only for what the term says; CSV has a column for it in all rows, or in none.
 * See show_term_memory.h. */
#include "predictor/replay/show_term_memory.h"

#include <math.h>
#include <string.h>

#include "interpose/database/cursor.h"

static void take_row(struct cursor *rows, const struct predict_options *options, struct shown_memory *memory)
{
    struct model_options_text own;
    const char *model = (const char *)sqlite3_column_text(rows->statement, 0);
    const char *text = (const char *)sqlite3_column_text(rows->statement, 1);
    for (size_t m = 0; model != NULL && text != NULL && m < options->n_models; m++)
        if (strcmp(model, options->models[m].name) == 0 &&
            strcmp(text, model_options_text(&options->models[m], &options->model, &own)) == 0)
            memory[m] = (struct shown_memory){cursor_real(rows, 2), cursor_real(rows, 3)};
}

int show_memory_read(sqlite3 *database, const struct predict_options *options, const char *machine,
                     struct shown_memory *memory, struct error *error)
{
    struct cursor rows;
    for (size_t m = 0; m < options->n_models; m++)
        memory[m] = (struct shown_memory){NAN, NAN};
    if (!predict_options_computing(options))
        return 0;
    cursor_open(&rows, database, options->run.trace,
                "SELECT model, options, computing, compute_slowdown FROM model_memory WHERE machine = ?", error);
    sqlite3_bind_text(rows.statement, 1, machine, -1, SQLITE_STATIC);
    while (cursor_next(&rows))
        take_row(&rows, options, memory);
    return cursor_close(&rows);
}

void show_memory_text(FILE *stream, const struct predict_options *options, const struct shown_memory *memory)
{
    for (size_t m = 0; m < options->n_models; m++)
        if (!isnan(memory[m].computing))
            fprintf(stream,
                    "%s: %.2f threads of a socket compute while messages arrive there, and take %.3f times as long "
                    "meanwhile (compute_slowdown)\n",
                    options->models[m].name, memory[m].computing, memory[m].compute_slowdown);
}

const char *show_memory_csv_titles(const struct predict_options *options)
{
    return predict_options_computing(options) ? ",computing,compute_slowdown" : "";
}

void show_memory_csv(FILE *stream, const struct predict_options *options, const struct shown_memory *memory)
{
    if (!predict_options_computing(options))
        return;
    if (isnan(memory->computing))
        fputs(",,", stream);
    else
        fprintf(stream, ",%.17g,%.17g", memory->computing, memory->compute_slowdown);
}

void show_memory_json(struct json *row, const struct shown_memory *memory)
{
    if (isnan(memory->computing))
        return;
    json_set(row, "computing", json_finite(memory->computing));
    json_set(row, "compute_slowdown", json_finite(memory->compute_slowdown));
}
