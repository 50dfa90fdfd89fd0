/* Runs `mpistair report`, which compares measured with modelled time for each rank. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/collect/kept_findings.h"
#include "report/diagnose/causes.h"
#include "report/command/commands.h"
#include "share/base/error.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "report/html/page.h"
#include "report/render/sections.h"

struct report_options {
    const char *trace, *output;
    char **traces; /* [n_traces] */
    size_t n_traces;
    int format; /* enum output_format */
    struct report_choice choice;
    struct part_options part;
    section_set sections; /* by name; empty: none was named */
    bool all, all_ranks, list;
    uint64_t explain; /* 0: none */
};

static const char report_usage[] =
    "usage: mpistair report TRACE [--format text|csv|json|html] [-o FILE] [--machine NAME] [--model NAME] [--section "
    "NAME[,NAME...]] [--from S] [--to S] [--explain N] [--all] [--all-ranks]\n"
    "       mpistair report TRACE TRACE... [--format text|csv|json] [-o FILE]\n"
    "       mpistair report --list-findings\n"
    "\n"
    "Prints what was recorded, where its time went, and which rank the others waited for. TRACE is a trace.db, or a "
    "folder\n"
    "of spools, which is ingested first. --all adds measured against modelled time of each rank.\n"
    "Of several traces it prints a line each: when, ranks, time, share inside MPI, command, largest call.\n";
static const char report_notes[] =
    "Error of a model: sum of |measured - modelled| over the ranks, divided by the sum of measured. Replicate error: "
    "the\n"
    "same between the two halves of the rounds of each kind; a perfect model scores about half of it.\n";

static int take_sections(void *context, const char *text)
{
    struct report_options *options = context;
    return sections_read(&options->sections, "report", text);
}

static int parse_report(int argc, char **argv, struct report_options *options)
{
    *options = (struct report_options){0};
    enum { N_OWN = 11 };
    struct option_row rows[N_OWN + PART_ROWS] = {
        {'f', "format", "text|csv|json|html",
         "text is the default; csv: a row per rank and model; json: everything; html: one page with pictures",
         .choice = &options->format},
        OUTPUT_ROWS(&options->format, &options->output),
        {'m', "machine", "NAME", "use only predictions for this machine", .text = &options->choice.machine,
         .words = WORDS_MACHINE},
        {'M', "model", "NAME", "use only this model; default: text and html draw bars for the best one",
         .text = &options->choice.model, .words = WORDS_MODEL},
        {'s', "section", "NAME[,NAME...]", "print only these sections of text and html, see below",
         .take = take_sections},
        {'a', "all", NULL, "print all sections", .flag = &options->all},
        {0, "topology", "NAME|FILE",
         "the switches above the nodes: a topology.conf of Slurm, a .topo file or a shipped one; default: as the job's "
         "environment told",
         .text = &options->choice.topology, .words = WORDS_TOPOLOGY},
        {0, "explain", "N", "show the evidence of finding N: what to do, its calls by rank and over time",
         .whole = &options->explain, .least = 1, .most = 1000},
        {0, "list-findings", NULL, "list the kinds of finding, with their names in the literature",
         .flag = &options->list},
        {0, "all-ranks", NULL, "show all ranks; default: of more than 64 the 16 with the largest error",
         .flag = &options->all_ranks},
    };
    part_option_rows(&options->part, rows + N_OWN);
    const struct option_table table = {"report",
                                       report_usage,
                                       rows,
                                       sizeof rows / sizeof rows[0],
                                       .notes = report_notes,
                                       .list = sections_list,
                                       .context = options,
                                       .words = {WORDS_TRACE}};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (options->list)
        return OPTIONS_READ;
    if ((code = part_options_check(&options->part, "report")) != 0)
        return code;
    if (argc < 1)
        return wrong_usage("report", "expected a trace: trace.db or a folder of spools");
    options->traces = argv;
    options->n_traces = (size_t)argc;
    if (argc > 1 && (options->format == FORMAT_HTML || options->sections != 0 || options->all || options->explain > 0 ||
                     options->choice.topology != NULL))
        return wrong_usage(
            "report", "%s: expected only one trace; of several there is a line each, as text, csv or json", argv[1]);
    options->trace = argv[0];
    if (options->all || (options->format == FORMAT_HTML && options->sections == 0)) {
        options->all = true;
        options->sections = sections_all();
    } else if (options->sections == 0) {
        options->sections = sections_summary();
    }
    options->choice.details = options->format != FORMAT_TEXT || sections_need_details(options->sections);
    options->choice.is_page = options->format == FORMAT_HTML;
    options->choice.fine_grained = options->format == FORMAT_JSON || sections_has(options->sections, "fine-grained");
    options->choice.gpu = options->format == FORMAT_JSON || sections_has(options->sections, "gpu");
    return OPTIONS_READ;
}

