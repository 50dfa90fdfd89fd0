/* Prepares a replay for memory contention: which messages contend, and with how many threads. A strand is a thread that
 * calls MPI; how many others compute beside it follows from the processor time of its rank. */
#include <stdlib.h>

#include "predictor/pattern/traffic.h"
#include "predictor/run/simulation.h"

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

int simulation_contend(struct simulation *sim, const struct machine *machine, struct error *error)
{
    sim->result->compute_slowdown = 1;
    if ((sim->options->terms & RUN_TERM_MEMORY) == 0)
        return 0;
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
