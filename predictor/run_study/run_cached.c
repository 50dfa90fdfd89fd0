/* Says of the messages of a run whether their buffers were in caches (share/doc/MODELS.md, Whole run, Buffers in
 * caches). No recorder can see that; what the messages took tells it. The run is replayed with all buffers in memory,
 * and with all in caches. Messages of one kind (run_program.h) are alike: the replay whose times are closer to the
 * recorded ones, by their geometric mean, says where their buffers were. */
#include <math.h>
#include <stdlib.h>

#include "predictor/run_study/run_study.h"

static void flag_all(struct run_program *program, bool cached)
{
    for (size_t i = 0; i < program->n_messages; i++) {
        uint16_t others = (uint16_t)(program->messages[i].flags & (uint16_t)~MESSAGE_CACHED);
        program->messages[i].flags = (uint16_t)(others | (cached ? MESSAGE_CACHED : 0));
    }
}

/* Replays with all buffers in caches, or none; fills kinds[program->n_kinds] with what messages took. */
static int replay(const struct run_study *study, struct run_program *program, bool cached, struct run_kind *kinds,
                  struct error *error)
{
    struct simulation_options options = study->before.options;
    struct simulation_result result;
    options.log = false;
    options.kinds = kinds;
    flag_all(program, cached);
    int code = simulate(program, &study->before.machine, &study->before.placement, &options, &result, error);
    simulation_result_release(&result);
    return code;
}

/* Returns the logarithm of the geometric mean; NaN without messages. */
static double mean_log(const struct run_kind *kind)
{
    return kind->n > 0 ? kind->log_s / (double)kind->n : (double)NAN;
}

static bool is_closer(const struct run_kind *measured, const struct run_kind *memory, const struct run_kind *cached)
{
    return fabs(mean_log(cached) - mean_log(measured)) < fabs(mean_log(memory) - mean_log(measured));
}

static void flag_closer(struct run_program *program, const struct run_kind *memory, const struct run_kind *cached)
{
    for (size_t i = 0; i < program->n_messages; i++) {
        struct run_message *message = &program->messages[i];
        size_t kind = message->kind;
        if (kind == 0 || !is_closer(&program->kinds[kind], &memory[kind], &cached[kind]))
            message->flags &= (uint16_t)~MESSAGE_CACHED;
    }
}

int run_cached(struct run_study *study, struct error *error)
{
    struct run_program *program = &study->program;
    int buffers = study->options->buffers;
    if (buffers == BUFFERS_MEMORY || !run_rates_cached(&study->before.machine))
        return 0;
    flag_all(program, true);
    if (buffers == BUFFERS_RECORDED) {
        struct run_kind *kinds = calloc(2 * program->n_kinds + 1, sizeof *kinds);
        if (kinds == NULL)
            return error_set(error, "no memory for %zu kinds of messages", program->n_kinds);
        struct run_kind *memory = kinds, *cached = kinds + program->n_kinds;
        int code = replay(study, program, false, memory, error) != 0 ? -1 : replay(study, program, true, cached, error);
        if (code == 0)
            flag_closer(program, memory, cached);
        free(kinds);
        if (code != 0)
            return -1;
    }
    for (size_t i = 0; i < program->n_messages; i++)
        study->n_cached += (program->messages[i].flags & MESSAGE_CACHED) != 0;
    return 0;
}
