/* Finds late calls, site by site: the computation before them may be late on one rank or few, unevenly divided among
 * ranks, or late on whichever rank comes there. What is none of these is chance. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/statistics.h"

/* Share of the whole cost that the strong events, the costliest ones, have together. */
#define SITE_STRONG 0.8

/* A rank that calls the site. */
struct site_rank {
    uint32_t rank, place;
    double computed_s; /* before all its calls, as diagnosis_computed */
    double cost_s;     /* waiting of others */
    uint32_t strong;   /* its strong events */
    uint32_t late;     /* its events that cost at least a tenth of a strong one's mean */
};

struct site_sums {
    uint32_t site;
    double cost_s, computed_s;
    double direct_s; /* the longest waits for its events, added up */
    uint64_t calls, late;
    uint32_t strong;
    struct site_rank *ranks; /* [n_ranks] the costliest first */
    size_t n_ranks;
};

/* Finds a rank, or few, for which the others wait at a call site, because of what they do before it.
 *
 * It must be the same rank more often than it would be by chance: of the events that cost most, so many are its own
 * that the binomial distribution gives that less than LATE_CHANCE, whichever rank it might have been. What disturbs a
 * processor may last for many events; so a wait of less than ONCE_SHARE must be there in all blocks of the run, unless
 * it is a single one of ONCE_S. And the rank must stand apart from the others that come to the same site; else the work
 * is uneven. */
#define LATE_CHANCE 0.01
/* Share of all ranks' time from which on a wait is reported even if it is too rare to exclude chance. */
#define ONCE_SHARE 0.1
/* Length of a single wait, s, from which on no disturbance of a processor explains it. */
#define ONCE_S 0.5
/* Share from which on it may do as much as the others, only before another call. */
#define ELSEWHERE_SHARE 0.2
/* How many times further a rank must be from the others than they are from each other, to stand apart; of two ranks,
 * how many times as long it must compute. */
#define APART          2.0
#define APART_OF_TWO   4.0
#define APART_AT_TIMES 1.5 /* of two, where it is late in half of its calls at most */
/* Least share of the waiting that its longer computation must explain. */
#define EXPLAINED 0.25

enum { MOST_LATE = 3 };

static double computed_by(const struct diagnosis *diagnosis, uint32_t rank)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < diagnosis->program.n_places; i++)
        sum_s += diagnosis->program.places[i].rank == rank ? diagnosis_computed(diagnosis, i) : 0;
    return sum_s;
}

/* Returns whether a rank computes longer than the median of all, anywhere: ranks may go different ways through the
 * program, so that what one does before a call another one does before another call. */
static bool does_more(const struct diagnosis *diagnosis, const struct site_sums *sums, const struct site_rank *late,
                      size_t n_late)
{
    size_t n_ranks = diagnosis->program.n_ranks;
    double *all_s = xcalloc(n_ranks, sizeof *all_s), own_s = computed_by(diagnosis, late->rank);
    for (uint32_t i = 0; i < diagnosis->program.n_places; i++)
        all_s[diagnosis->program.places[i].rank] += diagnosis_computed(diagnosis, i);
    double median_s = unsorted_median(all_s, n_ranks);
    free(all_s);
    return own_s - median_s >= EXPLAINED * sums->direct_s / (double)n_late;
}

/* Returns whether the first n_late ranks compute so much longer than the others that come to the site. */
static bool stand_apart(const struct diagnosis *diagnosis, const struct site_sums *sums, size_t n_late)
{
    size_t n = sums->n_ranks - n_late;
    bool seldom = sums->ranks[0].strong <= diagnosis->places[sums->ranks[0].place].calls / 2;
    double of_two = seldom ? APART_AT_TIMES : APART_OF_TWO;
    double least_s = INFINITY, *others_s = xcalloc(n, sizeof *others_s);
    for (size_t i = 0; i < n_late; i++)
        least_s = fmin(least_s, sums->ranks[i].computed_s);
    for (size_t i = 0; i < n; i++)
        others_s[i] = sums->ranks[n_late + i].computed_s;
    sort_doubles(others_s, n);
    double low_s = n > 0 ? others_s[n / 10] : 0, high_s = n > 0 ? others_s[n - 1 - n / 10] : 0;
    bool apart = n == 0 || (least_s - high_s >= EXPLAINED * sums->direct_s / (double)n_late &&
                            (n == 1 ? least_s >= of_two * high_s : least_s - high_s >= APART * (high_s - low_s)));
    free(others_s);
    return apart;
}

