/* Runs `mpistair history`: the run time of versions of one job in order, and the run or the call sites that changed,
 * since when, by more than noise. share/doc/MODELS.md, History, has the rule. */
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/command/commands.h"
#include "report/compare/comparison.h"
#include "share/base/array.h"
#include "share/base/html_page.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/order.h"
#include "share/base/output_file.h"
#include "share/base/statistics.h"
#include "share/base/one_of.h"

static const char history_usage[] =
    "usage: mpistair history DIR|TRACE... [OPTIONS]\n"
    "\n"
    "Shows how the time of one job changed from version to version: a line a run, in the order of their start, and the "
    "call sites that changed, since which run, by more than noise and by 3 % of the run. DIR stands for all *.db in "
    "it.\n";
static const char history_notes[] =
    "Exit codes: 0; 1 the work failed, or --fail-if-slower found something; 2 wrong usage.\n";

enum { LEAST_RUNS = 3, NEAR_RUNS = 4 };
enum history_label { LABEL_FILE, LABEL_FOLDER };
static const double step_matters = 0.03; /* of the run time, as a finding must */

/* A run. NaN: not known. */
struct history_run {
    const char *trace, *label, *started;
    double run_s, median_s, change; /* median_s: of the runs before; change: to that, as a share of it */
};
#define RUN_OF(member) FIELD(history_run, member)
static const struct fields history_fields =
    FIELDS(history_run, RUN_OF(trace), RUN_OF(label), RUN_OF(started), RUN_OF(run_s), RUN_OF(median_s), RUN_OF(change));

/* A row of the comparison that changed at a run. */
struct history_step {
    const struct comparison_row *row;
    size_t since;
    struct noise_result result; /* of the runs from there on against those before, as the step was found */
    double of_run;              /* its change, as a share of the run time before */
    bool is_last;               /* no later one of that row */
};

struct history {
    struct history_run *runs; /* [n] */
    size_t n;
    struct comparison comparison;
    struct history_step *steps; /* [n_steps], by rows of the comparison, then by runs */
    size_t n_steps;
    double probability; /* of a step where there is none, for each comparison */
    bool fails;
    double limit; /* of --fail-if-slower */
    struct comparison_options launches;
};

static int take_history_launches(void *context, const char *text)
{
    struct history *history = context;
    return take_launches("history", text, &history->launches);
}

static int take_slower(void *context, const char *text)
{
    struct history *history = context;
    history->fails = true;
    return parse_percent(text, &history->limit) == 0
               ? 0
               : wrong_usage("history", "--fail-if-slower '%s': expected a percentage from 0 on, such as 3%%", text);
}

/* Finds the traces that words stand for. Returns an exit code. */
static int find_traces(char **words, size_t n, glob_t *found)
{
    for (size_t i = 0; i < n; i++) {
        char *pattern = xasprintf("%s/*.db", words[i]);
        size_t before = found->gl_pathc;
        if (glob(pattern, GLOB_APPEND, NULL, found) != 0 || found->gl_pathc == before)
            glob(words[i], GLOB_APPEND | GLOB_NOCHECK | GLOB_NOESCAPE, NULL, found);
        free(pattern);
    }
    return found->gl_pathc >= 2 ? EXIT_DONE
                                : wrong_usage("history", "expected at least two traces, found %zu", found->gl_pathc);
}

static int compare_starts(const void *left, const void *right)
{
    const struct profile *a = left, *b = right;
    return ORDER(a->started_ns, b->started_ns) ?: strcmp(a->path, b->path);
}

/* Finds the change among runs first to end that is furthest above noise, of all of them or of the NEAR_RUNS on both
 * sides of it, and large enough; then those before and behind it. */
static void find_steps(struct history *history, const struct comparison_row *row, size_t first, size_t end)
{
    struct history_step best = {.row = row};
    const struct comparison_row *run = history->comparison.rows;
    double most = 1;
    if (end - first < LEAST_RUNS)
        return;
    for (size_t split = first + 1; split < end; split++)
        for (int near = 0; near < 2; near++) {
            size_t a = near && split - first > NEAR_RUNS ? split - NEAR_RUNS : first;
            size_t b = near && end - split > NEAR_RUNS ? split + NEAR_RUNS : end;
            struct noise_result found =
                noise_compare(row->samples + a, split - a, b - split, row->groups, history->probability);
            double run_s = noise_compare(run->samples + a, split - a, b - split, 0, 0.5).a_s;
            double of_run = found.change_s / run_s / (row->site == NULL ? 1 : history->comparison.profiles->n_ranks);
            if (b - a < LEAST_RUNS || !found.above || fabs(of_run) < step_matters ||
                !(fabs(found.change_s) / found.noise_s > most))
                continue;
            most = fabs(found.change_s) / found.noise_s;
            best = (struct history_step){row, split, found, of_run, false};
        }
    if (best.since == 0)
        return;
    find_steps(history, row, first, best.since);
    ARRAY_ADD(history->steps, history->n_steps, best);
    find_steps(history, row, best.since, end);
}

