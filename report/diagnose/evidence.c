/* One pass over the calls, which the diagnosis holds, for all findings; see evidence.h. */
#include "report/diagnose/evidence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"
#include "share/base/order.h"

/* The calls of a site. */
struct evidence_site {
    struct evidence_rank *ranks; /* [n_ranks] of the run; NULL: no finding is of this site */
    struct evidence_call calls[EVIDENCE_CALLS];
    size_t n_calls;
    bool of_work;
};

static void evidence_keep_call(struct evidence_site *site, struct evidence_call call)
{
    size_t at = site->n_calls;
    while (at > 0 && site->calls[at - 1].length_s < call.length_s)
        at--;
    if (at == EVIDENCE_CALLS)
        return;
    site->n_calls += site->n_calls < EVIDENCE_CALLS;
    for (size_t i = site->n_calls - 1; i > at; i--)
        site->calls[i] = site->calls[i - 1];
    site->calls[at] = call;
}

static void evidence_add_call(struct evidence_site *site, struct evidence_call call, double part_s)
{
    struct evidence_rank *rank = &site->ranks[call.rank];
    double end_s = call.begin_s + call.length_s;
    rank->calls++;
    rank->time_s += call.length_s;
    rank->longest_s = fmax(rank->longest_s, call.length_s);
    int first = (int)fmin(fmax(call.begin_s / part_s, 0), EVIDENCE_COLUMNS - 1);
    int last = (int)fmin(fmax(end_s / part_s, 0), EVIDENCE_COLUMNS - 1);
    for (int i = first; i <= last; i++)
        rank->columns[i] += fmax(fmin(end_s, (i + 1) * part_s) - fmax(call.begin_s, i * part_s), 0) / part_s;
    evidence_keep_call(site, call);
}

static int evidence_compare_ranks(const void *left, const void *right, void *own)
{
    const struct evidence_rank *a = left, *b = right;
    int64_t rank = *(const int64_t *)own;
    return ORDER(b->rank == rank, a->rank == rank) ?: ORDER(b->time_s, a->time_s) ?: ORDER(a->rank, b->rank);
}

static struct evidence *evidence_of(struct diagnosis *diagnosis, struct finding *finding,
                                    const struct evidence_site *site)
{
    struct evidence *evidence = xcalloc(1, sizeof *evidence);
    size_t n = diagnosis->program.n_ranks;
    char query[256];
    snprintf(query, sizeof query,
             "SELECT rank, begin_ns, end_ns - begin_ns AS length_ns FROM call WHERE callsite = %" PRId64
             " AND function = '%.40s' ORDER BY length_ns DESC",
             finding->callsite, finding->function);
    evidence->query = pool_clean(diagnosis->pool, query, strlen(query));
    qsort_r(site->ranks, n, sizeof *site->ranks, evidence_compare_ranks, &finding->rank);
    for (size_t i = 0; i < n; i++) {
        if (site->ranks[i].calls > 0 && evidence->n_ranks < EVIDENCE_RANKS)
            evidence->ranks[evidence->n_ranks++] = site->ranks[i];
        evidence->all_ranks += site->ranks[i].calls > 0;
    }
    memcpy(evidence->calls, site->calls, sizeof site->calls);
    evidence->n_calls = site->n_calls;
    evidence->of_work = site->of_work;
    return evidence;
}

/* Adds the calls of all sites that are looked at. */
static void evidence_add_calls(const struct diagnosis *diagnosis, struct evidence_site *sites)
{
    const struct run_program *program = &diagnosis->program;
    size_t n_bursts = program->n_bursts > 0 ? program->n_bursts : 1;
    double *shift_s = xcalloc(n_bursts, sizeof *shift_s); /* from the program's time to that of the run */
    double part_s = diagnosis_when_s(diagnosis, diagnosis->recorded.end_s) / EVIDENCE_COLUMNS;
    for (size_t i = 0; i < n_bursts; i++) {
        double at_s = program->n_bursts > 0 ? program->burst_s[i] : 0;
        shift_s[i] = diagnosis_when_s(diagnosis, at_s) - at_s;
    }
    for (uint32_t strand = 0; strand < program->n_strands && part_s > 0; strand++)
        for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1]; i++) {
            const struct run_timed_call *call = &diagnosis->calls->rows[i];
            struct evidence_site *site = &sites[diagnosis_site_of_step(diagnosis, call->first_step)];
            double begin_s = call->begin_s + shift_s[program->strands[strand].burst];
            double length_s = (double)call->length_s;
            if (site->ranks == NULL)
                continue;
            if (site->of_work) {
                length_s = diagnosis_before_s(diagnosis, strand, i);
                begin_s -= length_s;
            }
            evidence_add_call(site, (struct evidence_call){program->strands[strand].rank, begin_s, length_s}, part_s);
        }
    free(shift_s);
}

void evidence_collect(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct findings *findings = diagnosis->findings;
    struct evidence_site *sites = xcalloc(program->n_sites, sizeof *sites);
    uint32_t *site_of = xcalloc(findings->n, sizeof *site_of);
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->rows[i];
        site_of[i] =
            finding->callsite < 0 ? UINT32_MAX : diagnosis_site_of(diagnosis, finding->function, finding->callsite);
        if (site_of[i] == UINT32_MAX || sites[site_of[i]].ranks != NULL)
            continue;
        struct evidence_rank *ranks = xcalloc(program->n_ranks, sizeof *ranks);
        for (size_t rank = 0; rank < program->n_ranks; rank++)
            ranks[rank].rank = (int64_t)rank;
        sites[site_of[i]].ranks = ranks;
        sites[site_of[i]].of_work = finding->kind <= FINDING_IMBALANCE;
    }
    evidence_add_calls(diagnosis, sites);
    for (size_t i = 0; i < findings->n; i++)
        if (site_of[i] != UINT32_MAX && sites[site_of[i]].n_calls > 0)
            findings->rows[i].evidence = evidence_of(diagnosis, &findings->rows[i], &sites[site_of[i]]);
    for (size_t i = 0; i < program->n_sites; i++)
        free(sites[i].ranks);
    free(sites);
    free(site_of);
}
