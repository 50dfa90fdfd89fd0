/* Reads a run: all rows first, then the steps rank by rank. */
#include "predictor/run_read/run_read.h"

#include <stdlib.h>

#include "predictor/run_read/building.h"
#include "share/base/array.h"
#include "share/base/memory.h"

static int read_items(struct reading *reading)
{
    return bursts_read(reading) != 0 || names_read(reading) != 0 || processes_read(reading) != 0 ||
                   messages_read(reading) != 0 || calls_read(reading) != 0 || collectives_read(reading) != 0 ||
                   one_sided_read(reading) != 0
               ? -1
               : 0;
}

/* Makes calls of a rank's items. */
static void calls_make(struct building *building)
{
    const struct read_item *items = building->items;
    size_t n_items = building->span->n_items;
    for (size_t i = 0, end; i < n_items; i = end) {
        array_grow(&building->calls, building->n_calls, sizeof *building->calls);
        struct call *call = &building->calls[building->n_calls++];
        *call = (struct call){.begin_ns = items[i].begin_ns, .site = items[i].site};
        end = call_of_items(building->reading, items, n_items, i, &call->end_ns);
        call->first_item = (uint32_t)i;
        call->n_items = (uint32_t)(end - i);
        if (items[i].kind == ITEM_IDLE)
            call->idle = items[i].object;
        for (size_t k = i; k < end; k++)
            if (items[k].completed > call->completed)
                call->completed = items[k].completed;
    }
}

static int make_burst(struct reading *reading, uint32_t rank, uint32_t burst, struct places *places)
{
    const struct read_rank *r = &reading->ranks[rank];
    struct building building = {.reading = reading,
                                .span = &r->spans[burst],
                                .items = r->items ? r->items + r->spans[burst].first_item : NULL,
                                .number = rank,
                                .burst = burst,
                                .sleeps = r->sleeps};
    calls_make(&building);
    completions_find(&building);
    strands_divide(&building);
    int result = steps_make(&building, places);
    FREE_ALL(building.calls, building.order, building.strand_calls, building.waits);
    return result;
}

static int make_ranks(struct reading *reading)
{
    struct run_program *program = reading->program;
    struct places places = {.end_site = site_by(reading, function_by_name(reading, "end"), -1)};
    places.of_site = xmalloc(program->n_sites * sizeof *places.of_site);
    places.seen = xcalloc(program->n_sites, sizeof *places.seen);
    int result = 0;
    for (size_t rank = 0; result == 0 && rank < program->n_ranks; rank++) {
        for (uint32_t burst = 0; result == 0 && burst < reading->n_bursts; burst++)
            result = make_burst(reading, (uint32_t)rank, burst, &places);
        free(reading->ranks[rank].items);
        reading->ranks[rank].items = NULL;
    }
    FREE_ALL(places.of_site, places.seen);
    return result;
}

static void release_texts(void *texts)
{
    pool_release(texts);
    free(texts);
}

static void reading_release(struct reading *reading)
{
    for (size_t rank = 0; reading->ranks != NULL && rank < reading->program->n_ranks; rank++) {
        FREE_ALL(reading->ranks[rank].items, reading->ranks[rank].spans);
    }
    FREE_ALL(reading->bursts, reading->ranks, reading->functions, reading->site_function, reading->late_ns,
             reading->long_ns, reading->members, reading->instances, reading->computings);
    map_release(&reading->function_of_name);
    map_release(&reading->function_of_id);
    map_release(&reading->site_of);
    map_release(&reading->groups);
    map_release(&reading->numbers);
    map_release(&reading->instance_of);
    map_release(&reading->nth);
    map_release(&reading->ranks_on_machine);
}

int run_program_read(sqlite3 *database, const char *path, const struct run_want *want, struct run_program *program,
                     struct error *error)
{
    struct reading reading = {.database = database, .path = path, .error = error, .program = program, .want = *want};
    struct error reason;
    reading.pool = xcalloc(1, sizeof *reading.pool);
    program->texts = reading.pool;
    program->release_texts = release_texts;
    int result = read_items(&reading) != 0 || bounds_find(&reading) != 0 ? -1 : 0;
    if (result == 0) {
        window_apply(&reading);
        bursts_join(&reading);
        result = presence_find(&reading);
    }
    if (result == 0) {
        polls_judge(&reading);
        result = collectives_make(&reading);
    }
    if (result == 0) {
        computing_begin(&reading);
        result = make_ranks(&reading);
    }
    if (result == 0)
        computing_divide(&reading);
    if (result == 0 && run_program_check(program, &reason) != 0)
        result = error_set(error, "%s: defect: the program of its run is wrong: %s", path, reason.text);
    FREE_ALL(reading.late_ns, reading.long_ns);
    reading.late_ns = reading.long_ns = NULL;
    if (result == 0 && want->recorded != NULL)
        recorded_make(&reading);
    reading_release(&reading);
    if (result != 0)
        run_program_release(program);
    return result;
}
