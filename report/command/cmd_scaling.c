/* Runs `mpistair scaling`: the efficiencies of the POP method over runs of one job on more and more ranks, the call
 * sites that stop scaling, and a forecast. share/doc/MODELS.md, Scaling, has the formulas. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/command/commands.h"
#include "report/compare/comparison.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/order.h"
#include "share/base/output_file.h"
#include "share/base/statistics.h"

static const char scaling_usage[] =
    "usage: mpistair scaling A.db B.db [C.db ...] [OPTIONS]\n"
    "\n"
    "Shows how a job scales over runs on 1, 2, 4 ... ranks, in any order: speedup, the efficiencies of the POP method, "
    "the call sites that stop scaling, and of three numbers of ranks or more a forecast for twice the most. Of several "
    "runs on as many ranks the one of median time counts.\n";

enum { MOST_RUNS = 12, MOST_SITES = 5, FORECAST_LEAST = 3 };
enum scaling_mode { MODE_FOUND, MODE_STRONG, MODE_WEAK };
static const double site_matters = 0.03; /* of the ranks' time, as a finding must */
static const double most_factor = 10;    /* a forecast that may be off by more is none */

/* The runs on a number of ranks, or their forecast. NaN: not known. */
struct scaling_run {
    const char *trace; /* of median time; "": the forecast */
    int64_t ranks, runs;
    double run_s, low_s, high_s; /* low_s, high_s: of a forecast, 95 % */
    double spread;               /* slowest less fastest run, as a share of run_s */
    double speedup, global, global_low, global_high, parallel, load_balance, communication, scalability;
    double computation_s;    /* of all ranks */
    double computation_more; /* the part of the sites' excess of computation that is not less computation at others */
    struct profile profile;  /* shares all with that of the trace */
};
#define RUN(member) FIELD(scaling_run, member)
static const struct fields scaling_fields =
    FIELDS(scaling_run, FIELD_OR_NULL(scaling_run, trace), RUN(ranks), RUN(runs), RUN(run_s), RUN(low_s), RUN(high_s),
           RUN(spread), RUN(speedup), RUN(global), RUN(global_low), RUN(global_high), RUN(parallel), RUN(load_balance),
           RUN(communication), RUN(scalability), RUN(computation_s));

struct scaling_site {
    const struct comparison_row *row;
    double excess; /* of the largest run: time beyond what scaling gives, as a share of its ranks' time */
    size_t since;  /* the run from which on it matters; the number of runs: it does not */
};

struct scaling {
    struct scaling_run *runs; /* [n], by ranks; behind them, if there is one, the forecast */
    size_t n;
    int mode;        /* enum scaling_mode */
    double exponent; /* total computation grows as ranks to this power */
    bool doubt;      /* which of both it is */
    bool has_forecast;
    const char *laws[2]; /* of computation, of MPI */
    struct scaling_site sites[MOST_SITES];
    size_t n_sites;
    struct comparison comparison;
};

/* Returns an exit code. The efficiencies are those of the report. */
static int read_efficiencies(struct scaling_run *run, const struct profile *profile, sqlite3 *database)
{
    struct report report;
    struct error error;
    int result = report_collect(&report, database, profile->path, &(struct report_choice){0}, &error);
    const struct report_activities *found = &report.activities;
    bool known = profile->whole.times_known;
    *run = (struct scaling_run){.trace = profile->path,
                                .profile = *profile,
                                .ranks = profile->n_ranks,
                                .run_s = found->run_s > 0 ? found->run_s : profile->duration_s,
                                .computation_s = known ? found->rows[SPENT_COMPUTATION].time_s : (double)NAN,
                                .parallel = known ? found->parallel : (double)NAN,
                                .load_balance = found->load_balance,
                                .communication = found->communication};
    report_release(&report);
    if (result != 0)
        return error_report(&error);
    if (run->ranks < 1 || !(run->run_s > 0) || (known && !(run->computation_s > 0)))
        return fail("%s: expected a run whose ranks compute: it has %lld ranks, %g s and %g s of computation",
                    profile->path, (long long)run->ranks, run->run_s, fmax(run->computation_s, 0));
    return EXIT_DONE;
}

