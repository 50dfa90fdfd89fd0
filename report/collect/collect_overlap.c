/* Collects the overlap: a rank that computes between its posts and its waits need not see in MPI what its messages
 * take. It tells who does so, and what of the modelled time should stay visible, against the time measured inside MPI.
 * Papers are named as in share/doc/MODELS.md. */
#include <math.h>

#include "report/collect/report.h"

double report_outside_s(const struct report_rank *rank)
{
    return rank->actual_s - rank->in_mpi_s;
}

static void find_ranks(struct report *report)
{
    struct report_overlap *overlap = &report->overlap;
    double outside_s = 0;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        double own_s = report_outside_s(rank);
        if (!(rank->actual_s > 0) || !(own_s > 0))
            continue;
        outside_s += own_s;
        overlap->matters = overlap->matters || own_s >= (REPORT_OVERLAP - 1e-9) * rank->actual_s;
        report_keep_longest(overlap->ranks, &overlap->n_ranks, rank, report_outside_s);
    }
    overlap->share = report->actual_s > 0 ? outside_s / report->actual_s : NAN;
}

/* Computes T eq. 11 and the bias of a model's visible time, over the ranks for which it was run. */
static void sum_errors(struct report *report, size_t model)
{
    double inside_s = 0, off_s = 0, over_s = 0;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        if (isnan(rank->inside_s[model]) || isnan(rank->visible_s[model]))
            continue;
        inside_s += rank->inside_s[model];
        off_s += rank->visible_off_s[model];
        over_s += rank->visible_s[model] - rank->inside_s[model];
    }
    report->models[model].visible_error = inside_s > 0 ? off_s / inside_s : NAN;
    report->models[model].visible_bias = inside_s > 0 ? over_s / inside_s : NAN;
}

int report_collect_overlap(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    find_ranks(report);
    /* This is the view rank_visible without its sum of the modelled time, which is known. */
    cursor_open(&rows, database, report->path,
                "SELECT q.machine, q.model, q.options, m.rank, sum(m.rounds * m.outside_s), "
                "  sum(m.rounds * m.in_mpi_s), sum(m.rounds * max(p.time_s - m.outside_s, 0)), "
                "  sum(m.rounds * abs(m.in_mpi_s - max(p.time_s - m.outside_s, 0))) "
                "FROM prediction_run q JOIN prediction p ON p.run_id = q.id "
                "  JOIN kind_in_mpi m ON m.kind_id = p.kind_id AND m.rank = p.rank GROUP BY q.id, m.rank",
                error);
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        struct report_rank *rank = report_find_rank(report, cursor_integer(&rows, 3));
        if (model == report->n_models || rank == NULL)
            continue;
        rank->outside_s[model] = cursor_real(&rows, 4);
        rank->inside_s[model] = cursor_real(&rows, 5);
        rank->visible_s[model] = cursor_real(&rows, 6);
        rank->visible_off_s[model] = cursor_real(&rows, 7);
    }
    for (size_t model = 0; model < report->n_models; model++)
        sum_errors(report, model);
    return cursor_close(&rows);
}
