/* Turns a comparison into sentences and tables for people, and into rows with all digits for programs, in the same
 * words. */
#include "report/compare/comparison.h"

#include <math.h>
#include <string.h>

#include "report/render/sections.h"
#include "share/base/json.h"
#include "share/base/one_of.h"

/* Returns the row of the run's time. */
static const struct comparison_row *show_run(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].table == COMPARISON_RUN)
            return &comparison->rows[i];
    return NULL;
}

const struct comparison_row *show_culprit(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        if (row->site != NULL && row->result.above)
            return row;
    }
    return NULL;
}

double show_share(const struct comparison_row *row, double seconds)
{
    return row->result.a_s > 0 ? seconds / row->result.a_s : NAN;
}

/* Returns whether a row's change exceeds the noise, but in some spans of the run alone, so that it is not above it. */
static bool show_unsteady(const struct comparison_row *row)
{
    const struct noise_result *result = &row->result;
    return row->state == COMPARISON_TESTED && !result->above && fabs(result->change_s) > result->noise_s;
}

/* Returns the judgement of a row: "above noise", "within noise", "in few spans only"; "" where there is none. */
static const char *show_decision(const struct comparison_row *row)
{
    return row->state != COMPARISON_TESTED ? ""
           : row->result.above             ? "above noise"
           : show_unsteady(row)            ? "in few spans only"
                                           : "within noise";
}

/* Returns by how much other work a site had: the larger change of calls and bytes as a share of A's, 0 below 1 %. */
static double show_other_work(const struct comparison_row *row)
{
    static const char *const repeated[] = {"MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get", "MPI_Parrived"};
    if (row->table != COMPARISON_SITE || row->part != PROFILE_CALL || !(row->calls[0] > 0) || !(row->calls[1] > 0))
        return 0;
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++)
        if (strncmp(row->site->function, repeated[i], strlen(repeated[i])) == 0)
            return 0;
    double calls = row->calls[1] / row->calls[0] - 1, bytes = row->bytes[0] > 0 ? row->bytes[1] / row->bytes[0] - 1 : 0;
    double larger = fabs(calls) > fabs(bytes) ? calls : bytes;
    return fabs(larger) < 0.01 ? 0 : larger;
}

/* Writes a share as "+12.3 %", at most 7 characters wide; "-" for NaN. */
static void show_percent(double share, bool sign, char *text, size_t size)
{
    double percent = share * 100;
    if (isnan(percent))
        snprintf(text, size, "-");
    else if (fabs(percent) >= 999.5)
        snprintf(text, size, percent > 0 ? ">999 %%" : "<-999 %%");
    else
        snprintf(text, size, sign ? "%+.*f %%" : "%.*f %%", fabs(percent) >= 99.95 ? 0 : 1, percent);
}

void show_place(const struct comparison_row *row, bool brief, char *text, size_t size)
{
    const struct profile_site *site = row->site;
    char rank[32] = "";
    if (site == NULL) {
        snprintf(text, size, row->rank >= 0 ? "%s %lld" : "%s", row->name, (long long)row->rank);
        return;
    }
    if (row->rank >= 0)
        snprintf(rank, sizeof rank, ", rank %lld", (long long)row->rank);
    if (site->function[0] == '\0') {
        snprintf(text, size, "in computation%s", rank);
        return;
    }
    const char *file = file_name(site->file);
    bool named = site->name[0] != '\0' && (!brief || file[0] == '\0');
    const char *name = named ? site->name : "", *blank = named ? " " : "";
    const char *where = row->part == PROFILE_COMPUTATION ? "before" : "in";
    const char *function = site->function + (brief && strncmp(site->function, "MPI_", 4) == 0 ? 4 : 0);
    if (file[0] != '\0')
        snprintf(text, size, "%s %s%s%s %s:%lld%s%s", where, function, blank, name, file, (long long)site->line,
                 brief ? "" : site->callers, rank);
    else
        snprintf(text, size, "%s %s%s%s%s", where, function, blank, name, rank);
}

/* Returns whether all traces have all of their runs. */
static bool show_is_whole(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_a + comparison->n_b; i++)
        if (!comparison->profiles[i].whole.is_whole)
            return false;
    return true;
}

/* Returns whether the traces are compared by their totals. */
static bool show_of_totals(const struct comparison *comparison)
{
    return comparison->profiles->n_cells > 0 && comparison->profiles->cells->of_totals;
}

enum { SHORT_OTHER_WORK = 2, SHORT_SITES = 6, SHORT_RANKS = 2, SHORT_ONE_SIDE = 2, PLACE_WIDTH = 30, PATH_WIDTH = 24 };

