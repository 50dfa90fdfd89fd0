/* A strand computes, posts and waits, as its steps say. See simulation_state.h. */
#include "predictor/run/engine/simulation_state.h"

#include <math.h>

/* Ends closer than this part of their time are equal: which message counts must not depend on rounding. */
static const double SAME_TIME = 1e-12;

static const struct run_step *step_of(const struct simulation *sim, uint32_t strand)
{
    return &sim->program->steps[sim->strands[strand].step];
}

/* Says whether an operation comes before another one in the list of the strand's wait. */
static bool is_listed_before(const struct simulation *sim, uint32_t strand, uint32_t operation, uint32_t other)
{
    const struct run_step *step = step_of(sim, strand);
    for (uint32_t i = step->object; step->kind == STEP_WAIT && i < step->object + step->count; i++) {
        if (sim->program->waits[i] == operation)
            return true;
        if (sim->program->waits[i] == other)
            return false;
    }
    return false;
}

/* Notes that an operation which a strand waits for is complete. Says whether it is the last one so far: what its wait
 * consists of goes by that. */
static bool strand_complete(struct simulation *sim, uint32_t number, uint32_t operation)
{
    struct strand *strand = &sim->strands[number];
    bool same = strand->last_s >= 0 && sim->events.now_s - strand->last_s <= SAME_TIME * fabs(sim->events.now_s);
    bool is_last = !same || is_listed_before(sim, number, operation, strand->last);
    if (is_last)
        strand->last = operation;
    strand->last_s = sim->events.now_s;
    if (--strand->n_missing == 0)
        events_schedule(&sim->events, sim->events.now_s, EVENT_STRAND, number);
    return is_last;
}

void strand_message_complete(struct simulation *sim, uint32_t message, enum run_operation_kind side, double rest)
{
    struct message_state *state = message_state(sim, message);
    uint32_t waiter = state->waiter[side];
    if (waiter == RUN_NOBODY)
        return;
    state->waiter[side] = RUN_NOBODY;
    if (strand_complete(sim, waiter, run_operation(message, side)))
        account_message(sim, &sim->strands[waiter], message, side, rest);
}

void strand_member_complete(struct simulation *sim, uint32_t member, double last_s, const struct run_moment *last)
{
    uint32_t waiter = sim->members[member].waiter;
    if (waiter != RUN_NOBODY && strand_complete(sim, waiter, run_operation(member, OPERATION_MEMBER)))
        account_member(sim, &sim->strands[waiter], last_s, last);
}

static void add_part(struct simulation *sim, uint32_t place, enum run_part part, double seconds)
{
    sim->result->predicted[place].part_s[part] += seconds;
}

/* Lets the strand go on after some time; false where that is now. */
static bool pause_strand(struct simulation *sim, uint32_t number, double seconds)
{
    if (!(seconds > 0))
        return false;
    events_schedule(&sim->events, sim->events.now_s + seconds, EVENT_STRAND, number);
    return true;
}

/* Says whether a strand is inside MPI, and has a processor there. */
static void set_inside(struct simulation *sim, uint32_t number, bool inside, bool tends)
{
    struct strand *strand = &sim->strands[number];
    if (strand->inside == inside && strand->tends == tends)
        return;
    struct rank_state *rank = &sim->ranks[sim->program->strands[number].rank];
    bool was_inside = rank->n_inside > 0, was_tending = rank->n_tending > 0;
    rank->n_inside += (uint32_t)inside - (uint32_t)strand->inside;
    rank->n_tending += (uint32_t)tends - (uint32_t)strand->tends;
    strand->inside = inside;
    strand->tends = tends;
    if (rank->needing.n > 0 && (was_inside != (rank->n_inside > 0) || was_tending != (rank->n_tending > 0)))
        rank_changes(sim, sim->program->strands[number].rank);
}

/* Tells messages to the strand's socket that it computes, with the threads that never call MPI, or does so no longer.
 */
static void set_computes(struct simulation *sim, uint32_t number, bool computes)
{
    if (sim->share.memory == NULL || sim->strands[number].computes == computes)
        return;
    uint32_t rank = sim->program->strands[number].rank;
    int n_threads = (int)sim->ranks[rank].n_threads;
    sim->strands[number].computes = computes;
    run_share_compute(&sim->share, sim->events.now_s, rank, computes ? n_threads : -n_threads);
}

