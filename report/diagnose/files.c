/* Finds accesses to files that keep ranks waiting: one rank does all while the others wait, many small ones, ranks that
 * access pieces of one file in turn by calls of their own. Who accesses what is counted, not left to chance; that
 * others wait meanwhile is measured. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "interpose/sums/crowding.h"
#include "report/diagnose/diagnosis.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Part of the time in accesses that one rank has; of neighbouring pieces that other ranks have. */
#define ACCESS_ALONE 0.9
#define ACCESS_TURNS 0.5

enum { ACCESS_SMALL_BYTES = 4096, ACCESS_ENOUGH_BYTES = 65536, ACCESS_LEAST_ACCESSES = 100, ACCESS_LEAST_PIECES = 16 };

struct found_access {
    uint32_t site;
    int64_t rank, comm, file, offset, bytes, begin_ns, call_ns; /* offset -1: not given */
};

struct accesses {
    struct found_access *rows; /* [n] by rank and time, then by place in the file */
    size_t n;
};

/* Sums of a site. */
struct access_site {
    double n, bytes, time_s;
    uint32_t n_ranks;
    int64_t last_rank;
    uint64_t neighbours, turns; /* pieces next to each other in a file, and those of two ranks */
};

static int accesses_read_rows(struct diagnosis *diagnosis, struct accesses *accesses)
{
    struct cursor rows;
    struct pool names = {0};
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT rank, coalesce(comm, -1), coalesce(file, -1), coalesce(offset, -1), bytes, begin_ns, call_ns, "
                "coalesce(callsite, -1), function FROM file_call WHERE collective = 0 AND bytes > 0 AND failed = 0 "
                "ORDER BY rank, begin_ns, id",
                diagnosis->error);
    while (cursor_next(&rows)) {
        uint32_t site = diagnosis_site_of(diagnosis, cursor_text(&rows, 8, &names), cursor_integer(&rows, 7));
        struct found_access access = {.site = site,
                                      .rank = cursor_integer(&rows, 0),
                                      .comm = cursor_integer(&rows, 1),
                                      .file = cursor_integer(&rows, 2),
                                      .offset = cursor_integer(&rows, 3),
                                      .bytes = cursor_integer(&rows, 4),
                                      .begin_ns = cursor_integer(&rows, 5),
                                      .call_ns = cursor_integer(&rows, 6)};
        pool_release(&names);
        if (site != UINT32_MAX && access.rank >= 0 && (size_t)access.rank < diagnosis->program.n_ranks)
            ARRAY_ADD(accesses->rows, accesses->n, access);
    }
    pool_release(&names);
    return cursor_close(&rows);
}

/* Returns how long the rank accessed files until then, of rows[n] of its accesses; before_s[i]: until row i. */
static double accesses_until_s(const struct found_access *rows, const double *before_s, size_t n, double at_s)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((double)rows[middle].begin_ns * 1e-9 < at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? 0
                    : before_s[low - 1] +
                          fmin(at_s - (double)rows[low - 1].begin_ns * 1e-9, (double)rows[low - 1].call_ns * 1e-9);
}

/* Returns what others waited for the rank while it accessed files. */
static double accesses_waited_s(const struct diagnosis *diagnosis, int64_t rank, const struct found_access *rows,
                                size_t n)
{
    const struct run_program *program = &diagnosis->program;
    double sum_s = 0, *before_s = xcalloc(n + 1, sizeof *before_s);
    for (size_t i = 0; i < n; i++)
        before_s[i + 1] = before_s[i] + (double)rows[i].call_ns * 1e-9;
    for (size_t i = 0; i < diagnosis->recorded.n_waits; i++) {
        const struct run_wait *wait = &diagnosis->recorded.waits[i];
        if (program->strands[wait->cause.strand].rank == rank)
            sum_s += accesses_until_s(rows, before_s, n, wait->cause.at_s) -
                     accesses_until_s(rows, before_s, n, wait->begin.at_s);
    }
    free(before_s);
    return sum_s;
}

