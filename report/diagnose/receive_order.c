/* Finds messages that come in another order than their receives were posted in, for which the MPI goes through long
 * lists: of receives that were posted before, or of messages that came before. Chance gives each message a place near
 * its turn; what is named is passed by ARRIVAL_LEAST_DEPTH others on average.
 *
 * The lists are those of one sender in Open MPI, of all in MPICH (share/doc/MODELS.md, Queue search). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Time to pass one entry of a list, which lies in no cache. */
#define ARRIVAL_ENTRY_S 20e-9

enum { ARRIVAL_LEAST_DEPTH = 32 };

struct found_arrival {
    uint32_t src, dst;
    size_t receive; /* step that posts it */
    double send_s;
};

struct receive_site {
    double passed, n;
};

static int order_compare_sends(const void *left, const void *right)
{
    const struct found_arrival *a = *(const struct found_arrival *const *)left,
                               *b = *(const struct found_arrival *const *)right;
    return ORDER(a->send_s, b->send_s) ?: ORDER(a->receive, b->receive);
}

/* Counts, for arrivals[n] of one list in the order of their receives, those before that come later: Fenwick's tree over
 * the order of the sends. */
static void order_count_passed(const struct diagnosis *diagnosis, const struct found_arrival *arrivals, size_t n,
                               struct receive_site *sites)
{
    bool in_turn = true;
    for (size_t i = 0; i < n; i++) {
        sites[diagnosis_site_of_step(diagnosis, arrivals[i].receive)].n++;
        in_turn = in_turn && (i == 0 || arrivals[i - 1].send_s <= arrivals[i].send_s);
    }
    if (in_turn)
        return;
    const struct found_arrival **order = xcalloc(n, sizeof *order);
    size_t *rank = xcalloc(n, sizeof *rank);
    uint32_t *tree = xcalloc(n + 1, sizeof *tree);
    for (size_t i = 0; i < n; i++)
        order[i] = &arrivals[i];
    qsort(order, n, sizeof *order, order_compare_sends);
    for (size_t i = 0; i < n; i++)
        rank[order[i] - arrivals] = i + 1;
    for (size_t i = 0; i < n; i++) {
        size_t before = 0; /* receives that were posted earlier, of messages that come earlier */
        for (size_t k = rank[i]; k > 0; k -= k & (~k + 1))
            before += tree[k];
        for (size_t k = rank[i]; k <= n; k += k & (~k + 1))
            tree[k]++;
        sites[diagnosis_site_of_step(diagnosis, arrivals[i].receive)].passed += (double)(i - before);
    }
    free(order);
    free(rank);
    free(tree);
}

/* Fills arrivals with the messages that are both sent and received, in the order of their receivers and then receives.
 */
static size_t order_find_arrivals(const struct diagnosis *diagnosis, struct found_arrival *arrivals)
{
    const struct run_program *program = &diagnosis->program;
    double *send_s = xcalloc(program->n_messages, sizeof *send_s);
    size_t n = 0;
    for (size_t i = 0; i < program->n_messages; i++)
        send_s[i] = NAN;
    for (enum run_step_kind kind = STEP_SEND;; kind = STEP_RECEIVE) {
        for (size_t i = 0; i < diagnosis->calls->n; i++) {
            const struct run_timed_call *call = &diagnosis->calls->rows[i];
            size_t end = i + 1 < diagnosis->calls->n ? call[1].first_step : program->n_steps;
            for (size_t step = call->first_step; step < end; step++) {
                uint32_t object = program->steps[step].object;
                if (program->steps[step].kind != kind)
                    continue;
                if (kind == STEP_SEND)
                    send_s[object] = call->begin_s;
                else if (!isnan(send_s[object]))
                    arrivals[n++] = (struct found_arrival){program->messages[object].src, program->messages[object].dst,
                                                           step, send_s[object]};
            }
        }
        if (kind == STEP_RECEIVE)
            break;
    }
    free(send_s);
    return n;
}

/* Puts the arrivals[n] of a receiver in the order of their senders, and leaves those of a sender as they are. counts:
 * [n_ranks + 1], zero before and after; room: [n]. */
