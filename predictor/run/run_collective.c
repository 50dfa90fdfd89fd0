/* Collectives of recorded length: who waits for whom, and when a member leaves. */
#include <math.h>

#include "predictor/run/simulation.h"

/* The moment from which the member's recorded rest counts is known now. */
static void release(struct simulation *sim, uint32_t member, double moment_s)
{
    struct member_state *state = &sim->members[member];
    state->moment_s = fmax(moment_s, state->arrival_s);
    events_schedule(&sim->events, state->moment_s + sim->program->members[member].after_s, EVENT_MEMBER, member);
}

/* Releases those that arrived before what they waited for did. */
static void release_arrived(struct simulation *sim, uint32_t first, uint32_t n, uint32_t except, double moment_s)
{
    for (uint32_t member = first; member < first + n; member++)
        if (member != except && !isnan(sim->members[member].arrival_s))
            release(sim, member, moment_s);
}

static void arrive_on_root(struct simulation *sim, const struct run_collective *collective, uint32_t member)
{
    uint32_t root = collective->first_member + collective->root;
    if (member == root)
        release_arrived(sim, collective->first_member, collective->n_members, RUN_NOBODY, sim->events.now_s);
    else if (!isnan(sim->members[root].arrival_s))
        release(sim, member, sim->events.now_s);
}

static void arrive_of_root(struct simulation *sim, const struct run_collective *collective, bool all, uint32_t member)
{
    uint32_t root = collective->first_member + collective->root;
    if (member != root)
        release(sim, member, sim->events.now_s);
    if (all)
        release(sim, root, sim->events.now_s);
}

static void arrive_on_lower(struct simulation *sim, const struct run_collective *collective,
                            struct collective_state *state)
{
    for (; state->n_lower < collective->n_members; state->n_lower++) {
        uint32_t member = collective->first_member + state->n_lower;
        if (isnan(sim->members[member].arrival_s))
            break;
        state->lower_s = fmax(state->lower_s, sim->members[member].arrival_s);
        release(sim, member, state->lower_s);
    }
}

void member_arrives(struct simulation *sim, uint32_t member)
{
    uint32_t number = sim->program->members[member].collective;
    if (collective_is_modelled(sim, number)) {
        performer_arrives(sim, member);
        return;
    }
    const struct run_collective *collective = &sim->program->collectives[number];
    struct collective_state *state = &sim->collectives[number];
    sim->members[member].arrival_s = sim->events.now_s;
    bool all = ++state->n_arrived == collective->n_members;
    bool counts = collective->dependence != DEPENDS_ON_ROOT || member == collective->first_member + collective->root;
    if (counts) /* arrivals come in the order of time */
        state->last = simulation_moment(sim);
    switch ((enum run_dependence)collective->dependence) {
    case DEPENDS_ON_ROOT:
        arrive_on_root(sim, collective, member);
        break;
    case DEPENDS_OF_ROOT:
        arrive_of_root(sim, collective, all, member);
        break;
    case DEPENDS_ON_LOWER:
        arrive_on_lower(sim, collective, state);
        break;
    case DEPENDS_ON_NOBODY:
        release(sim, member, sim->events.now_s);
        break;
    case DEPENDS_ON_ALL:
        if (all)
            release_arrived(sim, collective->first_member, collective->n_members, RUN_NOBODY, sim->events.now_s);
        break;
    }
}

bool member_await(struct simulation *sim, uint32_t member, uint32_t strand)
{
    if (sim->members[member].done)
        return true;
    sim->members[member].waiter = strand;
    return false;
}

void member_leaves(struct simulation *sim, uint32_t member)
{
    struct member_state *state = &sim->members[member];
    if (collective_is_modelled(sim, sim->program->members[member].collective)) {
        performer_goes_on(sim, member);
        return;
    }
    state->done = true;
    if (state->waiter == RUN_NOBODY)
        return;
    struct wait_parts parts = account_member(sim, &sim->strands[state->waiter], member);
    strand_complete(sim, state->waiter, run_operation(member, OPERATION_MEMBER), &parts);
}
