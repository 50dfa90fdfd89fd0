/* Collectives: of recorded length, or modelled.
 *
 * Of those of recorded length it is known who waits for whom, and how long a member stays after that. In a modelled one
 * each member goes through its script, round by round, by messages that the engine moves as any other. They exist from
 * the first post to the end of both sides; the k-th send of a member to another one in a collective meets the k-th
 * receive. A member's last arrival that it depends on is found on the way: a message hands on that of its sender, and
 * to a sender that waits for its receiver that of the receiver. */
#include "predictor/run/engine/simulation_state.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"

bool collective_is_modelled(const struct simulation *sim, uint32_t collective)
{
    const struct run_collective *c = &sim->program->collectives[collective];
    return sim->options->model_collectives && script_exists((enum run_collective_kind)c->kind, c->root, c->n_members);
}

/* Lets a member leave, and tells whoever waits for it. */
static void member_leave(struct simulation *sim, uint32_t member, double last_s, const struct run_moment *last)
{
    sim->members[member].done = true;
    sim->member_complete(sim, member, last_s, last);
}

/* The moment from which the member's recorded rest counts is known now. */
static void release_member(struct simulation *sim, uint32_t member, double moment_s)
{
    struct member_state *state = &sim->members[member];
    state->moment_s = fmax(moment_s, state->arrival_s);
    events_schedule(&sim->events, state->moment_s + sim->program->members[member].after_s, EVENT_MEMBER, member);
}

/* Releases those that arrived before what they waited for did. */
static void release_arrived(struct simulation *sim, const struct run_collective *collective)
{
    for (uint32_t i = 0; i < collective->n_members; i++)
        if (!isnan(sim->members[collective->first_member + i].arrival_s))
            release_member(sim, collective->first_member + i, sim->events.now_s);
}

static void arrive_on_root(struct simulation *sim, const struct run_collective *collective, uint32_t member)
{
    uint32_t root = collective->first_member + collective->root;
    if (member == root)
        release_arrived(sim, collective);
    else if (!isnan(sim->members[root].arrival_s))
        release_member(sim, member, sim->events.now_s);
}

static void arrive_of_root(struct simulation *sim, const struct run_collective *collective, bool all, uint32_t member)
{
    uint32_t root = collective->first_member + collective->root;
    if (member != root)
        release_member(sim, member, sim->events.now_s);
    if (all)
        release_member(sim, root, sim->events.now_s);
}

static void arrive_on_lower(struct simulation *sim, const struct run_collective *collective,
                            struct collective_state *state)
{
    for (; state->n_lower < collective->n_members; state->n_lower++) {
        uint32_t member = collective->first_member + state->n_lower;
        if (isnan(sim->members[member].arrival_s))
            break;
        state->lower_s = fmax(state->lower_s, sim->members[member].arrival_s);
        release_member(sim, member, state->lower_s);
    }
}

void collectives_init(struct simulation *sim)
{
    enum { FIRST_BUCKETS = 1024 };
    sim->modelled = (struct modelled_state){.posting = RUN_NOBODY};
    for (size_t m = 0; m < sim->program->n_members; m++)
        sim->members[m] = (struct member_state){.arrival_s = NAN, .waiter = RUN_NOBODY};
    for (size_t c = 0; c < sim->program->n_collectives; c++)
        sim->collectives[c] =
            (struct collective_state){.lower_s = -INFINITY, .last.strand = RUN_NOBODY, .instance = RUN_NOBODY};
    if (!sim->options->model_collectives)
        return;
    sim->modelled.buckets = xmalloc(FIRST_BUCKETS * sizeof *sim->modelled.buckets);
    sim->modelled.n_buckets = FIRST_BUCKETS;
    for (size_t i = 0; i < sim->modelled.n_buckets; i++)
        sim->modelled.buckets[i] = RUN_NOBODY;
}

