/* A prediction of fine-grained messages takes a table and arrivals, neither trace nor pattern; so it has a way of its
 * own through `mpistair predict`. A reader of text asks whether it pays and with how many parts; programs ask for rows.
 */
#include "predictor/finegrain/finegrain_run.h"

#include <string.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "predictor/finegrain/finegrain_rows.h"
#include "share/base/json.h"
#include "share/base/output_file.h"
#include "share/base/text_table.h"

static void finegrain_text_rows(struct text_table *table, const struct finegrain_rows *rows)
{
    static const char *const titles[] = {"interface",   "parts", "whole, us", "in parts, us",
                                         "speed-up, %", "low",   "high",      "bound"};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        text_table_column(table, titles[i], i == 0 ? TEXT_LEFT : TEXT_RIGHT);
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct finegrain_row *row = &rows->rows[i];
        text_table_text(table, finegrain_interface_name[row->by]);
        text_table_cell(table, "%u", row->parts);
        text_table_cell(table, "%.3f", row->bsp_s * 1e6);
        text_table_cell(table, "%.3f", row->fine_s * 1e6);
        text_table_cell(table, "%.3f", row->speedup_percent);
        text_table_cell(table, "%.3f", row->low_percent);
        text_table_cell(table, "%.3f", row->high_percent);
        text_table_cell(table, "%.3f", row->bound_percent);
    }
}

/* Says of an interface what to do. */
static void text_advice(FILE *stream, const struct finegrain_rows *rows, enum finegrain_interface by)
{
    const struct finegrain_row *best = finegrain_rows_best(rows, by);
    uint32_t loses_from = finegrain_rows_loses_from(rows, by);
    if (best == NULL)
        return;
    if (best->speedup_percent > 0)
        fprintf(stream, "%s: best with %u parts, %.2f %%", finegrain_interface_name[by], best->parts,
                best->speedup_percent);
    else
        fprintf(stream, "%s: no number of parts gains anything", finegrain_interface_name[by]);
    if (loses_from > 0)
        fprintf(stream, "; it loses from %u parts on\n", loses_from);
    else
        fputs("; with none of these it loses\n", stream);
}

/* Prints text, behind the rows for each interface the best number of parts and that from which it loses. */
static int finegrain_show_text(FILE *stream, const struct finegrain_rows *rows, const struct finegrain_options *options,
                               const char *name)
{
    struct text_table *table = text_table_new();
    fprintf(stream, "machine %s: to %u peers at %s, %llu B to each, by %u threads that compute %g ms, arrivals %s\n",
            name, options->peers, level_text(options->level), (unsigned long long)options->bytes, options->threads,
            options->compute_s * 1e3, options->arrivals_text);
    finegrain_text_rows(table, rows);
    text_table_end(table, stream);
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++)
        text_advice(stream, rows, (enum finegrain_interface)by);
    fprintf(stream,
            "bound: no interface gains more with so many parts, and with any number none gains more than %.2f %%\n",
            rows->n_rows > 0 ? rows->rows[0].limit_percent : 0);
    return 0;
}

static struct json *finegrain_row_object(const struct finegrain_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "interface", finegrain_interface_name[row->by],
                     "parts", json_count(row->parts), "bsp_s", json_finite(row->bsp_s), "fine_s",
                     json_finite(row->fine_s), "speedup_percent", json_finite(row->speedup_percent), "low_percent",
                     json_finite(row->low_percent), "high_percent", json_finite(row->high_percent), "bound_percent",
                     json_finite(row->bound_percent));
}

/* Prints a row for each interface and number of parts. */
static int finegrain_show_csv(FILE *stream, const struct finegrain_rows *rows)
{
    struct json_rows lines = {.stream = stream, .csv = true};
    for (size_t i = 0; i < rows->n_rows; i++)
        json_rows_add(&lines, finegrain_row_object(&rows->rows[i]));
    return 0;
}

