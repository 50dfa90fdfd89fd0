/* Finds ranks that are not like the others, by median and median deviation: one rank far off moves neither. Ranks that
 * were spawned late, or whose world ended early, are not compared. */
#include <math.h>
#include <stdlib.h>

#include "report/collect/activity_sums.h"
#include "share/base/statistics.h"

enum { LEAST_RANKS = 4 };
/* A rank is out of line beyond so many deviations (of a normal distribution), and beyond this part of a rank's time. */
static const double deviations = 5, part = 0.1;
#define MOST_ABSENT 0.1

static double time_of(const struct activity_rank *rank, bool in_mpi)
{
    double sum_s = 0;
    for (size_t kind = SPENT_COMPUTATION + 1; kind <= SPENT_OTHER; kind++)
        sum_s += rank->time_s[kind];
    return in_mpi ? sum_s : rank->time_s[SPENT_COMPUTATION];
}

static bool is_compared(const struct activity_rank *rank)
{
    return rank->absent_share < MOST_ABSENT;
}

/* Puts a rank into its place among those furthest off. */
static void keep(struct report_activities *activities, struct report_out_of_line found)
{
    size_t at = activities->n_out_of_line;
    struct report_out_of_line *rows = activities->out_of_line;
    activities->all_out_of_line++;
    while (at > 0 && fabs(found.time_s - found.median_s) > fabs(rows[at - 1].time_s - rows[at - 1].median_s))
        at--;
    if (at == REPORT_OUT_OF_LINE)
        return;
    if (activities->n_out_of_line < REPORT_OUT_OF_LINE)
        activities->n_out_of_line++;
    for (size_t i = activities->n_out_of_line - 1; i > at; i--)
        rows[i] = rows[i - 1];
    rows[at] = found;
}

static double waited_s(const struct report *report, size_t number)
{
    const struct report_rank *rank = report_find_rank(report, (int64_t)number);
    return rank != NULL && rank->waited_s > 0 ? rank->waited_s : 0;
}

/* Marks in seen the ranks that are out of line in one of the two. */
static void look(struct report *report, const struct activity_sums *sums, bool in_mpi, double *values, bool *seen)
{
    struct report_activities *activities = &report->activities;
    size_t n = 0;
    for (size_t i = 0; i < sums->n_ranks; i++)
        if (is_compared(&sums->ranks[i]))
            values[n++] = time_of(&sums->ranks[i], in_mpi);
    if (n < LEAST_RANKS)
        return;
    double median_s = unsorted_median(values, n), ranks_s = 0;
    n = 0;
    for (size_t i = 0; i < sums->n_ranks; i++)
        if (is_compared(&sums->ranks[i])) {
            values[n++] = fabs(time_of(&sums->ranks[i], in_mpi) - median_s);
            ranks_s += time_of(&sums->ranks[i], true) + time_of(&sums->ranks[i], false);
        }
    double limit_s = fmax(deviations * 1.4826 * unsorted_median(values, n), part * ranks_s / (double)n);
    for (size_t i = 0; i < sums->n_ranks; i++) {
        if (!is_compared(&sums->ranks[i]))
            continue;
        double time_s = time_of(&sums->ranks[i], in_mpi), off_s = fabs(time_s - median_s);
        if (!(off_s > limit_s) || seen[i] || waited_s(report, i) > off_s / 2)
            continue;
        seen[i] = true;
        keep(activities, (struct report_out_of_line){(int64_t)i, in_mpi, time_s, median_s});
    }
}

int activity_find_out_of_line(struct report *report, const struct activity_sums *sums)
{
    double *values = malloc(sums->n_ranks * sizeof *values);
    bool *seen = calloc(sums->n_ranks, sizeof *seen);
    int result = values == NULL || seen == NULL ? -1 : 0;
    for (int in_mpi = 0; result == 0 && in_mpi < 2; in_mpi++)
        look(report, sums, in_mpi != 0, values, seen);
    free(values);
    free(seen);
    return result;
}
