/* Modelled collectives: each member goes through its script, round by round, by messages that the engine moves as any
 * other. A member's last arrival that it depends on is found on the way: a message hands on that of its sender, and to
 * a sender that waits for its receiver that of the receiver. */
#include <math.h>
#include <stdlib.h>

#include "predictor/run/simulation.h"
#include "share/base/array.h"
#include "share/base/memory.h"

bool collective_is_modelled(const struct simulation *sim, uint32_t collective)
{
    const struct run_collective *c = &sim->program->collectives[collective];
    bool rooted = c->kind == COLLECTIVE_BCAST || c->kind == COLLECTIVE_REDUCE || c->kind == COLLECTIVE_GATHER ||
                  c->kind == COLLECTIVE_SCATTER;
    return sim->options->model_collectives && c->kind != COLLECTIVE_OTHER && (!rooted || c->root < c->n_members);
}

void stage_init(struct simulation *sim)
{
    enum { FIRST_BUCKETS = 1024 };
    sim->stage = (struct run_stage){.free_message = RUN_NOBODY,
                                    .free_performer = RUN_NOBODY,
                                    .free_performance = RUN_NOBODY,
                                    .posting = RUN_NOBODY};
    if (!sim->options->model_collectives)
        return;
    sim->stage.buckets = xmalloc(FIRST_BUCKETS * sizeof *sim->stage.buckets);
    sim->stage.n_buckets = FIRST_BUCKETS;
    for (size_t i = 0; i < sim->stage.n_buckets; i++)
        sim->stage.buckets[i] = RUN_NOBODY;
}

void stage_release(struct simulation *sim)
{
    for (size_t i = 0; i < sim->stage.n_performances; i++)
        free(sim->stage.performances[i].nodes);
    free(sim->stage.performances);
    free(sim->stage.performers);
    free(sim->stage.messages);
    free(sim->stage.buckets);
}

/* Says what the members exchange, as script_choice counts it. */
static double choice_bytes(const struct run_collective *collective, const struct run_member *members)
{
    double sum = 0, most = 0;
    for (uint32_t i = 0; i < collective->n_members; i++) {
        sum += members[i].bytes;
        most = fmax(most, members[i].bytes);
    }
    switch ((enum run_collective_kind)collective->kind) {
    case COLLECTIVE_GATHER:
    case COLLECTIVE_ALLGATHER:
        return sum;
    case COLLECTIVE_SCATTER:
        return members[collective->root].bytes;
    case COLLECTIVE_ALLTOALL:
        return sum / collective->n_members;
    default:
        return most;
    }
}

/* Chooses the script of a collective. */
static void make_script(const struct simulation *sim, const struct run_collective *collective,
                        struct performance *performance)
{
    const struct run_member *members = &sim->program->members[collective->first_member];
    bool sizes = collective->kind == COLLECTIVE_GATHER || collective->kind == COLLECTIVE_SCATTER ||
                 collective->kind == COLLECTIVE_ALLGATHER || collective->kind == COLLECTIVE_ALLTOALL;
    struct script_choice choice = {.family = sim->program->mpi_family,
                                   .kind = (enum run_collective_kind)collective->kind,
                                   .varies = (collective->flags & COLLECTIVE_VARIES) != 0,
                                   .root = collective->root,
                                   .n = collective->n_members,
                                   .bytes = choice_bytes(collective, members)};
    choice.sizes = choice.varies && sizes ? members : NULL;
    if (choice.family == MPI_FAMILY_MPICH) {
        performance->nodes = script_nodes_new(members, choice.n, sim->share.nodes.of, sim->share.nodes.n_groups);
        choice.nodes = performance->nodes->n_nodes < choice.n ? performance->nodes : NULL;
    }
    script_choose(&choice, &performance->script);
}

