/* Makes the handshake of a rendezvous between nodes step by step (share/doc/MODELS.md, Whole run, Backlog).
 *
 * The sender announces the message, the receiver answers, the data follow. Announcement and answer wait for what stands
 * before their network card, and a rank takes note of them only while it waits in MPI, where its transport is like that
 * (progress): what has arrived meanwhile it then takes in the order of the arrivals. So data that are handed over ahead
 * of an answer to the same rank hold that up until they are through. */
#include <math.h>

#include "predictor/run/simulation.h"
#include "share/base/array.h"

/* Orders what arrives at the same moment, whatever rounding says: answers, so that their data go first; announcements;
 * data with their last byte, since a rank sees an announcement right behind them before it goes on. */
#define LATER_S 1e-13

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

/* Keeps a flight until the rank looks for messages. Returns false where it need not wait. */
static bool await_rank(struct simulation *sim, uint32_t number, enum run_operation_kind side)
{
    struct flight *flight = &sim->flights[number];
    const struct run_class *class = &sim->rates.classes[flight->mover.class];
    uint32_t rank = side == OPERATION_SEND ? flight->mover.src : flight->mover.dst;
    bool needs = side == OPERATION_SEND ? class->needs_sender : class->needs_receiver;
    struct flight_list *list = &sim->rank_arrived[rank];
    if (!needs || sim->n_polling[rank] > 0 || (message_told(sim, flight->message)->flags & MESSAGE_TENDED) != 0)
        return false;
    if (array_reserve(&list->flights, &list->room, list->n + 1, sizeof *list->flights) != 0) {
        sim->no_memory = true;
        return false;
    }
    list->flights[list->n++] = number;
    return true;
}

static void answer(struct simulation *sim, uint32_t number)
{
    struct flight *flight = &sim->flights[number];
    flight->phase = FLIGHT_ANSWERS;
    flight->agreed_s = sim->now_s;
    flight->wait_s[1] = backlog_s(sim, flight->mover.dst, flight->mover.src);
    flight->answered_s = sim->now_s + flight->wait_s[1] + handshake_step_s(sim, flight);
    simulation_schedule(sim, flight->answered_s, EVENT_FLIGHT, number);
}

void handshake_post(struct simulation *sim, uint32_t message, enum run_operation_kind side)
{
    const struct message_state *state = message_state(sim, message);
    const struct run_message *told = message_told(sim, message);
    if (side == OPERATION_SEND) {
        uint32_t number = flight_make(sim, message, FLIGHT_ANNOUNCES);
        if (number == RUN_NOBODY)
            return;
        struct flight *flight = &sim->flights[number];
        flight->wait_s[0] = backlog_s(sim, told->src, told->dst);
        flight->announced_s = sim->now_s + flight->wait_s[0] + handshake_step_s(sim, flight);
        simulation_schedule(sim, flight->announced_s + LATER_S, EVENT_FLIGHT, number);
    } else if (state->flight != RUN_NOBODY) { /* the announcement is on its way, or not taken note of */
        sim->flights[state->flight].begun = simulation_moment(sim);
    } else if (!isnan(state->post_s[OPERATION_SEND])) {
        uint32_t number = flight_make(sim, message, FLIGHT_ANNOUNCES);
        if (number != RUN_NOBODY)
            answer(sim, number);
    }
}

/* Lets a rank take note of an answer, or of an announcement: without its receive that is answered when it is posted. */
static void take(struct simulation *sim, uint32_t number)
{
    const struct flight *flight = &sim->flights[number];
    if (flight->phase == FLIGHT_ANSWERS)
        flight_begin_to_move(sim, number);
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