void collectives_release(struct simulation *sim)
{
    for (size_t i = 0; i < sim->modelled.instance_numbers.n; i++)
        free(sim->modelled.instances[i].nodes);
    FREE_ALL(sim->modelled.instance_numbers.back, sim->modelled.participant_numbers.back,
             sim->modelled.message_numbers.back, sim->modelled.instances, sim->modelled.participants,
             sim->modelled.messages, sim->modelled.buckets);
}

static uint32_t *bucket_of(const struct modelled_state *modelled, uint32_t instance, const uint32_t *member)
{
    return &modelled->buckets[map_hash((struct map_key){instance, member[0], member[1]}) & (modelled->n_buckets - 1)];
}

/* Appends it to its bucket: the first one there was posted first. */
static void put(struct modelled_state *modelled, uint32_t number)
{
    struct collective_message *message = &modelled->messages[number];
    uint32_t *link = bucket_of(modelled, message->instance, message->member);
    while (*link != RUN_NOBODY)
        link = &modelled->messages[*link].next;
    *link = number;
    message->next = RUN_NOBODY;
}

/* Doubles the buckets. */
static void grow_buckets(struct modelled_state *modelled)
{
    size_t n = modelled->n_buckets;
    uint32_t *old = modelled->buckets, *buckets = xmalloc(2 * n * sizeof *buckets);
    for (size_t i = 0; i < 2 * n; i++)
        buckets[i] = RUN_NOBODY;
    modelled->buckets = buckets;
    modelled->n_buckets = 2 * n;
    for (size_t i = 0; i < n; i++)
        for (uint32_t number = old[i], next; number != RUN_NOBODY; number = next) {
            next = modelled->messages[number].next;
            put(modelled, number);
        }
    free(old);
}

/* Takes out the first message of the pair whose other end is posted. Returns RUN_NOBODY if there is none. */
static uint32_t take_match(struct modelled_state *modelled, uint32_t instance, const uint32_t *member,
                           enum run_operation_kind side)
{
    for (uint32_t *link = bucket_of(modelled, instance, member); *link != RUN_NOBODY;
         link = &modelled->messages[*link].next) {
        uint32_t number = *link;
        const struct collective_message *message = &modelled->messages[number];
        if (message->instance != instance || message->member[0] != member[0] || message->member[1] != member[1] ||
            !isnan(message->state.post_s[side]))
            continue;
        *link = message->next;
        modelled->n_waiting--;
        return number;
    }
    return RUN_NOBODY;
}

/* Makes a message of which no end is posted. Returns RUN_NOBODY without the level. */
static uint32_t make(struct simulation *sim, uint32_t instance, const uint32_t *member, const struct run_message *told)
{
    struct modelled_state *modelled = &sim->modelled;
    uint32_t number = run_numbers_take(&modelled->message_numbers, &modelled->messages, sizeof *modelled->messages);
    modelled->messages[number] = (struct collective_message){.told = *told,
                                                             .state = message_state_new(sim, told),
                                                             .instance = instance,
                                                             .member = {member[0], member[1]},
                                                             .participant = {RUN_NOBODY, RUN_NOBODY}};
    if (sim->no_level)
        return RUN_NOBODY;
    if (++modelled->n_waiting > modelled->n_buckets)
        grow_buckets(modelled);
    put(modelled, number);
    return number;
}

/* Notes the arrivals that the end of a message depended on. */
static void depend(struct simulation *sim, uint32_t number, enum run_operation_kind side,
                   struct participant *participant)
{
    const struct collective_message *message = &sim->modelled.messages[number];
    uint32_t id = (uint32_t)sim->program->n_messages + number;
    enum run_operation_kind other = side == OPERATION_SEND ? OPERATION_RECEIVE : OPERATION_SEND;
    bool depends = side == OPERATION_RECEIVE || message_is_rendezvous(sim, id);
    if (depends && !isnan(message->state.post_s[other]) && message->latest[other].at_s > participant->latest.at_s)
        participant->latest = message->latest[other];
}

/* Frees a message that both sides are done with. */
static void drop(struct simulation *sim, uint32_t number)
{
    const struct message_state *state = &sim->modelled.messages[number].state;
    if (!isnan(state->post_s[0]) && !isnan(state->post_s[1]) && state->done == (SEND_DONE | DELIVERED))
        run_numbers_give(&sim->modelled.message_numbers, number);
}

