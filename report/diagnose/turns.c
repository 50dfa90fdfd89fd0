/* Finds ranks that go on one after the other: chains, in which each works on the message of the one before, and
 * blocking sends that wait for receivers which are in such a send themselves.
 *
 * A wait for a message continues a chain where its sender had waited at the same line for the like message (the n-th
 * call of both) until after this wait had begun, and then worked before it sent. A rank that is late once makes others
 * late as well, but these pass it on without work; and a rank that is late in each iteration is waited for by calls of
 * the next one. So chance makes no chains: ranks would have to be late by each other's whole work. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Computation between two sends of which one waits for the other, as part of the wait, at most. */
#define TURN_BETWEEN 0.1

enum { TURN_LEAST_LINKS = 8, TURN_LEAST_DEPTH = 2 };

struct turn_site {
    double chain_s, turn_s;
    uint64_t links, depths, sends;
    uint32_t deepest;
    uint32_t send_site; /* of a chain */
    int64_t begins;     /* rank with which the deepest one begins */
};

struct turn_link {
    uint32_t depth, begins;
    double work_s;
    bool counted;
};

struct turns {
    const struct diagnosis *diagnosis;
    uint32_t *nth;             /* [calls] of a call among those of its place */
    size_t *first, *of_strand; /* waits by strand, in the order of time: of_strand[first[s] .. first[s + 1]) */
    struct turn_link *links;   /* [n_waits] */
    struct turn_site *sites;   /* [n_sites] */
};

static void turns_count_calls(struct turns *turns)
{
    const struct diagnosis *diagnosis = turns->diagnosis;
    uint32_t *n = xcalloc(diagnosis->program.n_places, sizeof *n);
    for (size_t i = 0; i < diagnosis->calls->n; i++)
        turns->nth[i] = n[diagnosis->program.steps[diagnosis->calls->rows[i].first_step].place]++;
    free(n);
}

static void turns_sort_waits(struct turns *turns)
{
    const struct diagnosis *diagnosis = turns->diagnosis;
    size_t n_strands = diagnosis->program.n_strands;
    const struct run_wait *waits = diagnosis->recorded.waits;
    for (size_t i = 0; i < diagnosis->recorded.n_waits; i++)
        turns->first[waits[i].begin.strand + 1]++;
    for (size_t s = 0; s < n_strands; s++)
        turns->first[s + 1] += turns->first[s];
    for (size_t i = diagnosis->recorded.n_waits; i-- > 0;)
        turns->of_strand[--turns->first[waits[i].begin.strand + 1]] = i;
    for (size_t s = 0; s < n_strands; s++)
        turns->first[s] = turns->first[s + 1];
    turns->first[n_strands] = diagnosis->recorded.n_waits;
}