static bool is_watched(const struct comparison_row *row)
{
    return row->table == COMPARISON_RUN || (row->table == COMPARISON_SITE && row->state != COMPARISON_SMALL);
}

/* The probability of 1 % is divided by rows and places of a step (Bonferroni). */
static void find_changes(struct history *history)
{
    size_t tested = 0;
    double *before_s = xcalloc(history->n, sizeof *before_s);
    for (size_t i = 0; i < history->comparison.n_rows; i++) {
        tested += is_watched(&history->comparison.rows[i]);
        for (size_t k = 0; k < history->n; k++)
            history->comparison.rows[i].samples[k].present = true; /* a call site that is not there takes no time */
    }
    history->probability = 0.01 / (double)tested / (double)(2 * (history->n - 1));
    for (size_t i = 0; i < history->comparison.n_rows; i++)
        if (is_watched(&history->comparison.rows[i]))
            find_steps(history, &history->comparison.rows[i], 0, history->n);
    for (size_t i = 0; i < history->n_steps; i++)
        history->steps[i].is_last = i + 1 == history->n_steps || history->steps[i + 1].row != history->steps[i].row;
    for (size_t i = 0; i < history->n; i++) {
        struct history_run *run = &history->runs[i];
        for (size_t k = 0; k < i; k++)
            before_s[k] = history->runs[k].run_s;
        run->median_s = i > 0 ? unsorted_median(before_s, i) : (double)NAN;
        run->change = run->run_s / run->median_s - 1;
    }
    free(before_s);
}

static bool is_slower(const struct history *history, const struct history_step *step)
{
    return step->is_last && step->of_run > history->limit;
}

/* Returns the last run's change above noise to the runs before it, as a share of their mean; 0 where there is none. */
static double last_change(const struct history *history)
{
    struct noise_result found = noise_compare(history->comparison.rows->samples, history->n - 1, 1, 0, 0.01);
    return found.above && found.a_s > 0 ? found.change_s / found.a_s : 0;
}

static const char *row_name(const struct comparison_row *row, char *text, size_t size)
{
    show_place(row, false, text, size);
    return text;
}

static void history_document(struct document *document, const struct history *history)
{
    char place[256], before[32], after[32];
    document_heading(document, "%zu runs", history->n);
    for (size_t i = 0; i < history->comparison.n_warnings; i++)
        document_warning(document, "%s", history->comparison.warnings[i]);
    document_table(document, "started (UTC)|run|time>|to median before>");
    for (size_t i = 0; i < history->n; i++) {
        const struct history_run *run = &history->runs[i];
        document_cells(document, "ttsc", run->started, run->label, run->run_s, run->change);
    }
    for (size_t i = 0; i < history->n_steps; i++) {
        const struct history_step *step = &history->steps[i];
        document_line(document, "%s since %s: %s, was %s, %+.1f %% of the run (noise %.1f %%).",
                      row_name(step->row, place, sizeof place), history->runs[step->since].label,
                      words_seconds(after, sizeof after, step->result.b_s),
                      words_seconds(before, sizeof before, step->result.a_s), step->of_run * 100,
                      fabs(step->of_run * step->result.noise_s / step->result.change_s) * 100);
    }
    if (history->n < LEAST_RUNS)
        document_line(document, "Steps need %d runs; mpistair diff compares two.", LEAST_RUNS);
    else if (history->n_steps == 0)
        document_line(document, "Nothing changed by more than noise and %.0f %% of the run.", step_matters * 100);
}

static struct json *step_json(const struct history *history, const struct history_step *step)
{
    char place[256];
    return json_pack("{ss ss sI sf sf sf sf sb}", "place", row_name(step->row, place, sizeof place), "since",
                     history->runs[step->since].label, "run", (int64_t)step->since, "before_s", step->result.a_s,
                     "after_s", step->result.b_s, "noise_s", step->result.noise_s, "of_run", step->of_run, "last",
                     (int)step->is_last);
}

