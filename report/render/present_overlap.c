/* Writes the section on overlap, only where ranks compute between post and wait. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"

static void present_measured(struct document *document, const struct report *report)
{
    static const struct document_column columns[] = {
        {"rank", true}, {"measured", true}, {"in MPI", true}, {"outside", true}, {"share", true}};
    document_add(document, DOCUMENT_LINE, "the longest time outside:");
    document_table(document, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < report->overlap.n_ranks; i++) {
        const struct report_rank *rank = report->overlap.ranks[i];
        document_cell(document, "%" PRId64, rank->rank);
        document_seconds(document, rank->actual_s);
        document_seconds(document, rank->in_mpi_s);
        document_seconds(document, report_outside_s(rank));
        document_percent(document, report_outside_s(rank) / rank->actual_s, false);
    }
}

static void present_modelled(struct document *document, const struct report *report, size_t model)
{
    static const struct document_column columns[] = {{"rank", true},     {"outside", true}, {"share", true},
                                                     {"modelled", true}, {"visible", true}, {"in MPI", true},
                                                     {"error", true},    {"bias", true}};
    document_add(document, DOCUMENT_LINE,
                 "visible: what stays of the time by %s on %s if messages move meanwhile; in MPI: "
                 "measured, to compare with it; the longest time outside:",
                 report->models[model].title, report->models[model].machine);
    document_table(document, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < report->overlap.n_ranks; i++) {
        const struct report_rank *rank = report->overlap.ranks[i];
        double inside_s = report->errors_withheld ? NAN : rank->models[model].in_mpi_s;
        document_cell(document, "%" PRId64, rank->rank);
        document_seconds(document, rank->models[model].outside_s);
        document_percent(document, rank->models[model].outside_s / rank->models[model].actual_s, false);
        document_seconds(document, rank->models[model].model_s);
        document_seconds(document, rank->models[model].visible_s);
        document_seconds(document, rank->models[model].in_mpi_s);
        document_percent(document, inside_s > 0 ? rank->models[model].visible_off_s / inside_s : NAN, false);
        document_percent(document, inside_s > 0 ? (rank->models[model].visible_s - inside_s) / inside_s : NAN, true);
    }
    if (!isnan(report->models[model].visible_error) && !report->errors_withheld)
        document_add(document, DOCUMENT_LINE, "error of visible over all ranks: %.1f %%, bias %+.1f %%",
                     100 * report->models[model].visible_error, 100 * report->models[model].visible_bias);
    document_add(document, DOCUMENT_LINE,
                 "an MPI that moves data inside its calls only shows more, up to the modelled time");
}

void present_overlap(struct document *document, const struct report *report)
{
    size_t model = report_best_model(report);
    if (!report->overlap.matters)
        return;
    document_add(document, DOCUMENT_LINE, "%.1f %% of the time in rounds passed outside MPI, between post and wait",
                 100 * report->overlap.share);
    if (model < report->n_models)
        present_modelled(document, report, model);
    else
        present_measured(document, report);
}
