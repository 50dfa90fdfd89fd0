/* Waits are gone through from the last to the first: what a wait costs has then been handed on to it by all that came
 * after it. See run_blame.h. */
#include "predictor/run/engine/run_blame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* No search for the delays goes further back than so many steps and meetings. */
enum { MOST_BLAME_STEPS = 2000, MOST_MEETINGS = 8 };

struct blaming {
    const struct run_program *program;
    const double *scale;
    const struct simulation_result *result;
    struct run_blame *blame;
    double *cost_s;      /* [result->n_waits] what they cost, handed on included */
    uint32_t *first;     /* [n_strands + 1] into of_strand */
    uint32_t *of_strand; /* [result->n_waits] waits by strand, in the order of time */
    double *computed_s;  /* [n_sites] what the late one computed before calls of a site, less what the other did */
    uint32_t *sites;     /* those in use */
    size_t n_sites_used;
    uint32_t *place_of; /* [n_sites] place of the late one with that site */
};

static bool has_member(const struct run_program *program, const struct run_collective *collective, uint32_t rank)
{
    if (collective->n_members == program->n_ranks)
        return true;
    for (uint32_t m = collective->first_member; m < collective->first_member + collective->n_members; m++)
        if (program->members[m].rank == rank)
            return true;
    return false;
}

/* Says whether the ranks of the step and the other one meet in it. */
static bool meets(const struct run_program *program, const struct run_step *step, uint32_t rank, uint32_t other)
{
    if (step->kind == STEP_COLLECTIVE) {
        const struct run_collective *collective = &program->collectives[program->members[step->object].collective];
        return collective->dependence == DEPENDS_ON_ALL && has_member(program, collective, other);
    }
    for (uint32_t i = step->object; step->kind == STEP_WAIT && i < step->object + step->count; i++) {
        if (run_operation_kind(program->waits[i]) == OPERATION_MEMBER)
            continue;
        const struct run_message *message = &program->messages[run_operation_object(program->waits[i])];
        if ((message->src == rank && message->dst == other) || (message->src == other && message->dst == rank))
            return true;
    }
    return false;
}

/* Returns what computation before a call at a place takes, as replayed. */
static double scaled_s(const struct blaming *blaming, double seconds, uint32_t place)
{
    return seconds * (blaming->scale != NULL ? blaming->scale[place] : 1);
}

static void blame_compute(struct blaming *blaming, size_t step, double sign, bool late)
{
    const struct run_program *program = blaming->program;
    uint32_t place = program->steps[step].place, site = program->places[place].site;
    double seconds = scaled_s(blaming, program->steps[step].compute_s, place);
    if (!(seconds > 0))
        return;
    if (isnan(blaming->computed_s[site])) {
        blaming->computed_s[site] = 0;
        blaming->place_of[site] = UINT32_MAX;
        blaming->sites[blaming->n_sites_used++] = site;
    }
    blaming->computed_s[site] += sign * seconds;
    if (late)
        blaming->place_of[site] = place;
}

/* Adds up the computation of a strand before a step, back to where it met the other rank. Returns the step behind
 * that meeting; least where there is none. */
static size_t go_back(struct blaming *blaming, uint32_t strand, size_t step, size_t least, uint32_t other, bool late)
{
    const struct run_program *program = blaming->program;
    while (step > least) {
        blame_compute(blaming, --step, late ? 1 : -1, late);
        if (step > least && meets(program, &program->steps[step - 1], program->strands[strand].rank, other))
            break;
    }
    return step;
}

/* Returns the step that a search from there does not pass. */
static size_t least_step(const struct blaming *blaming, const struct run_moment *from)
{
    size_t first = blaming->program->strands[from->strand].first_step;
    return from->step > first + MOST_BLAME_STEPS ? from->step - MOST_BLAME_STEPS : first;
}

/* Returns the step behind a moment's own, the end of the strand at most. */
static size_t behind(const struct blaming *blaming, const struct run_moment *moment)
{
    const struct run_strand *strand = &blaming->program->strands[moment->strand];
    size_t end = strand->first_step + strand->n_steps;
    return moment->step < end ? moment->step + 1 : end;
}