static int render_history(FILE *stream, const struct history *history, int format, struct error *error)
{
    struct document document = {0};
    struct json_rows rows = {.stream = stream, .csv = true};
    if (format == FORMAT_TEXT) {
        history_document(&document, history);
        render_text(stream, &document);
        document_release(&document);
        return 0;
    }
    if (format == FORMAT_CSV) {
        for (size_t i = 0; i < history->n; i++)
            json_rows_add(&rows, fields_object(&history_fields, &history->runs[i]));
        return json_rows_end(&rows, error);
    }
    struct json *steps = json_array(), *warnings = json_array();
    for (size_t i = 0; i < history->n_steps; i++)
        json_add(steps, step_json(history, &history->steps[i]));
    for (size_t i = 0; i < history->comparison.n_warnings; i++)
        json_add(warnings, json_string(history->comparison.warnings[i]));
    return json_write(stream,
                      json_pack("{so so so}", "runs", fields_array(&history_fields, history->runs, history->n), "steps",
                                steps, "warnings", warnings),
                      error);
}

/* Writes a test case for the run and each call site that was watched; those whose last step is slower have failed. */
static void write_junit(FILE *stream, const struct history *history)
{
    char place[256];
    size_t cases = 0, failures = 0, step = 0;
    for (size_t i = 0; i < history->comparison.n_rows; i++)
        cases += is_watched(&history->comparison.rows[i]);
    for (size_t i = 0; i < history->n_steps; i++)
        failures += is_slower(history, &history->steps[i]);
    fprintf(stream,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"mpistair history\" tests=\"%zu\" "
            "failures=\"%zu\">\n",
            cases, failures);
    for (size_t i = 0; i < history->comparison.n_rows; i++) {
        const struct comparison_row *row = &history->comparison.rows[i];
        if (!is_watched(row))
            continue;
        fprintf(stream, "  <testcase classname=\"mpistair\" name=\"");
        html_text(stream, row_name(row, place, sizeof place));
        fprintf(stream, "\" time=\"%.9g\">", row->samples[history->n - 1].total_s);
        while (step < history->n_steps && history->steps[step].row == row) {
            const struct history_step *found = &history->steps[step++];
            if (!is_slower(history, found))
                continue;
            fprintf(stream, "<failure message=\"%+.1f %% of the run since ", found->of_run * 100);
            html_text(stream, history->runs[found->since].label);
            fprintf(stream, "\"/>");
        }
        fprintf(stream, "</testcase>\n");
    }
    fprintf(stream, "</testsuite>\n");
}

/* Writes the last run's change to the median of those before as an image of 140 by 20 pixels. */
static void write_badge(FILE *stream, const struct history *history)
{
    double change = history->runs[history->n - 1].change;
    const char *colour = change > step_matters ? "#c62828" : "#2e7d32";
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"140\" height=\"20\" font-family=\"sans-serif\" "
            "font-size=\"11\" fill=\"#fff\"><title>run time %+.1f %%</title><rect width=\"70\" height=\"20\" "
            "fill=\"#555\"/><rect x=\"70\" width=\"70\" height=\"20\" fill=\"%s\"/><text x=\"8\" y=\"14\">run "
            "time</text><text x=\"105\" y=\"14\" text-anchor=\"middle\">%+.1f %%</text></svg>\n",
            change * 100, colour, change * 100);
}

/* Writes a file, where a path is given. Returns an exit code. */
static int write_file(const char *path, const struct history *history,
                      void (*write)(FILE *stream, const struct history *history))
{
    struct output_file output;
    struct error error;
    if (path == NULL)
        return EXIT_DONE;
    if (output_file_open(&output, path, &error) != 0)
        return error_report(&error);
    write(output.stream, history);
    return output_file_end(&output, 0, &error) != 0 ? error_report(&error) : EXIT_DONE;
}

/* Returns the exit code by --fail-if-slower, and says what is slower. */
static int judge_history(const struct history *history)
{
    char place[256];
    const struct history_run *last = &history->runs[history->n - 1];
    const struct history_step *worst = NULL;
    for (size_t i = 0; history->fails && i < history->n_steps; i++)
        if (is_slower(history, &history->steps[i]) && (worst == NULL || history->steps[i].of_run > worst->of_run))
            worst = &history->steps[i];
    if (worst != NULL)
        return fail("slower since %s: %s, %+.1f %% of the run", history->runs[worst->since].label,
                    row_name(worst->row, place, sizeof place), worst->of_run * 100);
    if (history->fails && last_change(history) > history->limit)
        return fail("%s is slower than the runs before by %.1f %%", last->label, last_change(history) * 100);
    return EXIT_DONE;
}

