/* Goes from event to event: a strand goes on, a message changes its phase, a mark of what moves is reached. What
 * messages and collectives do is in run_message.c and run_collective.c. See simulate.h. */
#include "predictor/run/simulation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/pattern/traffic.h"

/* Ends closer than this part of their time are equal: which message counts must not depend on rounding. */
static const double SAME_TIME = 1e-12;

struct run_moment simulation_moment(const struct simulation *sim)
{
    return (struct run_moment){sim->active, sim->strands[sim->active].step, sim->events.now_s};
}

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

void strand_complete(struct simulation *sim, uint32_t number, uint32_t operation, const struct wait_parts *parts)
{
    struct strand *strand = &sim->strands[number];
    bool same = strand->last_s >= 0 && sim->events.now_s - strand->last_s <= SAME_TIME * fabs(sim->events.now_s);
    if (!same || is_listed_before(sim, number, operation, strand->last)) {
        strand->last = operation;
        strand->parts = *parts;
    }
    strand->last_s = sim->events.now_s;
    if (--strand->n_missing == 0)
        events_schedule(&sim->events, sim->events.now_s, EVENT_STRAND, number);
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

static void leave(struct simulation *sim, uint32_t number)
{
    if (sim->strands[number].inside)
        rank_leaves(sim, sim->program->strands[number].rank);
    sim->strands[number].inside = false;
}

static void enter(struct simulation *sim, uint32_t number)
{
    if (!sim->strands[number].inside)
        rank_enters(sim, sim->program->strands[number].rank);
    sim->strands[number].inside = true;
}

/* Tells messages to the strand's socket that it computes, with the threads that never call MPI, or does so no longer.
 */
static void set_computes(struct simulation *sim, uint32_t number, bool computes)
{
    if (sim->share.memory == NULL || sim->strands[number].computes == computes)
        return;
    uint32_t rank = sim->program->strands[number].rank;
    int n_threads = (int)sim->n_threads[rank];
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
    sim->n_polling[rank] += polls ? 1 : UINT32_MAX;
    if (polls)
        handshake_poll(sim, rank);
}

/* Ends a strand behind its tail; its rank moves what is left inside MPI_Finalize. */
static void end_strand(struct simulation *sim, uint32_t number)
{
    uint32_t rank = sim->program->strands[number].rank;
    sim->strands[number].phase = STRAND_IS_DONE;
    sim->n_done++;
    sim->result->rank_end_s[rank] = fmax(sim->result->rank_end_s[rank], sim->events.now_s);
    sim->result->end_s = fmax(sim->result->end_s, sim->events.now_s);
    if (--sim->n_going[rank] == 0)
        enter(sim, number);
    cores_leave(sim, number);
    set_polls(sim, number, sim->n_going[rank] == 0);
}

/* Computes before the next step, or behind the last one. Returns true if that takes time. */
static bool compute(struct simulation *sim, uint32_t number)
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
        leave(sim, number);
    if (!tail)
        cores_move(sim, number, step_of(sim, number)->processor);
    cores_take(sim, number);
    set_computes(sim, number, seconds > 0);
    if (seconds > 0 && cores_compute(sim, number, seconds))
        return true;
    add_part(sim, place, RUN_COMPUTATION, seconds);
    return pause_strand(sim, number, seconds);
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
    cores_leave(sim, number);
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
    strand->parts.latency_s = fmax(seen_s - sim->events.now_s, 0);
    return pause_strand(sim, number, strand->parts.latency_s);
}

/* Posts, then spends the overhead. Returns true if that takes time. */
static bool post(struct simulation *sim, uint32_t number, const struct run_step *step)
{
    enum run_operation_kind side = step->kind == STEP_SEND ? OPERATION_SEND : OPERATION_RECEIVE;
    uint8_t class = sim->messages[step->object].class;
    double overhead_s = class != RUN_NO_CLASS ? sim->rates.classes[class].overhead_s[side] : 0;
    if (side == OPERATION_SEND && class != RUN_NO_CLASS)
        overhead_s += sim->rates.classes[class].overhead_byte_s * (double)message_told(sim, step->object)->bytes;
    add_part(sim, step->place, RUN_OTHER, overhead_s);
    if (sim->queue.searchers != NULL) {
        double search_s = message_search(sim, step->object, side);
        add_part(sim, step->place, RUN_QUEUE, search_s);
        overhead_s += search_s;
    }
    message_post(sim, step->object, side);
    sim->strands[number].phase = STRAND_ENDS;
    return pause_strand(sim, number, overhead_s);
}

