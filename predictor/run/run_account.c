/* Says what a wait consisted of (share/doc/MODELS.md, Whole run, Where the time goes). */
#include <math.h>

#include "predictor/run/simulation.h"
#include "share/base/array.h"

static double overlap_s(double begin_s, double end_s, double from_s, double to_s)
{
    return fmax(fmin(end_s, to_s) - fmax(begin_s, from_s), 0);
}

struct wait_parts account_message(const struct simulation *sim, const struct strand *strand, uint32_t message,
                                  enum run_operation_kind side, double rest)
{
    const struct message_state *state = message_state(sim, message);
    struct wait_parts parts = {.late_receiver = side == OPERATION_SEND, .cause.strand = RUN_NOBODY};
    bool rendezvous = message_is_rendezvous(sim, message);
    double from_s = strand->wait_begin_s, to_s = sim->now_s;
    /* Its own end may be posted by another thread meanwhile. */
    double send_s = state->post_s[OPERATION_SEND];
    double receive_s = side == OPERATION_RECEIVE || rendezvous ? state->post_s[OPERATION_RECEIVE] : -INFINITY;
    parts.late_receiver = receive_s > send_s;
    double late_s = fmax(send_s, receive_s);
    if (late_s > from_s) {
        parts.late_s = fmin(late_s, to_s) - from_s;
        from_s += parts.late_s;
    }
    if (state->flight == RUN_NOBODY)
        return parts;
    const struct run_class *class = &sim->rates.classes[state->class];
    const struct flight *flight = &sim->flights[state->flight];
    parts.cause = flight->begun;
    double latency_from_s = rendezvous ? fmax(state->post_s[0], state->post_s[1]) : flight->through_s;
    if (rendezvous || side == OPERATION_RECEIVE || flight->phase == FLIGHT_IS_THROUGH)
        parts.latency_s = overlap_s(latency_from_s, latency_from_s + class->tau_s, from_s, to_s);
    double left_s = fmax(to_s - from_s - parts.latency_s, 0);
    parts.progress_s = fmin(fmax(flight_stalled_s(sim, flight) - flight->stalled_at_wait[side], 0), left_s);
    left_s -= parts.progress_s;
    double alone_s = fmax(flight->rest_at_wait[side] - rest, 0) / class->bytes_per_s[1];
    /* A difference by rounding alone is no contention. */
    parts.bandwidth_s = alone_s >= left_s * (1 - 1e-12) ? left_s : alone_s;
    parts.contention_s = left_s - parts.bandwidth_s;
    return parts;
}

struct wait_parts account_member(const struct simulation *sim, const struct strand *strand, uint32_t member)
{
    struct wait_parts parts = {.cause = sim->collectives[sim->program->members[member].collective].last};
    double from_s = strand->wait_begin_s, whole_s = sim->now_s - from_s;
    parts.collective_wait_s = fmin(fmax(sim->members[member].moment_s - from_s, 0), whole_s);
    parts.collective_transfer_s = whole_s - parts.collective_wait_s;
    return parts;
}

/* Keeps a wait for another strand. */
static void keep(struct simulation *sim, const struct wait_parts *parts)
{
    struct simulation_result *result = sim->result;
    const struct strand *strand = &sim->strands[sim->active];
    double late_s = parts->late_s + parts->collective_wait_s;
    if (!(late_s > 0) || parts->cause.strand == RUN_NOBODY || parts->cause.strand == sim->active)
        return;
    if (array_grow(&result->waits, result->n_waits, sizeof *result->waits) != 0) {
        sim->no_memory = true;
        return;
    }
    result->waits[result->n_waits++] = (struct run_wait){.begin = {sim->active, strand->step, strand->wait_begin_s},
                                                         .cause = parts->cause,
                                                         .late_s = late_s,
                                                         .end_s = sim->now_s};
}

void account_wait(struct simulation *sim, uint32_t place, const struct wait_parts *parts)
{
    if (sim->options->log)
        keep(sim, parts);
    double *part_s = sim->result->predicted[place].part_s;
    part_s[parts->late_receiver ? RUN_LATE_RECEIVER : RUN_LATE_SENDER] += parts->late_s;
    part_s[RUN_LATENCY] += parts->latency_s;
    part_s[RUN_BANDWIDTH] += parts->bandwidth_s;
    part_s[RUN_CONTENTION] += parts->contention_s;
    part_s[RUN_PROGRESS] += parts->progress_s;
    part_s[RUN_COLLECTIVE_WAIT] += parts->collective_wait_s;
    part_s[RUN_COLLECTIVE_TRANSFER] += parts->collective_transfer_s;
}
