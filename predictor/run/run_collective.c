/* Collectives: of recorded length, or modelled.
 *
 * Of those of recorded length it is known who waits for whom, and how long a member stays after that. In a modelled one
 * each member goes through its script, round by round, by messages that the engine moves as any other. They exist from
 * the first post to the end of both sides; the k-th send of a member to another one in a collective meets the k-th
 * receive. A member's last arrival that it depends on is found on the way: a message hands on that of its sender, and
 * to a sender that waits for its receiver that of the receiver. */
#include "predictor/run/run_collective.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/run/run_message.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"

bool collective_is_modelled(const struct simulation *sim, uint32_t collective)
{
    const struct run_collective *c = &sim->program->collectives[collective];
    bool rooted = c->kind == COLLECTIVE_BCAST || c->kind == COLLECTIVE_REDUCE || c->kind == COLLECTIVE_GATHER ||
                  c->kind == COLLECTIVE_SCATTER;
    return sim->options->model_collectives && c->kind != COLLECTIVE_OTHER && (!rooted || c->root < c->n_members);
}

/* Lets a member leave, and tells whoever waits for it. */
static void leave(struct simulation *sim, uint32_t member, double last_s, const struct run_moment *last)
{
    sim->members[member].done = true;
    sim->member_complete(sim, member, last_s, last);
}

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

