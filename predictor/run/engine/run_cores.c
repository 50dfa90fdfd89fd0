/* Where ranks outnumber the processors of their machine, each shares one with some others, as long as it was recorded
 * there: one that waits inside MPI polls, so that the operating system sees all of them running and seldom moves any.
 * One that polls yields; all others keep the processor. So a rank whose wait is over goes on when no other one has it,
 * or when its turn has come. Those that compute at the same time share it evenly, if what is known of their computation
 * holds nothing of each other's. */
#include "predictor/run/engine/simulation_state.h"

#include <math.h>

#include "share/base/map.h"
#include "share/base/memory.h"

/* Holds a machine: a node, or the nodes that share its processors. */
struct machine_cores {
    uint32_t n_strands;
    uint32_t n;       /* processors, 0: not known */
    uint32_t n_known; /* those on which ranks were */
    size_t first;     /* its first core */
};

/* Numbers the machines on which the ranks are: nodes that share processors, as the recorded nodes do, are one. Returns
 * how many there are. */
static size_t number_machines(const struct simulation *sim)
{
    struct map machine_of = {0}, numbers = {0}; /* of a node; of a machine */
    const struct run_program *program = sim->program;
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        *map_at(&machine_of, (struct map_key){program->ranks[rank].node, 0, 0}) = program->ranks[rank].machine;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        uint32_t node = sim->placement->node[rank], machine = map_find(&machine_of, (struct map_key){node, 0, 0});
        sim->cores.machine_of[rank] =
            map_number(&numbers, (struct map_key){machine == MAP_ABSENT ? node : machine, 0, 0}, numbers.n_entries);
    }
    size_t n_machines = numbers.n_entries;
    map_release(&machine_of);
    map_release(&numbers);
    return n_machines;
}

static bool is_crowded(const struct simulation *sim, const struct machine_cores *machine)
{
    return sim->options->turn_s > 0 && machine->n > 0 && machine->n_strands > machine->n;
}

/* Counts what each machine has. */
static void count_cores(struct simulation *sim, size_t n_machines)
{
    const struct run_program *program = sim->program;
    for (size_t s = 0; s < program->n_strands;) {
        uint32_t rank = program->strands[s].rank, processors = program->ranks[rank].processors;
        struct machine_cores *machine = &sim->cores.machines[sim->cores.machine_of[rank]];
        /* It may be placed elsewhere than the one whose place it took. */
        uint32_t before = program->ranks[rank].follows;
        bool follows = before > 0 && sim->cores.machine_of[before - 1] == sim->cores.machine_of[rank];
        machine->n_strands += run_program_threads(program, &s) - follows;
        machine->n = processors > machine->n ? processors : machine->n;
    }
    for (size_t m = 0; m < n_machines; m++) {
        sim->cores.machines[m].first = sim->cores.n_cores;
        sim->cores.n_cores += is_crowded(sim, &sim->cores.machines[m]) ? sim->cores.machines[m].n : 0;
    }
}

/* Returns the core of a processor on which the rank was, if it is still on that node; RUN_NOBODY where it is not.
 */
static uint32_t recorded_core(struct simulation *sim, uint32_t rank, int32_t processor)
{
    const struct run_rank *told = &sim->program->ranks[rank];
    uint32_t number = sim->cores.machine_of[rank];
    struct machine_cores *machine = &sim->cores.machines[number];
    if (processor < 0 || told->node != sim->placement->node[rank])
        return RUN_NOBODY;
    uint32_t *place = map_at(&sim->cores.known, (struct map_key){number, (uint64_t)processor, 0});
    if (*place == MAP_ABSENT && machine->n_known < machine->n)
        *place = machine->n_known++;
    return *place == MAP_ABSENT ? RUN_NOBODY : (uint32_t)(machine->first + *place);
}

/* Returns the core of a machine that serves the fewest. */
static uint32_t emptiest_core(const struct run_core *cores, const struct machine_cores *machine)
{
    size_t best = machine->first;
    for (size_t c = machine->first; c < machine->first + machine->n; c++)
        best = cores[c].n_strands < cores[best].n_strands ? c : best;
    return (uint32_t)best;
}

/* Returns how many strands a core has at most: where one has more, the operating system moves some. */
static uint32_t fair_share(const struct machine_cores *machine)
{
    return (machine->n_strands + machine->n - 1) / machine->n;
}

