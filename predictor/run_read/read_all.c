/* Reads a run: all rows first, then the steps rank by rank. */
#include "predictor/run_read/run_read.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/run_read/building.h"

static int read_items(struct reading *reading)
{
    return names_read(reading) != 0 || processes_read(reading) != 0 || messages_read(reading) != 0 ||
                   calls_read(reading) != 0 || collectives_read(reading) != 0 || one_sided_read(reading) != 0
               ? -1
               : 0;
}

static int make_rank(struct reading *reading, uint32_t rank, struct places *places)
{
    struct building building = {.reading = reading, .rank = &reading->ranks[rank], .number = rank};
    int result = calls_make(&building) != 0 || completions_find(&building) != 0 || strands_divide(&building) != 0 ||
                         steps_make(&building, places) != 0
                     ? -1
                     : 0;
    free(building.calls);
    free(building.order);
    free(building.strand_calls);
    free(building.waits);
    free(reading->ranks[rank].items);
    reading->ranks[rank].items = NULL;
    return result;
}

static int make_ranks(struct reading *reading)
{
    struct run_program *program = reading->program;
    uint32_t end = function_by_name(reading, "end");
    struct places places = {.end_site = end == NO_OBJECT ? NO_OBJECT : site_by(reading, end, -1)};
    if (places.end_site == NO_OBJECT)
        return -1;
    places.of_site = malloc(program->n_sites * sizeof *places.of_site);
    places.seen = calloc(program->n_sites, sizeof *places.seen);
    int result = places.of_site == NULL || places.seen == NULL ? reading_no_memory(reading) : 0;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (size_t rank = 0; result == 0 && rank < program->n_ranks; rank++) {
        const struct read_rank *r = &reading->ranks[rank];
        first_ns = r->from_ns < first_ns ? r->from_ns : first_ns;
        last_ns = r->to_ns > last_ns ? r->to_ns : last_ns;
        result = make_rank(reading, (uint32_t)rank, &places);
    }
    if (result == 0)
        program->measured_run_s = reading_seconds(last_ns - first_ns);
    free(places.of_site);
    free(places.seen);
    return result;
}

static void release_texts(void *texts)
{
    pool_release(texts);
    free(texts);
}

static void reading_release(struct reading *reading)
{
    for (size_t rank = 0; reading->ranks != NULL && rank < reading->program->n_ranks; rank++)
        free(reading->ranks[rank].items);
    free(reading->ranks);
    free(reading->functions);
    free(reading->site_function);
    free(reading->posts);
    free(reading->members);
    free(reading->instances);
    free(reading->computings);
    map_release(&reading->function_of_name);
    map_release(&reading->function_of_id);
    map_release(&reading->site_of);
    map_release(&reading->groups);
    map_release(&reading->numbers);
    map_release(&reading->instance_of);
    map_release(&reading->nth);
    map_release(&reading->ranks_on_machine);
}

/* Reads with what the caller has set. */
static int read_run(struct reading reading)
{
    const char *path = reading.path;
    struct run_program *program = reading.program;
    struct error *error = reading.error, reason;
    reading.pool = calloc(1, sizeof *reading.pool);
    program->texts = reading.pool;
    program->release_texts = reading.pool == NULL ? NULL : release_texts;
    int result = reading.pool == NULL ? reading_no_memory(&reading) : read_items(&reading);
    if (result == 0)
        result = bounds_find(&reading) != 0 || window_apply(&reading) != 0 || presence_find(&reading) != 0 ? -1 : 0;
    if (result == 0)
        polls_judge(&reading);
    if (result == 0)
        result = collectives_make(&reading) != 0 || computing_begin(&reading) != 0 || make_ranks(&reading) != 0 ||
                         computing_divide(&reading) != 0
                     ? -1
                     : 0;
    if (result == 0 && run_program_check(program, &reason) != 0)
        result = error_set(error, "%s: defect: the program of its run is wrong: %s", path, reason.text);
    free(reading.posts);
    reading.posts = NULL;
    if (result == 0 && reading.recorded != NULL && recorded_make(&reading) != 0)
        result = reading_no_memory(&reading);
    reading_release(&reading);
    if (result != 0)
        run_program_release(program);
    return result;
}

int run_program_read(sqlite3 *database, const char *path, const struct run_window *window, struct run_program *program,
                     struct error *error)
{
    return run_program_watch(database, path, window, NULL, program, error);
}

int run_program_watch(sqlite3 *database, const char *path, const struct run_window *window,
                      const struct run_watch *watch, struct run_program *program, struct error *error)
{
    return read_run((struct reading){
        .database = database, .path = path, .error = error, .program = program, .window = window, .watch = watch});
}

int run_program_read_recorded(sqlite3 *database, const char *path, const struct run_message_watch *watch,
                              struct run_program *program, struct simulation_result *recorded, struct error *error)
{
    *recorded = (struct simulation_result){0};
    return read_run((struct reading){.database = database,
                                     .path = path,
                                     .error = error,
                                     .program = program,
                                     .message_watch = watch,
                                     .recorded = recorded});
}