static int compare_scaling_runs(const void *left, const void *right)
{
    const struct scaling_run *a = left, *b = right;
    return ORDER(a->ranks, b->ranks) ?: ORDER(a->run_s, b->run_s) ?: strcmp(a->trace, b->trace);
}

/* Leaves of the runs on each number of ranks that of median time, of two the faster one. */
static void keep_medians(struct scaling *scaling)
{
    size_t kept = 0;
    qsort(scaling->runs, scaling->n, sizeof *scaling->runs, compare_scaling_runs);
    for (size_t i = 0, end; i < scaling->n; i = end) {
        for (end = i + 1; end < scaling->n && scaling->runs[end].ranks == scaling->runs[i].ranks;)
            end++;
        double spread_s = scaling->runs[end - 1].run_s - scaling->runs[i].run_s;
        struct scaling_run run = scaling->runs[i + (end - i - 1) / 2];
        run.runs = (int64_t)(end - i);
        run.spread = end - i > 1 ? spread_s / run.run_s : (double)NAN;
        scaling->runs[kept++] = run;
    }
    scaling->n = kept;
}

/* Returns what all time of the smallest run becomes on so many ranks if it scales. */
static double scaled(const struct scaling *scaling, int64_t ranks)
{
    return scaling->mode == MODE_WEAK ? (double)ranks / (double)scaling->runs->ranks : 1;
}

static void find_speedups(struct scaling *scaling)
{
    const struct scaling_run *first = scaling->runs, *last = first + scaling->n - 1;
    scaling->exponent =
        log(last->computation_s / first->computation_s) / log((double)last->ranks / (double)first->ranks);
    scaling->doubt =
        scaling->mode == MODE_FOUND && !(fabs(scaling->exponent) <= 0.25 || fabs(scaling->exponent - 1) <= 0.25);
    if (scaling->mode == MODE_FOUND)
        scaling->mode = scaling->exponent > 0.5 ? MODE_WEAK : MODE_STRONG;
    for (struct scaling_run *run = scaling->runs; run < scaling->runs + scaling->n; run++) {
        run->scalability = first->computation_s * scaled(scaling, run->ranks) / run->computation_s;
        run->global = run->parallel * run->scalability;
        run->speedup = first->run_s / run->run_s;
        run->low_s = run->high_s = run->global_low = run->global_high = NAN;
    }
}

/* The laws y = a + b x of what a rank does on p ranks. */
static double law_x(size_t law, double ranks)
{
    return law == 0 ? 1 / ranks : law == 1 ? log2(ranks) : ranks;
}
static const char *const law_name[] = {"a + b / p", "a + b log p", "a + b p"};

/* Forecasts y[n] by the law that leaves the least residuals, each weighed by the run's time; adds its variance as a
 * share of that. Returns the law. */
static size_t forecast_part(const struct scaling *scaling, const double *y, double ranks, double *forecast,
                            double *variance)
{
    size_t best = 0;
    double least = INFINITY;
    double found = NAN, spread = NAN;
    for (size_t law = 0; law < sizeof law_name / sizeof *law_name; law++) {
        double x[MOST_RUNS], weight[MOST_RUNS], at = law_x(law, ranks);
        for (size_t i = 0; i < scaling->n; i++) {
            x[i] = law_x(law, (double)scaling->runs[i].ranks);
            weight[i] = 1 / (scaling->runs[i].run_s * scaling->runs[i].run_s);
        }
        struct weighted_line line = weighted_line_fit(x, y, weight, scaling->n);
        if (!(line.sum_of_squares < least))
            continue;
        least = line.sum_of_squares;
        best = law;
        found = line.intercept + line.slope * at;
        spread = line.var_intercept + 2 * at * line.covariance + at * at * line.var_slope;
    }
    double of_run = least / (double)(scaling->n - 2);
    *forecast += found;
    variance[0] += of_run;
    variance[1] += of_run * spread;
    return best;
}