/* Says whether values[n] are above 0 beyond chance of that probability, by Student's t. */
static bool is_above(const double *values, size_t n, double chance)
{
    if (n < 2)
        return false;
    double error_s = sqrt(variance_of(values, n) / (double)n);
    return mean_of(values, n) > error_s * student_quantile(chance, (double)(n - 1));
}

/* Says whether the rank computes more than the mean of all in all of the run, whichever rank it might have been. */
static bool is_lasting(const struct diagnosis *diagnosis, uint32_t rank, double chance)
{
    size_t n_ranks = diagnosis->program.n_ranks;
    double more_s[DIAGNOSIS_BLOCKS];
    for (size_t block = 0; block < DIAGNOSIS_BLOCKS; block++) {
        double sum_s = 0;
        for (size_t i = 0; i < n_ranks; i++)
            sum_s += diagnosis->courses[i].block_s[block];
        more_s[block] = diagnosis->courses[rank].block_s[block] - sum_s / (double)n_ranks;
    }
    return is_above(more_s, DIAGNOSIS_BLOCKS, chance / (double)n_ranks);
}

/* Says the same of what ranks compute before their calls of a site, in the first of them, the second ... */
static bool is_lasting_there(const struct diagnosis *diagnosis, const struct site_sums *sums,
                             const struct site_rank *most, double chance)
{
    size_t calls = diagnosis->places[most->place].calls, n = 0;
    double more_s[DIAGNOSIS_BLOCKS];
    for (size_t block = 0; block < DIAGNOSIS_BLOCKS; block++) {
        double sum_s = 0, own_s = 0;
        for (size_t i = 0; i < sums->n_ranks; i++) {
            const struct site_rank *rank = &sums->ranks[i];
            double seconds = diagnosis->places[rank->place].block_s[block] * (1 - diagnosis->busy_share[rank->rank]);
            sum_s += seconds;
            own_s = rank == most ? seconds : own_s;
        }
        if (sum_s > 0 && n < calls)
            more_s[n++] = own_s - sum_s / (double)sums->n_ranks;
    }
    return is_above(more_s, n, chance / (double)sums->n_ranks);
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

/* An event of one rank: when, in which of its calls of the site, and what it cost. */
struct late_moment {
    size_t step;
    double at_s, cost_s;
    uint32_t nth;
};

static int compare_moments(const void *left, const void *right)
{
    const struct late_moment *a = left, *b = right;
    return ORDER(a->step, b->step);
}

/* Part of the cost that a stretch of the run must have, and part of the calls that it may take. */
#define STRETCH_COST  0.9
#define STRETCH_CALLS 0.5
/* How many times what the first half of a run costs its second half must cost, to be a trend. */
#define TREND 2.0

/* Part of its calls in which a rank may be late at most, for these to be outliers. */
#define OUTLIER_CALLS 0.25

enum { LEAST_MOMENTS = 8, QUARTERS = 4 };

/* Finds the shortest stretch of calls with most of the cost. Returns whether the rank is late in that one only. */
static bool find_stretch(const struct late_moment *moments, size_t n, uint32_t calls, struct finding *finding)
{
    double sum_s = 0, part_s = 0;
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        sum_s += moments[i].cost_s;
    for (size_t i = 0, end = 0; i < n; part_s -= moments[i++].cost_s) {
        while (end < n && part_s < STRETCH_COST * sum_s)
            part_s += moments[end++].cost_s;
        if (part_s < STRETCH_COST * sum_s)
            break;
        if (moments[end - 1].nth - moments[i].nth < least && end - i >= LEAST_MOMENTS) {
            least = moments[end - 1].nth - moments[i].nth;
            finding->begin_s = moments[i].at_s;
            finding->end_s = moments[end - 1].at_s;
        }
    }
    if (n >= LEAST_MOMENTS && least < STRETCH_CALLS * calls)
        return true;
    finding->begin_s = finding->end_s = NAN;
    return false;
}

/* Says whether the cost grows from quarter to quarter of the calls. */
static bool is_trend(const struct late_moment *moments, size_t n)
{
    double quarter_s[QUARTERS] = {0};
    for (size_t i = 0; i < n; i++)
        quarter_s[i * QUARTERS / n] += moments[i].cost_s;
    for (size_t i = 1; i < QUARTERS; i++)
        if (quarter_s[i] <= quarter_s[i - 1])
            return false;
    return n >= 2 * LEAST_MOMENTS && quarter_s[2] + quarter_s[3] >= TREND * (quarter_s[0] + quarter_s[1]);
}

/* Counts the calls of a place before each moment. */
static void number_moments(const struct diagnosis *diagnosis, uint32_t place, struct late_moment *moments, size_t n)
{
    uint32_t nth = 0;
    size_t at = n > 0 ? run_timed_call_of(diagnosis->calls, moments[0].step) : 0;
    while (at > 0 &&
           diagnosis->program.places[diagnosis->program.steps[diagnosis->calls->rows[at - 1].first_step].place].rank ==
               diagnosis->program.places[place].rank)
        at--;
    for (size_t i = 0; i < n; i++) {
        size_t call = run_timed_call_of(diagnosis->calls, moments[i].step);
        for (; at <= call; at++)
            nth += diagnosis->program.steps[diagnosis->calls->rows[at].first_step].place == place;
        moments[i].nth = nth;
    }
}

/* Fills moments with the events of a rank at a site, in the order of its steps. */
static size_t find_moments(const struct diagnosis *diagnosis, uint32_t site, const struct site_rank *rank,
                           struct late_moment *moments)
{
    size_t n = 0;
    for (size_t i = 0; diagnosis->calls->n > 0 && i < diagnosis->n_events; i++) {
        const struct diagnosis_event *event = &diagnosis->events[i];
        if (event->site != site || event->rank != rank->rank || event->step >= diagnosis->program.n_steps)
            continue;
        const struct run_timed_call *call = &diagnosis->calls->rows[run_timed_call_of(diagnosis->calls, event->step)];
        moments[n++] = (struct late_moment){event->step, call->begin_s, event->cost_s, 0};
    }
    if (n > 0)
        qsort(moments, n, sizeof *moments, compare_moments);
    number_moments(diagnosis, rank->place, moments, n);
    return n;
}

/* Returns whether the rank is the root for which all wait at the site, by the costliest event there. */
static bool is_root(const struct diagnosis *diagnosis, uint32_t site, uint32_t rank)
{
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < diagnosis->n_events; i++) {
        const struct diagnosis_event *event = &diagnosis->events[i];
        if (event->site != site || event->rank != rank || event->step >= program->n_steps)
            continue;
        const struct run_step *step = &program->steps[event->step];
        return (step->kind == STEP_COLLECTIVE || step->kind == STEP_BEGIN) &&
               program->collectives[program->members[step->object].collective].dependence == DEPENDS_ON_ROOT;
    }
    return false;
}

