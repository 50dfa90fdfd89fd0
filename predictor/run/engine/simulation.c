/* Makes a simulated run ready and goes from event to event: what is scheduled, a mark that what moves has reached, the
 * arrival of a message at a rank that searches its queues. Who handles an event, and who is told when something is
 * complete, is decided here alone. See simulate.h, simulation_state.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/pattern/traffic.h"
#include "predictor/run/engine/simulate.h"
#include "predictor/run/engine/simulation_state.h"
#include "share/base/memory.h"

/* Returns the time of the next event, INFINITY without one. */
static double events_next_s(const struct events *events)
{
    return events->heap.n > 0 ? events->heap.entries[0].key : (double)INFINITY;
}

/* Takes out the next event and handles it. */
static void events_handle_next(struct events *events, struct simulation *sim)
{
    uint32_t id = heap_pop(&events->heap).id;
    events->handlers[id % EVENT_MAX_KINDS](sim, id / EVENT_MAX_KINDS);
}

static void allocate(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    sim->strands = xcalloc(program->n_strands, sizeof *sim->strands);
    sim->state_of = xcalloc(program->n_messages, sizeof *sim->state_of);
    sim->members = xcalloc(program->n_members, sizeof *sim->members);
    sim->collectives = xcalloc(program->n_collectives, sizeof *sim->collectives);
    sim->ranks = xcalloc(program->n_ranks, sizeof *sim->ranks);
    struct simulation_result *result = sim->result;
    result->predicted = xcalloc(program->n_places, sizeof *result->predicted);
    result->rank_begin_s = xcalloc(program->n_ranks, sizeof *result->rank_begin_s);
    result->rank_end_s = xcalloc(program->n_ranks, sizeof *result->rank_end_s);
    if (sim->options->windows != NULL)
        result->window_s = xcalloc(program->n_ranks * sim->options->windows->n_windows + 1, sizeof *result->window_s);
    if (program->n_bursts > 0)
        result->bursts = xcalloc(program->n_bursts, sizeof *result->bursts);
}

static void simulation_release(struct simulation *sim)
{
    for (size_t rank = 0; rank < sim->program->n_ranks; rank++) {
        FREE_ALL(sim->ranks[rank].needing.transfers, sim->ranks[rank].coming.transfers,
                 sim->ranks[rank].arrived.transfers);
    }
    FREE_ALL(sim->ranks, sim->strands, sim->state_of, sim->states, sim->state_numbers.back, sim->merged, sim->members,
             sim->collectives, sim->transfers, sim->transfer_numbers.back, sim->ahead, sim->events.heap.entries);
    cores_release(sim);
    collectives_release(sim);
    run_memory_release(&sim->memory);
    run_queue_release(&sim->queue);
    run_links_release(&sim->links);
    run_share_release(&sim->share);
    run_rates_release(&sim->rates);
}

/* Finds how many threads compute for each strand of a rank that does. A strand is a thread that calls MPI; how many
 * others compute beside it follows from the processor time of its rank. */
static void find_threads(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    double *outside_s = xcalloc(program->n_ranks, sizeof *outside_s);
    double *inside_s = xcalloc(program->n_ranks, sizeof *inside_s);
    for (size_t s = 0; s < program->n_strands; s++) {
        const struct run_strand *strand = &program->strands[s];
        outside_s[strand->rank] += strand->tail_s;
        for (size_t i = 0; i < strand->n_steps; i++)
            outside_s[strand->rank] += program->steps[strand->first_step + i].compute_s;
    }
    for (size_t i = 0; program->measured != NULL && i < program->n_places; i++)
        for (enum run_part part = RUN_COMPUTATION + 1; part < RUN_PART_COUNT; part++)
            inside_s[program->places[i].rank] += program->measured[i].part_s[part];
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        sim->ranks[rank].n_threads = memory_threads(program->ranks[rank].run_s, inside_s[rank], outside_s[rank]);
    FREE_ALL(outside_s, inside_s);
}

/* Returns the most threads that a socket has. */
static size_t most_threads(const struct simulation *sim)
{
    size_t most = 0, *n = xcalloc(sim->share.sockets.n_groups, sizeof *n);
    for (size_t s = 0; s < sim->program->n_strands; s++) {
        uint32_t rank = sim->program->strands[s].rank;
        size_t of_socket = n[sim->share.sockets.of[rank]] += sim->ranks[rank].n_threads;
        most = of_socket > most ? of_socket : most;
    }
    free(n);
    return most;
}

