/* Says of the messages of a run whether their buffers were in caches (share/doc/MODELS.md, Whole run, Buffers in
 * caches). No recorder can see that; what the messages took tells it. The run is replayed with all buffers in memory,
 * and with all in caches. Messages of one kind (run_program.h) are alike: the replay whose times are closer to the
 * recorded ones, by their geometric mean, says where their buffers were. */
#include <math.h>
#include <stdlib.h>

#include "predictor/pattern/traffic.h"
#include "predictor/run/run_rates.h"
#include "predictor/run_study/run_study.h"

/* Holds what the questions below share. */
struct caches {
    struct run_study *study;
    struct run_rates rates; /* of the levels whose buffers may be in caches */
};

/* Says whether the table has a rate for the message from caches. */
static bool is_served(const struct caches *caches, const struct run_message *message)
{
    enum level level = placement_level(&caches->study->before.placement, message->src, message->dst);
    return caches->rates.known[level] && run_rates_class(&caches->rates, level, message->bytes, true) !=
                                             run_rates_class(&caches->rates, level, message->bytes, false);
}

/* Flags all messages that the table serves, or none. Returns how many are flagged. */
static size_t flag_all(const struct caches *caches, bool cached)
{
    struct run_program *program = &caches->study->program;
    size_t n = 0;
    for (size_t i = 0; i < program->n_messages; i++) {
        struct run_message *message = &program->messages[i];
        bool flagged = cached && is_served(caches, message);
        message->flags &= (uint16_t)~MESSAGE_CACHED;
        message->flags |= flagged ? (uint16_t)MESSAGE_CACHED : (uint16_t)0;
        n += flagged;
    }
    return n;
}

/* Replays with all buffers in caches, or none; fills kinds[n_kinds of the program] with what messages took. */
static int replay(const struct caches *caches, bool cached, struct run_kind *kinds, struct error *error)
{
    const struct run_side *before = &caches->study->before;
    struct simulation_options options = before->options;
    struct simulation_result result;
    options.log = false;
    options.kinds = kinds;
    flag_all(caches, cached);
    int code = simulate(&caches->study->program, &before->machine, &before->placement, &options, &result, error);
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

/* Takes the flag away where memory is closer. Returns how many messages keep it. */
static size_t keep_closer(struct run_program *program, const struct run_kind *memory, const struct run_kind *cached)
{
    size_t n = 0;
    for (size_t i = 0; i < program->n_messages; i++) {
        struct run_message *message = &program->messages[i];
        size_t kind = message->kind;
        if (kind == 0 || !is_closer(&program->kinds[kind], &memory[kind], &cached[kind]))
            message->flags &= (uint16_t)~MESSAGE_CACHED;
        n += (message->flags & MESSAGE_CACHED) != 0;
    }
    return n;
}

/* Flags what the recorded times say; all that the table serves are flagged. */
static int flag_as_recorded(const struct caches *caches, struct error *error)
{
    struct run_program *program = &caches->study->program;
    struct run_kind *kinds = calloc(2 * program->n_kinds + 1, sizeof *kinds);
    if (kinds == NULL)
        return error_set(error, "no memory for %zu kinds of messages", program->n_kinds);
    struct run_kind *memory = kinds, *cached = kinds + program->n_kinds;
    int code = replay(caches, false, memory, error) != 0 ? -1 : replay(caches, true, cached, error);
    if (code == 0)
        caches->study->n_cached = keep_closer(program, memory, cached);
    free(kinds);
    return code;
}

int run_cached(struct run_study *study, struct error *error)
{
    struct caches caches = {.study = study};
    unsigned levels = 0;
    for (enum level level = LEVEL_INTRA_SOCKET; level <= LEVEL_INTER_SOCKET; level++)
        if (machine_value(&study->before.machine, level, PROTOCOL_ANY, "cached_bytes", 0) > 0)
            levels |= LEVEL_BIT(level);
    if (study->options->buffers == BUFFERS_MEMORY || levels == 0)
        return 0;
    int code = run_rates_init(&caches.rates, &study->before.machine, levels, 1, (struct run_ideal){0}, error);
    if (code == 0)
        study->n_cached = flag_all(&caches, true);
    if (study->n_cached > 0 && study->options->buffers == BUFFERS_RECORDED)
        code = flag_as_recorded(&caches, error);
    run_rates_release(&caches.rates);
    return code;
}
