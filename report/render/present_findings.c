/* Shows findings: some on the first screen, all in their section, one with its evidence, and the kinds that there are.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/render/sections.h"
#include "share/base/terminal.h"

enum { FINDINGS_ON_SCREEN = 4, FINDINGS_TEXT = 1200 };

/* Prints the sentence with its number and what mending gains. */
static const char *findings_sentence(const struct findings *findings, size_t at, char *text, size_t size)
{
    const struct finding *finding = &findings->rows[at];
    char gain[64] = "";
    if (finding->gain_low >= 0.005)
        snprintf(gain, sizeof gain, "; gain %.0f %% (%.0f to %.0f %%)", 100 * finding->gain, 100 * finding->gain_low,
                 100 * finding->gain_high);
    else if (!isnan(finding->gain))
        snprintf(gain, sizeof gain, finding->gain < 0.005 ? "; gain below 1 %%" : "; gain %.0f %%",
                 100 * finding->gain);
    snprintf(text, size, "%zu. %s%s", at + 1, finding->sentence, gain);
    return text;
}

/* Returns the line for a run without findings. */
static const char *findings_none(const struct report *report)
{
    if (report->activities.unknown != NULL)
        return "none: when ranks were inside MPI is not known";
    if (report->no_findings != NULL)
        return report->no_findings;
    if (strncmp(report->completeness.verdict, "complete", 8) != 0)
        return "nothing that costs 3 % of the ranks' time or more, in what was recorded";
    return "nothing that costs 3 % of the ranks' time or more";
}

void present_diagnosis(struct document *document, const struct report *report, size_t lines)
{
    const struct findings *findings = &report->findings;
    size_t told = 0, used = 2; /* the heading and the blank line before it */
    char text[FINDINGS_TEXT];
    document_heading(document, "Diagnosis");
    if (findings->n == 0)
        document_line(document, "%s", findings_none(report));
    for (size_t i = 0; i < findings->n && told < FINDINGS_ON_SCREEN; i++) {
        if (findings->rows[i].under >= 0)
            continue;
        size_t height = render_height(findings_sentence(findings, i, text, sizeof text));
        if (used + height > lines - (i + 1 < findings->n ? 1 : 0) && told > 0)
            break;
        document_line(document, "%s", text);
        document_anchor(document, "finding-%zu", i + 1);
        used += height;
        told++;
    }
    if (told < findings->n)
        document_line(document, "%zu more: --section findings", findings->n - told);
    if (report->whole.of_bursts[0] != '\0')
        document_line(document, "findings, waits and models are of %s; times are of all", report->whole.of_bursts);
}

void present_findings(struct document *document, const struct report *report)
{
    const struct findings *findings = &report->findings;
    char text[FINDINGS_TEXT];
    if (findings->n == 0 && report->no_findings != NULL)
        document_line(document, "not known: %s", report->no_findings);
    if (findings->n == 0)
        return;
    for (size_t i = 0; i < findings->n; i++) {
        document_line(document, "%s", findings_sentence(findings, i, text, sizeof text));
        document_anchor(document, "finding-%zu", i + 1);
    }
    document_table(document, "finding|gain>|of the run>|cost>|of all time>|explained by>");
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->rows[i];
        document_cell(document, "%zu. %s", i + 1, finding_name(finding->kind));
        document_cells(document, "sps", finding->gain_s, finding->gain, finding->cost_s);
        document_cell(document, "%.0f %%", 100 * finding->share);
        document_cells(document, "o", finding->under >= 0 ? finding->under + 1 : -1);
    }
    document_line(
        document,
        "gain: by how much the run is shorter if it is replayed with that mended (- not known; in brackets: by the "
        "intervals of the machine table); cost: time of all ranks; explained by: with that one mended, this one gains "
        "little more");
    document_line(document, "--explain N shows the evidence of one, --list-findings all kinds");
}

/* Draws the shares of a rank's time as characters. */
static void findings_draw(struct document *document, const struct evidence *evidence)
{
    static const char levels[] = " .:-=+*#%@";
    char line[EVIDENCE_COLUMNS + 1];
    document_table(document, evidence->of_work ? "rank>|calls>|work>|longest>|over the run, work before the calls"
                                               : "rank>|calls>|inside>|longest>|over the run, time inside the calls");
    for (size_t i = 0; i < evidence->n_ranks; i++) {
        const struct evidence_rank *rank = &evidence->ranks[i];
        for (size_t k = 0; k < EVIDENCE_COLUMNS / 2; k++) {
            double share = fmin((rank->columns[2 * k] + rank->columns[2 * k + 1]) / 2, 1);
            line[k] = levels[share > 0 && share < 0.1 ? 1 : (size_t)(share * (sizeof levels - 2))];
        }
        line[EVIDENCE_COLUMNS / 2] = '\0';
        document_cells(document, "iiss", rank->rank, rank->calls, rank->time_s, rank->longest_s);
        document_cell(document, "|%s|", line);
    }
    if (evidence->all_ranks > evidence->n_ranks)
        document_line(document, "and %zu more ranks", evidence->all_ranks - evidence->n_ranks);
}

