/* Finds what one-sided communication waits for without need: locks of several ranks on one target, a flush behind each
 * transfer, fences of all between which few transfer.
 *
 * What locks cost is told from chance by the shortest time that the calls of one took; how many transfers lie between
 * two flushes, and who transfers between two fences, is counted. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/statistics.h"

/* Least part of the locks that meet others; most ranks that transfer, of all, between fences; transfers to a flush. */
#define RMA_MEETING  0.5
#define RMA_FEW      0.5
#define RMA_TO_FLUSH 1.5

enum { RMA_LEAST_LOCKS = 8, RMA_LEAST_FLUSHES = 100, RMA_LEAST_FENCES = 8 };

/* From a lock to its unlock. */
struct rma_epoch {
    int64_t comm, window, target, rank, begin_ns, end_ns, waited_ns, callsite;
};

struct rma_site {
    uint64_t flushes, transfers;
    double transfer_s; /* of their calls */
    uint64_t fences;
};

/* Has the ranks that transferred between two fences of a window. */
struct rma_fence {
    int64_t comm, window, number, rank;
};

struct one_sided {
    struct diagnosis *diagnosis;
    struct rma_epoch *epochs; /* [n_epochs] */
    struct rma_epoch *open;   /* [n_open] of the rank at hand */
    struct rma_site *sites;   /* [n_sites] */
    struct rma_fence *fences; /* [n_fences] ranks that transferred, several times perhaps */
    size_t n_epochs, n_open, n_fences;
    int64_t rank, transfers, fenced; /* of the rank at hand: transfers since its last flush, fences so far */
    int64_t transfer_ns;             /* of these transfers' calls */
};

static bool one_sided_begins(const char *function, const char *with)
{
    return strncmp(function, with, strlen(with)) == 0;
}

static void one_sided_close_epoch(struct one_sided *all, int64_t window, int64_t target, int64_t end_ns)
{
    for (size_t i = all->n_open; i-- > 0;)
        if (all->open[i].window == window && all->open[i].target == target) {
            all->open[i].end_ns = end_ns;
            ARRAY_ADD(all->epochs, all->n_epochs, all->open[i]);
            all->open[i] = all->open[--all->n_open];
            return;
        }
}

struct rma_row {
    int64_t rank, comm, window, target, begin_ns, call_ns, callsite;
    const char *function;
};

static void one_sided_take_lock(struct one_sided *all, const struct rma_row *row)
{
    if (strcmp(row->function, "MPI_Win_lock") == 0)
        ARRAY_ADD(
            all->open, all->n_open,
            (struct rma_epoch){row->comm, row->window, row->target, row->rank, row->begin_ns, 0, 0, row->callsite});
    for (size_t i = 0; i < all->n_open; i++)
        if (all->open[i].window == row->window && all->open[i].target == row->target)
            all->open[i].waited_ns += row->call_ns;
    if (strcmp(row->function, "MPI_Win_unlock") == 0)
        one_sided_close_epoch(all, row->window, row->target, row->begin_ns + row->call_ns);
}

static void one_sided_take_row(struct one_sided *all, const struct rma_row *row)
{
    struct diagnosis *diagnosis = all->diagnosis;
    if (row->rank != all->rank)
        all->n_open = 0, all->transfers = all->transfer_ns = all->fenced = 0, all->rank = row->rank;
    one_sided_take_lock(all, row);
    if (one_sided_begins(row->function, "MPI_Win_flush")) {
        uint32_t site = diagnosis_site_of(diagnosis, row->function, row->callsite);
        if (site != UINT32_MAX) {
            all->sites[site].flushes++;
            all->sites[site].transfers += (uint64_t)all->transfers;
            all->sites[site].transfer_s += (double)all->transfer_ns * 1e-9;
        }
        all->transfers = all->transfer_ns = 0;
    } else if (strcmp(row->function, "MPI_Win_fence") == 0) {
        uint32_t site = diagnosis_site_of(diagnosis, row->function, row->callsite);
        if (site != UINT32_MAX)
            all->sites[site].fences++;
        all->fenced++;
    } else if (!one_sided_begins(row->function, "MPI_Win_") && row->target >= 0) {
        all->transfers++;
        all->transfer_ns += row->call_ns;
        ARRAY_ADD(all->fences, all->n_fences, (struct rma_fence){row->comm, row->window, all->fenced, row->rank});
        ARRAY_ADD(all->fences, all->n_fences, (struct rma_fence){row->comm, row->window, all->fenced, row->target});
    }
}

