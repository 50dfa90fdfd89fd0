/* One pass over the calls of a call site and function; see evidence.h. Rows of the view call are added up here, as SQL
 * would need a row a part of the run. */
#include "report/diagnose/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/order.h"

/* Adds the time between two times, in s, to the parts of the run. */
static void evidence_add_time(struct evidence_rank *rank, double run_s, double begin_s, double end_s)
{
    double part_s = run_s / EVIDENCE_COLUMNS;
    int first = (int)fmin(fmax(begin_s / part_s, 0), EVIDENCE_COLUMNS - 1);
    int last = (int)fmin(fmax(end_s / part_s, 0), EVIDENCE_COLUMNS - 1);
    for (int i = first; i <= last; i++)
        rank->columns[i] += fmax(fmin(end_s, (i + 1) * part_s) - fmax(begin_s, i * part_s), 0) / part_s;
}

static void evidence_keep_call(struct evidence *evidence, struct evidence_call call)
{
    size_t at = evidence->n_calls;
    while (at > 0 && evidence->calls[at - 1].length_s < call.length_s)
        at--;
    if (at == EVIDENCE_CALLS)
        return;
    evidence->n_calls += evidence->n_calls < EVIDENCE_CALLS;
    for (size_t i = evidence->n_calls - 1; i > at; i--)
        evidence->calls[i] = evidence->calls[i - 1];
    evidence->calls[at] = call;
}

static int evidence_compare_ranks(const void *left, const void *right, void *own)
{
    const struct evidence_rank *a = left, *b = right;
    int64_t rank = *(const int64_t *)own;
    return ORDER(b->rank == rank, a->rank == rank) ?: ORDER(b->time_s, a->time_s) ?: ORDER(a->rank, b->rank);
}

static int evidence_read_run(struct evidence *evidence, sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path, "SELECT duration_ns * 1e-9 FROM run", error);
    if (cursor_next(&rows))
        evidence->run_s = cursor_real(&rows, 0);
    return cursor_close(&rows);
}

static int evidence_read_calls(struct evidence *evidence, sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    struct map numbers = {0};
    cursor_open(&rows, database, path, evidence->query, error);
    while (cursor_next(&rows)) {
        struct evidence_call call = {cursor_integer(&rows, 0), (double)cursor_integer(&rows, 1) * 1e-9,
                                     (double)cursor_integer(&rows, 2) * 1e-9};
        uint32_t number = map_number(&numbers, (struct map_key){(uint64_t)call.rank, 0, 0}, evidence->n_ranks);
        if (number == evidence->n_ranks)
            ARRAY_ADD(evidence->ranks, evidence->n_ranks, (struct evidence_rank){.rank = call.rank});
        struct evidence_rank *rank = &evidence->ranks[number];
        rank->calls++;
        rank->time_s += call.length_s;
        rank->longest_s = fmax(rank->longest_s, call.length_s);
        if (evidence->run_s > 0)
            evidence_add_time(rank, evidence->run_s, call.begin_s, call.begin_s + call.length_s);
        evidence_keep_call(evidence, call);
    }
    map_release(&numbers);
    return cursor_close(&rows);
}

int evidence_collect(struct evidence *evidence, const struct finding *finding, struct pool *pool, sqlite3 *database,
                     const char *path, struct error *error)
{
    char query[256];
    *evidence = (struct evidence){.query = ""};
    if (evidence_read_run(evidence, database, path, error) != 0)
        return -1;
    if (finding->callsite < 0 || finding->function[0] == '\0')
        return 0;
    snprintf(
        query, sizeof query,
        "SELECT rank, begin_ns, end_ns - begin_ns AS length_ns FROM call WHERE callsite = %lld AND function = '%.40s' "
        "ORDER BY length_ns DESC",
        (long long)finding->callsite, finding->function);
    evidence->query = pool_clean(pool, query, strlen(query));
    if (evidence_read_calls(evidence, database, path, error) != 0)
        return -1;
    int64_t own = finding->rank;
    evidence->all_ranks = evidence->n_ranks;
    if (evidence->n_ranks > 0)
        qsort_r(evidence->ranks, evidence->n_ranks, sizeof *evidence->ranks, evidence_compare_ranks, &own);
    if (evidence->n_ranks > EVIDENCE_RANKS)
        evidence->n_ranks = EVIDENCE_RANKS;
    return 0;
}

void evidence_release(struct evidence *evidence)
{
    free(evidence->ranks);
    evidence->ranks = NULL;
}