static void add_runs(struct document *document, const struct comparison *comparison)
{
    size_t n = comparison->n_a + comparison->n_b;
    document_table(document, "|trace|ranks>|MPI|time>|command");
    for (size_t i = 0; i < n; i++) {
        const struct profile *profile = &comparison->profiles[i];
        const char *name = profile->command, *blank = strchr(name, ' ');
        for (const char *c = name; *c != '\0' && (blank == NULL || c < blank); c++)
            name = *c == '/' ? c + 1 : name;
        size_t length = strlen(profile->path);
        document_cell(document, i < comparison->n_a ? "A" : "B");
        document_cell(document, "%s%s", length > PATH_WIDTH ? "..." : "",
                      profile->path + (length > PATH_WIDTH ? length - PATH_WIDTH + 3 : 0));
        document_cell(document, "%u", profile->n_ranks);
        document_cell(document, "%.12s", profile->mpi);
        document_cells(document, "s", profile->duration_s);
        document_cell(document, "%.20s", name);
    }
}

/* Returns whether a row had other work, or is not steady. */
static bool any_row(const struct comparison *comparison, bool (*has)(const struct comparison_row *row))
{
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (has(&comparison->rows[i]))
            return true;
    return false;
}

static bool has_other_work(const struct comparison_row *row)
{
    return show_other_work(row) != 0;
}

static void add_verdict(struct document *document, const struct comparison *comparison)
{
    const struct comparison_row *run = show_run(comparison), *culprit = show_culprit(comparison);
    char place[256], change[32], a[32], b[32];
    if (run != NULL && run->state == COMPARISON_TESTED && run->result.a_s > 0) {
        double share = show_share(run, run->result.change_s) * 100, noise = show_share(run, run->result.noise_s) * 100;
        words_seconds(a, sizeof a, run->result.a_s);
        words_seconds(b, sizeof b, run->result.b_s);
        if (run->result.above)
            document_line(document, "The run takes %.1f %% %s: %s, was %s (noise %.1f %%).", fabs(share),
                          share > 0 ? "longer" : "less", b, a, noise);
        else if (show_unsteady(run))
            document_line(document,
                          "The run takes %s, was %s: %+.1f %%, more than the noise of %.1f %%, but in few of its %d "
                          "spans only: %+.1f %% without the %d largest and the %d smallest changes.",
                          b, a, share, noise, PROFILE_SPANS, show_share(run, run->result.steady_s) * 100, NOISE_TRIMMED,
                          NOISE_TRIMMED);
        else
            document_line(document, "The run takes %s, was %s: %+.1f %%, within the noise of %.1f %%.", b, a, share,
                          noise);
    }
    if (culprit != NULL) {
        bool added = culprit->result.change_s > 0;
        show_place(culprit, false, place, sizeof place);
        document_line(document, "Time is %s %s: %s%s, %+.1f %% (noise %.1f %%).", added ? "added" : "saved", place,
                      added ? "+" : "", words_seconds(change, sizeof change, culprit->result.change_s),
                      show_share(culprit, culprit->result.change_s) * 100,
                      show_share(culprit, culprit->result.noise_s) * 100);
    } else {
        document_line(document, "%s",
                      comparison->n_above > 0               ? "No call site is above noise."
                      : any_row(comparison, has_other_work) ? "No time is above noise, but the work is not the same:"
                      : any_row(comparison, show_unsteady)
                          ? "No time is above noise throughout the run."
                          : "Nothing is above noise: the runs may be launches of one job.");
    }
}

/* Adds the sites that had other work: the program, not its speed, was different there. */
static void add_other_work(struct document *document, const struct comparison *comparison, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        char place[256];
        if (!has_other_work(row) || n++ >= most)
            continue;
        show_place(row, false, place, sizeof place);
        document_line(document, "Other work %s: %.6g B in %.6g calls, was %.6g B in %.6g (%+.1f %%).", place,
                      row->bytes[1], row->calls[1], row->bytes[0], row->calls[0], show_other_work(row) * 100);
    }
    if (n > most)
        document_line(document, "and other work at %zu more call sites: --all", n - most);
}

/* Appends what a level's messages carried, in A and, where that is different, in B. */
static void append_bytes(const struct comparison_row *row, char *text, size_t size)
{
    for (int side = 0; side < 2; side++) {
        double bytes = row->bytes[side];
        size_t length = strlen(text);
        char volume[32];
        if (!isfinite(bytes) || (side == 1 && isfinite(row->bytes[0]) && fabs(bytes - row->bytes[0]) <= bytes / 100))
            continue;
        snprintf(text + length, size - length, "%s %s", side == 0 ? "" : ",",
                 words_bytes(volume, sizeof volume, bytes));
    }
}