/* Counts the messages that may contend with computation. Returns 0, or -1 where the table is not for them. */
static int count_contending(struct simulation *sim, const struct machine *machine, struct error *error)
{
    const struct run_program *program = sim->program;
    unsigned levels = sim->memory.share.levels;
    for (size_t k = 0; k < program->n_messages; k++) {
        const struct run_message *message = &program->messages[k];
        enum level level = placement_level(sim->placement, message->src, message->dst);
        if (message->bytes == 0 || level == LEVEL_SELF)
            continue;
        if (level == LEVEL_INTER_NODE && (levels & LEVEL_BIT(level)) == 0)
            return memory_share_refuse(machine, error);
        bool contends = (levels & LEVEL_BIT(level)) != 0;
        sim->result->n_contending += contends;
        sim->result->n_small += contends && message->bytes < MEMORY_LEAST_BYTES;
    }
    return 0;
}

static int init_memory(struct simulation *sim, const struct machine *machine, struct error *error)
{
    if (sim->share.law->by_senders)
        return error_set(error, "the law %s does not go with the term memory: it does not know who receives",
                         run_law_table[sim->options->law].name);
    find_threads(sim);
    if (run_memory_init(&sim->memory, machine, sim->share.sockets.n_groups, most_threads(sim), error) != 0 ||
        count_contending(sim, machine, error) != 0)
        return -1;
    sim->share.memory = &sim->memory;
    return 0;
}

/* Checks that all messages have routes, where these are a list: those of collectives may be between any nodes. */
static int check_routes(struct simulation *sim, struct error *error)
{
    const struct run_program *program = sim->program;
    const struct grouping *nodes = &sim->share.nodes;
    int code = 0;
    for (size_t k = 0; code == 0 && k < program->n_messages; k++) {
        const struct run_message *message = &program->messages[k];
        if (message->bytes > 0)
            code = run_links_check(&sim->links, nodes->of[message->src], nodes->of[message->dst], error);
    }
    if (sim->options->model_collectives && program->n_collectives > 0)
        for (uint32_t src = 0; code == 0 && src < nodes->n_groups; src++)
            for (uint32_t dst = 0; code == 0 && dst < nodes->n_groups; dst++)
                code = run_links_check(&sim->links, src, dst, error);
    return code;
}

/* Returns how many links of the cube of nodes a byte of the program's messages crosses, in the mean. */
static double mean_hops(const struct simulation *sim)
{
    const struct grouping *nodes = &sim->share.nodes;
    uint32_t edge = cube_edge(nodes->n_groups);
    double bytes = 0, byte_hops = 0;
    for (size_t k = 0; k < sim->program->n_messages; k++) {
        const struct run_message *message = &sim->program->messages[k];
        uint32_t src = nodes->of[message->src], dst = nodes->of[message->dst];
        bytes += src != dst ? (double)message->bytes : 0;
        byte_hops += (double)message->bytes * cube_hops(edge, src, dst);
    }
    return bytes > 0 ? byte_hops / bytes : 0;
}

static int init_links(struct simulation *sim, const struct machine *machine, struct error *error)
{
    const struct topology *topology = sim->options->topology;
    double hops = topology == NULL ? mean_hops(sim) : 0;
    if (run_links_init(&sim->links, machine, topology, sim->placement, &sim->share.nodes, hops, error) != 0)
        return -1;
    return topology != NULL && (topology->kind == TOPOLOGY_LINKS || topology->kind == TOPOLOGY_TREE)
               ? check_routes(sim, error)
               : 0;
}

/* Prepares for the terms that are asked for. Returns 0, or -1 with the reason. */
static int init_terms(struct simulation *sim, const struct machine *machine, struct error *error)
{
    unsigned terms = sim->options->terms;
    sim->result->compute_slowdown = 1;
    if ((terms & RUN_TERM_MEMORY) != 0 && init_memory(sim, machine, error) != 0)
        return -1;
    if ((terms & RUN_TERM_QUEUE) != 0) {
        sim->result->searches = xcalloc(sim->program->n_ranks, sizeof *sim->result->searches);
        if (run_queue_init(&sim->queue, machine, sim->program->n_ranks, sim->result->searches, error) != 0)
            return -1;
    }
    /* A network of infinite bandwidth has links of such. */
    return (terms & RUN_TERM_CONTENTION) != 0 && !sim->options->ideal.no_transfer ? init_links(sim, machine, error) : 0;
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
                transfer_mark(sim, mark);
        } else {
            events_handle_next(&sim->events, sim);
        }
    }
}