/* Names the runs; their order is that of the profiles. */
static void name_runs(struct history *history, const struct profile *profiles, int label, struct pool *pool)
{
    for (size_t i = 0; i < history->n; i++) {
        const char *path = profiles[i].path, *slash = strrchr(path, '/'), *start = slash != NULL ? slash + 1 : path;
        size_t length = ends_with(start, ".db") ?: strlen(start);
        char text[32] = "?";
        time_t seconds = (time_t)(profiles[i].started_ns / 1000000000);
        struct tm utc;
        if (label == LABEL_FOLDER && slash != NULL) {
            const char *before = memrchr(path, '/', (size_t)(slash - path));
            start = before != NULL ? before + 1 : path;
            length = (size_t)(slash - start);
        }
        if (gmtime_r(&seconds, &utc) != NULL)
            strftime(text, sizeof text, "%Y-%m-%d %H:%M", &utc);
        history->runs[i] = (struct history_run){.trace = path,
                                                .label = pool_clean(pool, start, length),
                                                .started = pool_clean(pool, text, strlen(text)),
                                                .run_s = profiles[i].duration_s};
    }
}

int cmd_history(int argc, char **argv)
{
    struct history history = {.launches = {.floor = 0.02, .floor_call = 0.04, .in_order = true}};
    struct output_file output;
    struct error error;
    struct pool pool = {0};
    glob_t found = {0};
    const char *path = NULL, *junit = NULL, *badge = NULL;
    int format = FORMAT_TEXT, label = LABEL_FILE;
    bool as_given = false;
    const struct option_row rows[] = {
        {0, "as-given", NULL, "the order of the runs is that of the arguments, not of their start", .flag = &as_given},
        {0, "label-from", "file|folder", "name a run by its file (default) or by the folder of that", .choice = &label},
        {0, "fail-if-slower", "PERCENT",
         "exit with 1 if the last step of the run or of a call site, or the last run, is slower by more than noise and "
         "by "
         "more than this share of the run",
         .take = take_slower, .words = WORDS_NONE},
        {0, "launches", "PERCENT",
         "difference between two launches of one version: this share of computation (default: 2%), twice that share of "
         "time in calls",
         .take = take_history_launches, .words = WORDS_NONE},
        {0, "junit", "FILE", "write a test case for the run and each call site", .text = &junit},
        {0, "badge", "FILE", "write an SVG image of the last run's change to the median before", .text = &badge},
        {'f', "format", "text|csv|json", "text is the default; csv: a row per run", .choice = &format},
        OUTPUT_ROWS(&format, &path),
    };
    const struct option_table table = {
        "history",           history_usage,         rows, sizeof rows / sizeof rows[0], .notes = history_notes,
        .context = &history, .words = {WORDS_TRACE}};
    int result = options_read(&table, &argc, &argv);
    if (result != OPTIONS_READ)
        return result;
    result = find_traces(argv, (size_t)argc, &found);
    history.n = found.gl_pathc;
    struct open_trace *traces = xcalloc(history.n + 1, sizeof *traces);
    struct profile *profiles = xcalloc(history.n + 1, sizeof *profiles);
    history.runs = xcalloc(history.n + 1, sizeof *history.runs);
    if (result == EXIT_DONE)
        result = read_profiles(found.gl_pathv, history.n, NULL, traces, profiles);
    if (result == EXIT_DONE) {
        if (!as_given)
            qsort(profiles, history.n, sizeof *profiles, compare_starts);
        name_runs(&history, profiles, label, &pool);
        comparison_make(&history.comparison, profiles, 1, history.n - 1, &history.launches);
        find_changes(&history);
        if (output_file_open(&output, path, &error) != 0 ||
            output_file_end(&output, render_history(output.stream, &history, format, &error), &error) != 0)
            result = error_report(&error);
    }
    if (result == EXIT_DONE)
        result = write_file(junit, &history, write_junit);
    if (result == EXIT_DONE)
        result = write_file(badge, &history, write_badge);
    if (result == EXIT_DONE)
        result = judge_history(&history);
    comparison_release(&history.comparison);
    for (size_t i = 0; i < history.n; i++) {
        profile_release(&profiles[i]);
        close_trace(&traces[i]);
    }
    globfree(&found);
    pool_release(&pool);
    free(history.steps);
    free(history.runs);
    free(profiles);
    free(traces);
    return result;
}