static void add_document_row(struct document *document, const struct comparison_row *row)
{
    const struct noise_result *result = &row->result;
    char place[256], change[16], noise[16];
    show_place(row, true, place, sizeof place);
    if (row->table == COMPARISON_LEVEL)
        append_bytes(row, place, sizeof place);
    size_t length = strlen(place);
    document_cell(document, "%s", result->above ? "*" : show_unsteady(row) ? "~" : "");
    /* The end of a place is its line. */
    document_cell(document, "%s%s", length > PLACE_WIDTH ? ".." : "",
                  place + (length > PLACE_WIDTH ? length - PLACE_WIDTH + 2 : 0));
    document_cells(document, "ss", result->a_s, result->b_s);
    show_percent(show_share(row, result->change_s), true, change, sizeof change);
    show_percent(row->state == COMPARISON_TESTED ? show_share(row, result->noise_s) : NAN, false, noise, sizeof noise);
    document_cells(document, "stt", result->change_s, change, noise);
}

static bool is_of(const struct comparison_row *row, enum comparison_table table)
{
    return row->table == table || (table == COMPARISON_SITE && row->table == COMPARISON_CELL);
}

static bool on_one_side(const struct comparison_row *row)
{
    return row->state == COMPARISON_ONLY_A || row->state == COMPARISON_ONLY_B;
}

static bool has_time(const struct comparison_row *row)
{
    return (!isnan(row->total_s[0]) && row->total_s[0] > 0) || (!isnan(row->total_s[1]) && row->total_s[1] > 0);
}

/* Adds a table of the rows of a kind that both sides have, at most so many beside those above noise. */
static void add_table(struct document *document, const struct comparison *comparison, enum comparison_table table,
                      const char *heading, const char *columns, size_t short_rows, bool all)
{
    size_t shown = 0, left = 0, most = all ? SIZE_MAX : short_rows;
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        if (!is_of(row, table) || on_one_side(row) || !has_time(row) ||
            (!all && row->state == COMPARISON_SMALL && table != COMPARISON_SITE))
            continue;
        if (shown >= most) {
            left++;
            continue;
        }
        if (shown++ == 0) {
            if (heading != NULL)
                document_heading(document, "%s", heading);
            document_table(document, columns);
        }
        add_document_row(document, row);
    }
    if (left > 0)
        document_line(document, "and %zu more: --all", left);
}

static void add_one_sided(struct document *document, const struct comparison *comparison, size_t most)
{
    size_t n[2] = {0, 0}, shown[2] = {0, 0};
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (on_one_side(&comparison->rows[i]))
            n[comparison->rows[i].state == COMPARISON_ONLY_B]++;
    if (n[0] + n[1] == 0)
        return;
    document_heading(document, "In one of them only: %zu in A, %zu in B", n[0], n[1]);
    document_table(document, "||>");
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        bool b = row->state == COMPARISON_ONLY_B;
        char place[256];
        if (!on_one_side(row) || shown[b]++ >= most)
            continue;
        show_place(row, true, place, sizeof place);
        document_cell(document, b ? "only B" : "only A");
        document_cell(document, "%.60s", place);
        document_cells(document, "s", row->total_s[b]);
    }
}

void show_document(struct document *document, const struct comparison *comparison, bool all)
{
    document->partial = !show_is_whole(comparison);
    document_heading(document, "B against A");
    add_runs(document, comparison);
    for (size_t i = 0; i < comparison->n_warnings; i++)
        document_warning(document, "%s", comparison->warnings[i]);
    add_verdict(document, comparison);
    add_other_work(document, comparison, all ? SIZE_MAX : SHORT_OTHER_WORK);
    add_table(document, comparison, COMPARISON_SITE, "Call sites: the computation before their calls, and the calls",
              "|time|A>|B>|change>|>|noise>", SHORT_SITES, all);
    add_table(document, comparison, COMPARISON_KIND, "Kinds, ranks, levels", "|all ranks|A>|B>|change>|>|noise>",
              SIZE_MAX, all);
    add_table(document, comparison, COMPARISON_RANK, NULL, "|rank|A>|B>|change>|>|noise>", SHORT_RANKS, all);
    add_table(document, comparison, COMPARISON_LEVEL, NULL, "|messages|A>|B>|change>|>|noise>", SIZE_MAX, all);
    add_one_sided(document, comparison, all ? SIZE_MAX : SHORT_ONE_SIDE);
    document_line(document, "%s",
                  show_of_totals(comparison)
                      ? "* is above noise, the spread of the runs. Times are those of all calls, with the waiting in "
                        "them: of some run not all calls are known one by one."
                  : comparison->n_a + comparison->n_b == 2
                      ? "* is above noise. Times are undisturbed ones, without waiting for others: the fastest quarter "
                        "of the calls stands for all."
                      : "* is above noise, the spread of the runs. Times are means over runs, without waiting for "
                        "others.");
    if (any_row(comparison, show_unsteady))
        document_line(document, "~ exceeds noise in few spans of the run only, which does not count.");
    document_explain_mark(document, "see the warnings above");
}

