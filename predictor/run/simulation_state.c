/* Makes and frees what a replay keeps of strands, messages, collectives and ranks while it goes on. */
#include <stdlib.h>

#include "predictor/run/simulation.h"
#include "share/base/memory.h"

void simulation_allocate(struct simulation *sim)
{
    const struct run_program *program = sim->program;
    sim->strands = xcalloc(program->n_strands, sizeof *sim->strands);
    sim->messages = xcalloc(program->n_messages, sizeof *sim->messages);
    sim->members = xcalloc(program->n_members, sizeof *sim->members);
    sim->collectives = xcalloc(program->n_collectives, sizeof *sim->collectives);
    sim->n_inside = xcalloc(program->n_ranks, sizeof *sim->n_inside);
    sim->n_polling = xcalloc(program->n_ranks, sizeof *sim->n_polling);
    sim->n_going = xcalloc(program->n_ranks, sizeof *sim->n_going);
    sim->rank_flights = xcalloc(program->n_ranks, sizeof *sim->rank_flights);
    sim->rank_coming = xcalloc(program->n_ranks, sizeof *sim->rank_coming);
    sim->rank_arrived = xcalloc(program->n_ranks, sizeof *sim->rank_arrived);
    struct simulation_result *result = sim->result;
    result->predicted = xcalloc(program->n_places, sizeof *result->predicted);
    result->rank_begin_s = xcalloc(program->n_ranks, sizeof *result->rank_begin_s);
    result->rank_end_s = xcalloc(program->n_ranks, sizeof *result->rank_end_s);
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
    events_release(&sim->events);
    cores_release(sim);
    stage_release(sim);
    run_memory_release(&sim->memory);
    run_queue_release(&sim->queue);
    run_links_release(&sim->links);
    run_share_release(&sim->share);
    run_rates_release(&sim->rates);
}
