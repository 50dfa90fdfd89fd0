/* Where ranks outnumber the cores of their node, one whose wait is over needs a core before it can go on: those that
 * compute have them. It gets the next one that is left, or its turn. */
#include <stdlib.h>

#include "predictor/run/simulation.h"

int cores_init(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    struct run_cores *cores = &sim->cores;
    const uint32_t *node_of = sim->share.nodes.of;
    cores->nodes = calloc(sim->share.nodes.n_groups + 1, sizeof *cores->nodes);
    cores->next = malloc((program->n_strands + 1) * sizeof *cores->next);
    cores->since_s = malloc((program->n_strands + 1) * sizeof *cores->since_s);
    if (cores->nodes == NULL || cores->next == NULL || cores->since_s == NULL)
        return -1;
    for (uint32_t s = 0; s < program->n_strands; s++) {
        struct run_node_cores *node = &cores->nodes[node_of[program->strands[s].rank]];
        uint32_t known = program->ranks[program->strands[s].rank].cores;
        node->n_strands++;
        node->n_cores = known > node->n_cores ? known : node->n_cores;
        cores->since_s[s] = -1;
    }
    for (size_t n = 0; n < sim->share.nodes.n_groups; n++) {
        struct run_node_cores *node = &cores->nodes[n];
        node->is_crowded = sim->options->turn_s > 0 && node->n_cores > 0 && node->n_strands > node->n_cores;
        node->first = node->last = RUN_NOBODY;
    }
    return 0;
}

void cores_release(struct simulation *sim)
{
    free(sim->cores.nodes);
    free(sim->cores.next);
    free(sim->cores.since_s);
}

static struct run_node_cores *node_of(const struct simulation *sim, uint32_t strand)
{
    return &sim->cores.nodes[sim->share.nodes.of[sim->program->strands[strand].rank]];
}

/* Takes the first strand out of the queue, which goes on now. */
static void give_turn(struct simulation *sim, struct run_node_cores *node)
{
    uint32_t strand = node->first;
    node->first = sim->cores.next[strand];
    if (node->first == RUN_NOBODY)
        node->last = RUN_NOBODY;
    sim->cores.since_s[strand] = -1;
    simulation_schedule(sim, sim->now_s, EVENT_STRAND, strand);
}

void cores_take(struct simulation *sim, uint32_t strand)
{
    node_of(sim, strand)->n_busy++;
}

void cores_leave(struct simulation *sim, uint32_t strand)
{
    struct run_node_cores *node = node_of(sim, strand);
    if (--node->n_busy < node->n_cores && node->first != RUN_NOBODY)
        give_turn(sim, node);
}

bool cores_await(struct simulation *sim, uint32_t strand)
{
    struct run_node_cores *node = node_of(sim, strand);
    if (!node->is_crowded || node->n_busy < node->n_cores)
        return false;
    if (node->first == RUN_NOBODY)
        node->first = strand;
    else
        sim->cores.next[node->last] = strand;
    node->last = strand;
    sim->cores.next[strand] = RUN_NOBODY;
    sim->cores.since_s[strand] = sim->now_s;
    simulation_schedule(sim, sim->now_s + sim->options->turn_s, EVENT_TURN, strand);
    return true;
}

void cores_turn(struct simulation *sim, uint32_t strand)
{
    double since_s = sim->cores.since_s[strand];
    if (since_s < 0 || sim->now_s < since_s + sim->options->turn_s)
        return; /* it got a core before */
    give_turn(sim, node_of(sim, strand));
}
