/* Makes the handshake of a rendezvous between nodes step by step (share/doc/MODELS.md, Whole run, Backlog).
 *
 * The sender announces the message, the receiver answers, the data follow. Announcement and answer wait for what stands
 * before their network card, and a rank takes note of them only while it waits in MPI, where its transport is like that
 * (progress): what has arrived meanwhile it then takes in the order of the arrivals. So data that are handed over ahead
 * of an answer to the same rank hold that up until they are through. Which of two messages that cross ends first
 * decides how both ranks go on, and real ones never end at once: the one that began later takes a little longer. */
#include <math.h>

#include "predictor/run/simulation.h"
#include "share/base/array.h"

/* Orders what arrives at the same moment, whatever rounding says: answers, so that their data go first; announcements;
 * data with their last byte, since a rank sees an announcement right behind them before it goes on. */
#define LATER_S 1e-13

/* Is how much longer the later one of two that cross takes, of its transfer alone. Any time that is longer than the
 * calls between two exchanges does. */
#define CROSSING 0.02

double handshake_order_s(const struct simulation *sim, const struct flight *flight)
{
    bool between_nodes = sim->rates.classes[flight->mover.class].level == LEVEL_INTER_NODE;
    return between_nodes && backlog_counts(sim) ? 2 * LATER_S : 0;
}

bool handshake_has_steps(const struct simulation *sim, uint32_t message)
{
    uint8_t class = message_state(sim, message)->class;
    return backlog_counts(sim) && class != RUN_NO_CLASS && sim->rates.classes[class].level == LEVEL_INTER_NODE &&
           message_is_rendezvous(sim, message);
}

double handshake_step_s(const struct simulation *sim, const struct flight *flight)
{
    return sim->rates.classes[flight->mover.class].tau_s / 3;
}

static void append(struct flight_list *list, uint32_t number)
{
    array_reserve(&list->flights, &list->room, list->n + 1, sizeof *list->flights);
    list->flights[list->n++] = number;
}

/* Keeps a flight until the rank looks for messages. Returns false where it need not wait. */
static bool await_rank(struct simulation *sim, uint32_t number, enum run_operation_kind side)
{
    struct flight *flight = &sim->flights[number];
    const struct run_class *class = &sim->rates.classes[flight->mover.class];
    uint32_t rank = side == OPERATION_SEND ? flight->mover.src : flight->mover.dst;
    bool needs = side == OPERATION_SEND ? class->needs_sender : class->needs_receiver;
    if (!needs || sim->n_polling[rank] > 0 || (message_told(sim, flight->message)->flags & MESSAGE_TENDED) != 0)
        return false;
    append(&sim->rank_arrived[rank], number);
    return true;
}

/* Sends an announcement or an answer on its way in so many seconds. */
static void leave(struct simulation *sim, uint32_t number, double in_s)
{
    struct flight *flight = &sim->flights[number];
    double left_s = sim->events.now_s + in_s, arrival_s = left_s + handshake_step_s(sim, flight);
    if (flight->phase == FLIGHT_ANNOUNCES) {
        flight->wait_s[0] = left_s - message_state(sim, flight->message)->post_s[OPERATION_SEND];
        flight->announced_s = arrival_s;
        arrival_s += LATER_S;
    } else {
        flight->wait_s[1] = left_s - flight->agreed_s;
        flight->answered_s = arrival_s;
    }
    events_schedule(&sim->events, arrival_s, EVENT_FLIGHT, number);
}

/* Lets an announcement or an answer from one rank to another leave: behind data of the same ranks when these are
 * through. */
static void queue(struct simulation *sim, uint32_t number, uint32_t src, uint32_t dst)
{
    uint32_t behind;
    double wait_s = backlog_s(sim, src, dst, &behind);
    if (behind == RUN_NOBODY) {
        leave(sim, number, wait_s);
    } else {
        sim->flights[number].next_behind = sim->flights[behind].first_behind;
        sim->flights[behind].first_behind = number;
    }
}

static void answer(struct simulation *sim, uint32_t number)
{
    struct flight *flight = &sim->flights[number];
    flight->phase = FLIGHT_ANSWERS;
    flight->agreed_s = sim->events.now_s;
    queue(sim, number, flight->mover.dst, flight->mover.src);
}

void handshake_post(struct simulation *sim, uint32_t message, enum run_operation_kind side)
{
    const struct message_state *state = message_state(sim, message);
    const struct run_message *told = message_told(sim, message);
    if (side == OPERATION_SEND) {
        uint32_t number = flight_make(sim, message, FLIGHT_ANNOUNCES);
        if (number == RUN_NOBODY)
            return;
        queue(sim, number, told->src, told->dst);
    } else if (state->flight != RUN_NOBODY) { /* the announcement is on its way, or not taken note of */
        sim->flights[state->flight].begun = simulation_moment(sim);
    } else if (!isnan(state->post_s[OPERATION_SEND])) {
        uint32_t number = flight_make(sim, message, FLIGHT_ANNOUNCES);
        if (number != RUN_NOBODY)
            answer(sim, number);
    }
}

/* Lets the data of a message begin to move; other ones of the same ranks may come the other way. */
static void begin_data(struct simulation *sim, uint32_t number)
{
    struct flight *flight = &sim->flights[number];
    const struct flight_list *others = &sim->rank_coming[flight->mover.src];
    struct flight_list *mine = &sim->rank_coming[flight->mover.dst];
    double alone_s =
        (double)message_told(sim, flight->message)->bytes / sim->rates.classes[flight->mover.class].bytes_per_s[1];
    for (size_t i = 0; i < others->n; i++) {
        const struct flight *other = &sim->flights[others->flights[i]];
        if (other->mover.src == flight->mover.dst && other->begun_s < sim->events.now_s)
            flight->crossing_s = CROSSING * alone_s;
    }
    append(mine, number);
    flight_begin_to_move(sim, number);
}

void handshake_through(struct simulation *sim, uint32_t number)
{
    struct flight_list *list = &sim->rank_coming[sim->flights[number].mover.dst];
    uint32_t behind = sim->flights[number].first_behind;
    size_t i = 0;
    for (; behind != RUN_NOBODY; behind = sim->flights[behind].next_behind)
        leave(sim, behind, sim->flights[number].through_s - sim->events.now_s);
    while (i < list->n && list->flights[i] != number)
        i++;
    if (i < list->n)
        list->flights[i] = list->flights[--list->n];
}

/* Lets a rank take note of an answer, or of an announcement: without its receive that is answered when it is posted. */
static void take(struct simulation *sim, uint32_t number)
{
    const struct flight *flight = &sim->flights[number];
    if (flight->phase == FLIGHT_ANNOUNCES)
        message_arrives(sim, flight->message);
    if (flight->phase == FLIGHT_ANSWERS)
        begin_data(sim, number);
    else if (isnan(message_state(sim, flight->message)->post_s[OPERATION_RECEIVE]))
        flight_free(sim, number);
    else
        answer(sim, number);
}

void handshake_event(struct simulation *sim, uint32_t number)
{
    struct flight *flight = &sim->flights[number];
    if (!await_rank(sim, number, flight->phase == FLIGHT_ANSWERS ? OPERATION_SEND : OPERATION_RECEIVE))
        take(sim, number);
}

void handshake_poll(struct simulation *sim, uint32_t rank)
{
    struct flight_list *list = &sim->rank_arrived[rank];
    for (size_t i = 0; i < list->n; i++)
        take(sim, list->flights[i]);
    list->n = 0;
}