/* Lets the rank compute no longer before a call than the others do in the median; where no other rank comes there, or
 * it is the root, it does its part of the work only. */
static struct run_mend *mend_late(const struct diagnosis *diagnosis, const struct site_sums *sums,
                                  const struct site_rank *late, bool is_root)
{
    struct run_mend *mend = mend_new();
    double most_s = 0, *mean_s = xcalloc(sums->n_ranks, sizeof *mean_s);
    size_t n = 0;
    for (size_t i = 0; i < sums->n_ranks && !is_root; i++)
        if (&sums->ranks[i] != late && diagnosis->places[sums->ranks[i].place].calls > 0)
            mean_s[n++] = sums->ranks[i].computed_s / diagnosis->places[sums->ranks[i].place].calls;
    if (n > 0)
        most_s = unsorted_median(mean_s, n);
    free(mean_s);
    if (n > 0)
        mend_most(&diagnosis->program, mend, late->place, most_s);
    else
        mend_scale(&diagnosis->program, mend, late->place, 1.0 / (double)diagnosis->program.n_ranks);
    return mend;
}

static int add_late_rank(struct diagnosis *diagnosis, const struct site_sums *sums, const struct site_rank *rank)
{
    struct finding finding = diagnosis_finding(FINDING_LATE_RANK, rank->cost_s);
    struct late_moment *moments = xcalloc(diagnosis->n_events, sizeof *moments);
    char site[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT], when[DIAGNOSIS_TEXT] = "";
    uint32_t calls = diagnosis->places[rank->place].calls, late = rank->late < calls ? rank->late : calls;
    double others_s = diagnosis->all_s - diagnosis->rank_s[rank->rank];
    double percent = 100 * fmin(rank->cost_s / others_s, 1);
    size_t n = find_moments(diagnosis, sums->site, rank, moments);
    finding.rank = rank->rank;
    if (find_stretch(moments, n, calls, &finding)) {
        finding.kind = FINDING_LATE_STRETCH;
        finding.begin_s = diagnosis_when_s(diagnosis, finding.begin_s);
        finding.end_s = diagnosis_when_s(diagnosis, finding.end_s);
        snprintf(when, sizeof when, ", all from %.3g to %.3g s", finding.begin_s, finding.end_s);
    } else if (is_trend(moments, n)) {
        finding.kind = FINDING_LATE_TREND;
        snprintf(when, sizeof when, ", more and more");
    } else if (is_root(diagnosis, sums->site, rank->rank)) {
        finding.kind = FINDING_ROOT_PART;
    } else if (late > 1 && late < OUTLIER_CALLS * calls) {
        finding.kind = FINDING_OUTLIERS;
        snprintf(when, sizeof when, ", all over the run");
    }
    free(moments);
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    finding.mend = mend_late(diagnosis, sums, rank, finding.kind == FINDING_ROOT_PART);
    if (finding.kind == FINDING_ROOT_PART)
        return diagnosis_add(diagnosis, finding,
                             "rank %" PRIu32
                             ", the root, works before %s while the others wait: %s, %.0f %% of their time",
                             rank->rank, site, diagnosis_seconds(waited, rank->cost_s), percent);
    return diagnosis_add(diagnosis, finding,
                         "rank %" PRIu32 " %s %s in %" PRIu32 " of %" PRIu32
                         " calls%s; the others wait %s for it, %.0f %% of their time",
                         rank->rank, diagnosis->sites[sums->site].collective ? "arrives last at" : "comes late to",
                         site, late, calls, when, diagnosis_seconds(waited, rank->cost_s), percent);
}