static int one_sided_read_rows(struct one_sided *all)
{
    struct diagnosis *diagnosis = all->diagnosis;
    struct cursor rows;
    struct pool names = {0};
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT rank, coalesce(comm, -1), coalesce(window, -1), coalesce(target, -1), begin_ns, call_ns, "
                "coalesce(callsite, -1), function FROM rma ORDER BY rank, begin_ns, id",
                diagnosis->error);
    while (cursor_next(&rows)) {
        one_sided_take_row(all, &(struct rma_row){cursor_integer(&rows, 0), cursor_integer(&rows, 1),
                                                  cursor_integer(&rows, 2), cursor_integer(&rows, 3),
                                                  cursor_integer(&rows, 4), cursor_integer(&rows, 5),
                                                  cursor_integer(&rows, 6), cursor_text(&rows, 7, &names)});
        pool_release(&names);
    }
    pool_release(&names);
    return cursor_close(&rows);
}

static int one_sided_compare_epochs(const void *left, const void *right)
{
    const struct rma_epoch *a = left, *b = right;
    return ORDER(a->comm, b->comm)
           ?: ORDER(a->window, b->window)
           ?: ORDER(a->target, b->target)
           ?: ORDER(a->begin_ns, b->begin_ns)
           ?: ORDER(a->rank, b->rank);
}

static bool one_sided_is_same(const struct rma_epoch *a, const struct rma_epoch *b)
{
    return a->comm == b->comm && a->window == b->window && a->target == b->target;
}

/* Judges the locks of one target, by their begins. */
static int one_sided_judge_locks(struct diagnosis *diagnosis, const struct rma_epoch *epochs, size_t n)
{
    int64_t least_ns = INT64_MAX, end_ns = INT64_MIN, ranks = 0;
    size_t met = 0;
    double sum_s = 0;
    bool *meets = xcalloc(n, sizeof *meets);
    for (size_t i = 0, last = 0; i < n; i++) {
        least_ns = epochs[i].waited_ns < least_ns ? epochs[i].waited_ns : least_ns;
        if (i > 0 && epochs[i].begin_ns < end_ns && epochs[i].rank != epochs[last].rank)
            meets[i] = meets[last] = true;
        if (epochs[i].end_ns > end_ns) {
            end_ns = epochs[i].end_ns;
            last = i;
        }
        ranks = epochs[i].rank > ranks ? epochs[i].rank : ranks;
    }
    for (size_t i = 0; i < n; i++) {
        met += meets[i];
        sum_s += meets[i] ? (double)(epochs[i].waited_ns - least_ns) * 1e-9 : 0;
    }
    free(meets);
    struct finding finding = diagnosis_finding(FINDING_SERIAL_LOCKS, sum_s);
    uint32_t site = diagnosis_site_of(diagnosis, "MPI_Win_lock", epochs[0].callsite);
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (n < RMA_LEAST_LOCKS || (double)met < RMA_MEETING * (double)n || site == UINT32_MAX)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.rank = epochs[0].target;
    finding.mend = mend_new();
    mend_rests(&diagnosis->program, finding.mend, site, 0);
    return diagnosis_add(
        diagnosis, finding,
        "%zu of %zu locks of rank %" PRId64 "'s window meet others: ranks wait %s from %s on, %.0f %% of all time", met,
        n, epochs[0].target, diagnosis_seconds(waited, sum_s), text, 100 * sum_s / diagnosis->all_s);
}

static int one_sided_judge_flushes(struct diagnosis *diagnosis, uint32_t site, const struct rma_site *sums)
{
    double time_s = diagnosis_site_s(diagnosis, site);
    struct finding finding = diagnosis_finding(FINDING_MANY_FLUSHES, time_s);
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT];
    if (sums->flushes < (uint64_t)RMA_LEAST_FLUSHES * diagnosis->sites[site].n_ranks || sums->transfers == 0 ||
        (double)sums->transfers > RMA_TO_FLUSH * (double)sums->flushes ||
        time_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    /* One flush of many still completes each of them: about as long as the transfer's own call. */
    finding.mend = mend_new();
    mend_rests(&diagnosis->program, finding.mend, site, fmin(sums->transfer_s / time_s, 1));
    return diagnosis_add(
        diagnosis, finding,
        "%s comes %" PRIu64 " times, behind %.2g transfer%s each: %s, %.0f %% of all time; once behind many does", text,
        sums->flushes, (double)sums->transfers / (double)sums->flushes, sums->transfers == sums->flushes ? "" : "s",
        diagnosis_seconds(took, time_s), 100 * time_s / diagnosis->all_s);
}