static int render_report(FILE *stream, const struct report *report, sqlite3 *database,
                         const struct report_options *options, struct error *error)
{
    struct document document = {0};
    int result = 0;
    switch (options->format) {
    case FORMAT_CSV:
        render_csv(stream, report);
        break;
    case FORMAT_JSON:
        result = render_json(stream, report, error);
        break;
    default:
        document.all_ranks = options->all_ranks;
        if (options->explain > 0)
            result = present_explanation(&document, report, (size_t)options->explain, error);
        else
            sections_present(&document, report, options->sections, !options->all);
        if (result == 0 && options->format == FORMAT_TEXT)
            render_text(stream, &document);
        else if (result == 0)
            result = page_write_report(stream, &document, report, database, error);
        document_release(&document);
    }
    return result;
}

/* Of several traces a line each: what ran when, and how much of its time MPI took. All of it comes from the tables run,
 * process and total, which every trace has, also one without a row of a single call. */
struct job {
    const char *trace, *started, *command, *largest_function, *largest_place;
    int64_t ranks;
    double duration_s, in_mpi; /* in_mpi: share of the ranks' time; NaN: not known */
};
#define JOB(member) FIELD(job, member)
static const struct fields job_fields =
    FIELDS(job, JOB(trace), JOB(started), JOB(command), JOB(ranks), JOB(duration_s), JOB(in_mpi),
           FIELD_OR_NULL(job, largest_function), FIELD_OR_NULL(job, largest_place));

static const char job_sql[] =
    "WITH largest AS (SELECT function, callsite FROM total WHERE off = 0 GROUP BY function, callsite"
    " ORDER BY sum(1.0 * time_ns) DESC, function, callsite LIMIT 1)"
    "SELECT ?1, strftime('%Y-%m-%d %H:%M', started_unix_ns / 1000000000, 'unixepoch'), command,"
    " (SELECT count(*) FROM process), duration_ns * 1e-9,"
    " (SELECT sum(1.0 * time_ns) FROM total WHERE off = 0) /"
    " (SELECT nullif(sum(1.0 * (end_ns - begin_ns)), 0) FROM process),"
    " (SELECT f.name FROM largest l JOIN function f ON f.id = l.function),"
    " (SELECT s.place FROM largest l JOIN site s ON s.id = l.callsite) FROM run";

/* Returns an exit code, and has printed the reason if it is not 0. */
static int read_job(struct job *job, const char *path, const struct run_window *window, struct pool *pool)
{
    struct open_trace trace;
    struct cursor rows;
    struct error error;
    struct trace_part part;
    int result = open_trace_part(&trace, path, window, &part);
    if (result == EXIT_DONE) {
        cursor_open(&rows, trace.database, trace.path, job_sql, &error);
        cursor_bind(&rows, "t", trace.path);
        bool found = cursor_next(&rows);
        if (found)
            fields_read(&job_fields, job, &rows, 0, pool);
        if (cursor_close(&rows) != 0)
            result = error_report(&error);
        else if (!found)
            result = fail("%s: holds no run", trace.path);
    }
    close_trace(&trace);
    return result;
}