static void make_forecast(struct scaling *scaling)
{
    const struct scaling_run *first = scaling->runs, *last = first + scaling->n - 1;
    struct scaling_run *next = scaling->runs + scaling->n;
    double part_s[2][MOST_RUNS], run_s = 0, variance[2] = {0, 0};
    int64_t ranks = 2 * last->ranks;
    if (scaling->n < FORECAST_LEAST)
        return;
    for (size_t i = 0; i < scaling->n; i++) {
        part_s[0][i] = first[i].parallel * first[i].run_s; /* mean over the ranks */
        part_s[1][i] = first[i].run_s - part_s[0][i];
    }
    for (size_t i = 0; i < 2; i++)
        scaling->laws[i] = law_name[forecast_part(scaling, part_s[i], (double)ranks, &run_s, variance)];
    double factor =
        exp(student_quantile(0.025, (double)scaling->n - 2) * sqrt(variance[0] + variance[1] / run_s / run_s));
    if (!(factor <= most_factor) || !(run_s > 0))
        return;
    double global =
        first->parallel * first->run_s * (double)first->ranks * scaled(scaling, ranks) / (double)ranks / run_s;
    *next = (struct scaling_run){.trace = "", .ranks = ranks, .run_s = run_s, .global = global};
    next->low_s = run_s / factor;
    next->high_s = run_s * factor;
    next->global_low = global / factor;
    next->global_high = global * factor;
    next->speedup = first->run_s / run_s;
    next->parallel = next->load_balance = next->communication = next->scalability = next->computation_s = NAN;
    next->spread = NAN;
    scaling->has_forecast = true;
}

static double site_s(const struct comparison_row *row, size_t run)
{
    return row->samples[run].total_s + row->samples[run].wait_s;
}

/* Returns by how much a site exceeds what scaling gives, as a share of the ranks' time of a run. */
static double excess_of(const struct scaling *scaling, const struct comparison_row *row, size_t at)
{
    const struct scaling_run *run = &scaling->runs[at];
    double excess =
        (site_s(row, at) - site_s(row, 0) * scaled(scaling, run->ranks)) / (run->run_s * (double)run->ranks);
    return row->part == PROFILE_COMPUTATION && excess > 0 ? excess * run->computation_more : excess;
}

/* Other numbers of ranks have other calls, a single one has none to its neighbours: computation then comes before
 * another call. Only what all computation exceeds scaling by is anyone's excess. */
static void find_computation_more(struct scaling *scaling)
{
    for (size_t at = 0; at < scaling->n; at++) {
        double more = 0, less = 0;
        scaling->runs[at].computation_more = 1;
        for (size_t i = 0; i < scaling->comparison.n_rows; i++) {
            const struct comparison_row *row = &scaling->comparison.rows[i];
            if (row->table != COMPARISON_SITE || row->part != PROFILE_COMPUTATION)
                continue;
            double excess = excess_of(scaling, row, at);
            more += fmax(excess, 0);
            less += fmax(-excess, 0);
        }
        scaling->runs[at].computation_more = more > 0 ? fmax(more - less, 0) / more : 0;
    }
}

/* Keeps the sites that exceed it most. */
static void find_sites(struct scaling *scaling)
{
    find_computation_more(scaling);
    for (size_t i = 0; i < scaling->comparison.n_rows; i++) {
        const struct comparison_row *row = &scaling->comparison.rows[i];
        struct scaling_site site = {row, 0, scaling->n};
        if (row->table != COMPARISON_SITE)
            continue;
        site.excess = excess_of(scaling, row, scaling->n - 1);
        while (site.since > 1 && excess_of(scaling, row, site.since - 1) >= site_matters)
            site.since--;
        size_t at = scaling->n_sites < MOST_SITES ? scaling->n_sites++ : MOST_SITES;
        for (; at > 0 && scaling->sites[at - 1].excess < site.excess; at--)
            if (at < MOST_SITES)
                scaling->sites[at] = scaling->sites[at - 1];
        if (at < MOST_SITES)
            scaling->sites[at] = site;
    }
}