/* Says whether what ranks waited counts though it may have been only once. */
static bool counts_once(const struct diagnosis *diagnosis, const struct site_sums *sums, double cost_s)
{
    return cost_s >= ONCE_SHARE * diagnosis->all_s || (sums->strong == 1 && sums->direct_s >= ONCE_S);
}

static int late_rank_find(struct diagnosis *diagnosis, const struct site_sums *sums, bool *found)
{
    size_t n_late = 1, most = diagnosis->program.n_ranks / 8;
    most = most < 1 ? 1 : most < MOST_LATE ? most : MOST_LATE;
    while (n_late < sums->n_ranks && sums->ranks[n_late].cost_s >= sums->ranks[0].cost_s / 2)
        n_late++;
    if (diagnosis->program.n_ranks < 2 || n_late > most)
        return 0;
    double cost_s = 0;
    for (size_t i = 0; i < n_late; i++)
        cost_s += sums->ranks[i].cost_s;
    if (by_chance(diagnosis, sums, n_late) && !counts_once(diagnosis, sums, cost_s))
        return 0;
    if (!stand_apart(diagnosis, sums, n_late))
        return 0;
    for (size_t i = 0; i < n_late; i++) {
        const struct site_rank *late = &sums->ranks[i];
        if (diagnosis->busy_share[late->rank] >= 0.5) /* the scheduler's doing as much as its own */
            continue;
        if (late->cost_s < ELSEWHERE_SHARE * diagnosis->all_s && !is_root(diagnosis, sums->site, late->rank) &&
            !does_more(diagnosis, sums, late, n_late))
            continue;
        if (!counts_once(diagnosis, sums, late->cost_s) && !is_lasting(diagnosis, late->rank, LATE_CHANCE))
            continue;
        *found = true;
        if (add_late_rank(diagnosis, sums, &sums->ranks[i]) != 0)
            return -1;
    }
    return 0;
}