/* Finds the waits of a strand in steps from .. to - 1: [*begin, *end) of of_strand. */
static void waits_between(const struct blaming *blaming, uint32_t strand, size_t from, size_t to, size_t *begin,
                          size_t *end)
{
    *end = blaming->first[strand];
    FIRST_BEYOND(*end, blaming->first[strand + 1], blaming->result->waits[blaming->of_strand[*end]].begin.step < to);
    *begin = *end;
    while (*begin > blaming->first[strand] && blaming->result->waits[blaming->of_strand[*begin - 1]].begin.step >= from)
        --*begin;
}

/* Adds up what delayed the late one of a wait since the step: its own waits [*begin, *end) and computation. */
static double delays_since(const struct blaming *blaming, const struct run_wait *wait, size_t from, size_t *begin,
                           size_t *end)
{
    double sum_s = 0;
    waits_between(blaming, wait->cause.strand, from, wait->cause.step, begin, end);
    for (size_t i = *begin; i < *end; i++)
        sum_s += blaming->result->waits[blaming->of_strand[i]].late_s;
    for (size_t i = 0; i < blaming->n_sites_used; i++)
        sum_s += fmax(blaming->computed_s[blaming->sites[i]], 0);
    return sum_s;
}

/* Finds what delayed the late one since both last met. Where that is less than half of the wait, one of them had come
 * to the meeting long before it saw the other (its message lay there), and what lies before the meeting counts, too. */
static double find_delays(struct blaming *blaming, const struct run_wait *wait, size_t *begin, size_t *end)
{
    const struct run_program *program = blaming->program;
    uint32_t waits = program->strands[wait->begin.strand].rank, late = program->strands[wait->cause.strand].rank;
    size_t of_late = behind(blaming, &wait->cause), least_of_late = least_step(blaming, &wait->cause);
    size_t of_waits = behind(blaming, &wait->begin), least_of_waits = least_step(blaming, &wait->begin);
    for (int meeting = 0; meeting < MOST_MEETINGS && of_late > least_of_late; meeting++) {
        of_late = go_back(blaming, wait->cause.strand, of_late, least_of_late, waits, true);
        of_waits = go_back(blaming, wait->begin.strand, of_waits, least_of_waits, late, false);
        double sum_s = delays_since(blaming, wait, of_late, begin, end);
        if (sum_s >= wait->late_s / 2)
            return sum_s;
    }
    return 0;
}

/* Divides the cost of a wait among what delayed the one that it waited for. */
static void blame_charge(struct blaming *blaming, size_t number)
{
    const struct run_program *program = blaming->program;
    const struct run_wait *wait = &blaming->result->waits[number];
    struct run_blame *blame = blaming->blame;
    size_t begin = 0, end = 0;
    double cost_s = blaming->cost_s[number], sum_s = find_delays(blaming, wait, &begin, &end);
    for (size_t i = begin; sum_s > 0 && i < end; i++)
        blaming->cost_s[blaming->of_strand[i]] += cost_s * blaming->result->waits[blaming->of_strand[i]].late_s / sum_s;
    for (size_t i = 0; i < blaming->n_sites_used; i++) {
        uint32_t site = blaming->sites[i], place = blaming->place_of[site];
        if (sum_s > 0 && blaming->computed_s[site] > 0) {
            double charged_s = cost_s * blaming->computed_s[site] / sum_s;
            blame->cost_s[place] += charged_s;
            ARRAY_ADD(blame->charges, blame->n_charges, (struct run_charge){wait->cause.step, place, charged_s});
        }
        blaming->computed_s[site] = NAN;
    }
    blaming->n_sites_used = 0;
    if (!(sum_s > 0) && wait->cause.step < program->n_steps) { /* transfers made it late: those of its call */
        blame->cost_s[program->steps[wait->cause.step].place] += cost_s;
        blame->moved_s[program->steps[wait->cause.step].place] += cost_s;
    }
}

static int compare_charges(const void *left, const void *right)
{
    const struct run_charge *a = left, *b = right;
    return ORDER(a->step, b->step) ?: ORDER(a->place, b->place);
}

/* Joins the charges of one step and place. */
static void join_charges(struct run_blame *blame)
{
    size_t n = 0;
    if (blame->n_charges > 0)
        qsort(blame->charges, blame->n_charges, sizeof *blame->charges, compare_charges);
    for (size_t i = 0; i < blame->n_charges; i++)
        if (n > 0 && compare_charges(&blame->charges[n - 1], &blame->charges[i]) == 0)
            blame->charges[n - 1].cost_s += blame->charges[i].cost_s;
        else
            blame->charges[n++] = blame->charges[i];
    blame->n_charges = n;
}