/* Returns whether text has room for a run: for the smallest one and the largest four. */
static bool is_shown(const struct scaling *scaling, size_t run)
{
    return run == 0 || run + 4 >= scaling->n;
}

/* Begins a table with a column for each run shown; that of the forecast has a question mark. */
static void begin_table(struct document *document, const struct scaling *scaling, const char *title, size_t n)
{
    char columns[32 * (MOST_RUNS + 2)];
    int used = snprintf(columns, sizeof columns, "%s", title);
    for (size_t i = 0; i < n; i++)
        if (is_shown(scaling, i))
            used += snprintf(columns + used, sizeof columns - (size_t)used, "|%lld%s>",
                             (long long)scaling->runs[i].ranks, i < scaling->n ? "" : "?");
    document_table(document, columns);
}

static void add_efficiencies(struct document *document, const struct scaling *scaling)
{
    static const struct {
        const char *name;
        size_t offset;
    } lines[] = {
        {"speedup", offsetof(struct scaling_run, speedup)},
        {"run time", offsetof(struct scaling_run, run_s)},
        {"global efficiency", offsetof(struct scaling_run, global)},
        {"  parallel efficiency", offsetof(struct scaling_run, parallel)},
        {"    load balance", offsetof(struct scaling_run, load_balance)},
        {"    communication", offsetof(struct scaling_run, communication)},
        {"  computation scalability", offsetof(struct scaling_run, scalability)},
        {"spread of its runs", offsetof(struct scaling_run, spread)},
    };
    bool spread = false;
    size_t n = scaling->n + scaling->has_forecast;
    begin_table(document, scaling, "ranks", n);
    for (size_t i = 0; i < n; i++)
        spread = spread || !isnan(scaling->runs[i].spread);
    for (size_t i = 0; i < sizeof lines / sizeof *lines - !spread; i++) {
        document_cell(document, "%s", lines[i].name);
        for (size_t run = 0; run < n; run++) {
            if (!is_shown(scaling, run))
                continue;
            double value = *(const double *)(const void *)((const char *)&scaling->runs[run] + lines[i].offset);
            if (i == 0)
                document_cell(document, "%.2f", value);
            else
                document_cells(document, i == 1 ? "s" : "p", value);
        }
    }
}

static void add_sites(struct document *document, const struct scaling *scaling)
{
    const struct scaling_site *worst = scaling->sites;
    char place[256];
    bool stops = scaling->n_sites > 0 && worst->since < scaling->n;
    if (!stops) {
        document_line(document, "Every call site scales: none takes %.0f %% more of the ranks' time than it would.",
                      site_matters * 100);
        return;
    }
    const struct noise_sample *sample = &worst->row->samples[scaling->n - 1];
    show_place(worst->row, false, place, sizeof place);
    document_line(
        document,
        "The call site that stops scaling, from %lld ranks on: %s. On %lld ranks it takes %.1f %% of the ranks' "
        "time more than if it scaled.",
        (long long)scaling->runs[worst->since].ranks, place, (long long)scaling->runs[scaling->n - 1].ranks,
        worst->excess * 100);
    if (sample->wait_s > 0) /* totals do not tell it */
        document_line(document, "%.0f %% of its time there is waiting for others.",
                      100 * sample->wait_s / (sample->total_s + sample->wait_s));
    begin_table(document, scaling, "share of the ranks' time", scaling->n);
    for (size_t i = 0; i < scaling->n_sites && scaling->sites[i].since < scaling->n; i++) {
        show_place(scaling->sites[i].row, true, place, sizeof place);
        document_cell(document, "%.30s", place);
        for (size_t run = 0; run < scaling->n; run++)
            if (is_shown(scaling, run))
                document_cells(document, "p",
                               site_s(scaling->sites[i].row, run) / scaling->runs[run].run_s /
                                   (double)scaling->runs[run].ranks);
    }
}

