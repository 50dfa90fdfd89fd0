/* Writes the ranks as CSV: one row for each rank and model. Reals have 17 significant digits; what is not known is left
 * empty. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/render/render.h"
#include "share/base/utf8.h"

/* Says whether text is printable ASCII throughout, as almost all is. */
static bool is_plain(const char *text)
{
    while (*text >= ' ' && *text <= '~')
        text++;
    return *text == '\0';
}

static void quoted(FILE *stream, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

void render_csv_text(FILE *stream, const char *text)
{
    char *clean = is_plain(text) ? NULL : strdup(text);
    if (clean != NULL)
        utf8_clean(clean, clean, strlen(clean));
    quoted(stream, clean != NULL ? clean : text);
    free(clean);
}

void render_csv_row(FILE *stream, sqlite3_stmt *statement)
{
    int n_columns = sqlite3_column_count(statement);
    for (int i = 0; i < n_columns; i++) {
        if (sqlite3_column_type(statement, i) == SQLITE_FLOAT)
            fprintf(stream, "%.17g", sqlite3_column_double(statement, i));
        else if (sqlite3_column_text(statement, i) != NULL)
            render_csv_text(stream, (const char *)sqlite3_column_text(statement, i));
        fputc(i + 1 < n_columns ? ',' : '\n', stream);
    }
}

static void integer(FILE *stream, int64_t value)
{
    if (value >= 0)
        fprintf(stream, "%" PRId64, value);
    fputc(',', stream);
}

static void real(FILE *stream, double value, char end)
{
    if (!isnan(value))
        fprintf(stream, "%.17g", value);
    fputc(end, stream);
}

static void text(FILE *stream, const char *value)
{
    render_csv_text(stream, value);
    fputc(',', stream);
}

/* Writes what is the same for all models: the run, as far as times may depend on it, and its replay. */
static void render_run(FILE *stream, const struct report *report, const struct report_rank *rank)
{
    integer(stream, report->run.eager_limit_bytes);
    integer(stream, report->run.eager_limit_network_bytes);
    real(stream, report->run.own_cost_ns, ',');
    text(stream, report->completeness.verdict);
    real(stream, rank->run_in_mpi_s, ',');
    real(stream, rank->run_in_mpi_predicted_s, ',');
    real(stream, rank->blamed_s, ',');
    render_csv_text(stream, rank->command);
    fputc('\n', stream);
}

static void render_rank(FILE *stream, const struct report *report, const struct report_rank *rank, size_t model)
{
    integer(stream, rank->rank);
    integer(stream, rank->node);
    text(stream, rank->host);
    integer(stream, rank->socket);
    integer(stream, rank->core);
    integer(stream, rank->sent);
    integer(stream, rank->sent_bytes);
    integer(stream, rank->received);
    integer(stream, rank->received_bytes);
    real(stream, rank->in_mpi_s, ',');
    real(stream, rank->late_senders_s, ',');
    real(stream, rank->late_receivers_s, ',');
    if (model == report->n_models) {
        real(stream, rank->actual_s, ',');
        fputs(",,,,,", stream);
        for (size_t part = 0; part < STORED_PARTS + 2; part++) /* parts and the interval */
            fputc(',', stream);
        real(stream, report_outside_s(rank), ',');
        fputc(',', stream);
        render_run(stream, report, rank);
        return;
    }
    double actual_s = rank->covered_s[model], model_s = rank->model_s[model];
    real(stream, actual_s, ',');
    text(stream, report->models[model].machine);
    text(stream, report->models[model].model);
    text(stream, report->models[model].options);
    real(stream, model_s, ',');
    real(stream, actual_s > 0 ? rank->off_s[model] / actual_s : NAN, ',');
    for (size_t part = 0; part < STORED_PARTS; part++)
        real(stream, rank->part_s[model * STORED_PARTS + part], ',');
    real(stream, rank->low_s[model], ',');
    real(stream, rank->high_s[model], ',');
    real(stream, rank->outside_s[model], ',');
    real(stream, rank->visible_s[model], ',');
    render_run(stream, report, rank);
}

void render_csv(FILE *stream, const struct report *report)
{
    fputs(
        "rank,node,host,socket,core,sent_messages,sent_bytes,received_messages,received_bytes,in_mpi_s,late_senders_s,"
        "late_receivers_s,actual_s,machine,model,options,model_s,error,latency_s,bandwidth_s,contention_s,queue_s,link_"
        "s,skew_s,low_s,high_s,"
        "outside_s,visible_s,"
        "eager_limit_bytes,eager_limit_network_bytes,own_cost_ns,recording,run_in_mpi_s,run_in_mpi_predicted_s,blamed_"
        "s,command\n",
        stream);
    for (size_t i = 0; i < report->n_ranks; i++) {
        if (report->n_models == 0)
            render_rank(stream, report, &report->ranks[i], 0);
        for (size_t model = 0; model < report->n_models; model++)
            render_rank(stream, report, &report->ranks[i], model);
    }
}
