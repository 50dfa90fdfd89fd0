/* Writes the section on models: how far each is from what was measured, beside how far the run is from itself. */
#include <inttypes.h>
#include <math.h>

#include "report/render/sections.h"

bool present_modelled_time(struct document *document, double measured, double modelled)
{
    bool unknown = measured > 0 && modelled <= 0;
    if (unknown)
        document_cell(document, "0.00 us ~");
    else
        document_cells(document, "s", modelled);
    return unknown;
}

void present_unknown(struct document *document)
{
    document_line(
        document,
        "~ the model knows nothing of what this rank does: max-rate counts receives only, node-aware sends only");
}

void present_models(struct document *document, const struct report *report)
{
    if (report->n_models == 0) {
        document_line(document, "none yet. 'mpistair machine list' shows the machines known here, then:");
        document_line(document, "mpistair predict %s --machine NAME --model all", report->path);
    } else {
        document_table(document, "machine|model|error>|MAPE>|bias>|worst rank>|measured>|modelled>");
    }
    bool extrapolated = false, unknown = false;
    double coverage = 1;
    for (size_t i = 0; i < report->n_models; i++) {
        const struct report_model *model = &report->models[i];
        extrapolated = extrapolated || model->extrapolated;
        coverage = fmin(coverage, model->coverage);
        document_cell(document, "%s", model->machine);
        document_cell(document, "%s%s", model->title, model->extrapolated ? " *" : "");
        document_cells(document, "ppci", words_claimed(report, model->error), words_claimed(report, model->mape),
                       words_claimed(report, model->bias), model->worst_rank);
        double measured = NAN, modelled = NAN;
        for (size_t k = 0; k < report->n_ranks; k++)
            if (report->ranks[k].rank == model->worst_rank) {
                measured = report->ranks[k].models[i].actual_s;
                modelled = report->ranks[k].models[i].model_s;
            }
        document_cells(document, "s", measured);
        unknown = present_modelled_time(document, measured, modelled) || unknown;
    }
    if (extrapolated)
        document_line(document, "* beyond the ends of a bandwidth table of the machine");
    if (unknown)
        present_unknown(document);
    if (report->errors_withheld && report->n_models > 0)
        document_warning(document,
                         "no error is claimed: rounds overlap (see Rounds), and the models take them one by one");
    if (words_judgement(report) != NULL)
        document_warning(document, "%s", words_judgement(report));
    if (coverage < 0.999)
        document_warning(document, "a model covers only %.1f %% of the measured time: predict again",
                         words_percent(coverage));
    if (isnan(report->replicate_error))
        document_line(document, "replicate error: none, no kind has two rounds");
    else
        document_line(document, "replicate error: %.1f %% (%s; %.1f %% of the time has two and more rounds)",
                      words_percent(report->replicate_error), report->replicate_basis,
                      words_percent(report->replicate_share));
}
