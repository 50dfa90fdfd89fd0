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
                          double to_s, double *part_s)
{
    double card_s = send_s + transfer->wait_s[0], answer_s = transfer->agreed_s + transfer->wait_s[1];
    double arrived_s = fmax(transfer->announced_s, from_s);
    part_s[RUN_QUEUE] = overlap_s(send_s, card_s, from_s, to_s) + overlap_s(transfer->agreed_s, answer_s, from_s, to_s);
    part_s[RUN_LATENCY] = overlap_s(card_s, transfer->announced_s, from_s, to_s) +
                          overlap_s(answer_s, transfer->answered_s, from_s, to_s);
    part_s[RUN_PROGRESS] = overlap_s(arrived_s, transfer->agreed_s, from_s, to_s) +
                           overlap_s(transfer->answered_s, transfer->begun_s, from_s, to_s);
    if (transfer->phase >= TRANSFER_IS_THROUGH)
        part_s[RUN_LATENCY] +=
            overlap_s(transfer->through_s, transfer->through_s + handshake_step_s(sim, transfer), from_s, to_s);
}

void account_message(const struct simulation *sim, struct strand *strand, uint32_t message,
                     enum run_operation_kind side, double rest)
{
    const struct message_state *state = message_state(sim, message);
    double *part_s = strand->parts.of.part_s;
    bool rendezvous = message_is_rendezvous(sim, message);
    double from_s = strand->wait_begin_s, to_s = sim->events.now_s;
    /* Its own end may be posted by another thread meanwhile. */
    double send_s = state->post_s[OPERATION_SEND];
    double receive_s = side == OPERATION_RECEIVE || rendezvous ? state->post_s[OPERATION_RECEIVE] : -INFINITY;
    double late_s = fmax(send_s, receive_s);
    strand->parts = (struct wait_parts){.cause.strand = RUN_NOBODY};
    if (late_s > from_s) {
        double *late_part_s = &part_s[receive_s > send_s ? RUN_LATE_RECEIVER : RUN_LATE_SENDER];
        *late_part_s = fmin(late_s, to_s) - from_s;
        from_s += *late_part_s;
    }
    if (state->transfer == RUN_NOBODY)
        return;
    const struct run_class *class = &sim->rates.classes[state->class];
    const struct transfer *transfer = &sim->transfers[state->transfer];
    strand->parts.cause = transfer->begun;
    double latency_from_s = rendezvous ? late_s : transfer->through_s;
    if (handshake_has_steps(sim, message))
        account_steps(sim, transfer, send_s, from_s, to_s, part_s);
    else if (rendezvous || side == OPERATION_RECEIVE || transfer->phase >= TRANSFER_IS_THROUGH)
        part_s[RUN_LATENCY] = overlap_s(latency_from_s, latency_from_s + class->tau_s, from_s, to_s);
    if (!rendezvous && transfer->phase >= TRANSFER_IS_THROUGH)
        part_s[RUN_QUEUE] = overlap_s(transfer->moved_s, transfer->through_s, from_s, to_s);
    if (transfer->search_s > 0)
        part_s[RUN_QUEUE] += fmin(transfer->search_s, to_s - from_s); /* it ends with that */
    double left_s = fmax(to_s - from_s - part_s[RUN_LATENCY] - part_s[RUN_QUEUE] - part_s[RUN_PROGRESS], 0);
    double stalled_s = fmin(fmax(transfer_stalled_s(sim, transfer) - transfer->stalled_at_wait[side], 0), left_s);
    part_s[RUN_PROGRESS] += stalled_s;
    left_s -= stalled_s;
    double alone_s = fmax(transfer->rest_at_wait[side] - rest, 0) / class->bytes_per_s[1];
    /* A difference by rounding alone is no contention. */
    part_s[RUN_BANDWIDTH] = alone_s >= left_s * (1 - 1e-12) ? left_s : alone_s;
    part_s[RUN_CONTENTION] = left_s - part_s[RUN_BANDWIDTH];
}

void account_member(const struct simulation *sim, struct strand *strand, double last_s, const struct run_moment *last)
{
    double from_s = strand->wait_begin_s, whole_s = sim->events.now_s - from_s;
    double wait_s = fmin(fmax(last_s - from_s, 0), whole_s);
    strand->parts = (struct wait_parts){
        .of.part_s = {[RUN_COLLECTIVE_WAIT] = wait_s, [RUN_COLLECTIVE_TRANSFER] = whole_s - wait_s}, .cause = *last};
}

/* Keeps a wait for another strand. */
static void keep_wait(struct simulation *sim, const struct wait_parts *parts)
{
    struct simulation_result *result = sim->result;
    const struct strand *strand = &sim->strands[sim->active];
    const double *part_s = parts->of.part_s;
    double late_s = part_s[RUN_LATE_SENDER] + part_s[RUN_LATE_RECEIVER] + part_s[RUN_COLLECTIVE_WAIT];
    if (!(late_s > 0) || parts->cause.strand == RUN_NOBODY || parts->cause.strand == sim->active)
        return;
    ARRAY_ADD(result->waits, result->n_waits,
              (struct run_wait){.begin = {sim->active, (uint32_t)strand->step, strand->wait_begin_s},
                                .cause = parts->cause,
                                .late_s = late_s,
                                .end_s = sim->events.now_s});
}

/* Returns how many marks there are up to a step. */
static size_t marks_until(const struct simulation_windows *windows, size_t step)
{
    size_t from = 0, end = windows->n_marks;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (windows->marks[middle].step <= step)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* Takes the window in which the strand's step was. */
static void take_window(struct simulation *sim, uint32_t number)
{
    const struct simulation_windows *windows = sim->options->windows;
    struct strand *strand = &sim->strands[number];
    if (strand->marked_until == 0)
        strand->n_marks = marks_until(windows, strand->step);
    while (strand->n_marks < windows->n_marks && windows->marks[strand->n_marks].step <= strand->step)
        strand->n_marks++;
    strand->marked_until = strand->n_marks < windows->n_marks ? windows->marks[strand->n_marks].step : SIZE_MAX;
    strand->window_s = sim->result->window_s + sim->program->strands[number].rank * windows->n_windows +
                       windows->marks[strand->n_marks - 1].window;
}

void account_window(struct simulation *sim, uint32_t number, uint32_t place, double message_s, double collective_s)
{
    const struct simulation_windows *windows = sim->options->windows;
    struct strand *strand = &sim->strands[number];
    if (windows == NULL || !windows->is_message[place])
        return;
    if (strand->step >= strand->marked_until)
        take_window(sim, number);
    *strand->window_s += message_s + (windows->is_mixed[place] ? collective_s : 0);
}

void account_wait(struct simulation *sim, uint32_t place, const struct wait_parts *parts)
{
    if (sim->options->log)
        keep_wait(sim, parts);
    run_parts_add(&sim->result->predicted[place], &parts->of);
    if (sim->options->windows == NULL)
        return;
    double message_s = 0;
    for (enum run_part part = RUN_LATE_SENDER; part <= RUN_PROGRESS; part++)
        message_s += parts->of.part_s[part];
    account_window(sim, sim->active, place, message_s,
                   parts->of.part_s[RUN_COLLECTIVE_WAIT] + parts->of.part_s[RUN_COLLECTIVE_TRANSFER]);
}