/* Does what the step is for. Returns true if that takes time. */
static bool act(struct simulation *sim, uint32_t number)
{
    const struct run_step *step = step_of(sim, number);
    uint32_t member = run_operation(step->object, OPERATION_MEMBER);
    enter(sim, number);
    switch ((enum run_step_kind)step->kind) {
    case STEP_SEND:
    case STEP_RECEIVE:
        return post(sim, number, step);
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

static bool leaves_recorded_collective(const struct simulation *sim, const struct run_step *step)
{
    return step->kind == STEP_COLLECTIVE &&
           !collective_is_modelled(sim, sim->program->members[step->object].collective);
}

/* Lets a strand go on until it must wait for something. */
static void go_on(struct simulation *sim, uint32_t number)
{
    struct strand *strand = &sim->strands[number];
    const struct run_strand *told = &sim->program->strands[number];
    for (;;) {
        switch ((enum strand_phase)strand->phase) {
        case STRAND_COMPUTES:
            if (compute(sim, number))
                return;
            break;
        case STRAND_ACTS:
            set_computes(sim, number, false);
            if (strand->step == told->first_step + told->n_steps) {
                end_strand(sim, number);
                return;
            }
            if (act(sim, number))
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
            strand->phase = STRAND_ENDS;
            break;
        case STRAND_ENDS:
            set_polls(sim, number, false);
            strand->step++;
            strand->phase = STRAND_COMPUTES;
            break;
        case STRAND_IS_DONE:
            return;
        }
    }
}

static void strand_event(struct simulation *sim, uint32_t number)
{
    sim->active = number;
    go_on(sim, number);
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

static void turn_event(struct simulation *sim, uint32_t number)
{
    cores_turn(sim, number);
    end_computation(sim, number);
}

/* Lets messages arrive at ranks that search for them, by number where that is at one moment; posts come first then. */
static void take_arrivals(struct simulation *sim)
{
    sim->events.now_s = fmax(sim->events.now_s, run_queue_next_s(&sim->queue));
    run_queue_take(&sim->queue);
    for (size_t i = 0; i < sim->queue.n_due; i++)
        message_arrives(sim, sim->queue.due[i]);
    sim->result->n_events += sim->queue.n_due;
}

static void run_events(struct simulation *sim)
{
    while (!sim->no_level) {
        double share_s = run_share_next_s(&sim->share);
        double event_s = events_next_s(&sim->events);
        double next_s = fmin(share_s, event_s);
        if (next_s > sim->events.now_s && run_share_settle(&sim->share))
            continue;
        if (sim->queue.arrivals.n > 0 && run_queue_next_s(&sim->queue) < next_s) {
            take_arrivals(sim);
            continue;
        }
        if (isinf(next_s))
            return;
        sim->events.now_s = fmax(sim->events.now_s, next_s);
        sim->result->n_events++;
        if (share_s <= event_s) {
            uint32_t mark = run_share_take(&sim->share, sim->events.now_s);
            if (mark != RUN_NO_MARK)
                flight_mark(sim, mark);
        } else {
            events_handle_next(&sim->events, sim);
        }
    }
}

/* Names some of the ranks that wait for ever, with the call that each is in. */
static int report_deadlock(const struct simulation *sim, struct error *error)
{
    char ranks[512] = "";
    size_t length = 0, n = 0;
    const struct run_program *program = sim->program;
    for (uint32_t s = 0; s < program->n_strands; s++) {
        if (sim->strands[s].phase == STRAND_IS_DONE)
            continue;
        const struct run_site *site = &program->sites[program->places[step_of(sim, s)->place].site];
        if (n++ >= 6)
            continue;
        int written = snprintf(ranks + length, sizeof ranks - length, "%srank %" PRIu32 " in %s", n > 1 ? ", " : "",
                               program->strands[s].rank, site->function);
        if (written > 0 && site->callsite >= 0 && length + (size_t)written < sizeof ranks)
            written += snprintf(ranks + length + (size_t)written, sizeof ranks - length - (size_t)written,
                                " (call site %" PRId64 ")", site->callsite);
        length += written > 0 && length + (size_t)written < sizeof ranks ? (size_t)written : 0;
    }
    return error_set(error,
                     "deadlock after %.9g s: %zu of %zu threads wait for each other, %s%s; on this machine messages of "
                     "these sizes do not leave before they are received",
                     sim->events.now_s, n, program->n_strands, ranks, n > 6 ? ", ..." : "");
}

/* Returns the levels of the messages; where collectives are modelled, those that any ranks have and the machine knows
 * as well. */
static unsigned levels_used(const struct simulation *sim, const struct machine *machine)
{
    const struct run_program *program = sim->program;
    unsigned levels = 0;
    for (size_t k = 0; k < program->n_messages; k++)
        levels |= LEVEL_BIT(placement_level(sim->placement, program->messages[k].src, program->messages[k].dst));
    for (size_t i = 0; sim->options->model_collectives && program->n_collectives > 0 && i < machine->n_parameters; i++)
        levels |= strcmp(machine->parameters[i].quantity, "bw") == 0 ? LEVEL_BIT(machine->parameters[i].level) : 0;
    return levels;
}

/* Puts every strand at its begin. */
static void begin_strands(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    struct simulation_result *result = sim->result;
    result->begin_s = program->n_strands > 0 ? INFINITY : 0;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        result->rank_begin_s[rank] = INFINITY;
        result->rank_end_s[rank] = -INFINITY;
    }
    for (uint32_t s = 0; s < program->n_strands; s++) {
        const struct run_strand *strand = &program->strands[s];
        sim->strands[s].step = strand->first_step;
        sim->n_going[strand->rank]++;
        result->rank_begin_s[strand->rank] = fmin(result->rank_begin_s[strand->rank], strand->begin_s);
        result->begin_s = fmin(result->begin_s, strand->begin_s);
        events_schedule(&sim->events, strand->begin_s, EVENT_STRAND, s);
    }
    for (size_t m = 0; m < program->n_members; m++)
        sim->members[m] = (struct member_state){.arrival_s = NAN, .waiter = RUN_NOBODY};
    for (size_t c = 0; c < program->n_collectives; c++)
        sim->collectives[c] =
            (struct collective_state){.lower_s = -INFINITY, .last.strand = RUN_NOBODY, .performance = RUN_NOBODY};
    sim->result->end_s = sim->events.now_s = result->begin_s;
}

int simulate(const struct run_program *program, const struct machine *machine, const struct placement *placement,
             const struct simulation_options *options, struct simulation_result *result, struct error *error)
{
    struct simulation sim = {.program = program,
                             .placement = placement,
                             .options = options,
                             .result = result,
                             .free_flight = RUN_NOBODY,
                             .events.handlers = {[EVENT_STRAND] = strand_event,
                                                 [EVENT_FLIGHT] = flight_event,
                                                 [EVENT_MEMBER] = member_leaves,
                                                 [EVENT_TURN] = turn_event}};
    *result = (struct simulation_result){0};
    if (placement->n_ranks < program->n_ranks)
        return error_set(error, "a placement of %zu ranks, but the run has %zu", placement->n_ranks, program->n_ranks);
    run_share_init(&sim.share, options->law, &sim.rates, placement);
    simulation_allocate(&sim);
    cores_init(&sim);
    stage_init(&sim);
    int code =
        run_rates_init(&sim.rates, machine, levels_used(&sim, machine), sim.share.nodes.largest, options->ideal, error);
    if (code == 0)
        code = simulation_terms(&sim, machine, error);
    if (code == 0) {
        simulation_classify(&sim);
        begin_strands(&sim);
        run_events(&sim);
        if (sim.no_level)
            code = error_set(error, "the machine has no values for level %s, which the messages need",
                             level_name[sim.missing_level]);
        else if (sim.n_done < program->n_strands)
            code = report_deadlock(&sim, error);
        if (sim.memory.computed_s > 0)
            result->compute_slowdown = sim.memory.slowed_s / sim.memory.computed_s;
    }
    simulation_release(&sim);
    return code;
}

void simulation_result_release(struct simulation_result *result)
{
    free(result->predicted);
    free(result->rank_begin_s);
    free(result->rank_end_s);
    free(result->waits);
    free(result->searches);
    *result = (struct simulation_result){0};
}

void run_parts_by_rank(const struct run_program *program, const struct run_parts *by_place, struct run_parts *into)
{
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        into[rank] = (struct run_parts){0};
    for (size_t place = 0; place < program->n_places; place++)
        for (int part = 0; part < RUN_PART_COUNT; part++)
            into[program->places[place].rank].part_s[part] += by_place[place].part_s[part];
}