/* Finds that computation before a call is divided unevenly among the ranks, the same way all the time.
 *
 * The calls are divided into blocks, one after the other. In each the rank that computes most is held against the mean
 * of all: Student's t of these differences must exclude chance, whichever rank it might have been. Neighbouring calls
 * would not do for that: what disturbs a processor lasts for many of them. */
/* Least share of the waiting that lasting differences must explain. */
#define LASTING 0.5
/* Probability of a balanced job to be named. */
#define UNEVEN_CHANCE 0.001

enum { LEAST_CALLS = 4 };

/* Returns how much more a rank computes than the mean of all, anywhere: where ranks go different ways through the
 * program, less work before one call may be more before another one. */
static double more_than_all(const struct diagnosis *diagnosis, uint32_t rank)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < diagnosis->program.n_places; i++)
        sum_s += diagnosis_computed(diagnosis, i);
    return computed_by(diagnosis, rank) - sum_s / (double)diagnosis->program.n_ranks;
}

/* Gives the ranks that compute more than the mean so much. */
static struct run_mend *mend_uneven(const struct diagnosis *diagnosis, const struct site_sums *sums)
{
    struct run_mend *mend = mend_new();
    double mean_s = sums->computed_s / (double)sums->n_ranks;
    for (size_t i = 0; i < sums->n_ranks; i++)
        if (sums->ranks[i].computed_s > mean_s)
            mend_scale(&diagnosis->program, mend, sums->ranks[i].place, mean_s / sums->ranks[i].computed_s);
    return mend;
}

static int imbalance_find(struct diagnosis *diagnosis, const struct site_sums *sums, bool *found)
{
    const struct site_rank *most = &sums->ranks[0], *least = most;
    double mean_s = sums->computed_s / (double)sums->n_ranks;
    for (size_t i = 1; i < sums->n_ranks; i++) {
        most = sums->ranks[i].computed_s > most->computed_s ? &sums->ranks[i] : most;
        least = sums->ranks[i].computed_s < least->computed_s ? &sums->ranks[i] : least;
    }
    if (sums->n_ranks < 2 || sums->n_ranks < diagnosis->program.n_ranks / 2 ||
        diagnosis->places[most->place].calls < LEAST_CALLS)
        return 0;
    double cost_s = fmin((most->computed_s - mean_s) * (double)sums->n_ranks, sums->cost_s), own_s = 0;
    for (size_t i = 0; i < sums->n_ranks; i++) /* what the scheduler does is another finding */
        own_s += sums->ranks[i].cost_s * (1 - diagnosis->busy_share[sums->ranks[i].rank]);
    if (!(cost_s >= LASTING * own_s) || !diagnosis_outlasts_all_queues(diagnosis, cost_s) ||
        more_than_all(diagnosis, most->rank) < LASTING * (most->computed_s - mean_s) ||
        !is_lasting_there(diagnosis, sums, most, UNEVEN_CHANCE))
        return 0;
    struct finding finding = diagnosis_finding(FINDING_IMBALANCE, cost_s);
    finding.rank = most->rank;
    finding.partner = least->rank;
    char site[DIAGNOSIS_TEXT], most_text[DIAGNOSIS_TEXT], least_text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    *found = true;
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    finding.mend = mend_uneven(diagnosis, sums);
    return diagnosis_add(diagnosis, finding,
                         "work before %s is uneven: %s on rank %" PRIu32 ", %s on rank %" PRIu32
                         ", load balance %.0f %%; ranks wait %s for it",
                         site, diagnosis_seconds(most_text, most->computed_s), most->rank,
                         diagnosis_seconds(least_text, least->computed_s), least->rank, 100 * mean_s / most->computed_s,
                         diagnosis_seconds(waited, cost_s));
}

