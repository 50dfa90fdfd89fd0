/* Parts of a wait for a message follow from when its ends were posted and its phases began. See simulation_state.h. */
#include "predictor/run/engine/simulation_state.h"

#include <math.h>

#include "share/base/array.h"

static double overlap_s(double begin_s, double end_s, double from_s, double to_s)
{
    return fmax(fmin(end_s, to_s) - fmax(begin_s, from_s), 0);
}

/* Divides what of a handshake made step by step lies from from_s to to_s, and the latency of the last byte: waits for a
 * network card, latency, waits for a rank that is outside MPI. */
static void account_steps(const struct simulation *sim, const struct transfer *transfer, double send_s, double from_s,
                          double to_s, struct wait_parts *parts)
{
    double card_s = send_s + transfer->wait_s[0], answer_s = transfer->agreed_s + transfer->wait_s[1];
    double arrived_s = fmax(transfer->announced_s, from_s);
    parts->queue_s = overlap_s(send_s, card_s, from_s, to_s) + overlap_s(transfer->agreed_s, answer_s, from_s, to_s);
    parts->latency_s = overlap_s(card_s, transfer->announced_s, from_s, to_s) +
                       overlap_s(answer_s, transfer->answered_s, from_s, to_s);
    parts->progress_s = overlap_s(arrived_s, transfer->agreed_s, from_s, to_s) +
                        overlap_s(transfer->answered_s, transfer->begun_s, from_s, to_s);
    if (transfer->phase >= TRANSFER_IS_THROUGH)
        parts->latency_s +=
            overlap_s(transfer->through_s, transfer->through_s + handshake_step_s(sim, transfer), from_s, to_s);
}

struct wait_parts account_message(const struct simulation *sim, const struct strand *strand, uint32_t message,
                                  enum run_operation_kind side, double rest)
{
    const struct message_state *state = message_state(sim, message);
    struct wait_parts parts = {.late_receiver = side == OPERATION_SEND, .cause.strand = RUN_NOBODY};
    bool rendezvous = message_is_rendezvous(sim, message);
    double from_s = strand->wait_begin_s, to_s = sim->events.now_s;
    /* Its own end may be posted by another thread meanwhile. */
    double send_s = state->post_s[OPERATION_SEND];
    double receive_s = side == OPERATION_RECEIVE || rendezvous ? state->post_s[OPERATION_RECEIVE] : -INFINITY;
    parts.late_receiver = receive_s > send_s;
    double late_s = fmax(send_s, receive_s);
    if (late_s > from_s) {
        parts.late_s = fmin(late_s, to_s) - from_s;
        from_s += parts.late_s;
    }
    if (state->transfer == RUN_NOBODY)
        return parts;
    const struct run_class *class = &sim->rates.classes[state->class];
    const struct transfer *transfer = &sim->transfers[state->transfer];
    parts.cause = transfer->begun;
    double latency_from_s = rendezvous ? late_s : transfer->through_s;
    if (handshake_has_steps(sim, message))
        account_steps(sim, transfer, send_s, from_s, to_s, &parts);
    else if (rendezvous || side == OPERATION_RECEIVE || transfer->phase >= TRANSFER_IS_THROUGH)
        parts.latency_s = overlap_s(latency_from_s, latency_from_s + class->tau_s, from_s, to_s);
    if (!rendezvous && transfer->phase >= TRANSFER_IS_THROUGH)
        parts.queue_s = overlap_s(transfer->moved_s, transfer->through_s, from_s, to_s);
    if (transfer->search_s > 0)
        parts.queue_s += fmin(transfer->search_s, to_s - from_s); /* it ends with that */
    double left_s = fmax(to_s - from_s - parts.latency_s - parts.queue_s - parts.progress_s, 0);
    double stalled_s = fmin(fmax(transfer_stalled_s(sim, transfer) - transfer->stalled_at_wait[side], 0), left_s);
    parts.progress_s += stalled_s;
    left_s -= stalled_s;
    double alone_s = fmax(transfer->rest_at_wait[side] - rest, 0) / class->bytes_per_s[1];
    /* A difference by rounding alone is no contention. */
    parts.bandwidth_s = alone_s >= left_s * (1 - 1e-12) ? left_s : alone_s;
    parts.contention_s = left_s - parts.bandwidth_s;
    return parts;
}

struct wait_parts account_member(const struct simulation *sim, const struct strand *strand, double last_s,
                                 const struct run_moment *last)
{
    struct wait_parts parts = {.cause = *last};
    double from_s = strand->wait_begin_s, whole_s = sim->events.now_s - from_s;
    parts.collective_wait_s = fmin(fmax(last_s - from_s, 0), whole_s);
    parts.collective_transfer_s = whole_s - parts.collective_wait_s;
    return parts;
}

/* Keeps a wait for another strand. */
static void keep_wait(struct simulation *sim, const struct wait_parts *parts)
{
    struct simulation_result *result = sim->result;
    const struct strand *strand = &sim->strands[sim->active];
    double late_s = parts->late_s + parts->collective_wait_s;
    if (!(late_s > 0) || parts->cause.strand == RUN_NOBODY || parts->cause.strand == sim->active)
        return;
    ARRAY_ADD(result->waits, result->n_waits,
              (struct run_wait){.begin = {sim->active, strand->step, strand->wait_begin_s},
                                .cause = parts->cause,
                                .late_s = late_s,
                                .end_s = sim->events.now_s});
}

void account_wait(struct simulation *sim, uint32_t place, const struct wait_parts *parts)
{
    if (sim->options->log)
        keep_wait(sim, parts);
    double *part_s = sim->result->predicted[place].part_s;
    part_s[parts->late_receiver ? RUN_LATE_RECEIVER : RUN_LATE_SENDER] += parts->late_s;
    part_s[RUN_LATENCY] += parts->latency_s;
    part_s[RUN_BANDWIDTH] += parts->bandwidth_s;
    part_s[RUN_CONTENTION] += parts->contention_s;
    part_s[RUN_QUEUE] += parts->queue_s;
    part_s[RUN_PROGRESS] += parts->progress_s;
    part_s[RUN_COLLECTIVE_WAIT] += parts->collective_wait_s;
    part_s[RUN_COLLECTIVE_TRANSFER] += parts->collective_transfer_s;
}
