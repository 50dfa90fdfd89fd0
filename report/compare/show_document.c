/* Turns a comparison into sentences and tables. */
#include <math.h>
#include <string.h>

#include "report/compare/show_changes.h"

enum {
    SHORT_OTHER_WORK = 2,
    SHORT_SITES = 6,
    SHORT_RANKS = 2,
    SHORT_ONE_SIDE = 2,
    PLACE_WIDTH = 30,
    PATH_WIDTH = 24,
    LINE_WIDTH = 74
};

/* Adds text in lines that fit the page. */
static void add_wrapped(struct document *document, enum document_kind kind, const char *text)
{
    while (*text != '\0') {
        size_t length = strlen(text), width = kind == DOCUMENT_WARNING ? LINE_WIDTH - 2 : LINE_WIDTH;
        if (length > width)
            for (length = width; length > 0 && (text[length] != ' ' || text[length + 1] == '%');)
                length--;
        if (length == 0)
            length = strlen(text) > width ? width : strlen(text);
        document_add(document, kind, "%.*s", (int)length, text);
        text += length;
        text += *text == ' ';
    }
}

static void add_warning(void *context, const char *text)
{
    add_wrapped(context, DOCUMENT_WARNING, text);
}

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

static void seconds_text(double seconds, bool sign, char *text, size_t size)
{
    double magnitude = fabs(seconds), value = magnitude >= 0.9995      ? seconds
                                              : magnitude >= 0.9995e-3 ? seconds * 1e3
                                                                       : seconds * 1e6;
    const char *unit = magnitude >= 0.9995 ? "s" : magnitude >= 0.9995e-3 ? "ms" : "us";
    int digits = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(text, size, sign ? "%+.*f %s" : "%.*f %s", digits, value, unit);
}

static bool has_other_work(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (fabs(show_other_work(&comparison->rows[i])) > 0)
            return true;
    return false;
}

static bool any_unsteady(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (show_unsteady(&comparison->rows[i]))
            return true;
    return false;
}

static void add_verdict(struct document *document, const struct comparison *comparison)
{
    const struct comparison_row *run = show_run(comparison), *culprit = show_culprit(comparison);
    char text[640], place[256], change[32], a[32], b[32];
    if (run != NULL && run->state == COMPARISON_TESTED && run->result.a_s > 0) {
        double share = show_share(run, run->result.change_s) * 100, noise = show_share(run, run->result.noise_s) * 100;
        seconds_text(run->result.a_s, false, a, sizeof a);
        seconds_text(run->result.b_s, false, b, sizeof b);
        if (run->result.above)
            snprintf(text, sizeof text, "The run takes %.1f %% %s: %s, was %s (noise %.1f %%).", fabs(share),
                     share > 0 ? "longer" : "less", b, a, noise);
        else if (show_unsteady(run))
            snprintf(text, sizeof text,
                     "The run takes %s, was %s: %+.1f %%, more than the noise of %.1f %%, but in few of its %d spans "
                     "only: %+.1f %% without the %d largest and the %d smallest changes.",
                     b, a, share, noise, PROFILE_SPANS, show_share(run, run->result.steady_s) * 100, NOISE_TRIMMED,
                     NOISE_TRIMMED);
        else
            snprintf(text, sizeof text, "The run takes %s, was %s: %+.1f %%, within the noise of %.1f %%.", b, a, share,
                     noise);
        add_wrapped(document, DOCUMENT_LINE, text);
    }
    if (culprit != NULL) {
        show_place(culprit, false, place, sizeof place);
        seconds_text(culprit->result.change_s, true, change, sizeof change);
        snprintf(text, sizeof text, "Time is %s %s: %s, %+.1f %% (noise %.1f %%).",
                 culprit->result.change_s > 0 ? "added" : "saved", place, change,
                 show_share(culprit, culprit->result.change_s) * 100,
                 show_share(culprit, culprit->result.noise_s) * 100);
        add_wrapped(document, DOCUMENT_LINE, text);
    } else if (comparison->n_above == 0) {
        add_wrapped(document, DOCUMENT_LINE,
                    has_other_work(comparison) ? "No time is above noise, but the work is not the same:"
                    : any_unsteady(comparison) ? "No time is above noise throughout the run."
                                               : "Nothing is above noise: the runs may be launches of one job.");
    } else {
        add_wrapped(document, DOCUMENT_LINE, "No call site is above noise.");
    }
}

/* Adds the sites that had other work: the program, not its speed, was different there. */
static void add_other_work(struct document *document, const struct comparison *comparison, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        char place[256], text[512];
        if (!(fabs(show_other_work(row)) > 0) || n++ >= most)
            continue;
        show_place(row, false, place, sizeof place);
        snprintf(text, sizeof text, "Other work %s: %.6g B in %.6g calls, was %.6g B in %.6g (%+.1f %%).", place,
                 row->bytes[1], row->calls[1], row->bytes[0], row->calls[0], show_other_work(row) * 100);
        add_wrapped(document, DOCUMENT_LINE, text);
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
        if (!isfinite(bytes) || (side == 1 && isfinite(row->bytes[0]) && fabs(bytes - row->bytes[0]) <= bytes / 100))
            continue;
        snprintf(text + length, size - length, side == 0 ? " %.3g %s" : ", %.3g %s",
                 bytes >= 1e9   ? bytes * 1e-9
                 : bytes >= 1e6 ? bytes * 1e-6
                                : bytes * 1e-3,
                 bytes >= 1e9   ? "GB"
                 : bytes >= 1e6 ? "MB"
                                : "kB");
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
    show_warnings(comparison, add_warning, document);
    add_verdict(document, comparison);
    add_other_work(document, comparison, all ? SIZE_MAX : SHORT_OTHER_WORK);
    add_table(document, comparison, COMPARISON_SITE, "Call sites: the computation before their calls, and the calls",
              "|time|A>|B>|change>|>|noise>", SHORT_SITES, all);
    add_table(document, comparison, COMPARISON_KIND, "Kinds, ranks, levels", "|all ranks|A>|B>|change>|>|noise>",
              SIZE_MAX, all);
    add_table(document, comparison, COMPARISON_RANK, NULL, "|rank|A>|B>|change>|>|noise>", SHORT_RANKS, all);
    add_table(document, comparison, COMPARISON_LEVEL, NULL, "|messages|A>|B>|change>|>|noise>", SIZE_MAX, all);
    add_one_sided(document, comparison, all ? SIZE_MAX : SHORT_ONE_SIDE);
    add_wrapped(
        document, DOCUMENT_LINE,
        comparison->n_a + comparison->n_b == 2
            ? "* is above noise. Times are undisturbed ones, without waiting for others: the fastest quarter of "
              "the calls stands for all."
            : "* is above noise, the spread of the runs. Times are means over runs, without waiting for others.");
    if (any_unsteady(comparison))
        add_wrapped(document, DOCUMENT_LINE, "~ exceeds noise in few spans of the run only, which does not count.");
    document_explain_mark(document, "see the warnings above");
}