/* Prints an object: limit_percent, rows with the keys of CSV, and interfaces with best_parts and loses_from_parts. */
static int finegrain_show_json(FILE *stream, const struct finegrain_rows *rows, struct error *error)
{
    struct json *lines = json_array(), *interfaces = json_array();
    for (size_t i = 0; i < rows->n_rows; i++)
        json_add(lines, finegrain_row_object(&rows->rows[i]));
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++) {
        const struct finegrain_row *best = finegrain_rows_best(rows, (enum finegrain_interface)by);
        uint32_t loses_from = finegrain_rows_loses_from(rows, (enum finegrain_interface)by);
        if (best != NULL)
            json_add(interfaces,
                     json_pack("{s:s, s:o, s:o, s:o}", "interface", finegrain_interface_name[by], "best_parts",
                               json_count(best->parts), "best_speedup_percent", json_finite(best->speedup_percent),
                               "loses_from_parts", loses_from > 0 ? json_count(loses_from) : json_null()));
    }
    double limit = rows->n_rows > 0 ? rows->rows[0].limit_percent : 0;
    return json_write(
        stream,
        json_pack("{s:o, s:o, s:o}", "limit_percent", json_finite(limit), "interfaces", interfaces, "rows", lines),
        error);
}

/* Says for which messages tau had to do. */
static void note_taus(const struct finegrain_notes *notes, const char *level, const char *name)
{
    char list[96] = "";
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++) {
        const char *quantity = finegrain_quantity((enum finegrain_interface)by);
        if (!notes->tau_missing[by] || strstr(list, quantity) != NULL)
            continue;
        strcat(list, list[0] != '\0' ? ", " : "");
        strcat(list, quantity);
    }
    if (list[0] != '\0')
        fprintf(stderr, "mpistair: note: the table of '%s' lacks %s at %s; tau was taken\n", name, list, level);
}

/* Says on stderr which rows the table lacks, and what was taken in their place. */
static void show_notes(const struct finegrain_rows *rows, const struct finegrain_options *options, const char *name)
{
    const struct finegrain_notes *notes = &rows->notes;
    const char *level = level_text(options->level);
    note_taus(notes, level, name);
    if (notes->tau_thread_missing)
        fprintf(stderr, "mpistair: note: the table of '%s' lacks tau_thread; threads cost each other nothing\n", name);
    if (notes->queue_missing)
        fprintf(stderr,
                "mpistair: note: the table of '%s' lacks queue_step and gamma; the search of queues costs nothing\n",
                name);
    if (notes->is_late)
        fprintf(stderr,
                "mpistair: note: the MPI of the table of '%s' moves partitions only when the last one is ready\n",
                name);
    if (notes->extrapolated)
        fprintf(stderr, "mpistair: note: the table of '%s' has no bw of %u at %s; that of the nearest n was taken\n",
                name, options->ppn, level);
}

static int print_finegrain(const struct finegrain_rows *rows, const struct finegrain_options *options,
                           const struct machine *machine, enum output_format format, const char *path,
                           struct error *error)
{
    struct output_file output;
    int result;
    if (output_file_open(&output, path, error) != 0)
        return -1;
    if (format == FORMAT_CSV)
        result = finegrain_show_csv(output.stream, rows);
    else if (format == FORMAT_JSON)
        result = finegrain_show_json(output.stream, rows, error);
    else
        result = finegrain_show_text(output.stream, rows, options, machine->name);
    if (result == 0)
        return output_file_commit(&output, error);
    output_file_discard(&output);
    return -1;
}

int finegrain_run(const struct finegrain_options *options, const char *machine_name, uint64_t seed,
                  enum output_format format, const char *output)
{
    struct arrivals *arrivals = NULL;
    struct machine machine;
    struct finegrain_rows rows;
    struct error error;
    if (arrivals_trace_open(&options->arrivals, options->compute_s, &arrivals, &error) != 0 ||
        arrivals_check(arrivals, 1, options->threads, &error) != 0) {
        arrivals_close(arrivals);
        return wrong_usage("predict", "--arrivals: %s", error.text);
    }
    int result = machine_find(machine_name, &machine, &error);
    if (result == 0) {
        result = finegrain_rows_make(&machine, options, arrivals, seed, &rows, &error);
        if (result == 0) {
            show_notes(&rows, options, machine.name);
            result = print_finegrain(&rows, options, &machine, format, output, &error);
        }
        finegrain_rows_release(&rows);
        machine_release(&machine);
    }
    arrivals_close(arrivals);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
