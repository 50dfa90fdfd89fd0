/* Makes and frees what a replay keeps of strands, messages, collectives and ranks while it goes on. */
#include <stdlib.h>

#include "predictor/run/simulation.h"

/* Returns an array of at least one element, zeroed, or NULL. */
static void *allocate(size_t n, size_t bytes)
{
    return calloc(n > 0 ? n : 1, bytes);
}

int simulation_allocate(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    sim->strands = allocate(program->n_strands, sizeof *sim->strands);
    sim->messages = allocate(program->n_messages, sizeof *sim->messages);
    sim->members = allocate(program->n_members, sizeof *sim->members);
    sim->collectives = allocate(program->n_collectives, sizeof *sim->collectives);
    sim->n_inside = allocate(program->n_ranks, sizeof *sim->n_inside);
    sim->n_polling = allocate(program->n_ranks, sizeof *sim->n_polling);
    sim->n_going = allocate(program->n_ranks, sizeof *sim->n_going);
    sim->rank_flights = allocate(program->n_ranks, sizeof *sim->rank_flights);
    sim->rank_coming = allocate(program->n_ranks, sizeof *sim->rank_coming);
    sim->rank_arrived = allocate(program->n_ranks, sizeof *sim->rank_arrived);
    struct simulation_result *result = sim->result;
    result->predicted = allocate(program->n_places, sizeof *result->predicted);
    result->rank_begin_s = allocate(program->n_ranks, sizeof *result->rank_begin_s);
    result->rank_end_s = allocate(program->n_ranks, sizeof *result->rank_end_s);
    return sim->strands != NULL && sim->messages != NULL && sim->members != NULL && sim->collectives != NULL &&
                   sim->n_inside != NULL && sim->n_polling != NULL && sim->n_going != NULL &&
                   sim->rank_flights != NULL && sim->rank_coming != NULL && sim->rank_arrived != NULL &&
                   result->predicted != NULL && result->rank_begin_s != NULL && result->rank_end_s != NULL
               ? 0
               : -1;
}

/* Frees the lists of all ranks; NULL: there are none. */
static void release_lists(struct flight_list *lists, size_t n)
{
    for (size_t i = 0; lists != NULL && i < n; i++)
        free(lists[i].flights);
    free(lists);
}

void simulation_release(struct simulation *sim)
{
    release_lists(sim->rank_flights, sim->program->n_ranks);
    release_lists(sim->rank_coming, sim->program->n_ranks);
    release_lists(sim->rank_arrived, sim->program->n_ranks);
    free(sim->n_threads);
    free(sim->n_inside);
    free(sim->n_polling);
    free(sim->n_going);
    free(sim->strands);
    free(sim->messages);
    free(sim->merged);
    free(sim->members);
    free(sim->collectives);
    free(sim->flights);
    free(sim->ahead);
    free(sim->events.entries);
    cores_release(sim);
    stage_release(sim);
    run_memory_release(&sim->memory);
    run_queue_release(&sim->queue);
    run_links_release(&sim->links);
    run_share_release(&sim->share);
    run_rates_release(&sim->rates);
}
