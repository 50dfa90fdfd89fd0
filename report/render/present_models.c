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
    document_line(document,
                  "~ the model ignores what this rank does: max-rate counts receives only, node-aware sends only");
}

void present_models(struct document *document, const struct report *report)
{
    if (report->n_models == 0) {
        document_line(document, "none yet. 'mpistair machine list' shows the machines known here, then:");
        document_line(document, "mpistair predict %s --machine NAME --model all", report->path);
    } else {
        document_table(document, "machine|model|error>|MAPE>|bias>|worst rank>|measured>|modelled>");
    }
    bool extrapolated = false, unknown = false, withheld = false;
    double coverage = 1;
    for (size_t i = 0; i < report->n_models; i++) {
        const struct report_model *model = &report->models[i];
        extrapolated = extrapolated || model->extrapolated;
        coverage = fmin(coverage, model->coverage);
        document_cell(document, "%s", model->machine);
        document_cell(document, "%s%s", model->title, model->extrapolated ? " *" : "");
        document_cells(document, "ppci", words_claimed(model, model->error), words_claimed(model, model->mape),
                       words_claimed(model, model->bias), model->worst_rank);
        document_cells(document, "s", model->worst_actual_s);
        unknown = present_modelled_time(document, model->worst_actual_s, model->worst_model_s) || unknown;
        withheld = withheld || model->withheld;
    }
    if (extrapolated)
        document_line(document, "* beyond the ends of a bandwidth table of the machine");
    if (unknown)
        present_unknown(document);
    if (withheld)
        document_warning(document,
                         "of rounds no error is claimed: they overlap (see Rounds), and are taken one by one");
    if (words_judgement(report) != NULL)
        document_warning(document, "%s", words_judgement(report));
    if (coverage < 0.999)
        document_warning(document, "a model covers only %.1f %% of the measured time: predict again",
                         words_percent(coverage));
    if (isnan(report->replicate_error))
        document_line(document, "replicate error: none, nothing came twice");
    else
        document_line(document, "replicate error: %.1f %% (%s; of %.1f %% of the time)",
                      words_percent(report->replicate_error), report->replicate_basis,
                      words_percent(report->replicate_share));
    if (report->n_site_errors == 0)
        return;
    document_line(document, "call sites where %s is furthest off, all ranks; off: sum of |measured - modelled|:",
                  report->models[report_best_model(report)].title);
    document_table(document, "measured>|modelled>|off>|call");
    for (size_t i = 0; i < report->n_site_errors; i++) {
        const struct report_site_error *site = &report->site_errors[i];
        document_cells(document, "sss", site->actual_s, site->model_s, site->off_s);
        document_cell(document, "%s %s", site->function, site->place);
    }
}