/* Finds a call site that is reached late, whichever rank runs it: others wait for most of what ranks compute before it,
 * nearly each time, and other sites that post the same way are not late. */
#define LATE_CALLS 0.6  /* of its calls that are late, at least */
#define AWAITED    0.5  /* of its computation for which others wait, at least */
#define LIKE       0.25 /* of its cost a call that one of another site may have, at most */

enum { LEAST_LATE = 4 };

/* like_calls, like_cost_s: those of other sites that post the same way. */
static int late_site_find(struct diagnosis *diagnosis, const struct site_sums *sums, uint64_t like_calls,
                          double like_cost_s)
{
    uint64_t n_ranks = 0;
    for (size_t i = 0; i < sums->n_ranks; i++)
        n_ranks += sums->ranks[i].late > 0;
    if (sums->late < LEAST_LATE || (double)sums->late < LATE_CALLS * (double)sums->calls ||
        sums->direct_s < AWAITED * sums->computed_s || like_calls < LEAST_LATE ||
        like_cost_s / (double)like_calls > LIKE * sums->cost_s / (double)sums->calls)
        return 0;
    struct finding finding = diagnosis_finding(FINDING_LATE_SITE, sums->cost_s);
    char site[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    finding.mend = mend_new();
    mend_site(&diagnosis->program, finding.mend, sums->site, MEND_EARLIER);
    return diagnosis_add(diagnosis, finding,
                         "%s is reached late in %" PRIu64 " of %" PRIu64 " calls, by %" PRIu64
                         " rank%s; others wait %s for it, %.0f %% of all time",
                         site, sums->late, sums->calls, n_ranks, n_ranks == 1 ? "" : "s",
                         diagnosis_seconds(waited, sums->cost_s), 100 * sums->cost_s / diagnosis->all_s);
}

enum { POSTS_SEND = 1, POSTS_RECEIVE = 2 };

/* State of the walk over all sites. */
struct site_walk {
    struct diagnosis *diagnosis;
    size_t *first;     /* [n_sites + 1] into by_site */
    uint32_t *by_site; /* [n_places] places in the order of sites, then ranks */
    uint8_t *posts;    /* [n_sites] */
    uint64_t *calls;   /* [n_sites] */
    double *cost_s;    /* [n_sites] */
    uint32_t *number;  /* [n_ranks] of the rank among those of the site */
    struct site_rank *ranks;
};

static void sort_places(struct site_walk *walk)
{
    const struct run_program *program = &walk->diagnosis->program;
    for (size_t i = 0; i < program->n_places; i++)
        walk->first[program->places[i].site + 1]++;
    for (size_t i = 0; i < program->n_sites; i++)
        walk->first[i + 1] += walk->first[i];
    for (size_t i = program->n_places; i-- > 0;)
        walk->by_site[--walk->first[program->places[i].site + 1]] = (uint32_t)i;
    for (size_t i = 0; i < program->n_sites; i++)
        walk->first[i] = walk->first[i + 1];
    walk->first[program->n_sites] = program->n_places;
}

/* Sums by site what all of them are compared by. */
static void sum_late_sites(struct site_walk *walk)
{
    const struct diagnosis *diagnosis = walk->diagnosis;
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < program->n_places; i++)
        walk->calls[program->places[i].site] += diagnosis->places[i].calls;
    for (size_t i = 0; i < diagnosis->n_events; i++)
        walk->cost_s[diagnosis->events[i].site] += diagnosis->events[i].cost_s;
    for (size_t i = 0; i < program->n_steps; i++) {
        uint32_t site = program->places[program->steps[i].place].site;
        walk->posts[site] |= program->steps[i].kind == STEP_SEND      ? POSTS_SEND
                             : program->steps[i].kind == STEP_RECEIVE ? POSTS_RECEIVE
                                                                      : 0;
    }
}

static int compare_late_ranks(const void *left, const void *right)
{
    const struct site_rank *a = left, *b = right;
    return ORDER(b->cost_s, a->cost_s) ?: ORDER(a->rank, b->rank);
}

