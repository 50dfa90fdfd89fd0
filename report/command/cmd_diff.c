/* Runs `mpistair diff`, which compares the time of two runs, or of two groups of runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare/comparison.h"
#include "report/command/commands.h"
#include "predictor/run_read/trace_part.h"
#include "report/html/page.h"
#include "report/render/sections.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "share/base/utf8.h"

static const char diff_usage[] =
    "usage: mpistair diff A.db B.db [B.db ...] [OPTIONS]\n"
    "       mpistair diff A.db ... -- B.db ... [OPTIONS]\n"
    "\n"
    "Compares the time of runs by call site, kind of call, rank and level, and marks changes above noise. The first "
    "trace is A, all others are runs of B; with -- the traces before it are runs of A. The noise of two traces comes "
    "from the variation of their calls and from --launches, that of more traces from the variation of the runs.\n";
static const char diff_notes[] =
    "Exit codes: 0; 1 the work failed, or a slowdown above noise exceeds --fail-above; 2 wrong usage.\n";

struct diff_options {
    int format; /* enum output_format */
    const char *output;
    bool all, fails;
    double fail_above;
    struct comparison_options comparison;
    struct part_options part;
    char **paths; /* [n_a + n_b] */
    size_t n_a, n_b;
};

int parse_percent(const char *text, double *share)
{
    char *end;
    double value = strtod(text, &end);
    end += strspn(end, " ");
    end += *end == '%';
    if (end == text || *end != '\0' || !isfinite(value) || value < 0 || value > 1e6)
        return -1;
    *share = value / 100;
    return 0;
}

static int take_fail_above(void *context, const char *text)
{
    struct diff_options *options = context;
    options->fails = true;
    if (parse_percent(text, &options->fail_above) == 0)
        return 0;
    return wrong_usage("diff", "--fail-above '%s': expected a percentage from 0 on, such as 5%%", text);
}

int take_launches(const char *command, const char *text, struct comparison_options *options)
{
    if (parse_percent(text, &options->floor) != 0)
        return wrong_usage(command, "--launches '%s': expected a percentage from 0 on, such as 5%%", text);
    options->floor_call = 2 * options->floor;
    return 0;
}

static int take_diff_launches(void *context, const char *text)
{
    return take_launches("diff", text, &((struct diff_options *)context)->comparison);
}

/* Divides the words into both sides; a word of one control character stands for "--", which options_read() drops. */
static const char divider[] = "\001";

static int divide_words(struct diff_options *options, int argc, char **argv)
{
    int at = 0;
    while (at < argc && strcmp(argv[at], divider) != 0)
        at++;
    bool divided = at < argc;
    if (divided)
        memmove(argv + at, argv + at + 1, (size_t)(argc-- - at - 1) * sizeof *argv);
    options->paths = argv;
    options->n_a = divided ? (size_t)at : argc > 0;
    options->n_b = (size_t)argc - options->n_a;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], divider) == 0)
            return wrong_usage("diff", "expected at most one --, between the runs of A and those of B");
    if (options->n_a == 0 || options->n_b == 0)
        return wrong_usage("diff", "expected at least two traces%s", divided ? ", one on each side of --" : "");
    return OPTIONS_READ;
}

static int parse_diff(int argc, char **argv, struct diff_options *options)
{
    *options = (struct diff_options){.comparison = {.floor = 0.05, .floor_call = 0.1}};
    enum { N_OWN = 6 };
    struct option_row rows[N_OWN + PART_ROWS] = {
        {'a', "all", NULL, "show every call site, rank and level, not only the largest changes", .flag = &options->all},
        {0, "fail-above", "PERCENT",
         "exit with 1 if the run, a call site, a kind, a rank or a level takes longer by more than its noise and by "
         "more than this share of its time in A",
         .take = take_fail_above, .words = WORDS_NONE},
        {0, "launches", "PERCENT",
         "difference between two launches of one job: this share of computation (default: 5%), twice that share of "
         "time in calls",
         .take = take_diff_launches, .words = WORDS_NONE},
        {'f', "format", "text|csv|json|html", "text is the default; csv and json: every row; html: one page",
         .choice = &options->format},
        OUTPUT_ROWS(&options->format, &options->output),
    };
    part_option_rows(&options->part, rows + N_OWN);
    const struct option_table table = {"diff",
                                       diff_usage,
                                       rows,
                                       sizeof rows / sizeof rows[0],
                                       .notes = diff_notes,
                                       .context = options,
                                       .words = {WORDS_TRACE}};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            argv[i] = (char *)divider;
    int code = options_read(&table, &argc, &argv);
    if (code == OPTIONS_READ && (code = part_options_check(&options->part, "diff")) == 0)
        code = divide_words(options, argc, argv);
    return code;
}

