/* `machine memory` and `predict --memory` show the same rows, so both come here. */
#include "predictor/memory/memory_show.h"

#include "share/base/json.h"
#include "share/base/text_table.h"

struct row {
    uint32_t cores;
    struct memory_placement at;
    struct memory_bandwidth is;
};

/* Goes on to the next row; begin with {0} and i 0. Returns false behind the last. */
static bool next(const struct memory_model *model, const struct memory_choice *choice, size_t *i, struct row *row)
{
    size_t cores = choice->least_cores + *i / choice->n_placements;
    if (cores > choice->most_cores)
        return false;
    row->cores = (uint32_t)cores;
    row->at = choice->placements[*i % choice->n_placements];
    memory_predict(model, row->cores, row->at.computation_numa, row->at.message_numa, &row->is);
    ++*i;
    return true;
}

static void text_sides(struct text_table *table, const struct memory_model *model, const struct memory_placement *at)
{
    bool computing_remote = at->computation_numa >= model->numa_nodes, remote = at->message_numa >= model->numa_nodes;
    text_table_text(table, computing_remote ? "remote" : "local");
    text_table_text(table, at->computation_numa == at->message_numa ? "the same"
                           : remote == computing_remote             ? "its neighbour"
                           : remote                                 ? "remote"
                                                                    : "local");
}

static void text_numa(struct text_table *table, const struct memory_model *model, uint32_t numa)
{
    text_table_cell(table, "%u, %s", numa, numa >= model->numa_nodes ? "remote" : "local");
}

static void text_row(struct text_table *table, const struct memory_model *model, const struct row *row,
                     enum memory_words words)
{
    const double rates[] = {row->is.computation, row->is.computation_alone, row->is.message, row->is.message_alone};
    text_table_cell(table, "%u", row->cores);
    if (words == MEMORY_SIDES) {
        text_sides(table, model, &row->at);
    } else {
        text_numa(table, model, row->at.computation_numa);
        text_numa(table, model, row->at.message_numa);
    }
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        text_table_cell(table, "%.1f", rates[i] * 1e-6);
}

int memory_show_text(FILE *stream, const struct memory_model *model, const char *name,
                     const struct memory_choice *choice, enum memory_words words)
{
    static const char *const titles[] = {"cores", "computed on", "received in", "computation",
                                         "alone", "message",     "alone"};
    struct text_table *table = text_table_new();
    struct row row;
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        text_table_column(table, titles[i], i == 1 || i == 2 ? TEXT_LEFT : TEXT_RIGHT);
    for (size_t i = 0; next(model, choice, &i, &row);)
        text_row(table, model, &row, words);
    fprintf(stream, "machine %s: memory bandwidth, MB/s, of cores and of a message\n", name);
    text_table_end(table, stream);
    return 0;
}

int memory_show_csv(FILE *stream, const struct memory_model *model, const struct memory_choice *choice)
{
    struct row row;
    fputs("computing_cores,computation_numa,message_numa,computation_bytes_per_s,computation_alone_bytes_per_s,"
          "message_bytes_per_s,message_alone_bytes_per_s\n",
          stream);
    for (size_t i = 0; next(model, choice, &i, &row);)
        fprintf(stream, "%u,%u,%u,%.17g,%.17g,%.17g,%.17g\n", row.cores, row.at.computation_numa, row.at.message_numa,
                row.is.computation, row.is.computation_alone, row.is.message, row.is.message_alone);
    return 0;
}

int memory_show_json(FILE *stream, const struct memory_model *model, const struct memory_choice *choice,
                     struct error *error)
{
    struct json *rows = json_array();
    struct row row;
    for (size_t i = 0; next(model, choice, &i, &row);)
        json_add(rows, json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "computing_cores", (int)row.cores,
                                 "computation_numa", (int)row.at.computation_numa, "message_numa",
                                 (int)row.at.message_numa, "computation_bytes_per_s", row.is.computation,
                                 "computation_alone_bytes_per_s", row.is.computation_alone, "message_bytes_per_s",
                                 row.is.message, "message_alone_bytes_per_s", row.is.message_alone));
    return json_write(stream, rows, error);
}