void stage_init(struct simulation *sim)
{
    enum { FIRST_BUCKETS = 1024 };
    sim->stage = (struct run_stage){.free_message = RUN_NOBODY,
                                    .free_performer = RUN_NOBODY,
                                    .free_performance = RUN_NOBODY,
                                    .posting = RUN_NOBODY};
    for (size_t m = 0; m < sim->program->n_members; m++)
        sim->members[m] = (struct member_state){.arrival_s = NAN, .waiter = RUN_NOBODY};
    for (size_t c = 0; c < sim->program->n_collectives; c++)
        sim->collectives[c] =
            (struct collective_state){.lower_s = -INFINITY, .last.strand = RUN_NOBODY, .performance = RUN_NOBODY};
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

static uint32_t *bucket_of(const struct run_stage *stage, uint32_t performance, const uint32_t *member)
{
    return &stage->buckets[map_hash((struct map_key){performance, member[0], member[1]}) & (stage->n_buckets - 1)];
}

/* Appends it to its bucket: the first one there was posted first. */
static void put(struct run_stage *stage, uint32_t number)
{
    struct moved_message *message = &stage->messages[number];
    uint32_t *link = bucket_of(stage, message->performance, message->member);
    while (*link != RUN_NOBODY)
        link = &stage->messages[*link].next;
    *link = number;
    message->next = RUN_NOBODY;
}

/* Doubles the buckets. */
static void grow(struct run_stage *stage)
{
    size_t n = stage->n_buckets;
    uint32_t *old = stage->buckets, *buckets = xmalloc(2 * n * sizeof *buckets);
    for (size_t i = 0; i < 2 * n; i++)
        buckets[i] = RUN_NOBODY;
    stage->buckets = buckets;
    stage->n_buckets = 2 * n;
    for (size_t i = 0; i < n; i++)
        for (uint32_t number = old[i], next; number != RUN_NOBODY; number = next) {
            next = stage->messages[number].next;
            put(stage, number);
        }
    free(old);
}

/* Takes out the first message of the pair whose other end is posted. Returns RUN_NOBODY if there is none. */
static uint32_t take(struct run_stage *stage, uint32_t performance, const uint32_t *member,
                     enum run_operation_kind side)
{
    for (uint32_t *link = bucket_of(stage, performance, member); *link != RUN_NOBODY;
         link = &stage->messages[*link].next) {
        uint32_t number = *link;
        const struct moved_message *message = &stage->messages[number];
        if (message->performance != performance || message->member[0] != member[0] || message->member[1] != member[1] ||
            !isnan(message->state.post_s[side]))
            continue;
        *link = message->next;
        stage->n_waiting--;
        return number;
    }
    return RUN_NOBODY;
}

/* Makes a message of which no end is posted. Returns RUN_NOBODY without the level. */
static uint32_t make(struct simulation *sim, uint32_t performance, const uint32_t *member,
                     const struct run_message *told)
{
    struct run_stage *stage = &sim->stage;
    uint32_t number = stage->free_message;
    if (number != RUN_NOBODY) {
        stage->free_message = stage->messages[number].next;
    } else {
        array_reserve(&stage->messages, &stage->messages_room, stage->n_messages + 1, sizeof *stage->messages);
        number = (uint32_t)stage->n_messages++;
    }
    stage->messages[number] = (struct moved_message){.told = *told,
                                                     .state = {.post_s = {NAN, NAN},
                                                               .waiter = {RUN_NOBODY, RUN_NOBODY},
                                                               .flight = RUN_NOBODY,
                                                               .class = message_class(sim, told)},
                                                     .performance = performance,
                                                     .member = {member[0], member[1]},
                                                     .performer = {RUN_NOBODY, RUN_NOBODY}};
    if (sim->no_level)
        return RUN_NOBODY;
    if (++stage->n_waiting > stage->n_buckets)
        grow(stage);
    put(stage, number);
    return number;
}

/* Notes the arrivals that the end of a message depended on. */
static void depend(struct simulation *sim, uint32_t number, enum run_operation_kind side, struct performer *performer)
{
    const struct moved_message *message = &sim->stage.messages[number];
    uint32_t id = (uint32_t)sim->program->n_messages + number;
    enum run_operation_kind other = side == OPERATION_SEND ? OPERATION_RECEIVE : OPERATION_SEND;
    bool depends = side == OPERATION_RECEIVE || message_is_rendezvous(sim, id);
    if (depends && !isnan(message->state.post_s[other]) && message->latest[other].at_s > performer->latest.at_s)
        performer->latest = message->latest[other];
}

/* Frees a message that both sides are done with. */
static void drop(struct simulation *sim, uint32_t number)
{
    struct moved_message *message = &sim->stage.messages[number];
    const struct message_state *state = &message->state;
    if (isnan(state->post_s[0]) || isnan(state->post_s[1]) || state->done != (SEND_DONE | DELIVERED))
        return;
    message->next = sim->stage.free_message;
    sim->stage.free_message = number;
}

void moved_complete(struct simulation *sim, uint32_t id, enum run_operation_kind side, double rest)
{
    (void)rest;
    uint32_t number = id - (uint32_t)sim->program->n_messages;
    struct moved_message *message = &sim->stage.messages[number];
    uint32_t waiter = message->performer[side];
    if (waiter != RUN_NOBODY) {
        struct performer *performer = &sim->stage.performers[waiter];
        message->performer[side] = RUN_NOBODY;
        depend(sim, number, side, performer);
        if (--performer->n_pending == 0 && !performer->posts)
            events_schedule(&sim->events, sim->events.now_s, EVENT_MEMBER, performer->member);
    }
    if (number != sim->stage.posting)
        drop(sim, number);
}

/* Posts the performer's end of the next message of its collective with another member. Returns the overhead in seconds.
 */
static double moved_post(struct simulation *sim, uint32_t performer_number, const struct script_action *action)
{
    struct run_stage *stage = &sim->stage;
    struct performer *performer = &stage->performers[performer_number];
    const struct run_collective *collective =
        &sim->program->collectives[sim->program->members[performer->member].collective];
    const struct run_member *members = &sim->program->members[collective->first_member];
    uint32_t own = performer->member - collective->first_member;
    enum run_operation_kind side = action->sends ? OPERATION_SEND : OPERATION_RECEIVE;
    const uint32_t member[2] = {action->sends ? own : action->peer, action->sends ? action->peer : own};
    uint32_t number = take(stage, performer->performance, member, side);
    if (number == RUN_NOBODY) {
        const struct run_message told = {.bytes = action->bytes,
                                         .src = members[member[0]].rank,
                                         .dst = members[member[1]].rank,
                                         .flags =
                                             stage->performances[performer->performance].tended ? MESSAGE_TENDED : 0};
        number = make(sim, performer->performance, member, &told);
    }
    if (number == RUN_NOBODY)
        return 0;
    uint32_t id = (uint32_t)sim->program->n_messages + number;
    struct moved_message *message = &stage->messages[number];
    message->latest[side] = performer->latest;
    stage->posting = number;
    double search_s = sim->queue.searchers != NULL ? message_search(sim, id, side) : 0;
    message_post(sim, id, side);
    stage->posting = RUN_NOBODY;
    if ((message->state.done & (side == OPERATION_SEND ? SEND_DONE : DELIVERED)) != 0) {
        depend(sim, number, side, performer);
    } else {
        message->performer[side] = performer_number;
        performer->n_pending++;
    }
    uint8_t class = message->state.class;
    uint64_t bytes = message->told.bytes;
    drop(sim, number);
    if (class == RUN_NO_CLASS)
        return search_s;
    const struct run_class *rates = &sim->rates.classes[class];
    return search_s + rates->overhead_s[side] + (side == OPERATION_SEND ? rates->overhead_byte_s * (double)bytes : 0);
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

static void end(struct simulation *sim, uint32_t number)
{
    struct performer performer = sim->stage.performers[number];
    sim->stage.performers[number].n_pending = sim->stage.free_performer;
    sim->stage.free_performer = number;
    end_performance(sim, performer.performance);
    leave(sim, performer.member, performer.latest.at_s, &performer.latest);
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

static void performer_arrives(struct simulation *sim, uint32_t member)
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

void member_event(struct simulation *sim, uint32_t member)
{
    uint32_t collective = sim->program->members[member].collective;
    if (collective_is_modelled(sim, collective))
        go_on(sim, sim->members[member].performer);
    else
        leave(sim, member, sim->members[member].moment_s, &sim->collectives[collective].last);
}