static void scaling_document(struct document *document, const struct scaling *scaling)
{
    const struct scaling_run *next = &scaling->runs[scaling->n];
    char time[32], low[32], high[32], power[32];
    document_heading(document, "%s scaling", scaling->mode == MODE_WEAK ? "Weak" : "Strong");
    for (size_t i = 0; i < scaling->comparison.n_warnings; i++)
        document_warning(document, "%s", scaling->comparison.warnings[i]);
    snprintf(power, sizeof power, isfinite(scaling->exponent) ? "%.2f" : "not known", scaling->exponent);
    if (scaling->doubt)
        document_warning(
            document,
            "total computation grows as the ranks to the power %s, which is neither 0 (strong scaling) nor "
            "1 (weak): --strong or --weak says which is meant",
            power);
    for (size_t i = 0; i < scaling->n; i++)
        document->partial = document->partial || !scaling->comparison.profiles[i].whole.is_whole;
    add_efficiencies(document, scaling);
    if (scaling->n > 5)
        document_line(document, "csv and json have the other %zu numbers of ranks.", scaling->n - 5);
    if (scaling->has_forecast)
        document_line(document,
                      "Forecast for %lld ranks: %s (%s to %s), global efficiency %.1f %% (%.1f to %.1f %%), 95 %% "
                      "intervals if the laws hold. A rank of p: computation %s, MPI %s.",
                      (long long)next->ranks, words_seconds(time, sizeof time, next->run_s),
                      words_seconds(low, sizeof low, next->low_s), words_seconds(high, sizeof high, next->high_s),
                      next->global * 100, next->global_low * 100, next->global_high * 100, scaling->laws[0],
                      scaling->laws[1]);
    else
        document_line(document, scaling->n < FORECAST_LEAST
                                    ? "No forecast: it needs runs on three numbers of ranks."
                                    : "No forecast: the efficiencies are not known, or follow no law so closely "
                                      "that twice the ranks were known to a factor of ten.");
    add_sites(document, scaling);
    document_explain_mark(document, "see the warnings above");
}

static int scaling_json(FILE *stream, const struct scaling *scaling, struct error *error)
{
    struct json *warnings = json_array(), *sites = json_array();
    for (size_t i = 0; i < scaling->comparison.n_warnings; i++)
        json_add(warnings, json_string(scaling->comparison.warnings[i]));
    for (size_t i = 0; i < scaling->n_sites; i++) {
        const struct scaling_site *site = &scaling->sites[i];
        struct json *time_s = json_array(), *waiting_s = json_array();
        char place[256];
        show_place(site->row, false, place, sizeof place);
        for (size_t run = 0; run < scaling->n; run++) {
            json_add(time_s, json_finite(site_s(site->row, run)));
            json_add(waiting_s, json_finite(site->row->samples[run].wait_s));
        }
        json_add(sites,
                 json_pack("{ss ss ss sI sf so so so}", "place", place, "function", site->row->site->function, "file",
                           site->row->site->file, "line", site->row->site->line, "excess", site->excess, "since_ranks",
                           site->since < scaling->n ? json_integer(scaling->runs[site->since].ranks) : json_null(),
                           "time_s", time_s, "waiting_s", waiting_s));
    }
    struct json *laws = scaling->has_forecast
                            ? json_pack("{ss ss}", "computation", scaling->laws[0], "mpi", scaling->laws[1])
                            : json_null();
    return json_write(
        stream,
        json_pack("{ss sf so so so so so}", "scaling", scaling->mode == MODE_WEAK ? "weak" : "strong", "exponent",
                  scaling->exponent, "runs", fields_array(&scaling_fields, scaling->runs, scaling->n), "forecast",
                  scaling->has_forecast ? fields_object(&scaling_fields, &scaling->runs[scaling->n]) : json_null(),
                  "laws", laws, "sites", sites, "warnings", warnings),
        error);
}