/* Returns the last wait of a strand that ended until then, or SIZE_MAX. */
static size_t turns_wait_before(const struct turns *turns, uint32_t strand, double at_s)
{
    size_t low = turns->first[strand], high = turns->first[strand + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (turns->diagnosis->recorded.waits[turns->of_strand[middle]].end_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low > turns->first[strand] ? turns->of_strand[low - 1] : SIZE_MAX;
}

/* A wait for a message that was not sent yet: continues the chain of its sender, or begins one. */
static void turns_follow_chain(struct turns *turns, size_t number)
{
    const struct diagnosis *diagnosis = turns->diagnosis;
    const struct run_wait *wait = &diagnosis->recorded.waits[number];
    size_t call = run_timed_call_of(diagnosis->calls, wait->begin.step);
    uint32_t site = diagnosis_site_of_step(diagnosis, diagnosis->calls->rows[call].first_step);
    struct turn_link *link = &turns->links[number];
    struct turn_site *sums = &turns->sites[site];
    size_t before = turns_wait_before(turns, wait->cause.strand, wait->cause.at_s);
    *link = (struct turn_link){.depth = 1, .begins = diagnosis->program.strands[wait->cause.strand].rank};
    if (before == SIZE_MAX)
        return;
    const struct run_wait *earlier = &diagnosis->recorded.waits[before];
    size_t of_earlier = run_timed_call_of(diagnosis->calls, earlier->begin.step);
    struct turn_link *previous = &turns->links[before];
    double work_s = wait->cause.at_s - earlier->end_s;
    if (previous->depth == 0 || earlier->end_s <= wait->begin.at_s ||
        diagnosis_site_of_step(diagnosis, diagnosis->calls->rows[of_earlier].first_step) != site ||
        turns->nth[of_earlier] != turns->nth[call])
        return;
    *link = (struct turn_link){
        .depth = previous->depth + 1, .begins = previous->begins, .work_s = work_s + previous->work_s};
    double cost_s = fmin(wait->late_s, link->work_s);
    if (!previous->counted && work_s > 0)
        cost_s += fmin(earlier->late_s, work_s); /* the first of the chain waits for work as well */
    previous->counted = link->counted = true;
    sums->chain_s += cost_s;
    sums->links++;
    sums->depths += link->depth;
    sums->send_site = diagnosis_site_of_step(diagnosis, wait->cause.step);
    if (link->depth > sums->deepest) {
        sums->deepest = link->depth;
        sums->begins = link->begins;
    }
}

static bool turns_has_step(const struct diagnosis *diagnosis, size_t call, enum run_step_kind kind)
{
    const struct run_step *step = &diagnosis->program.steps[diagnosis->calls->rows[call].first_step];
    for (;; step++) {
        if (step->kind == kind)
            return true;
        if ((step->flags & STEP_LEAVES) != 0)
            return false;
    }
}

/* A send that waits for its receive, whose rank was in a send of its own meanwhile. */
static void turns_follow_send(struct turns *turns, const struct run_wait *wait)
{
    const struct diagnosis *diagnosis = turns->diagnosis;
    size_t call = run_timed_call_of(diagnosis->calls, wait->begin.step);
    size_t cause = run_timed_call_of(diagnosis->calls, wait->cause.step);
    uint32_t site = diagnosis_site_of_step(diagnosis, diagnosis->calls->rows[call].first_step);
    if (cause <= diagnosis->first_call[wait->cause.strand])
        return;
    const struct run_timed_call *before = &diagnosis->calls->rows[cause - 1];
    if (diagnosis_site_of_step(diagnosis, before->first_step) != site ||
        !turns_has_step(diagnosis, cause - 1, STEP_SEND) || !turns_has_step(diagnosis, cause - 1, STEP_WAIT) ||
        turns_has_step(diagnosis, cause - 1, STEP_RECEIVE) ||
        diagnosis_before_s(diagnosis, wait->cause.strand, cause) > TURN_BETWEEN * wait->late_s)
        return;
    double from_s = fmax(wait->begin.at_s, before->begin_s),
           to_s = fmin(diagnosis_call_end_s(before), wait->cause.at_s);
    if (to_s > from_s) {
        turns->sites[site].turn_s += to_s - from_s;
        turns->sites[site].sends++;
    }
}

static int turns_add_chain(struct diagnosis *diagnosis, uint32_t site, const struct turn_site *sums)
{
    struct finding finding = diagnosis_finding(FINDING_CHAIN, sums->chain_s);
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    size_t ranks = sums->deepest + 1 < diagnosis->program.n_ranks ? sums->deepest + 1 : diagnosis->program.n_ranks;
    if (sums->links < TURN_LEAST_LINKS || sums->chain_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.rank = sums->begins;
    finding.mend = mend_new();
    mend_site(&diagnosis->program, finding.mend, sums->send_site, MEND_EARLIER);
    return diagnosis_add(diagnosis, finding,
                         "%zu ranks work one after the other, from rank %" PRId64
                         " on, each on what it gets at %s: waits %s, %.0f %% of all time",
                         ranks, sums->begins, text, diagnosis_seconds(waited, sums->chain_s),
                         100 * sums->chain_s / diagnosis->all_s);
}

static int turns_add_turn(struct diagnosis *diagnosis, uint32_t site, const struct turn_site *sums)
{
    struct finding finding = diagnosis_finding(FINDING_SENDS_IN_TURN, sums->turn_s);
    char text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (sums->sends < TURN_LEAST_LINKS || sums->turn_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    mend_site(&diagnosis->program, finding.mend, site, MEND_POSTED);
    return diagnosis_add(
        diagnosis, finding,
        "%s sends in turn: %" PRIu64 " calls wait for a rank that is in its own send there, %s, %.0f %% of all time",
        text, sums->sends, diagnosis_seconds(waited, sums->turn_s), 100 * sums->turn_s / diagnosis->all_s);
}

int diagnose_turns(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    size_t n_waits = diagnosis->recorded.n_waits;
    if (diagnosis->calls->n == 0 || n_waits == 0)
        return 0;
    struct turns turns = {.diagnosis = diagnosis,
                          .nth = xcalloc(diagnosis->calls->n, sizeof *turns.nth),
                          .first = xcalloc(program->n_strands + 2, sizeof *turns.first),
                          .of_strand = xcalloc(n_waits, sizeof *turns.of_strand),
                          .links = xcalloc(n_waits, sizeof *turns.links),
                          .sites = xcalloc(program->n_sites, sizeof *turns.sites)};
    int result = 0;
    turns_count_calls(&turns);
    turns_sort_waits(&turns);
    for (size_t i = 0; i < n_waits; i++) { /* in the order of their ends */
        const struct run_wait *wait = &diagnosis->recorded.waits[i];
        if (program->steps[wait->cause.step].kind == STEP_SEND)
            turns_follow_chain(&turns, i);
        else if (program->steps[wait->cause.step].kind == STEP_RECEIVE)
            turns_follow_send(&turns, wait);
    }
    for (uint32_t site = 0; result == 0 && site < program->n_sites; site++) {
        result = turns_add_chain(diagnosis, site, &turns.sites[site]);
        if (result == 0)
            result = turns_add_turn(diagnosis, site, &turns.sites[site]);
    }
    free(turns.nth);
    free(turns.first);
    free(turns.of_strand);
    free(turns.links);
    free(turns.sites);
    return result;
}