int read_profiles(char **paths, size_t n, const struct run_window *window, struct open_trace *traces,
                  struct profile *profiles)
{
    int result = EXIT_DONE;
    bool of_totals = false;
    struct error error;
    for (size_t i = 0; i < n && result == EXIT_DONE; i++) {
        struct whole whole;
        result = open_trace_part(&traces[i], paths[i], window, &profiles[i].part);
        utf8_clean(paths[i], paths[i], strlen(paths[i])); /* it is shown from here on */
        if (result == EXIT_DONE && whole_read(&whole, traces[i].database, paths[i], &error) != 0)
            result = error_report(&error);
        of_totals = of_totals || (result == EXIT_DONE && whole.detail != WHOLE_ALL);
    }
    for (size_t i = 0; i < n && result == EXIT_DONE; i++) {
        struct trace_part part = profiles[i].part;
        if (profile_read(&profiles[i], traces[i].database, paths[i], of_totals, &error) != 0)
            result = error_report(&error);
        profiles[i].part = part;
    }
    return result;
}

static int render_diff(FILE *stream, const struct comparison *comparison, const struct diff_options *options,
                       struct error *error)
{
    struct document document = {0};
    if (options->format == FORMAT_CSV) {
        show_csv(stream, comparison);
        return 0;
    }
    if (options->format == FORMAT_JSON)
        return show_json(stream, comparison, error);
    show_document(&document, comparison, options->all || options->format == FORMAT_HTML);
    int result = 0;
    if (options->format == FORMAT_TEXT)
        render_text(stream, &document);
    else
        result = page_write(stream, &document, "mpistair diff", error);
    document_release(&document);
    return result;
}

/* Returns the first row that is slower by more than the noise and the limit, or NULL. */
static const struct comparison_row *too_slow(const struct comparison *comparison, double limit)
{
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        double share = show_share(row, row->result.change_s);
        if (row->result.above && row->result.change_s > 0 && (isnan(share) || share > limit))
            return row;
    }
    return NULL;
}

static int write_diff(const struct comparison *comparison, const struct diff_options *options)
{
    struct output_file output;
    struct error error;
    if (output_file_open(&output, options->output, &error) != 0)
        return error_report(&error);
    if (output_file_end(&output, render_diff(output.stream, comparison, options, &error), &error) != 0)
        return error_report(&error);
    const struct comparison_row *slow = options->fails ? too_slow(comparison, options->fail_above) : NULL;
    if (slow == NULL)
        return EXIT_DONE;
    const struct comparison_row *culprit = show_culprit(comparison);
    char place[256], from[256] = "";
    show_place(slow, false, place, sizeof place);
    if (culprit != NULL && culprit != slow && culprit->result.change_s > 0)
        show_place(culprit, false, from, sizeof from);
    return fail("%s takes %+.1f %%, above noise and above %g %%%s%s", place,
                show_share(slow, slow->result.change_s) * 100, options->fail_above * 100,
                from[0] != '\0' ? ": most is added " : "", from);
}

int cmd_diff(int argc, char **argv)
{
    struct diff_options options;
    struct comparison comparison = {0};
    int result = parse_diff(argc, argv, &options);
    if (result != OPTIONS_READ)
        return result;
    size_t n = options.n_a + options.n_b;
    struct open_trace *traces = xcalloc(n, sizeof *traces);
    struct profile *profiles = xcalloc(n, sizeof *profiles);
    result = read_profiles(options.paths, n, &options.part.window, traces, profiles);
    if (result == EXIT_DONE) {
        comparison_make(&comparison, profiles, options.n_a, options.n_b, &options.comparison);
        result = write_diff(&comparison, &options);
    }
    comparison_release(&comparison);
    for (size_t i = 0; i < n; i++) {
        profile_release(&profiles[i]);
        close_trace(&traces[i]);
    }
    free(profiles);
    free(traces);
    return result;
}
