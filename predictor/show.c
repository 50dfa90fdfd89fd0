#include "show.h"

#include <string.h>

#include "database.h"

static void show_time(FILE *stream, enum output_format format, size_t rank, const char *model,
                      const struct prediction *p, bool first)
{
    switch (format) {
    case FORMAT_TEXT:
        fprintf(stream, "%8zu  %-12s  %14.3f  %14.3f  %14.3f\n", rank, model, p->time_s[rank] * 1e6,
                p->latency_s[rank] * 1e6, p->bandwidth_s[rank] * 1e6);
        break;
    case FORMAT_CSV:
        fprintf(stream, "%zu,%s,%.17g\n", rank, model, p->time_s[rank]);
        break;
    case FORMAT_JSON:
        fprintf(stream,
                "%s\n  {\"rank\": %zu, \"model\": \"%s\", \"time_s\": %.17g, \"latency_s\": %.17g, "
                "\"bandwidth_s\": %.17g, \"queue_s\": %.17g, \"contention_s\": %.17g}",
                first ? "" : ",", rank, model, p->time_s[rank], p->latency_s[rank], p->bandwidth_s[rank],
                p->queue_s[rank], p->contention_s[rank]);
        break;
    }
}

void show_times(FILE *stream, const struct predict_options *options, const struct prediction *predictions)
{
    if (options->format == FORMAT_TEXT)
        fprintf(stream, "%8s  %-12s  %14s  %14s  %14s\n", "rank", "model", "time [us]", "latency [us]",
                "bandwidth [us]");
    else
        fputs(options->format == FORMAT_CSV ? "rank,model,time_s\n" : "[", stream);
    for (size_t m = 0; m < options->n_models; m++)
        for (size_t rank = 0; rank < predictions[m].n_ranks; rank++)
            show_time(stream, options->format, rank, options->models[m]->name, &predictions[m], m == 0 && rank == 0);
    if (options->format == FORMAT_JSON)
        fputs("\n]\n", stream);
}

/* A value of model_error, which is NULL where nothing was measured. */
static void show_value(FILE *stream, enum output_format format, sqlite3_stmt *statement, int column)
{
    bool known = sqlite3_column_type(statement, column) != SQLITE_NULL;
    double value = sqlite3_column_double(statement, column);
    if (format == FORMAT_TEXT && known)
        fprintf(stream, "  %9.1f %%", 100 * value);
    else if (format == FORMAT_TEXT)
        fprintf(stream, "  %11s", "-");
    else if (known)
        fprintf(stream, "%.17g", value);
    else
        fputs(format == FORMAT_JSON ? "null" : "", stream);
}

/* Columns: error, mape, bias, worst_rank. */
static void show_error(FILE *stream, enum output_format format, const char *machine, const char *model,
                       const char *options, sqlite3_stmt *statement, bool first)
{
    static const char *const json_key[] = {"error", "mape", "bias"};
    bool known = sqlite3_column_type(statement, 3) != SQLITE_NULL;
    long long worst_rank = sqlite3_column_int64(statement, 3);
    if (format == FORMAT_TEXT)
        fprintf(stream, "%-12s", model);
    else if (format == FORMAT_CSV)
        fprintf(stream, "%s,%s,%s", machine, model, options);
    else
        fprintf(stream, "%s\n  {\"machine\": \"%s\", \"model\": \"%s\", \"options\": \"%s\"", first ? "" : ",", machine,
                model, options);
    for (int column = 0; column < 3; column++) {
        if (format == FORMAT_CSV)
            fputc(',', stream);
        else if (format == FORMAT_JSON)
            fprintf(stream, ", \"%s\": ", json_key[column]);
        show_value(stream, format, statement, column);
    }
    if (format == FORMAT_JSON)
        fputs(", \"worst_rank\": ", stream);
    else if (format == FORMAT_CSV)
        fputc(',', stream);
    if (known)
        fprintf(stream, format == FORMAT_TEXT ? "  %10lld" : "%lld", worst_rank);
    else
        fputs(format == FORMAT_JSON ? "null" : format == FORMAT_TEXT ? "           -" : "", stream);
    fputs(format == FORMAT_JSON ? "}" : "\n", stream);
}

int show_errors(FILE *stream, const struct predict_options *options, sqlite3 *database, const char *machine,
                struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = 0;
    if (sqlite3_prepare_v2(
            database,
            "SELECT max(error), max(mape), max(bias), max(worst_rank) FROM model_error WHERE machine = ? "
            "AND model = ? AND options = ?",
            -1, &statement, NULL) != SQLITE_OK)
        return database_error(database, options->trace, "the errors cannot be read", error);
    if (options->format == FORMAT_TEXT)
        fprintf(stream, "machine %s\n%-12s  %11s  %11s  %11s  %10s\n", machine, "model", "error (T11)", "MAPE", "bias",
                "worst rank");
    else
        fputs(options->format == FORMAT_CSV ? "machine,model,options,error,mape,bias,worst_rank\n" : "[", stream);
    for (size_t m = 0; result == 0 && m < options->n_models; m++) {
        const char *model_options = model_options_text(options->models[m], &options->model);
        sqlite3_bind_text(statement, 1, machine, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, options->models[m]->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, model_options, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_ROW) /* an aggregate: one row, of NULLs where there is none */
            result = database_error(database, options->trace, "the errors cannot be read", error);
        else
            show_error(stream, options->format, machine, options->models[m]->name, model_options, statement, m == 0);
        sqlite3_reset(statement);
    }
    if (options->format == FORMAT_JSON)
        fputs("\n]\n", stream);
    sqlite3_finalize(statement);
    return result;
}
