/* Writes the section on ranks, one by one, or of many those that are furthest off. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/render/sections.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/statistics.h"

enum { RANKS_SHOWN_WHOLE = 64, RANKS_WORST = 16 };

/* Returns by what the ranks are ordered: with a model how far it is off, else the time. */
static double weight(const struct report_rank *rank, size_t model, size_t n_models)
{
    double value = model < n_models ? rank->models[model].off_s : rank->actual_s;
    return isnan(value) ? -1 : value;
}

struct ranking {
    const struct report_rank *rank;
    double weight;
};

static int heavier(const void *left, const void *right)
{
    const struct ranking *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return ORDER(a->rank->rank, b->rank->rank);
}

/* Shows, for many ranks, the middle, the ninth decile and the largest of the ranks' own errors (or times). */
static void present_distribution(struct document *document, const struct report *report, size_t model)
{
    double *values = xcalloc(report->n_ranks, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        double value =
            model < report->n_models ? rank->models[model].off_s / rank->models[model].actual_s * 100 : rank->actual_s;
        if (isfinite(value))
            values[n++] = value;
    }
    sort_doubles(values, n);
    if (n > 0)
        document_line(document,
                      model < report->n_models
                          ? "all %zu: median error %.1f %%, nine of ten below %.1f %%, largest %.1f %%"
                          : "all %zu: median %.3g s, nine of ten below %.3g s, longest %.3g s",
                      n, values[n / 2], values[n * 9 / 10 < n ? n * 9 / 10 : n - 1], values[n - 1]);
    free(values);
}

/* Shows a rank; returns true where its modelled time is marked. */
static bool present_rank(struct document *document, const struct report *report, const struct report_rank *rank,
                         size_t model)
{
    bool unknown = false;
    document_cell(document, "%" PRId64, rank->rank);
    if (rank->node < 0)
        document_cell(document, "-");
    else if (rank->socket < 0)
        document_cell(document, "%" PRId64 "/-", rank->node);
    else
        document_cell(document, "%" PRId64 "/%" PRId64, rank->node, rank->socket);
    if (model < report->n_models) {
        document_cells(document, "spp", rank->models[model].actual_s, rank->late_senders_s / rank->actual_s,
                       rank->late_receivers_s / rank->actual_s);
        unknown = present_modelled_time(document, rank->models[model].actual_s, rank->models[model].model_s);
        document_cells(
            document, "pc",
            words_claimed(&report->models[model], rank->models[model].off_s / rank->models[model].actual_s),
            words_claimed(&report->models[model],
                          (rank->models[model].model_s - rank->models[model].actual_s) / rank->models[model].actual_s));
        document_bar(document, rank->models[model].actual_s, rank->models[model].model_s);
    } else {
        document_cells(document, "bsspp", (double)rank->received_bytes, rank->in_mpi_s, rank->actual_s,
                       rank->late_senders_s / rank->actual_s, rank->late_receivers_s / rank->actual_s);
        document_bar(document, rank->actual_s, NAN);
    }
    return unknown;
}

void present_ranks(struct document *document, const struct report *report)
{
    size_t model = report_best_model(report), n = report->n_ranks;
    struct ranking *ranking = xcalloc(n, sizeof *ranking);
    for (size_t i = 0; i < n; i++)
        ranking[i] = (struct ranking){&report->ranks[i], weight(&report->ranks[i], model, report->n_models)};
    if (model < report->n_models)
        document_line(document, "time %s, # measured, | modelled by %s on %s",
                      report->models[model].rounds ? "in all rounds" : "inside messages", report->models[model].title,
                      report->models[model].machine);
    else
        document_line(document, "time in all rounds from first post to last completion, # measured");
    if (n > RANKS_SHOWN_WHOLE && !document->all_ranks) {
        qsort(ranking, n, sizeof *ranking, heavier);
        n = RANKS_WORST;
        present_distribution(document, report,
                             model < report->n_models && report->models[model].withheld ? report->n_models : model);
        document_line(document, "the %zu %s (--all-ranks shows all):", n,
                      model < report->n_models ? "furthest off" : "with the longest time");
    }
    if (model < report->n_models)
        document_table(document, "rank>|place|measured>|late send>|late recv>|modelled>|error>|bias>");
    else
        document_table(document, "rank>|place|received>|in MPI>|measured>|late send>|late recv>");
    bool unknown = false;
    for (size_t i = 0; i < n; i++)
        unknown = present_rank(document, report, ranking[i].rank, model) || unknown;
    if (unknown)
        present_unknown(document);
    free(ranking);
}