/* Adds what the kernel counted of the finding's rank, beside the others. */
static void findings_counted(struct document *document, const struct finding *finding, const char *uncounted)
{
    const struct finding_counts *const rows[] = {&finding->own, &finding->others};
    document_line(document, "what the kernel counted (table counter):");
    document_table(document,
                   "rank|computes>|runs>|in the kernel>|processor taken>|sleeps>|page faults>|per cycle>|GHz>");
    for (int i = 0; i < 2; i++) {
        const struct finding_counts *row = rows[i];
        document_cell(document, i == 0 ? "%" PRId64 : "others, median", finding->rank);
        document_cells(document, "sssss", row->computed_s, row->run_s, row->kernel_s, row->taken_s, row->slept_s);
        document_cell(document, "%.0f", row->faults);
        document_cell(document, isnan(row->per_cycle) ? "-" : "%.2f", row->per_cycle);
        document_cell(document, isnan(row->hertz) ? "-" : "%.2f", row->hertz * 1e-9);
    }
    if (!isnan(finding->own.idle))
        document_line(document,
                      "its parallel regions of OpenMP take %.3g s, of %.1f threads, which idle %.0f %% of that time",
                      finding->own.regions_s, finding->own.threads, 100 * finding->own.idle);
    if (uncounted != NULL)
        document_line(document, "%s", uncounted);
}

/* Adds a finding with its evidence. */
static void findings_explain(struct document *document, const struct report *report, size_t at)
{
    const struct finding *finding = &report->findings.rows[at];
    const struct finding_kind *kind = finding_kind(finding->kind);
    const struct evidence *evidence = finding->evidence;
    char text[FINDINGS_TEXT];
    document_heading(document, "Finding %zu: %s", at + 1, kind->name);
    document_anchor(document, "finding-%zu", at + 1);
    document_line(document, "%s", findings_sentence(&report->findings, at, text, sizeof text));
    document_line(document, "what it is: %s", kind->what);
    document_line(document, "what to do: %s", kind->advice);
    if (kind->literature[0] != '\0')
        document_line(document, "in the literature: %s", kind->literature);
    if (finding->under >= 0)
        document_line(document, "finding %" PRId64 " explains it: with that mended, this one gains little more",
                      finding->under + 1);
    if (finding->excess_s != 0)
        findings_counted(document, finding, report->findings.uncounted);
    if (evidence == NULL) {
        document_line(document, finding->callsite >= 0 ? "its calls are not known one by one"
                                                       : "it is of no single line of the program");
        return;
    }
    document_line(document, "calls of %s at %s:", finding->function, finding->place[0] != '\0' ? finding->place : "?");
    findings_draw(document, evidence);
    document_line(document, evidence->of_work ? "the longest work before one:" : "the longest:");
    document_table(document, "rank>|begins at>|lasts>");
    for (size_t i = 0; i < evidence->n_calls; i++)
        document_cells(document, "iss", evidence->calls[i].rank, evidence->calls[i].begin_s,
                       evidence->calls[i].length_s);
    document_line(document, "all calls: mpistair query %s \"%s\"", report->path, evidence->query);
}

int present_explanation(struct document *document, const struct report *report, size_t number, struct error *error)
{
    if (number == 0 || number > report->findings.n)
        return error_set(error, "%s: there is no finding %zu; it has %zu", report->path, number, report->findings.n);
    findings_explain(document, report, number - 1);
    return 0;
}

void present_evidence(struct document *document, const struct report *report)
{
    for (size_t i = 0; i < report->findings.n; i++)
        findings_explain(document, report, i);
}

void findings_list(FILE *stream)
{
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++) {
        const struct finding_kind *kind = finding_kind((enum finding_number)i);
        fprintf(stream, "%s%s\n", i > 0 ? "\n" : "", kind->name);
        fputs("  ", stream);
        help_text_fill(stream, kind->what, 2, 2, 80);
        fputs("  what to do: ", stream);
        help_text_fill(stream, kind->advice, 14, 4, 80);
        if (kind->literature[0] != '\0') {
            fputs("  in the literature: ", stream);
            help_text_fill(stream, kind->literature, 21, 4, 80);
        }
    }
}