void collective_message_complete(struct simulation *sim, uint32_t id, enum run_operation_kind side, double rest)
{
    (void)rest;
    uint32_t number = id - (uint32_t)sim->program->n_messages;
    struct collective_message *message = &sim->modelled.messages[number];
    uint32_t waiter = message->participant[side];
    if (waiter != RUN_NOBODY) {
        struct participant *participant = &sim->modelled.participants[waiter];
        message->participant[side] = RUN_NOBODY;
        depend(sim, number, side, participant);
        if (--participant->n_pending == 0 && !participant->posts)
            events_schedule(&sim->events, sim->events.now_s, EVENT_MEMBER, participant->member);
    }
    if (number != sim->modelled.posting)
        drop(sim, number);
}

/* Posts the participant's end of the next message of its instance with another member. Returns the overhead, s. */
static double post_action(struct simulation *sim, uint32_t participant_number, const struct script_action *action)
{
    struct modelled_state *modelled = &sim->modelled;
    struct participant *participant = &modelled->participants[participant_number];
    const struct run_collective *collective =
        &sim->program->collectives[sim->program->members[participant->member].collective];
    const struct run_member *members = &sim->program->members[collective->first_member];
    uint32_t own = participant->member - collective->first_member;
    enum run_operation_kind side = action->sends ? OPERATION_SEND : OPERATION_RECEIVE;
    const uint32_t member[2] = {action->sends ? own : action->peer, action->sends ? action->peer : own};
    uint32_t number = take_match(modelled, participant->instance, member, side);
    if (number == RUN_NOBODY) {
        const struct run_message told = {.bytes = action->bytes,
                                         .src = members[member[0]].rank,
                                         .dst = members[member[1]].rank,
                                         .flags =
                                             modelled->instances[participant->instance].tended ? MESSAGE_TENDED : 0};
        number = make(sim, participant->instance, member, &told);
    }
    if (number == RUN_NOBODY)
        return 0;
    uint32_t id = (uint32_t)sim->program->n_messages + number;
    struct collective_message *message = &modelled->messages[number];
    message->latest[side] = participant->latest;
    modelled->posting = number;
    double search_s = sim->queue.searchers != NULL ? message_search(sim, id, side) : 0;
    message_post(sim, id, side);
    modelled->posting = RUN_NOBODY;
    if ((message->state.done & 1U << side) != 0) {
        depend(sim, number, side, participant);
    } else {
        message->participant[side] = participant_number;
        participant->n_pending++;
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
                        struct instance *instance)
{
    if (sim->options->script != NULL) {
        instance->script = *sim->options->script;
        return;
    }
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
        instance->nodes = script_nodes_new(members, choice.n, sim->share.nodes.of, sim->share.nodes.n_groups);
        choice.nodes = instance->nodes->n_nodes < choice.n ? instance->nodes : NULL;
    }
    script_choose(&choice, &instance->script);
}

/* Takes what the members send each other by the MPI's algorithm out of the buckets of their NICs: messages behind a
 * collective of recorded length find them as it left them. */
static void drain_buckets(struct simulation *sim, const struct run_collective *collective)
{
    const struct run_member *members = &sim->program->members[collective->first_member];
    struct instance instance = {0};
    if (!run_nics_have_buckets(&sim->share) ||
        !script_exists((enum run_collective_kind)collective->kind, collective->root, collective->n_members))
        return;
    make_script(sim, collective, &instance);
    for (uint32_t i = 0; i < collective->n_members; i++) {
        struct script_cursor cursor = {0};
        struct script_action action;
        for (enum script_next next; (next = script_next(&instance.script, i, &cursor, &action)) != NEXT_END;)
            if (next == NEXT_ACTION && action.sends)
                run_share_drain(&sim->share, sim->events.now_s, members[i].rank, members[action.peer].rank,
                                (double)action.bytes);
    }
    free(instance.nodes);
}

