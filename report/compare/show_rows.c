/* Writes a comparison for programs: every row, with all its digits. */
#include <math.h>
#include <stdlib.h>

#include "report/compare/show_changes.h"
#include "share/base/csv.h"
#include "share/base/json.h"

static const char *const state_name[] = {
    [COMPARISON_TESTED] = "tested", [COMPARISON_SMALL] = "small",   [COMPARISON_FEW_CALLS] = "few calls",
    [COMPARISON_ONLY_A] = "only A", [COMPARISON_ONLY_B] = "only B", [COMPARISON_SHOWN] = "follows",
};

struct field {
    const char *name;
    double value;
};

enum { FIELDS = 14 };

static void fields_of(const struct comparison_row *row, struct field fields[FIELDS])
{
    const struct noise_result *result = &row->result;
    bool bytes = row->table == COMPARISON_LEVEL || (row->table == COMPARISON_SITE && row->part == PROFILE_CALL);
    const struct field all[FIELDS] = {
        {"a_s", result->a_s},
        {"b_s", result->b_s},
        {"change_s", result->change_s},
        {"change", show_share(row, result->change_s)},
        {"noise_s", row->state == COMPARISON_TESTED ? result->noise_s : NAN},
        {"a_all_s", row->total_s[0]},
        {"b_all_s", row->total_s[1]},
        {"a_waiting_s", row->wait_s[0]},
        {"b_waiting_s", row->wait_s[1]},
        {"a_calls", row->calls[0]},
        {"b_calls", row->calls[1]},
        {"a_bytes", bytes ? row->bytes[0] : NAN},
        {"b_bytes", bytes ? row->bytes[1] : NAN},
        {"steady_s", row->state == COMPARISON_TESTED ? result->steady_s : NAN},
    };
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = all[i];
}

static const char *part_of(const struct comparison_row *row)
{
    return row->site == NULL ? "" : row->part == PROFILE_COMPUTATION ? "before" : "in";
}

void show_csv(FILE *stream, const struct comparison *comparison)
{
    struct field fields[FIELDS];
    fputs("table,part,name,symbol,file,line,rank,state,above_noise,decision", stream);
    fields_of(&(struct comparison_row){.table = COMPARISON_RUN}, fields);
    for (size_t i = 0; i < FIELDS; i++)
        fprintf(stream, ",%s", fields[i].name);
    fputs(",whole\n", stream);
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        fprintf(stream, "%s,%s,", comparison_table_name[row->table], part_of(row));
        csv_text(stream, row->name);
        fputc(',', stream);
        csv_text(stream, row->site != NULL ? row->site->name : "");
        fputc(',', stream);
        csv_text(stream, row->site != NULL ? row->site->file : "");
        fputc(',', stream);
        if (row->site != NULL && row->site->file[0] != '\0')
            fprintf(stream, "%lld", (long long)row->site->line);
        fputc(',', stream);
        if (row->rank >= 0)
            fprintf(stream, "%lld", (long long)row->rank);
        fprintf(stream, ",%s,%d,%s", state_name[row->state], row->result.above, show_decision(row));
        fields_of(row, fields);
        for (size_t k = 0; k < FIELDS; k++) {
            fputc(',', stream);
            if (isfinite(fields[k].value))
                fprintf(stream, "%.17g", fields[k].value);
        }
        fprintf(stream, ",%d\n", show_is_whole(comparison));
    }
}

static struct json *json_row(const struct comparison_row *row)
{
    struct field fields[FIELDS];
    struct json *object =
        json_pack("{s:s, s:s, s:s, s:b, s:s}", "table", comparison_table_name[row->table], "name", row->name, "state",
                  state_name[row->state], "above_noise", row->result.above, "decision", show_decision(row));
    json_set(object, "rank", row->rank >= 0 ? json_integer(row->rank) : json_null());
    if (row->site != NULL)
        json_set(object, "place",
                 json_pack("{s:s, s:s, s:s, s:I, s:s}", "part", part_of(row), "symbol", row->site->name, "file",
                           row->site->file, "line", (int64_t)row->site->line, "kind",
                           profile_kind_name[row->site->kind]));
    fields_of(row, fields);
    for (size_t i = 0; i < FIELDS; i++)
        json_set(object, fields[i].name, json_finite(fields[i].value));
    return object;
}

static void add_text(void *context, const char *text)
{
    json_add(context, json_string(text));
}

int show_json(FILE *stream, const struct comparison *comparison, struct error *error)
{
    struct json *runs = json_array(), *warnings = json_array(), *rows = json_array();
    for (size_t i = 0; i < comparison->n_a + comparison->n_b; i++) {
        const struct profile *profile = &comparison->profiles[i];
        json_add(runs, json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:b, s:o}", "side", i < comparison->n_a ? "A" : "B",
                                 "trace", profile->path, "command", profile->command, "mpi", profile->mpi, "ranks",
                                 (int)profile->n_ranks, "duration_s", json_finite(profile->duration_s), "whole",
                                 (int)profile->whole.is_whole, "not_whole",
                                 profile->whole.is_whole ? json_null() : json_string(profile->whole.reason)));
    }
    show_warnings(comparison, add_text, warnings);
    for (size_t i = 0; i < comparison->n_rows; i++)
        json_add(rows, json_row(&comparison->rows[i]));
    struct json *all = json_pack("{s:o, s:o, s:I, s:o}", "runs", runs, "warnings", warnings, "above_noise",
                                 (int64_t)comparison->n_above, "rows", rows);
    return json_write(stream, all, error);
}