static void fill_ranks(struct site_walk *walk, struct site_sums *sums)
{
    const struct diagnosis *diagnosis = walk->diagnosis;
    for (size_t i = walk->first[sums->site]; i < walk->first[sums->site + 1]; i++) {
        uint32_t place = walk->by_site[i], rank = diagnosis->program.places[place].rank;
        walk->number[rank] = (uint32_t)sums->n_ranks;
        sums->ranks[sums->n_ranks] =
            (struct site_rank){.rank = rank, .place = place, .computed_s = diagnosis_computed(diagnosis, place)};
        sums->computed_s += sums->ranks[sums->n_ranks++].computed_s;
    }
}

/* Sums events[0 .. n), the costliest first. */
static void fill_sums(struct site_walk *walk, const struct diagnosis_event *events, size_t n, struct site_sums *sums)
{
    double strong_s = 0;
    for (size_t i = 0; i < n && strong_s < SITE_STRONG * sums->cost_s; i++, sums->strong++) {
        strong_s += events[i].cost_s;
        sums->ranks[walk->number[events[i].rank]].strong++;
    }
    for (size_t i = 0; i < n; i++) {
        struct site_rank *rank = &sums->ranks[walk->number[events[i].rank]];
        rank->cost_s += events[i].cost_s;
        sums->direct_s += events[i].direct_s;
        if (events[i].cost_s < 0.1 * strong_s / sums->strong)
            continue;
        rank->late++;
        sums->late++;
    }
    qsort(sums->ranks, sums->n_ranks, sizeof *sums->ranks, compare_late_ranks);
}

static int judge_site(struct site_walk *walk, const struct diagnosis_event *events, size_t n)
{
    struct diagnosis *diagnosis = walk->diagnosis;
    struct site_sums sums = {.site = events[0].site, .ranks = walk->ranks};
    bool found = false;
    sums.cost_s = walk->cost_s[sums.site];
    sums.calls = walk->calls[sums.site];
    if (!(sums.cost_s >= FINDING_LEAST_SHARE * diagnosis->all_s))
        return 0;
    fill_ranks(walk, &sums);
    fill_sums(walk, events, n, &sums);
    int result = late_rank_find(diagnosis, &sums, &found);
    if (result == 0 && !found)
        result = imbalance_find(diagnosis, &sums, &found);
    if (result != 0 || found || diagnosis->sites[sums.site].collective)
        return result;
    uint64_t like_calls = 0;
    double like_cost_s = 0;
    for (size_t site = 0; site < diagnosis->program.n_sites; site++)
        if (site != sums.site && walk->posts[site] == walk->posts[sums.site]) {
            like_calls += walk->calls[site];
            like_cost_s += walk->cost_s[site];
        }
    return walk->posts[sums.site] == 0 ? 0 : late_site_find(diagnosis, &sums, like_calls, like_cost_s);
}

int diagnose_late_ranks(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct site_walk walk = {.diagnosis = diagnosis,
                             .first = xcalloc(program->n_sites + 2, sizeof *walk.first),
                             .by_site = xcalloc(program->n_places, sizeof *walk.by_site),
                             .posts = xcalloc(program->n_sites, sizeof *walk.posts),
                             .calls = xcalloc(program->n_sites, sizeof *walk.calls),
                             .cost_s = xcalloc(program->n_sites, sizeof *walk.cost_s),
                             .number = xcalloc(program->n_ranks, sizeof *walk.number),
                             .ranks = xcalloc(program->n_ranks, sizeof *walk.ranks)};
    int result = 0;
    sort_places(&walk);
    sum_late_sites(&walk);
    for (size_t i = 0, end; result == 0 && i < diagnosis->n_events; i = end) {
        for (end = i + 1; end < diagnosis->n_events && diagnosis->events[end].site == diagnosis->events[i].site;)
            end++;
        result = judge_site(&walk, diagnosis->events + i, end - i);
    }
    free(walk.first);
    free(walk.by_site);
    free(walk.posts);
    free(walk.calls);
    free(walk.cost_s);
    free(walk.number);
    free(walk.ranks);
    return result;
}
