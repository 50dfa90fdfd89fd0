/* Finds a rank, or few, for which the others wait at a call site, because of what they do before it.
 *
 * It must be the same rank more often than it would be by chance: of the events that cost most, so many are its own
 * that the binomial distribution gives that less than LATE_CHANCE, whichever rank it might have been. And it must stand
 * apart from the others that come to the same site; else the work is uneven, which imbalance.c says. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/site_sums.h"
#include "share/base/statistics.h"

#define LATE_CHANCE 0.01
/* Says from which share of all ranks' time on that is told which happened too seldom to tell it from chance. */
#define ONCE_SHARE 0.1
/* A rank stands apart if it is so many times further from the others than they are from each other; of two ranks, if
 * it computes so many times as long. */
#define APART        2.0
#define APART_OF_TWO 4.0
/* Says how much of the waiting its longer computation must explain. */
#define EXPLAINED 0.25

enum { MOST_LATE = 3 };

/* Says whether the first n_late ranks compute so much longer than the others that come to the site. */
static int stand_apart(struct diagnosis *diagnosis, const struct site_sums *sums, size_t n_late, bool *apart)
{
    size_t n = sums->n_ranks - n_late;
    double least_s = INFINITY, *others_s = malloc((n + 1) * sizeof *others_s);
    if (others_s == NULL)
        return diagnosis_no_memory(diagnosis);
    for (size_t i = 0; i < n_late; i++)
        least_s = fmin(least_s, sums->ranks[i].computed_s);
    for (size_t i = 0; i < n; i++)
        others_s[i] = sums->ranks[n_late + i].computed_s;
    sort_doubles(others_s, n);
    double low_s = n > 0 ? others_s[n / 10] : 0, high_s = n > 0 ? others_s[n - 1 - n / 10] : 0;
    *apart = n == 0 || (least_s - high_s >= EXPLAINED * sums->direct_s / (double)n_late &&
                        (n == 1 ? least_s >= APART_OF_TWO * high_s : least_s - high_s >= APART * (high_s - low_s)));
    free(others_s);
    return 0;
}

static bool by_chance(const struct diagnosis *diagnosis, const struct site_sums *sums, size_t n_late)
{
    double n = (double)diagnosis->program.n_ranks;
    uint32_t of_late = 0;
    for (size_t i = 0; i < n_late; i++)
        of_late += sums->ranks[i].strong;
    if (of_late == 0)
        return true;
    double chance = binomial_above(of_late - 1, (double)n_late / n, sums->strong);
    return !(chance * pow(n, (double)n_late) < LATE_CHANCE);
}

static int add(struct diagnosis *diagnosis, const struct site_sums *sums, const struct site_rank *rank)
{
    struct finding finding = {.kind = FINDING_LATE_RANK, .rank = rank->rank, .partner = -1, .cost_s = rank->cost_s};
    char site[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    uint32_t calls = diagnosis->places[rank->place].calls;
    double others_s = diagnosis->all_s - diagnosis->rank_s[rank->rank];
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    return diagnosis_add(diagnosis, finding,
                         "rank %" PRIu32 " %s %s in %" PRIu32 " of %" PRIu32
                         " calls; the others wait %s for it, %.0f %% of their time",
                         rank->rank, diagnosis->collective[sums->site] ? "arrives last at" : "comes late to", site,
                         rank->late < calls ? rank->late : calls, calls, diagnosis_seconds(waited, rank->cost_s),
                         100 * fmin(rank->cost_s / others_s, 1));
}

int late_rank_find(struct diagnosis *diagnosis, const struct site_sums *sums, bool *found)
{
    size_t n_late = 1, most = diagnosis->program.n_ranks / 8;
    bool apart = false;
    most = most < 1 ? 1 : most < MOST_LATE ? most : MOST_LATE;
    while (n_late < sums->n_ranks && sums->ranks[n_late].cost_s >= sums->ranks[0].cost_s / 2)
        n_late++;
    if (diagnosis->program.n_ranks < 2 || n_late > most)
        return 0;
    double cost_s = 0;
    for (size_t i = 0; i < n_late; i++)
        cost_s += sums->ranks[i].cost_s;
    if (by_chance(diagnosis, sums, n_late) && cost_s < ONCE_SHARE * diagnosis->all_s)
        return 0;
    if (stand_apart(diagnosis, sums, n_late, &apart) != 0)
        return -1;
    for (size_t i = 0; apart && i < n_late; i++) {
        if (diagnosis->busy_share[sums->ranks[i].rank] >= 0.5) /* the scheduler's doing as much as its own */
            continue;
        *found = true;
        if (add(diagnosis, sums, &sums->ranks[i]) != 0)
            return -1;
    }
    return 0;
}