static int render_scaling(FILE *stream, const struct scaling *scaling, int format, struct error *error)
{
    struct document document = {0};
    struct json_rows rows = {.stream = stream, .csv = true};
    if (format == FORMAT_JSON)
        return scaling_json(stream, scaling, error);
    if (format == FORMAT_TEXT) {
        scaling_document(&document, scaling);
        render_text(stream, &document);
        document_release(&document);
        return 0;
    }
    for (size_t i = 0; i < scaling->n + scaling->has_forecast; i++)
        json_rows_add(&rows, fields_object(&scaling_fields, &scaling->runs[i]));
    return json_rows_end(&rows, error);
}

int cmd_scaling(int argc, char **argv)
{
    struct scaling scaling = {0};
    struct output_file output;
    struct error error;
    const char *path = NULL;
    int format = FORMAT_TEXT;
    const struct option_row rows[] = {
        {0, "strong", NULL, "the job is the same on all numbers of ranks; default: found from the computation",
         .choice = &scaling.mode, .value = MODE_STRONG},
        {0, "weak", NULL, "the job grows with the ranks", .choice = &scaling.mode, .value = MODE_WEAK},
        {'f', "format", "text|csv|json", "text is the default; csv: a row per number of ranks", .choice = &format},
        OUTPUT_ROWS(&format, &path),
    };
    const struct option_table table = {"scaling", scaling_usage, rows, sizeof rows / sizeof rows[0],
                                       .words = {WORDS_TRACE}};
    int result = options_read(&table, &argc, &argv);
    if (result != OPTIONS_READ)
        return result;
    if (argc < 2)
        return wrong_usage("scaling", "expected at least two traces, of runs on different numbers of ranks");
    size_t n = (size_t)argc;
    struct open_trace *traces = xcalloc(n, sizeof *traces);
    struct profile *profiles = xcalloc(n, sizeof *profiles);
    struct profile *kept = xcalloc(n, sizeof *kept);
    scaling.runs = xcalloc(n + 1, sizeof *scaling.runs);
    result = read_profiles(argv, n, NULL, traces, profiles);
    for (; scaling.n < n && result == EXIT_DONE; scaling.n++)
        result = read_efficiencies(&scaling.runs[scaling.n], &profiles[scaling.n], traces[scaling.n].database);
    if (result == EXIT_DONE) {
        keep_medians(&scaling);
        if (scaling.n < 2 || scaling.n > MOST_RUNS)
            result = fail("expected runs on 2 to %d different numbers of ranks, found %zu", MOST_RUNS, scaling.n);
    }
    if (result == EXIT_DONE) {
        for (size_t i = 0; i < scaling.n; i++)
            kept[i] = scaling.runs[i].profile;
        find_speedups(&scaling);
        make_forecast(&scaling);
        comparison_make(&scaling.comparison, kept, 1, scaling.n - 1,
                        &(struct comparison_options){.floor = 0.05, .floor_call = 0.1, .other_ranks = true});
        find_sites(&scaling);
    }
    if (result == EXIT_DONE &&
        (output_file_open(&output, path, &error) != 0 ||
         output_file_end(&output, render_scaling(output.stream, &scaling, format, &error), &error) != 0))
        result = error_report(&error);
    comparison_release(&scaling.comparison);
    for (size_t i = 0; i < n; i++) {
        profile_release(&profiles[i]);
        close_trace(&traces[i]);
    }
    free(scaling.runs);
    free(kept);
    free(profiles);
    free(traces);
    return result;
}