/* Names some of the ranks that wait for ever, with the call that each is in. */
static int report_deadlock(const struct simulation *sim, uint32_t burst, struct error *error)
{
    char ranks[512] = "";
    size_t length = 0, n = 0;
    const struct run_program *program = sim->program;
    for (uint32_t s = 0; s < program->n_strands; s++) {
        if (sim->strands[s].phase == STRAND_IS_DONE || program->strands[s].burst != burst)
            continue;
        const struct run_site *site = &program->sites[program->places[program->steps[sim->strands[s].step].place].site];
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

/* Runs the bursts one after the other, or the whole run. */
static int run_bursts(struct simulation *sim, struct error *error)
{
    uint32_t burst = 0;
    do {
        strands_begin(sim, burst);
        run_events(sim);
        if (sim->no_level)
            return error_set(error, "the machine has no values for level %s, which the messages need",
                             level_name[sim->missing_level]);
        if (sim->n_done < sim->n_begun)
            return report_deadlock(sim, burst, error);
    } while (++burst < sim->program->n_bursts);
    /* What is under way when all strands of a burst have ended is no part of the run's time, nor is it part of a rank's
     * that others go on in a burst. */
    sim->result->end_s -= sim->between_s;
    for (size_t rank = 0; rank < sim->program->n_ranks; rank++)
        sim->result->rank_end_s[rank] -= sim->ranks[rank].absent_s;
    return 0;
}

int simulate(const struct run_program *program, const struct machine *machine, const struct placement *placement,
             const struct simulation_options *options, struct simulation_result *result, struct error *error)
{
    struct simulation sim = {.program = program,
                             .placement = placement,
                             .options = options,
                             .result = result,
                             .events.handlers = {[EVENT_STRAND] = strand_event,
                                                 [EVENT_TRANSFER] = transfer_event,
                                                 [EVENT_MEMBER] = member_event,
                                                 [EVENT_TURN] = strand_turn_event},
                             .message_complete = strand_message_complete,
                             .collective_message_complete = collective_message_complete,
                             .member_complete = strand_member_complete,
                             .rank_wanted = strands_wanted,
                             .rank_unwanted = strands_unwanted};
    *result = (struct simulation_result){0};
    if (placement->n_ranks < program->n_ranks)
        return error_set(error, "a placement of %zu ranks, but the run has %zu", placement->n_ranks, program->n_ranks);
    run_share_init(&sim.share, options->law, &sim.rates, placement);
    allocate(&sim);
    cores_init(&sim);
    collectives_init(&sim);
    int code =
        run_rates_init(&sim.rates, machine, levels_used(&sim, machine), sim.share.nodes.largest, options->ideal, error);
    if (code == 0)
        code = init_terms(&sim, machine, error);
    if (code == 0) {
        simulation_merge_pieces(&sim);
        code = run_bursts(&sim, error);
        if (sim.memory.computed_s > 0)
            result->compute_slowdown = sim.memory.slowed_s / sim.memory.computed_s;
    }
    simulation_release(&sim);
    return code;
}

void simulation_result_release(struct simulation_result *result)
{
    FREE_ALL(result->predicted, result->rank_begin_s, result->rank_end_s, result->bursts, result->window_s,
             result->waits, result->searches);
    *result = (struct simulation_result){0};
}

int simulate_length(const struct run_program *program, const struct machine *machine, const struct placement *placement,
                    const struct simulation_options *options, double *run_s, struct error *error)
{
    struct simulation_options without_log = *options;
    struct simulation_result result;
    without_log.log = false;
    without_log.windows = NULL;
    int code = simulate(program, machine, placement, &without_log, &result, error);
    *run_s = result.end_s - result.begin_s;
    simulation_result_release(&result);
    return code;
}

void run_parts_by_rank(const struct run_program *program, const struct run_parts *by_place, struct run_parts *into)
{
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        into[rank] = (struct run_parts){0};
    for (size_t place = 0; place < program->n_places; place++)
        run_parts_add(&into[program->places[place].rank], &by_place[place]);
}
