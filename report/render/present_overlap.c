/* Writes the section on overlap, only where ranks compute between post and wait. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"

static void present_measured(struct document *document, const struct report *report)
{
    document_line(document, "the longest time outside:");
    document_table(document, "rank>|measured>|in MPI>|outside>|share>");
    for (size_t i = 0; i < report->overlap.n_ranks; i++) {
        const struct report_rank *rank = report->overlap.ranks[i];
        document_cells(document, "isssp", rank->rank, rank->actual_s, rank->in_mpi_s, report_outside_s(rank),
                       report_outside_s(rank) / rank->actual_s);
    }
}

static void present_modelled(struct document *document, const struct report *report, size_t model)
{
    document_line(document,
                  "visible: what stays of the time by %s on %s if messages move meanwhile; in MPI: "
                  "measured, to compare with it; the longest time outside:",
                  report->models[model].title, report->models[model].machine);
    document_table(document, "rank>|outside>|share>|modelled>|visible>|in MPI>|error>|bias>");
    for (size_t i = 0; i < report->overlap.n_ranks; i++) {
        const struct report_rank *rank = report->overlap.ranks[i];
        double inside_s = report->models[model].withheld ? NAN : rank->models[model].in_mpi_s;
        document_cells(document, "ispssspc", rank->rank, rank->models[model].outside_s,
                       rank->models[model].outside_s / rank->models[model].actual_s, rank->models[model].model_s,
                       rank->models[model].visible_s, rank->models[model].in_mpi_s,
                       inside_s > 0 ? rank->models[model].visible_off_s / inside_s : NAN,
                       inside_s > 0 ? (rank->models[model].visible_s - inside_s) / inside_s : NAN);
    }
    if (!isnan(report->models[model].visible_error) && !report->models[model].withheld)
        document_line(document, "error of visible over all ranks: %.1f %%, bias %+.1f %%",
                      100 * report->models[model].visible_error, 100 * report->models[model].visible_bias);
    document_line(document, "an MPI that moves data inside its calls only shows more, up to the modelled time");
}

void present_overlap(struct document *document, const struct report *report)
{
    size_t model = report_best_of_rounds(report);
    if (!report->overlap.matters)
        return;
    document_line(document, "%.1f %% of the time in rounds passed outside MPI, between post and wait",
                  100 * report->overlap.share);
    if (model < report->n_models)
        present_modelled(document, report, model);
    else
        present_measured(document, report);
}