/* Returns the number of the performance that the member's collective is. */
static uint32_t perform(struct simulation *sim, uint32_t number)
{
    struct run_stage *stage = &sim->stage;
    const struct run_collective *collective = &sim->program->collectives[number];
    uint32_t *slot = &sim->collectives[number].performance;
    if (*slot != RUN_NOBODY)
        return *slot;
    uint32_t performance = stage->free_performance;
    if (performance != RUN_NOBODY) {
        stage->free_performance = stage->performances[performance].next;
    } else {
        array_reserve(&stage->performances, &stage->performances_room, stage->n_performances + 1,
                      sizeof *stage->performances);
        performance = (uint32_t)stage->n_performances++;
    }
    const struct run_step *step = &sim->program->steps[sim->strands[sim->active].step];
    struct performance *made = &stage->performances[performance];
    *made = (struct performance){.n_left = collective->n_members, .tended = step->kind == STEP_BEGIN};
    *slot = performance;
    make_script(sim, collective, made);
    return performance;
}

static void end_performance(struct simulation *sim, uint32_t number)
{
    struct performance *performance = &sim->stage.performances[number];
    if (--performance->n_left > 0)
        return;
    free(performance->nodes);
    performance->nodes = NULL;
    performance->next = sim->stage.free_performance;
    sim->stage.free_performance = number;
}

/* Lets the member leave, and tells the strand that waits for it. */
static void end(struct simulation *sim, uint32_t number)
{
    struct performer performer = sim->stage.performers[number];
    struct member_state *state = &sim->members[performer.member];
    sim->stage.performers[number].n_pending = sim->stage.free_performer;
    sim->stage.free_performer = number;
    end_performance(sim, performer.performance);
    state->done = true;
    if (state->waiter == RUN_NOBODY)
        return;
    double from_s = sim->strands[state->waiter].wait_begin_s, whole_s = sim->events.now_s - from_s;
    struct wait_parts parts = {.cause = performer.latest};
    parts.collective_wait_s = fmin(fmax(performer.latest.at_s - from_s, 0), whole_s);
    parts.collective_transfer_s = whole_s - parts.collective_wait_s;
    strand_complete(sim, state->waiter, run_operation(performer.member, OPERATION_MEMBER), &parts);
}

/* Makes the posts of the round, one after the other, then of those after it as far as nothing must be waited for. */
static void go_on(struct simulation *sim, uint32_t number)
{
    while (!sim->no_level) {
        struct performer *performer = &sim->stage.performers[number];
        const struct performance *performance = &sim->stage.performances[performer->performance];
        uint32_t first = sim->program->collectives[sim->program->members[performer->member].collective].first_member;
        struct script_action action;
        switch (script_next(&performance->script, performer->member - first, &performer->cursor, &action)) {
        case NEXT_ACTION:
            performer->posts = true;
            double overhead_s = moved_post(sim, number, &action);
            if (overhead_s > 0) {
                events_schedule(&sim->events, sim->events.now_s + overhead_s, EVENT_MEMBER, performer->member);
                return;
            }
            break;
        case NEXT_ROUND:
            performer->posts = false;
            if (performer->n_pending > 0)
                return;
            break;
        case NEXT_END:
            end(sim, number);
            return;
        }
    }
}

void performer_arrives(struct simulation *sim, uint32_t member)
{
    struct run_stage *stage = &sim->stage;
    uint32_t performance = perform(sim, sim->program->members[member].collective);
    uint32_t number = stage->free_performer;
    if (number != RUN_NOBODY) {
        stage->free_performer = stage->performers[number].n_pending;
    } else {
        array_reserve(&stage->performers, &stage->performers_room, stage->n_performers + 1, sizeof *stage->performers);
        number = (uint32_t)stage->n_performers++;
    }
    stage->performers[number] =
        (struct performer){.member = member, .performance = performance, .latest = simulation_moment(sim)};
    sim->members[member].arrival_s = sim->events.now_s;
    sim->members[member].performer = number;
    go_on(sim, number);
}

void performer_goes_on(struct simulation *sim, uint32_t member)
{
    go_on(sim, sim->members[member].performer);
}
