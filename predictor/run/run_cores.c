/* Where ranks outnumber the cores of their machine, one whose wait is over needs a core before it can go on: those that
 * compute have them. It gets the next one that is left, or its turn. */
#include <stdlib.h>

#include "share/base/map.h"
#include "predictor/run/simulation.h"

/* Numbers the machines on which the ranks are: nodes that share cores, as the recorded nodes do, are one. Returns how
 * many there are, or -1 without memory. */
static int64_t number_machines(struct simulation *sim)
{
    struct map machine_of = {0}, numbers = {0}; /* of a node; of a machine */
    const struct run_program *program = sim->program;
    int64_t n = 0;
    for (size_t rank = 0; rank < program->n_ranks && n >= 0; rank++) {
        uint32_t *machine = map_at(&machine_of, (struct map_key){program->ranks[rank].node, 0, 0});
        if (machine == NULL)
            n = -1;
        else
            *machine = program->ranks[rank].machine;
    }
    for (size_t rank = 0; rank < program->n_ranks && n >= 0; rank++) {
        uint32_t node = sim->placement->node[rank], machine = map_find(&machine_of, (struct map_key){node, 0, 0});
        uint32_t *number = map_at(&numbers, (struct map_key){machine == MAP_ABSENT ? node : machine, 0, 0});
        if (number == NULL) {
            n = -1;
        } else {
            *number = *number == MAP_ABSENT ? (uint32_t)n++ : *number;
            sim->cores.machine_of[rank] = *number;
        }
    }
    map_release(&machine_of);
    map_release(&numbers);
    return n;
}

int cores_init(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    struct run_cores *cores = &sim->cores;
    cores->machine_of = malloc((program->n_ranks + 1) * sizeof *cores->machine_of);
    cores->machines = calloc(program->n_ranks + 1, sizeof *cores->machines);
    cores->next = malloc((program->n_strands + 1) * sizeof *cores->next);
    cores->since_s = malloc((program->n_strands + 1) * sizeof *cores->since_s);
    if (cores->machine_of == NULL || cores->machines == NULL || cores->next == NULL || cores->since_s == NULL)
        return -1;
    int64_t n_machines = number_machines(sim);
    for (uint32_t s = 0; s < program->n_strands; s++) {
        struct run_machine_cores *machine = &cores->machines[cores->machine_of[program->strands[s].rank]];
        uint32_t known = program->ranks[program->strands[s].rank].cores;
        machine->n_strands++;
        machine->n_cores = known > machine->n_cores ? known : machine->n_cores;
        cores->since_s[s] = -1;
    }
    for (int64_t m = 0; m < n_machines; m++) {
        struct run_machine_cores *machine = &cores->machines[m];
        machine->is_crowded = sim->options->turn_s > 0 && machine->n_cores > 0 && machine->n_strands > machine->n_cores;
        machine->first = machine->last = RUN_NOBODY;
    }
    return n_machines < 0 ? -1 : 0;
}

void cores_release(struct simulation *sim)
{
    free(sim->cores.machine_of);
    free(sim->cores.machines);
    free(sim->cores.next);
    free(sim->cores.since_s);
}

static struct run_machine_cores *machine_of(const struct simulation *sim, uint32_t strand)
{
    return &sim->cores.machines[sim->cores.machine_of[sim->program->strands[strand].rank]];
}

/* Takes the first strand out of the queue, which goes on now. */
static void give_turn(struct simulation *sim, struct run_machine_cores *machine)
{
    uint32_t strand = machine->first;
    machine->first = sim->cores.next[strand];
    if (machine->first == RUN_NOBODY)
        machine->last = RUN_NOBODY;
    sim->cores.since_s[strand] = -1;
    simulation_schedule(sim, sim->now_s, EVENT_STRAND, strand);
}

void cores_take(struct simulation *sim, uint32_t strand)
{
    machine_of(sim, strand)->n_busy++;
}

void cores_leave(struct simulation *sim, uint32_t strand)
{
    struct run_machine_cores *machine = machine_of(sim, strand);
    if (--machine->n_busy < machine->n_cores && machine->first != RUN_NOBODY)
        give_turn(sim, machine);
}

bool cores_await(struct simulation *sim, uint32_t strand)
{
    struct run_machine_cores *machine = machine_of(sim, strand);
    if (!machine->is_crowded || machine->n_busy < machine->n_cores)
        return false;
    if (machine->first == RUN_NOBODY)
        machine->first = strand;
    else
        sim->cores.next[machine->last] = strand;
    machine->last = strand;
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
    give_turn(sim, machine_of(sim, strand));
}