void cores_assign(struct simulation *sim, uint32_t burst)
{
    const struct run_program *program = sim->program;
    struct run_cores *cores = &sim->cores;
    for (size_t c = 0; c < cores->n_cores; c++)
        cores->cores[c] = (struct run_core){.first = RUN_NOBODY, .last = RUN_NOBODY, .computing = RUN_NOBODY};
    for (int recorded = 1; recorded >= 0; recorded--)
        for (uint32_t s = 0; s < program->n_strands; s++) {
            uint32_t rank = program->strands[s].rank;
            const struct machine_cores *machine = &sim->cores.machines[sim->cores.machine_of[rank]];
            bool is_first = s == 0 || program->strands[s - 1].rank != rank || program->strands[s - 1].burst != burst;
            if (program->strands[s].burst != burst || !is_crowded(sim, machine) ||
                cores->strands[s].core != RUN_NOBODY || (recorded && !is_first))
                continue;
            uint32_t core = recorded ? recorded_core(sim, rank, program->ranks[rank].processor)
                                     : emptiest_core(cores->cores, machine);
            if (core == RUN_NOBODY || cores->cores[core].n_strands >= fair_share(machine))
                continue;
            cores->strands[s].core = core;
            cores->cores[core].n_strands++;
        }
}

void cores_init(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    struct run_cores *cores = &sim->cores;
    cores->machines = xcalloc(program->n_ranks + 1, sizeof *cores->machines);
    cores->machine_of = xmalloc((program->n_ranks + 1) * sizeof *cores->machine_of);
    cores->strands = xmalloc((program->n_strands + 1) * sizeof *cores->strands);
    size_t n_machines = number_machines(sim);
    for (size_t s = 0; s < program->n_strands; s++)
        cores->strands[s] = (struct strand_core){.core = RUN_NOBODY, .since_s = -1, .left_s = -1};
    count_cores(sim, n_machines);
    cores->cores = xmalloc((cores->n_cores + 1) * sizeof *cores->cores);
}

void cores_release(struct simulation *sim)
{
    FREE_ALL(sim->cores.cores, sim->cores.strands, sim->cores.machines, sim->cores.machine_of);
    map_release(&sim->cores.known);
}

static struct run_core *core_of(const struct simulation *sim, uint32_t strand)
{
    uint32_t core = sim->cores.strands[strand].core;
    return core == RUN_NOBODY ? NULL : &sim->cores.cores[core];
}

/* Changes how many share a core, and so when those that compute on it are done. */
static void share(struct simulation *sim, struct run_core *core, int change)
{
    struct run_cores *cores = &sim->cores;
    double passed_s = sim->events.now_s - core->since_s;
    for (uint32_t s = core->computing; s != RUN_NOBODY; s = cores->strands[s].next) {
        struct strand_core *one = &cores->strands[s];
        one->left_s = fmax(one->left_s - passed_s / core->n_busy, 0);
        one->due_s = sim->events.now_s + one->left_s * (core->n_busy + (uint32_t)change);
        events_schedule(&sim->events, one->due_s, EVENT_TURN, s);
    }
    core->n_busy += (uint32_t)change;
    core->since_s = sim->events.now_s;
}

static void take_core(struct simulation *sim, uint32_t strand)
{
    struct strand_core *own = &sim->cores.strands[strand];
    own->has = true;
    own->ready_s = sim->events.now_s;
    share(sim, core_of(sim, strand), 1);
}

/* Gives a strand its core once those that poll there have yielded it. */
static void take_over(struct simulation *sim, uint32_t strand)
{
    take_core(sim, strand);
    if (core_of(sim, strand)->n_strands > 1)
        sim->cores.strands[strand].ready_s += sim->program->handover_s;
}

bool cores_compute(struct simulation *sim, uint32_t strand, double seconds)
{
    struct strand_core *own = &sim->cores.strands[strand];
    struct run_core *core = core_of(sim, strand);
    if (core == NULL || !sim->program->ranks[sim->program->strands[strand].rank].own_computation)
        return false;
    own->left_s = seconds;
    own->since_s = sim->events.now_s;
    share(sim, core, 0);
    own->next = core->computing;
    core->computing = strand;
    own->due_s = sim->events.now_s + seconds * core->n_busy;
    events_schedule(&sim->events, own->due_s, EVENT_TURN, strand);
    return true;
}