static void order_by_senders(struct found_arrival *arrivals, size_t n, uint32_t n_ranks, size_t *counts,
                             struct found_arrival *room)
{
    for (size_t i = 0; i < n; i++)
        counts[arrivals[i].src + 1]++;
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        counts[rank + 1] += counts[rank];
    for (size_t i = 0; i < n; i++)
        room[counts[arrivals[i].src]++] = arrivals[i];
    memcpy(arrivals, room, n * sizeof *arrivals);
    memset(counts, 0, (n_ranks + 1) * sizeof *counts);
}

/* Takes the search from all calls that send or receive at that time: senders wait for it as long as receivers.
 * *search_s becomes half of these at most. */
static struct run_mend *order_mend_search(const struct diagnosis *diagnosis, uint32_t site, double *search_s)
{
    const struct run_program *program = &diagnosis->program;
    struct run_mend *mend = mend_new();
    bool *is_object = xcalloc(program->n_messages, sizeof *is_object),
         *is_place = xcalloc(program->n_places, sizeof *is_place);
    double rest_s = 0;
    for (size_t i = 0; i < program->n_steps; i++)
        if (program->steps[i].kind == STEP_RECEIVE && diagnosis_site_of_step(diagnosis, i) == site)
            is_object[program->steps[i].object] = true;
    for (size_t i = 0; i < program->n_steps; i++) {
        const struct run_step *step = &program->steps[i];
        if (step->kind == STEP_SEND || step->kind == STEP_RECEIVE)
            is_place[step->place] = is_place[step->place] || is_object[step->object];
        for (uint32_t k = 0; step->kind == STEP_WAIT && !is_place[step->place] && k < step->count; k++)
            is_place[step->place] = run_operation_kind(program->waits[step->object + k]) != OPERATION_MEMBER &&
                                    is_object[run_operation_object(program->waits[step->object + k])];
    }
    for (size_t i = 0; i < diagnosis->calls->n; i++)
        if (is_place[program->steps[diagnosis->calls->rows[i].first_step].place])
            rest_s += fmax((double)diagnosis->calls->rows[i].rest_s, 0);
    *search_s = fmin(*search_s, rest_s / 2);
    for (uint32_t i = 0; i < program->n_places && rest_s > 0; i++)
        if (is_place[i])
            mend_rest(&diagnosis->program, mend, i, fmax(1 - 2 * *search_s / rest_s, 0));
    free(is_object);
    free(is_place);
    return mend;
}

static int order_judge(struct diagnosis *diagnosis, uint32_t site, const struct receive_site *sums)
{
    struct finding finding = diagnosis_finding(FINDING_RECEIVE_ORDER, sums->passed * ARRIVAL_ENTRY_S);
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT];
    if (!(sums->passed >= ARRIVAL_LEAST_DEPTH * sums->n) || finding.cost_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = order_mend_search(diagnosis, site, &finding.cost_s);
    return diagnosis_add(diagnosis, finding,
                         "messages come in another order than %s posts receives: each passes %.0f others, which takes "
                         "about %s",
                         text, sums->passed / sums->n, diagnosis_seconds(took, finding.cost_s));
}

int diagnose_receive_order(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    bool of_all = program->mpi_family == MPI_FAMILY_MPICH;
    if (diagnosis->calls->n == 0 || program->n_messages == 0)
        return 0;
    struct receive_site *sites = xcalloc(program->n_sites, sizeof *sites);
    struct found_arrival *arrivals = xcalloc(program->n_messages, sizeof *arrivals),
                         *room = of_all ? NULL : xcalloc(program->n_messages, sizeof *room);
    size_t *counts = xcalloc(program->n_ranks + 1, sizeof *counts);
    size_t n = order_find_arrivals(diagnosis, arrivals);
    int result = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && arrivals[end].dst == arrivals[i].dst;)
            end++;
        if (!of_all)
            order_by_senders(arrivals + i, end - i, (uint32_t)program->n_ranks, counts, room);
        for (size_t k = i, list_end; k < end; k = list_end) {
            for (list_end = k + 1; list_end < end && (of_all || arrivals[list_end].src == arrivals[k].src);)
                list_end++;
            order_count_passed(diagnosis, arrivals + k, list_end - k, sites);
        }
    }
    free(counts);
    free(room);
    for (uint32_t site = 0; result == 0 && site < program->n_sites; site++)
        result = order_judge(diagnosis, site, &sites[site]);
    free(sites);
    free(arrivals);
    return result;
}