/* Goes over the steps of the path on a strand, from the last one, and gives each what it took between the times. What
 * no step explains by its computation is spent in the calls between. */
static void walk_path(struct blaming *blaming, uint32_t strand, size_t from_step, size_t to_step, double seconds)
{
    const struct run_program *program = blaming->program;
    const struct run_strand *told = &program->strands[strand];
    double left_s = seconds;
    size_t end = told->first_step + told->n_steps;
    if (to_step == end) {
        double tail_s = fmin(scaled_s(blaming, told->tail_s, told->tail_place), left_s);
        blaming->blame->critical_s[told->tail_place] += tail_s;
        left_s -= tail_s;
    }
    for (size_t step = to_step < end ? to_step + 1 : end; step > from_step && left_s > 0; step--) {
        const struct run_step *at = &program->steps[step - 1];
        double taken_s = fmin(scaled_s(blaming, at->compute_s, at->place), left_s);
        blaming->blame->critical_s[at->place] += taken_s;
        left_s -= taken_s;
    }
    size_t last = to_step < end ? to_step : to_step - 1;
    if (left_s > 0 && end > told->first_step)
        blaming->blame->critical_s[program->steps[last].place] += left_s;
    else if (left_s > 0)
        blaming->blame->critical_s[told->tail_place] += left_s;
}

/* Returns the last wait of a strand that ended before a step, SIZE_MAX if there is none. What it waited for may have
 * come at the very time of the step. */
static size_t last_wait(const struct blaming *blaming, uint32_t strand, size_t step, double before_s)
{
    size_t begin, end;
    waits_between(blaming, strand, step, step, &begin, &end);
    while (end > blaming->first[strand] && blaming->result->waits[blaming->of_strand[end - 1]].cause.at_s > before_s)
        end--;
    return end > blaming->first[strand] ? blaming->of_strand[end - 1] : SIZE_MAX;
}

/* Returns the step in which a strand spawned others at a time: the last such one before its first wait that was
 * not over then. Where there is none, that is the step at the time as far as waits tell. */
static size_t spawning_step(const struct blaming *blaming, uint32_t strand, double at_s)
{
    const struct run_program *program = blaming->program;
    const struct run_strand *told = &program->strands[strand];
    size_t first = told->first_step, end = told->first_step + told->n_steps;
    for (size_t i = blaming->first[strand]; i < blaming->first[strand + 1]; i++) {
        const struct run_wait *wait = &blaming->result->waits[blaming->of_strand[i]];
        if (wait->end_s > at_s) {
            end = wait->begin.step + 1;
            break;
        }
        first = wait->begin.step + 1;
    }
    for (size_t step = end; step > first; step--) {
        const struct run_site *site = &program->sites[program->places[program->steps[step - 1].place].site];
        if (strncmp(site->function, "MPI_Comm_spawn", strlen("MPI_Comm_spawn")) == 0)
            return step - 1;
    }
    return first;
}

/* Goes from the begin of a strand whose rank was spawned to the rank that did it. Returns false where it was not. */
static bool go_to_parent(struct blaming *blaming, uint32_t *strand, size_t *step, double *at_s)
{
    const struct run_program *program = blaming->program;
    uint32_t rank = program->strands[*strand].rank, parent = program->ranks[rank].parent;
    double begin_s = blaming->result->rank_begin_s[rank];
    if (parent == 0 || parent > rank || !(begin_s < *at_s))
        return false;
    walk_path(blaming, *strand, program->strands[*strand].first_step, *step, *at_s - begin_s);
    while (*strand > 0 && program->strands[*strand - 1].rank >= parent - 1)
        --*strand;
    *step = spawning_step(blaming, *strand, begin_s);
    *at_s = begin_s;
    return true;
}

/* Goes from the begin of a burst to the end of the one before. Returns false in the first one. */
static bool go_to_burst_before(struct blaming *blaming, uint32_t *strand, size_t *step, double *at_s)
{
    const struct run_strand *told = &blaming->program->strands[*strand];
    const struct run_burst *bursts = blaming->result->bursts;
    if (told->burst == 0)
        return false;
    walk_path(blaming, *strand, told->first_step, *step, fmax(*at_s - bursts[told->burst].begin_s, 0));
    *strand = bursts[told->burst - 1].last;
    *at_s = bursts[told->burst - 1].end_s;
    *step = blaming->program->strands[*strand].first_step + blaming->program->strands[*strand].n_steps;
    return true;
}

