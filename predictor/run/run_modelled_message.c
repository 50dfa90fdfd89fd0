/* Messages of modelled collectives. They exist from the first post to the end of both sides; the k-th send of a member
 * to another one in a collective meets the k-th receive. */
#include <math.h>
#include <stdlib.h>

#include "predictor/run/simulation.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"

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

void moved_complete(struct simulation *sim, uint32_t id, enum run_operation_kind side)
{
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

double moved_post(struct simulation *sim, uint32_t performer_number, const struct script_action *action)
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
