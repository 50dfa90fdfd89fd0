/* Prepares a replay for the terms that are asked for.
 *
 * For memory contention it finds which messages contend, and with how many threads. A strand is a thread that
 * calls MPI; how many others compute beside it follows from the processor time of its rank. */
#include <stdlib.h>

#include "predictor/pattern/traffic.h"
#include "predictor/run/simulation.h"
#include "share/base/memory.h"

/* Finds how many threads compute for each strand of a rank that does. Returns 0, or -1 without memory. */
static int find_threads(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    double *outside_s = calloc(program->n_ranks + 1, sizeof *outside_s);
    double *inside_s = calloc(program->n_ranks + 1, sizeof *inside_s);
    sim->n_threads = calloc(program->n_ranks + 1, sizeof *sim->n_threads);
    bool enough = outside_s != NULL && inside_s != NULL && sim->n_threads != NULL;
    for (size_t s = 0; enough && s < program->n_strands; s++) {
        const struct run_strand *strand = &program->strands[s];
        outside_s[strand->rank] += strand->tail_s;
        for (size_t i = 0; i < strand->n_steps; i++)
            outside_s[strand->rank] += program->steps[strand->first_step + i].compute_s;
    }
    for (size_t i = 0; enough && program->measured != NULL && i < program->n_places; i++)
        for (enum run_part part = RUN_COMPUTATION + 1; part < RUN_PART_COUNT; part++)
            inside_s[program->places[i].rank] += program->measured[i].part_s[part];
    for (size_t rank = 0; enough && rank < program->n_ranks; rank++)
        sim->n_threads[rank] = memory_threads(program->ranks[rank].run_s, inside_s[rank], outside_s[rank]);
    free(outside_s);
    free(inside_s);
    return enough ? 0 : -1;
}

/* Returns the most threads that a socket has; 0 without memory. */
static size_t most_threads(const struct simulation *sim)
{
    size_t most = 0, *n = calloc(sim->share.sockets.n_groups + 1, sizeof *n);
    for (size_t s = 0; n != NULL && s < sim->program->n_strands; s++) {
        uint32_t rank = sim->program->strands[s].rank;
        size_t of_socket = n[sim->share.sockets.of[rank]] += sim->n_threads[rank];
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
    if (find_threads(sim) != 0)
        return error_set(error, "no memory for %zu ranks", sim->program->n_ranks);
    if (run_memory_init(&sim->memory, machine, sim->share.sockets.n_groups, most_threads(sim), error) != 0 ||
        count_contending(sim, machine, error) != 0)
        return -1;
    sim->share.memory = &sim->memory;
    return 0;
}

static int init_queue(struct simulation *sim, const struct machine *machine, struct error *error)
{
    size_t n_ranks = sim->program->n_ranks;
    sim->result->searches = xcalloc(n_ranks, sizeof *sim->result->searches);
    return run_queue_init(&sim->queue, machine, n_ranks, sim->result->searches, error);
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
    return topology != NULL && topology->kind == TOPOLOGY_LINKS ? check_routes(sim, error) : 0;
}

int simulation_terms(struct simulation *sim, const struct machine *machine, struct error *error)
{
    unsigned terms = sim->options->terms;
    sim->result->compute_slowdown = 1;
    if ((terms & RUN_TERM_MEMORY) != 0 && init_memory(sim, machine, error) != 0)
        return -1;
    if ((terms & RUN_TERM_QUEUE) != 0 && init_queue(sim, machine, error) != 0)
        return -1;
    /* A network of infinite bandwidth has links of such. */
    return (terms & RUN_TERM_CONTENTION) != 0 && !sim->options->ideal.no_transfer ? init_links(sim, machine, error) : 0;
}