/* Walks from the last end to the first begin, over to whoever was waited for, or spawned the rank. It goes from effect
 * to cause only, and so comes by each wait and begin at most once. */
static void find_critical_path(struct blaming *blaming)
{
    const struct run_program *program = blaming->program;
    uint32_t strand = 0;
    for (uint32_t s = 1; s < program->n_strands; s++)
        if (blaming->result->rank_end_s[program->strands[s].rank] >
            blaming->result->rank_end_s[program->strands[strand].rank])
            strand = s;
    if (program->n_bursts > 0)
        strand = blaming->result->bursts[program->n_bursts - 1].last;
    size_t step = program->strands[strand].first_step + program->strands[strand].n_steps;
    double at_s = program->n_bursts > 0 ? blaming->result->bursts[program->n_bursts - 1].end_s : blaming->result->end_s;
    for (size_t i = 0; i < blaming->result->n_waits + program->n_ranks + program->n_bursts; i++) {
        size_t number = last_wait(blaming, strand, step, at_s);
        if (number == SIZE_MAX && go_to_burst_before(blaming, &strand, &step, &at_s))
            continue;
        if (number == SIZE_MAX && go_to_parent(blaming, &strand, &step, &at_s))
            continue;
        if (number == SIZE_MAX)
            break;
        const struct run_wait *wait = &blaming->result->waits[number];
        walk_path(blaming, strand, wait->begin.step + 1, step, fmax(at_s - wait->end_s, 0));
        blaming->blame->critical_s[program->steps[wait->begin.step].place] +=
            fmax(fmin(wait->end_s, at_s) - wait->cause.at_s, 0);
        strand = wait->cause.strand;
        step = wait->cause.step;
        at_s = wait->cause.at_s;
    }
    walk_path(blaming, strand, program->strands[strand].first_step, step, fmax(at_s - blaming->result->begin_s, 0));
}

void run_blame(const struct run_program *program, const struct simulation_options *options,
               const struct simulation_result *result, struct run_blame *blame)
{
    struct blaming blaming = {.program = program, .scale = options->scale, .result = result, .blame = blame};
    *blame = (struct run_blame){.cost_s = xcalloc(program->n_places + 1, sizeof *blame->cost_s),
                                .moved_s = xcalloc(program->n_places + 1, sizeof *blame->moved_s),
                                .critical_s = xcalloc(program->n_places + 1, sizeof *blame->critical_s),
                                .late_s = xcalloc(program->n_ranks + 1, sizeof *blame->late_s)};
    blaming.cost_s = xmalloc((result->n_waits + 1) * sizeof *blaming.cost_s);
    blaming.of_strand = xmalloc((result->n_waits + 1) * sizeof *blaming.of_strand);
    blaming.first = xmalloc((program->n_strands + 1) * sizeof *blaming.first);
    blaming.computed_s = xmalloc((program->n_sites + 1) * sizeof *blaming.computed_s);
    blaming.sites = xmalloc((program->n_sites + 1) * sizeof *blaming.sites);
    blaming.place_of = xmalloc((program->n_sites + 1) * sizeof *blaming.place_of);
    array_sort_by_key(result->waits, sizeof *result->waits, offsetof(struct run_wait, begin.strand), result->n_waits,
                      program->n_strands, blaming.first, blaming.of_strand);
    for (size_t site = 0; site < program->n_sites; site++)
        blaming.computed_s[site] = NAN;
    for (size_t i = 0; i < result->n_waits; i++) {
        blaming.cost_s[i] = result->waits[i].late_s;
        blame->late_s[program->strands[result->waits[i].begin.strand].rank] += result->waits[i].late_s;
    }
    for (size_t i = result->n_waits; i-- > 0;)
        blame_charge(&blaming, i);
    join_charges(blame);
    if (program->n_strands > 0)
        find_critical_path(&blaming);
    FREE_ALL(blaming.cost_s, blaming.of_strand, blaming.first, blaming.computed_s, blaming.sites, blaming.place_of);
}

void run_blame_release(struct run_blame *blame)
{
    FREE_ALL(blame->cost_s, blame->moved_s, blame->charges, blame->critical_s, blame->late_s);
    *blame = (struct run_blame){0};
}