/* Returns the number of the instance of a collective, which begins with its first arrival. */
static uint32_t instance_of(struct simulation *sim, uint32_t number)
{
    struct modelled_state *modelled = &sim->modelled;
    const struct run_collective *collective = &sim->program->collectives[number];
    uint32_t *slot = &sim->collectives[number].instance;
    if (*slot != RUN_NOBODY)
        return *slot;
    uint32_t instance =
        run_numbers_take(&modelled->instance_numbers, &modelled->instances, sizeof *modelled->instances);
    const struct run_step *step = &sim->program->steps[sim->strands[sim->active].step];
    struct instance *made = &modelled->instances[instance];
    *made = (struct instance){.n_left = collective->n_members, .tended = step->kind == STEP_BEGIN};
    *slot = instance;
    make_script(sim, collective, made);
    return instance;
}

static void end_instance(struct simulation *sim, uint32_t number)
{
    struct instance *instance = &sim->modelled.instances[number];
    if (--instance->n_left > 0)
        return;
    free(instance->nodes);
    instance->nodes = NULL;
    run_numbers_give(&sim->modelled.instance_numbers, number);
}

static void end(struct simulation *sim, uint32_t number)
{
    struct participant participant = sim->modelled.participants[number];
    run_numbers_give(&sim->modelled.participant_numbers, number);
    end_instance(sim, participant.instance);
    member_leave(sim, participant.member, participant.latest.at_s, &participant.latest);
}

/* Makes the posts of the round, one after the other, then of those after it as far as nothing must be waited for. */
static void go_on_with_round(struct simulation *sim, uint32_t number)
{
    while (!sim->no_level) {
        struct participant *participant = &sim->modelled.participants[number];
        const struct instance *instance = &sim->modelled.instances[participant->instance];
        uint32_t first = sim->program->collectives[sim->program->members[participant->member].collective].first_member;
        struct script_action action;
        switch (script_next(&instance->script, participant->member - first, &participant->cursor, &action)) {
        case NEXT_ACTION:
            participant->posts = true;
            double overhead_s = post_action(sim, number, &action);
            if (overhead_s > 0) {
                events_schedule(&sim->events, sim->events.now_s + overhead_s, EVENT_MEMBER, participant->member);
                return;
            }
            break;
        case NEXT_ROUND:
            participant->posts = false;
            if (participant->n_pending > 0)
                return;
            break;
        case NEXT_END:
            end(sim, number);
            return;
        }
    }
}

static void participant_arrives(struct simulation *sim, uint32_t member)
{
    struct modelled_state *modelled = &sim->modelled;
    uint32_t instance = instance_of(sim, sim->program->members[member].collective);
    uint32_t number =
        run_numbers_take(&modelled->participant_numbers, &modelled->participants, sizeof *modelled->participants);
    modelled->participants[number] =
        (struct participant){.member = member, .instance = instance, .latest = simulation_moment(sim)};
    sim->members[member].arrival_s = sim->events.now_s;
    sim->members[member].participant = number;
    go_on_with_round(sim, number);
}

void member_arrives(struct simulation *sim, uint32_t member)
{
    uint32_t number = sim->program->members[member].collective;
    if (collective_is_modelled(sim, number)) {
        participant_arrives(sim, member);
        return;
    }
    const struct run_collective *collective = &sim->program->collectives[number];
    struct collective_state *state = &sim->collectives[number];
    sim->members[member].arrival_s = sim->events.now_s;
    bool all = ++state->n_arrived == collective->n_members;
    bool counts = collective->dependence != DEPENDS_ON_ROOT || member == collective->first_member + collective->root;
    if (counts) /* arrivals come in the order of time */
        state->last = simulation_moment(sim);
    if (all)
        drain_buckets(sim, collective);
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
        release_member(sim, member, sim->events.now_s);
        break;
    case DEPENDS_ON_ALL:
        if (all)
            release_arrived(sim, collective);
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
        go_on_with_round(sim, sim->members[member].participant);
    else
        member_leave(sim, member, sim->members[member].moment_s, &sim->collectives[collective].last);
}