static void jobs_text(FILE *stream, const struct job *jobs, size_t n)
{
    fprintf(stream, "%-16s  %6s  %9s  %6s  command; largest call; trace\n", "started (UTC)", "ranks", "time", "in MPI");
    for (size_t i = 0; i < n; i++) {
        const struct job *job = &jobs[i];
        char time[32], share[32] = "-";
        if (!isnan(job->in_mpi))
            snprintf(share, sizeof share, "%.0f %%", 100 * job->in_mpi);
        fprintf(stream, "%-16s  %6lld  %9s  %6s  %s; %s%s%s; %s\n", job->started, (long long)job->ranks,
                words_seconds(time, sizeof time, job->duration_s), share, job->command,
                job->largest_function[0] == '\0' ? "-" : job->largest_function,
                job->largest_place[0] == '\0' ? "" : " ", job->largest_place, job->trace);
    }
}

static int jobs_write(FILE *stream, const struct job *jobs, size_t n, int format, struct error *error)
{
    if (format == FORMAT_TEXT) {
        jobs_text(stream, jobs, n);
        return 0;
    }
    if (format == FORMAT_JSON)
        return json_write(stream, fields_array(&job_fields, jobs, n), error);
    const struct job none = {"", "", "", "", "", 0, 0, 0};
    struct json_rows rows = {.stream = stream, .csv = true};
    json_rows_names(&rows, fields_object(&job_fields, &none));
    for (size_t i = 0; i < n; i++)
        json_rows_add(&rows, fields_object(&job_fields, &jobs[i]));
    return json_rows_end(&rows, error);
}

/* Returns an exit code: EXIT_WORK_FAILED if a trace could not be read, whose reason is printed instead. */
static int report_jobs(char **traces, size_t n, const struct run_window *window, int format, const char *output_path)
{
    struct job *jobs = xcalloc(n, sizeof *jobs);
    struct pool pool = {0};
    struct output_file output;
    struct error error;
    size_t n_read = 0;
    int result = EXIT_DONE;
    for (size_t i = 0; i < n; i++) {
        if (read_job(&jobs[n_read], traces[i], window, &pool) == EXIT_DONE)
            n_read++;
        else
            result = EXIT_WORK_FAILED;
    }
    if (output_file_open(&output, output_path, &error) != 0 ||
        output_file_end(&output, jobs_write(output.stream, jobs, n_read, format, &error), &error) != 0)
        result = error_report(&error);
    pool_release(&pool);
    free(jobs);
    return result;
}

int cmd_report(int argc, char **argv)
{
    struct report_options options;
    struct output_file output;
    struct report report = {0};
    struct open_trace trace;
    struct error error;
    int result = parse_report(argc, argv, &options);
    if (result != OPTIONS_READ)
        return result;
    if (options.list) {
        findings_list(stdout);
        return EXIT_DONE;
    }
    if (options.n_traces > 1)
        return report_jobs(options.traces, options.n_traces, &options.part.window, options.format, options.output);
    result = open_trace_part(&trace, options.trace, &options.part.window, &options.choice.part);
    if (result != EXIT_DONE)
        goto out;
    report.path = trace.path;
    bool is_kept = options.explain > 0 && options.format == FORMAT_TEXT && options.choice.topology == NULL &&
                   kept_findings_read(&report.findings, NULL, &report.pool, trace.database, trace.path) &&
                   causes_collect(&report.findings, &report.pool, trace.database, trace.path, &error) == 0;
    if ((!is_kept && report_collect(&report, trace.database, trace.path, &options.choice, &error) != 0) ||
        output_file_open(&output, options.output, &error) != 0) {
        result = error_report(&error);
        goto out;
    }
    int rendered = render_report(output.stream, &report, trace.database, &options, &error);
    if (output_file_end(&output, rendered, &error) != 0)
        result = error_report(&error);
out:
    report_release(&report);
    close_trace(&trace);
    return result;
}
