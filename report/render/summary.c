/* Words the judgements of the first screen. See summary.h. */
#include "report/render/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/render/quantity.h"
#include "report/render/words.h"

enum { LINE = 76 };

/* Names the processors that ranks had to share. Their waiting is nobody's fault. */
static void present_processors(struct document *document, const struct report *report)
{
    const struct report_waited *waited = &report->waited;
    bool partial = document->partial;
    document->partial = false; /* the kernel counted that, whatever was recorded */
    if (waited->ranks > 0)
        document_warning(document,
                         "%" PRId64 " of %" PRId64 " ranks waited for a processor that others had, most rank %" PRId64
                         ": %.0f %% of %.3g s; all times hold that wait, whatever they stand under",
                         waited->ranks, report->run.world_size, waited->worst_rank, waited->wait_share * 100,
                         waited->observed_s);
    else if (report->crowding.nodes > 0)
        document_warning(document, "%" PRId64 " ranks share %" PRId64 " processors%s: times hold the wait for one",
                         report->crowding.ranks, report->crowding.processors,
                         report->crowding.nodes > 1 ? " on the fullest node" : "");
    document->partial = partial;
}

void summary_recording(struct document *document, const struct report *report)
{
    const struct report_completeness *complete = &report->completeness;
    char verdict[2 * LINE], volume[32];
    words_shorten(verdict, sizeof verdict, complete->verdict, 2 * LINE - 20);
    bool whole = strncmp(complete->verdict, "complete", 8) == 0 && report->run.launched <= 0;
    document_add(document, whole ? DOCUMENT_LINE : DOCUMENT_WARNING, "recording %s; %" PRId64 " message%s, %s", verdict,
                 report->messages, words_plural(report->messages),
                 words_bytes(volume, sizeof volume, (double)report->bytes));
    if (complete->uncertain > 0)
        document_warning(document, "the order of %" PRId64 " message%s was not certain", complete->uncertain,
                         words_plural(complete->uncertain));
    int64_t unnamed = 0;
    for (size_t i = 0; i < report->n_unnamed; i++)
        unnamed += report->unnamed[i].n;
    if (unnamed > 0)
        document_warning(document, "%" PRId64 " call site%s without lines: %s%s", unnamed, words_plural(unnamed),
                         report->unnamed[0].name, report->n_unnamed > 1 ? "; ..." : "");
    present_processors(document, report);
}

const char *summary_nothing_found(const struct report *report)
{
    if (report->activities.unknown != NULL)
        return "none: when ranks were inside MPI is not known";
    if (report->no_findings != NULL)
        return report->no_findings;
    if (strncmp(report->completeness.verdict, "complete", 8) != 0)
        return "nothing that costs 3 % of the ranks' time or more, in what was recorded";
    return "nothing that costs 3 % of the ranks' time or more";
}

/* Counts the models whose error is no further from the best one's than the run is from itself. */
static size_t not_told_apart(const struct report *report, size_t best)
{
    double reach = fmax(report->models[best].error, 0) + report->replicate_error;
    size_t n = 0;
    for (size_t i = 0; i < report->n_models; i++)
        n += report->models[i].error <= reach;
    return n;
}

/* Says what the best model's error allows to say, in one sentence. */
static void judge(struct document *document, const struct report *report, size_t best)
{
    const struct report_model *model = &report->models[best];
    const char *judgement = words_judgement(report);
    double noise = report->replicate_error;
    size_t n = isnan(noise) ? 0 : not_told_apart(report, best);
    if (judgement != NULL)
        document_warning(
            document, "%s%s", judgement,
            report->waited.ranks > 0 || report->crowding.nodes > 0 ? ", which holds the wait for processors" : "");
    else if (isnan(noise))
        document_line(document, "no kind of round came twice: whether the error is noise is not known");
    else if (model->error <= noise)
        document_line(document,
                      n > 1 ? "%zu models cannot be told apart: their errors are at most twice the noise"
                            : "its error is below the noise",
                      n);
    else if (n > 1)
        document_line(document, "%zu models cannot be told apart: they differ by less than the noise", n);
    else
        document_line(document, "its error is above the noise, and the next one's further by more than it");
}

void summary_models(struct document *document, const struct report *report)
{
    size_t best = report_best_model(report);
    if (report->n_models == 0) {
        document_line(document, report->messages > 0
                                    ? "none: 'mpistair predict' compares the time in messages with models"
                                    : "none: there are no messages to compare with them");
        return;
    }
    if (report->errors_withheld || best == report->n_models) {
        document_line(document, report->errors_withheld
                                    ? "no error is claimed: rounds of messages overlap (--section rounds)"
                                    : "no model has an error: no time was measured");
        return;
    }
    char name[64], replicate[32] = "not known", share[64] = "";
    const struct report_model *model = &report->models[best];
    snprintf(name, sizeof name, "%.30s on %.24s", model->title, model->machine);
    if (!isnan(report->replicate_error))
        words_ratio(replicate, sizeof replicate, report->replicate_error);
    if (report->activities.unknown == NULL && report->activities.ranks_s > 0) {
        char ratio[16];
        words_ratio(ratio, sizeof ratio, fmin(report->actual_s / report->activities.ranks_s, 1));
        snprintf(share, sizeof share, ", for %s of all ranks' time", ratio);
    }
    char error[32];
    document_line(document, "best of %zu: %s, error %s (replicate error %s)%s", report->n_models, name,
                  words_ratio(error, sizeof error, model->error), replicate, share);
    judge(document, report, best);
}