static const char *const comparison_table_name[COMPARISON_TABLES] = {"run",          "kind", "site",
                                                                     "site on rank", "rank", "level"};
static const char *const state_name[] = {
    [COMPARISON_TESTED] = "tested", [COMPARISON_SMALL] = "small",   [COMPARISON_FEW_CALLS] = "few calls",
    [COMPARISON_ONLY_A] = "only A", [COMPARISON_ONLY_B] = "only B", [COMPARISON_SHOWN] = "follows",
};

static const char *part_of(const struct comparison_row *row)
{
    return row->site == NULL ? "" : row->part == PROFILE_COMPUTATION ? "before" : "in";
}

/* Adds the figures of a row behind what names it; returns the object. */
static struct json *with_figures(struct json *object, const struct comparison_row *row)
{
    const struct noise_result *result = &row->result;
    bool bytes = row->table == COMPARISON_LEVEL || (row->table == COMPARISON_SITE && row->part == PROFILE_CALL);
    bool tested = row->state == COMPARISON_TESTED;
    json_move(object, json_pack("{sf sf sf sf sf sf sf sf sf sf sf sf sf sf}", "a_s", result->a_s, "b_s", result->b_s,
                                "change_s", result->change_s, "change", show_share(row, result->change_s), "noise_s",
                                tested ? result->noise_s : NAN, "a_all_s", row->total_s[0], "b_all_s", row->total_s[1],
                                "a_waiting_s", row->wait_s[0], "b_waiting_s", row->wait_s[1], "a_calls", row->calls[0],
                                "b_calls", row->calls[1], "a_bytes", bytes ? row->bytes[0] : NAN, "b_bytes",
                                bytes ? row->bytes[1] : NAN, "steady_s", tested ? result->steady_s : NAN));
    return object;
}

void show_csv(FILE *stream, const struct comparison *comparison)
{
    struct json_rows rows = {.stream = stream, .csv = true};
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        const struct profile_site *site = row->site;
        struct json *object = json_pack(
            "{ss ss ss ss ss so so ss sb ss}", "table", comparison_table_name[row->table], "part", part_of(row), "name",
            row->name, "symbol", site != NULL ? site->name : "", "file", site != NULL ? site->file : "", "line",
            site != NULL && site->file[0] != '\0' ? json_integer(site->line) : json_null(), "rank",
            row->rank >= 0 ? json_integer(row->rank) : json_null(), "state", state_name[row->state], "above_noise",
            (int)row->result.above, "decision", show_decision(row));
        json_set(with_figures(object, row), "whole", json_boolean(show_is_whole(comparison)));
        json_rows_add(&rows, object);
    }
}

static struct json *json_row(const struct comparison_row *row)
{
    static const char *const kinds[] = {"computation", "point-to-point", "collectives", "one-sided", "files", "other"};
    struct json *object =
        json_pack("{s:s, s:s, s:s, s:b, s:s}", "table", comparison_table_name[row->table], "name", row->name, "state",
                  state_name[row->state], "above_noise", row->result.above, "decision", show_decision(row));
    json_set(object, "rank", row->rank >= 0 ? json_integer(row->rank) : json_null());
    if (row->site != NULL)
        json_set(object, "place",
                 json_pack("{s:s, s:s, s:s, s:I, s:s}", "part", part_of(row), "symbol", row->site->name, "file",
                           row->site->file, "line", (int64_t)row->site->line, "kind", kinds[row->site->kind]));
    return with_figures(object, row);
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
    for (size_t i = 0; i < comparison->n_warnings; i++)
        json_add(warnings, json_string(comparison->warnings[i]));
    for (size_t i = 0; i < comparison->n_rows; i++)
        json_add(rows, json_row(&comparison->rows[i]));
    struct json *all = json_pack("{s:o, s:o, s:I, s:o}", "runs", runs, "warnings", warnings, "above_noise",
                                 (int64_t)comparison->n_above, "rows", rows);
    return json_write(stream, all, error);
}