/* Tells that the strand begins to look for messages, or does so no longer. */
static void set_polls(struct simulation *sim, uint32_t number, bool polls)
{
    uint32_t rank = sim->program->strands[number].rank;
    if (sim->strands[number].polls == polls)
        return;
    sim->strands[number].polls = polls;
    sim->ranks[rank].n_polling += polls ? 1 : UINT32_MAX;
    if (polls)
        rank_polls(sim, rank);
}

/* Ends a strand behind its tail; its rank moves what is left inside MPI_Finalize. */
static void end_strand(struct simulation *sim, uint32_t number)
{
    uint32_t rank = sim->program->strands[number].rank;
    sim->strands[number].phase = STRAND_IS_DONE;
    sim->n_done++;
    sim->result->rank_end_s[rank] = fmax(sim->result->rank_end_s[rank], sim->events.now_s);
    sim->result->end_s = fmax(sim->result->end_s, sim->events.now_s);
    if (sim->result->bursts != NULL) {
        struct run_burst *burst = &sim->result->bursts[sim->program->strands[number].burst];
        *burst = (struct run_burst){burst->begin_s, sim->events.now_s, number};
    }
    if (--sim->ranks[rank].n_going == 0)
        set_inside(sim, number, true, true);
    cores_leave(sim, number);
    set_polls(sim, number, sim->ranks[rank].n_going == 0);
}

/* Computes before the next step, or behind the last one. Returns true if that takes time. */
static bool strand_compute(struct simulation *sim, uint32_t number)
{
    struct strand *strand = &sim->strands[number];
    const struct run_strand *told = &sim->program->strands[number];
    bool tail = strand->step == told->first_step + told->n_steps;
    double seconds = tail ? told->tail_s : step_of(sim, number)->compute_s;
    uint32_t place = tail ? told->tail_place : step_of(sim, number)->place;
    if (sim->options->scale != NULL)
        seconds *= sim->options->scale[place];
    strand->phase = STRAND_ACTS;
    if (seconds > 0 || tail)
        set_inside(sim, number, false, false);
    if (!tail)
        cores_move(sim, number, step_of(sim, number)->processor);
    cores_take(sim, number);
    set_computes(sim, number, seconds > 0);
    if (seconds > 0 && cores_compute(sim, number, seconds))
        return true;
    add_part(sim, place, RUN_COMPUTATION, seconds);
    return pause_strand(sim, number, seconds);
}

/* Lets others have the processor of a strand that waits. */
static void yield(struct simulation *sim, uint32_t number)
{
    cores_leave(sim, number);
    if (cores_are_shared(sim, number))
        set_inside(sim, number, true, false);
}

/* Returns the first strand of the rank from that one on that waits for what is missing, or RUN_NOBODY. */
static uint32_t next_waiting(const struct simulation *sim, uint32_t rank, uint32_t from)
{
    for (uint32_t s = from; s < sim->program->n_strands && sim->program->strands[s].rank == rank; s++)
        if (sim->strands[s].phase == STRAND_WAITS && sim->strands[s].n_missing > 0)
            return s;
    return RUN_NOBODY;
}

void strands_wanted(struct simulation *sim, uint32_t rank)
{
    uint32_t first = next_waiting(sim, rank, sim->ranks[rank].first_strand);
    if (first != RUN_NOBODY)
        cores_want(sim, first);
}

void strands_unwanted(struct simulation *sim, uint32_t rank)
{
    uint32_t s = sim->ranks[rank].first_strand;
    for (s = next_waiting(sim, rank, s); s != RUN_NOBODY; s = next_waiting(sim, rank, s + 1))
        if (sim->strands[s].tends)
            yield(sim, s);
}

/* Begins a wait for n operations. Returns true if any of them is missing. */
static bool await(struct simulation *sim, uint32_t number, const uint32_t *operations, uint32_t n)
{
    struct strand *strand = &sim->strands[number];
    strand->wait_begin_s = sim->events.now_s;
    strand->last_s = -1;
    strand->parts = (struct wait_parts){.cause.strand = RUN_NOBODY};
    for (uint32_t i = 0; i < n; i++) {
        enum run_operation_kind kind = run_operation_kind(operations[i]);
        uint32_t object = run_operation_object(operations[i]);
        strand->n_missing +=
            !(kind == OPERATION_MEMBER ? member_await(sim, object, number) : message_await(sim, object, kind, number));
    }
    strand->phase = STRAND_WAITS;
    if (strand->n_missing == 0)
        return false;
    if (!cores_are_shared(sim, number) || !rank_copies(sim, sim->program->strands[number].rank))
        yield(sim, number);
    set_polls(sim, number, true);
    return true;
}