static int one_sided_compare_fences(const void *left, const void *right)
{
    const struct rma_fence *a = left, *b = right;
    return ORDER(a->comm, b->comm)
           ?: ORDER(a->window, b->window) ?: ORDER(a->number, b->number) ?: ORDER(a->rank, b->rank);
}

/* Returns how many ranks transfer between two fences, on average over those between which any does. */
static double one_sided_ranks_between_fences(struct one_sided *all)
{
    uint64_t pairs = 0, between = 0;
    qsort(all->fences, all->n_fences, sizeof *all->fences, one_sided_compare_fences);
    for (size_t i = 0; i < all->n_fences; i++) {
        const struct rma_fence *now = &all->fences[i], *before = i > 0 ? now - 1 : NULL;
        bool same = before != NULL && now->comm == before->comm && now->window == before->window &&
                    now->number == before->number;
        between += !same;
        pairs += !same || now->rank != before->rank;
    }
    return (double)pairs / (double)between;
}

/* Judges all fences together: one that opens and one that closes belong to each other. The place that costs most stands
 * for them. */
static int one_sided_judge_fences(struct one_sided *all)
{
    struct diagnosis *diagnosis = all->diagnosis;
    struct finding finding = diagnosis_finding(FINDING_WIDE_FENCE, 0);
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    uint32_t costliest = UINT32_MAX;
    uint64_t calls = 0;
    for (uint32_t i = 0; i < diagnosis->program.n_sites; i++) {
        if (all->sites[i].fences == 0)
            continue;
        double waits_s = diagnosis->sites[i].measured.part_s[RUN_COLLECTIVE_WAIT];
        if (costliest == UINT32_MAX || waits_s > diagnosis->sites[costliest].measured.part_s[RUN_COLLECTIVE_WAIT])
            costliest = i;
        finding.cost_s += waits_s;
        calls += all->sites[i].fences;
    }
    if (costliest == UINT32_MAX || all->n_fences == 0)
        return 0;
    double ranks = one_sided_ranks_between_fences(all);
    uint32_t n_ranks = diagnosis->sites[costliest].n_ranks;
    if (calls < (uint64_t)RMA_LEAST_FENCES * n_ranks || ranks > RMA_FEW * n_ranks ||
        !diagnosis_outlasts_queues(diagnosis, finding.cost_s))
        return 0;
    if (diagnosis_name_site(diagnosis, costliest, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    for (uint32_t i = 0; i < diagnosis->program.n_sites; i++)
        if (all->sites[i].fences > 0)
            mend_site(&diagnosis->program, finding.mend, i, MEND_APART);
    return diagnosis_add(
        diagnosis, finding,
        "%" PRIu32 " ranks meet in %s, but only %.2g transfer between two fences: waits of %s, %.0f %% of all time",
        n_ranks, text, ranks, diagnosis_seconds(waited, finding.cost_s), 100 * finding.cost_s / diagnosis->all_s);
}

int diagnose_one_sided(struct diagnosis *diagnosis)
{
    struct one_sided all = {
        .diagnosis = diagnosis, .sites = xcalloc(diagnosis->program.n_sites, sizeof *all.sites), .rank = -1};
    int result = one_sided_read_rows(&all);
    if (all.n_epochs > 0)
        qsort(all.epochs, all.n_epochs, sizeof *all.epochs, one_sided_compare_epochs);
    for (size_t i = 0, end; result == 0 && i < all.n_epochs; i = end) {
        for (end = i + 1; end < all.n_epochs && one_sided_is_same(&all.epochs[i], &all.epochs[end]);)
            end++;
        result = one_sided_judge_locks(diagnosis, all.epochs + i, end - i);
    }
    for (uint32_t site = 0; result == 0 && site < diagnosis->program.n_sites; site++)
        result = one_sided_judge_flushes(diagnosis, site, &all.sites[site]);
    if (result == 0)
        result = one_sided_judge_fences(&all);
    free(all.epochs);
    free(all.open);
    free(all.sites);
    free(all.fences);
    return result;
}