static int accesses_judge_one(struct diagnosis *diagnosis, const struct accesses *accesses)
{
    double *rank_s = xcalloc(diagnosis->program.n_ranks, sizeof *rank_s), sum_s = 0;
    size_t first = 0, end, worst = 0;
    for (size_t i = 0; i < accesses->n; i++) {
        rank_s[accesses->rows[i].rank] += (double)accesses->rows[i].call_ns * 1e-9;
        sum_s += (double)accesses->rows[i].call_ns * 1e-9;
    }
    for (size_t i = 0; i < diagnosis->program.n_ranks; i++)
        worst = rank_s[i] > rank_s[worst] ? i : worst;
    double own_s = rank_s[worst];
    free(rank_s);
    if (diagnosis->program.n_ranks < 2 || !(own_s > 0) || own_s < ACCESS_ALONE * sum_s)
        return 0;
    while (first < accesses->n && accesses->rows[first].rank != (int64_t)worst)
        first++;
    for (end = first; end < accesses->n && accesses->rows[end].rank == (int64_t)worst;)
        end++;
    double cost_s = accesses_waited_s(diagnosis, (int64_t)worst, accesses->rows + first, end - first);
    struct finding finding = diagnosis_finding(FINDING_ONE_WRITER, cost_s);
    uint32_t site = accesses->rows[first].site;
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (cost_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    finding.mend = mend_new();
    for (size_t i = first; i < end; i++) {
        uint32_t place = diagnosis_place_of(diagnosis, (uint32_t)worst, accesses->rows[i].site);
        if (place != UINT32_MAX && (i == first || accesses->rows[i].site != accesses->rows[i - 1].site))
            mend_rest(&diagnosis->program, finding.mend, place, 1.0 / (double)diagnosis->program.n_ranks);
    }
    finding.rank = (int64_t)worst;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    return diagnosis_add(
        diagnosis, finding,
        "rank %zu alone accesses files, at %s, for %.2g s while the others wait %s, %.0f %% of all time", worst, text,
        own_s, diagnosis_seconds(waited, cost_s), 100 * cost_s / diagnosis->all_s);
}

static int accesses_compare_pieces(const void *left, const void *right)
{
    const struct found_access *a = left, *b = right;
    return ORDER(a->comm, b->comm) ?: ORDER(a->file, b->file) ?: ORDER(a->offset, b->offset) ?: ORDER(a->rank, b->rank);
}

/* Counts pieces next to each other by place in the file; the same piece once. */
static void accesses_count_turns(struct accesses *accesses, struct access_site *sites)
{
    const struct found_access *before = NULL;
    if (accesses->n > 0)
        qsort(accesses->rows, accesses->n, sizeof *accesses->rows, accesses_compare_pieces);
    for (size_t i = 0; i < accesses->n; i++) {
        const struct found_access *now = &accesses->rows[i];
        if (now->offset < 0)
            continue;
        bool same_file = before != NULL && before->comm == now->comm && before->file == now->file;
        if (same_file && before->offset == now->offset && before->rank == now->rank)
            continue;
        if (same_file) {
            sites[now->site].neighbours++;
            sites[now->site].turns += before->rank != now->rank;
        }
        before = now;
    }
}

/* Where ranks share processors, lets them wait for these less by the part of their use that goes. */
static int accesses_mend_queues(const struct diagnosis *diagnosis, struct run_mend *mend, double gone_s)
{
    const struct run_program *program = &diagnosis->program;
    double used_s = 0;
    struct crowding crowded;
    int result = crowding_find(diagnosis->database, diagnosis->path, &crowded, diagnosis->error);
    for (size_t i = 0; i < program->n_ranks; i++)
        used_s += fmax(program->ranks[i].run_s, 0);
    if (result != 0 || crowded.nodes == 0 || !(used_s > 0))
        return result;
    for (uint32_t i = 0; i < program->n_places; i++)
        mend_scale(program, mend, i, 1 - diagnosis->busy_share[program->places[i].rank] * fmin(gone_s / used_s, 1));
    return 0;
}

static int accesses_judge_site(struct diagnosis *diagnosis, uint32_t site, const struct access_site *sums)
{
    struct finding finding = diagnosis_finding(FINDING_SMALL_ACCESSES, sums->time_s);
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT];
    double mean = sums->bytes / sums->n, each = sums->n / sums->n_ranks;
    bool in_turn = sums->n_ranks > 1 && sums->neighbours >= (uint64_t)ACCESS_LEAST_PIECES * sums->n_ranks &&
                   (double)sums->turns >= ACCESS_TURNS * (double)sums->neighbours && mean < ACCESS_ENOUGH_BYTES;
    bool small = mean < ACCESS_SMALL_BYTES && each >= ACCESS_LEAST_ACCESSES;
    if (sums->time_s < FINDING_LEAST_SHARE * diagnosis->all_s || (!in_turn && !small))
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.kind = in_turn ? FINDING_INTERLEAVED_ACCESSES : FINDING_SMALL_ACCESSES;
    finding.mend = mend_new();
    mend_rests(&diagnosis->program, finding.mend, site, mean / ACCESS_ENOUGH_BYTES);
    if (accesses_mend_queues(diagnosis, finding.mend, (1 - mean / ACCESS_ENOUGH_BYTES) * sums->time_s) != 0) {
        mend_release(finding.mend);
        return -1;
    }
    diagnosis_seconds(took, sums->time_s);
    diagnosis_bytes(bytes, mean);
    if (in_turn)
        return diagnosis_add(diagnosis, finding,
                             "%" PRIu32
                             " ranks access pieces of %s of one file in turn at %s: %s, %.0f %% of all time; one "
                             "collective call does",
                             sums->n_ranks, bytes, text, took, 100 * sums->time_s / diagnosis->all_s);
    return diagnosis_add(diagnosis, finding, "%s accesses files %.0f times a rank for %s each: %s, %.0f %% of all time",
                         text, each, bytes, took, 100 * sums->time_s / diagnosis->all_s);
}

int diagnose_files(struct diagnosis *diagnosis)
{
    struct accesses accesses = {0};
    struct access_site *sites = xcalloc(diagnosis->program.n_sites, sizeof *sites);
    int result = accesses_read_rows(diagnosis, &accesses);
    for (size_t i = 0; i < accesses.n; i++) {
        struct access_site *site = &sites[accesses.rows[i].site];
        site->n_ranks += site->n_ranks == 0 || site->last_rank != accesses.rows[i].rank;
        site->last_rank = accesses.rows[i].rank;
        site->n++;
        site->bytes += (double)accesses.rows[i].bytes;
        site->time_s += (double)accesses.rows[i].call_ns * 1e-9;
    }
    if (result == 0 && accesses.n > 0)
        result = accesses_judge_one(diagnosis, &accesses);
    accesses_count_turns(&accesses, sites);
    for (uint32_t site = 0; result == 0 && site < diagnosis->program.n_sites; site++)
        if (sites[site].n > 0)
            result = accesses_judge_site(diagnosis, site, &sites[site]);
    free(accesses.rows);
    free(sites);
    return result;
}