/* Waits until a probe sees the message. Returns true if that takes time. */
static bool probe(struct simulation *sim, uint32_t number, uint32_t message)
{
    struct strand *strand = &sim->strands[number];
    strand->wait_begin_s = sim->events.now_s;
    strand->parts = (struct wait_parts){.cause.strand = RUN_NOBODY};
    strand->phase = STRAND_WAITS;
    double seen_s = message_seen_s(sim, message, number);
    if (isnan(seen_s))
        cores_leave(sim, number);
    if (!(seen_s <= sim->events.now_s))
        set_polls(sim, number, true);
    if (isnan(seen_s))
        return true;
    strand->parts.of.part_s[RUN_LATENCY] = fmax(seen_s - sim->events.now_s, 0);
    return pause_strand(sim, number, strand->parts.of.part_s[RUN_LATENCY]);
}

/* Posts, then spends the overhead. Returns true if that takes time. */
static bool strand_post(struct simulation *sim, uint32_t number, const struct run_step *step)
{
    enum run_operation_kind side = step->kind == STEP_SEND ? OPERATION_SEND : OPERATION_RECEIVE;
    uint8_t class = message_begin(sim, step->object)->class;
    double overhead_s = class != RUN_NO_CLASS ? sim->rates.classes[class].overhead_s[side] : 0;
    if (side == OPERATION_SEND && class != RUN_NO_CLASS)
        overhead_s += sim->rates.classes[class].overhead_byte_s * (double)message_told(sim, step->object)->bytes;
    add_part(sim, step->place, RUN_OTHER, overhead_s);
    if (sim->queue.searchers != NULL) {
        double search_s = message_search(sim, step->object, side);
        add_part(sim, step->place, RUN_QUEUE, search_s);
        overhead_s += search_s;
    }
    if (overhead_s > 0)
        account_window(sim, number, step->place, overhead_s, 0);
    message_post(sim, step->object, side);
    sim->strands[number].phase = STRAND_ENDS;
    return pause_strand(sim, number, overhead_s);
}

/* Does what the step is for. Returns true if that takes time. */
static bool do_step(struct simulation *sim, uint32_t number)
{
    const struct run_step *step = step_of(sim, number);
    uint32_t member = run_operation(step->object, OPERATION_MEMBER);
    set_inside(sim, number, true, true);
    switch ((enum run_step_kind)step->kind) {
    case STEP_SEND:
    case STEP_RECEIVE:
        return strand_post(sim, number, step);
    case STEP_WAIT:
        return await(sim, number, sim->program->waits + step->object, step->count);
    case STEP_PROBE:
        return probe(sim, number, step->object);
    case STEP_COLLECTIVE:
        member_arrives(sim, step->object);
        return await(sim, number, &member, 1);
    case STEP_BEGIN:
        member_arrives(sim, step->object);
        sim->strands[number].phase = STRAND_ENDS;
        return false;
    case STEP_SPEND:
        add_part(sim, step->place, RUN_OTHER, step->spent_s);
        sim->strands[number].phase = STRAND_ENDS;
        cores_leave(sim, number); /* what was recorded holds its waits for the processor */
        set_polls(sim, number, step->spent_s > 0);
        return pause_strand(sim, number, step->spent_s);
    }
    return false;
}

/* Tells what the messages took whose receives the wait completed, where that is asked for. */
static void note_seconds(struct simulation *sim, const struct run_step *step)
{
    for (uint32_t i = 0; sim->options->message_s != NULL && step->kind == STEP_WAIT && i < step->count; i++) {
        uint32_t operation = sim->program->waits[step->object + i];
        if (run_operation_kind(operation) == OPERATION_RECEIVE)
            message_note_seconds(sim, run_operation_object(operation));
    }
}

static bool leaves_recorded_collective(const struct simulation *sim, const struct run_step *step)
{
    return step->kind == STEP_COLLECTIVE &&
           !collective_is_modelled(sim, sim->program->members[step->object].collective);
}