double cores_computed(struct simulation *sim, uint32_t strand)
{
    struct strand_core *own = &sim->cores.strands[strand];
    struct run_cores *cores = &sim->cores;
    struct run_core *core = core_of(sim, strand);
    if (own->left_s < 0 || sim->events.now_s < own->due_s)
        return -1;
    share(sim, core, 0);
    uint32_t *at = &core->computing;
    while (*at != strand)
        at = &cores->strands[*at].next;
    *at = own->next;
    double took_s = sim->events.now_s - own->since_s;
    own->left_s = own->since_s = -1;
    return took_s;
}

/* Takes the first strand out of the queue, which goes on now, or moves messages while it waits. */
static void give_turn(struct simulation *sim, struct run_core *core)
{
    uint32_t strand = core->first;
    core->first = sim->cores.strands[strand].next;
    if (core->first == RUN_NOBODY)
        core->last = RUN_NOBODY;
    sim->cores.strands[strand].since_s = -1;
    take_over(sim, strand);
    events_schedule(&sim->events, sim->cores.strands[strand].ready_s,
                    sim->strands[strand].phase == STRAND_WAITS ? EVENT_TURN : EVENT_STRAND, strand);
}

static void join_queue(struct simulation *sim, struct run_core *core, uint32_t strand)
{
    struct strand_core *own = &sim->cores.strands[strand];
    if (core->first == RUN_NOBODY)
        core->first = strand;
    else
        sim->cores.strands[core->last].next = strand;
    core->last = strand;
    own->next = RUN_NOBODY;
    own->since_s = sim->events.now_s;
    events_schedule(&sim->events, sim->events.now_s + sim->options->turn_s, EVENT_TURN, strand);
}

void cores_take(struct simulation *sim, uint32_t strand)
{
    if (core_of(sim, strand) != NULL && !sim->cores.strands[strand].has)
        take_core(sim, strand);
}

void cores_move(struct simulation *sim, uint32_t strand, uint16_t processor)
{
    struct strand_core *own = &sim->cores.strands[strand];
    if (processor == 0 || processor == own->at || own->core == RUN_NOBODY)
        return;
    uint32_t core = recorded_core(sim, sim->program->strands[strand].rank, processor - 1);
    own->at = processor;
    if (core == RUN_NOBODY || core == own->core)
        return;
    cores_leave(sim, strand);
    own->core = core;
}

void cores_leave(struct simulation *sim, uint32_t strand)
{
    struct strand_core *own = &sim->cores.strands[strand];
    struct run_core *core = core_of(sim, strand);
    if (core == NULL || !own->has)
        return;
    own->has = false;
    share(sim, core, -1);
    if (core->n_busy == 0 && core->first != RUN_NOBODY)
        give_turn(sim, core);
}

/* Says whether a strand that has its core must wait until it has been handed over; then it goes on by itself. */
static bool await_handover(struct simulation *sim, uint32_t strand)
{
    double ready_s = sim->cores.strands[strand].ready_s;
    if (ready_s <= sim->events.now_s)
        return false;
    events_schedule(&sim->events, ready_s, EVENT_STRAND, strand);
    return true;
}

bool cores_await(struct simulation *sim, uint32_t strand)
{
    struct strand_core *own = &sim->cores.strands[strand];
    struct run_core *core = core_of(sim, strand);
    if (core == NULL)
        return false;
    if (!own->has && core->n_busy == 0)
        take_over(sim, strand);
    if (own->has)
        return await_handover(sim, strand);
    if (own->since_s < 0)
        join_queue(sim, core, strand);
    return true;
}

bool cores_are_shared(const struct simulation *sim, uint32_t strand)
{
    return core_of(sim, strand) != NULL;
}

bool cores_have(const struct simulation *sim, uint32_t strand)
{
    return sim->cores.strands[strand].has && sim->cores.strands[strand].ready_s <= sim->events.now_s;
}

void cores_want(struct simulation *sim, uint32_t strand)
{
    const struct strand_core *own = &sim->cores.strands[strand];
    struct run_core *core = core_of(sim, strand);
    if (core == NULL || own->has || own->since_s >= 0)
        return;
    if (core->n_busy > 0) {
        join_queue(sim, core, strand);
        return;
    }
    take_over(sim, strand);
    events_schedule(&sim->events, own->ready_s, EVENT_TURN, strand);
}

void cores_turn(struct simulation *sim, uint32_t strand)
{
    struct strand_core *own = &sim->cores.strands[strand];
    double since_s = own->since_s;
    if (since_s < 0 || own->left_s >= 0 || sim->events.now_s < since_s + sim->options->turn_s)
        return; /* it got the core before */
    give_turn(sim, core_of(sim, strand));
}