/* Lets a strand go on until it must wait for something. */
static void strand_go_on(struct simulation *sim, uint32_t number)
{
    struct strand *strand = &sim->strands[number];
    const struct run_strand *told = &sim->program->strands[number];
    for (;;) {
        switch ((enum strand_phase)strand->phase) {
        case STRAND_COMPUTES:
            if (strand_compute(sim, number))
                return;
            break;
        case STRAND_ACTS:
            set_computes(sim, number, false);
            if (strand->step == told->first_step + told->n_steps) {
                end_strand(sim, number);
                return;
            }
            if (do_step(sim, number))
                return;
            break;
        case STRAND_WAITS:
            account_wait(sim, step_of(sim, number)->place, &strand->parts);
            set_polls(sim, number, false);
            if (leaves_recorded_collective(sim, step_of(sim, number)))
                cores_take(sim, number); /* what was recorded holds its wait for the processor */
            if (cores_await(sim, number)) {
                strand->wait_begin_s = sim->events.now_s;
                strand->phase = STRAND_QUEUES;
                return;
            }
            strand->phase = STRAND_ENDS;
            break;
        case STRAND_QUEUES:
            add_part(sim, step_of(sim, number)->place, RUN_OTHER, sim->events.now_s - strand->wait_begin_s);
            account_window(sim, number, step_of(sim, number)->place, sim->events.now_s - strand->wait_begin_s, 0);
            strand->phase = STRAND_ENDS;
            break;
        case STRAND_ENDS:
            note_seconds(sim, step_of(sim, number));
            set_polls(sim, number, false);
            strand->step++;
            strand->phase = STRAND_COMPUTES;
            break;
        case STRAND_IS_DONE:
            return;
        }
    }
}

void strand_event(struct simulation *sim, uint32_t number)
{
    sim->active = number;
    strand_go_on(sim, number);
}

/* Ends a computation on a shared core, if it is done. */
static void end_computation(struct simulation *sim, uint32_t number)
{
    const struct strand *strand = &sim->strands[number];
    const struct run_strand *told = &sim->program->strands[number];
    bool tail = strand->step == told->first_step + told->n_steps;
    double took_s = cores_computed(sim, number);
    if (took_s < 0)
        return;
    add_part(sim, tail ? told->tail_place : step_of(sim, number)->place, RUN_COMPUTATION, took_s);
    strand_event(sim, number);
}

void strand_turn_event(struct simulation *sim, uint32_t number)
{
    const struct strand *strand = &sim->strands[number];
    cores_turn(sim, number);
    end_computation(sim, number);
    if (strand->phase == STRAND_WAITS && strand->n_missing > 0 && cores_have(sim, number)) {
        set_inside(sim, number, true, true);
        if (!rank_copies(sim, sim->program->strands[number].rank))
            yield(sim, number);
    }
}

/* Takes the strands of a burst that is over out of the counts of their ranks. */
static void forget_burst(struct simulation *sim, uint32_t burst)
{
    for (uint32_t s = 0; s < sim->program->n_strands; s++)
        if (sim->program->strands[s].burst == burst) {
            set_inside(sim, s, false, false);
            set_polls(sim, s, false);
        }
}

void strands_begin(struct simulation *sim, uint32_t burst)
{
    const struct run_program *program = sim->program;
    struct simulation_result *result = sim->result;
    double after_s = 0, begin_s = INFINITY;
    if (burst > 0) {
        forget_burst(sim, burst - 1);
        sim->between_s += sim->events.now_s - result->end_s;
        after_s = sim->events.now_s - program->burst_s[burst];
    }
    for (size_t rank = 0; burst == 0 && rank < program->n_ranks; rank++) {
        result->rank_begin_s[rank] = INFINITY;
        result->rank_end_s[rank] = -INFINITY;
    }
    cores_assign(sim, burst);
    for (uint32_t s = 0; s < program->n_strands; s++) {
        const struct run_strand *strand = &program->strands[s];
        if (strand->burst != burst)
            continue;
        double at_s = fmax(strand->begin_s + after_s, sim->events.now_s);
        bool is_first = s == 0 || strand[-1].rank != strand->rank || strand[-1].burst != burst;
        if (burst > 0 && is_first)
            sim->ranks[strand->rank].absent_s += at_s - result->rank_end_s[strand->rank];
        sim->strands[s].step = strand->first_step;
        if (sim->ranks[strand->rank].n_going++ == 0)
            sim->ranks[strand->rank].first_strand = s;
        sim->n_begun++;
        result->rank_begin_s[strand->rank] = fmin(result->rank_begin_s[strand->rank], at_s);
        begin_s = fmin(begin_s, at_s);
        events_schedule(&sim->events, at_s, EVENT_STRAND, s);
    }
    if (sim->n_begun == 0)
        begin_s = 0;
    if (burst == 0)
        result->begin_s = result->end_s = sim->events.now_s = begin_s;
    if (result->bursts != NULL)
        result->bursts[burst].begin_s = result->bursts[burst].end_s = begin_s;
}
