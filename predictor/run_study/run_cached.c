/* Says of the messages of a run whether their buffers were in caches (share/doc/MODELS.md, Whole run, Buffers in
 * caches). No recorder can see that; what the messages took tells it. The run is replayed with all buffers in memory,
 * and with all in caches. Where the recorded time of the messages of one kind (run_program.h) lies between these two
 * says what share of them is taken from caches. */
#include <math.h>

#include "predictor/pattern/traffic.h"
#include "predictor/run/laws/run_rates.h"
#include "predictor/run_study/run_side.h"
#include "share/base/map.h"
#include "share/base/memory.h"

/* Is the largest number of messages that are looked at unasked: that takes two replays more. */
enum { UNASKED_MOST = 2000000 };

/* Holds what the questions below share. */
struct caches {
    struct run_study *study;
    struct run_rates rates; /* of the levels whose buffers may be in caches */
};

/* Says whether the table has a rate for the message from caches: for those that these hold whole, and where a share of
 * the recorded ones is asked for, for larger ones, of which they hold a part. */
static bool is_served(const struct caches *caches, const struct run_message *message)
{
    enum level level = placement_level(&caches->study->before.placement, message->src, message->dst);
    if (caches->study->options->buffers != BUFFERS_RECORDED &&
        (double)message->bytes > caches->rates.cached_bytes[level])
        return false;
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

/* Replays with all buffers in caches, or none; fills message_s[n_messages of the program] with what messages took. */
static int replay_all_or_none(const struct caches *caches, bool cached, float *message_s, struct error *error)
{
    const struct run_side *before = &caches->study->before;
    struct simulation_options options = before->options;
    double run_s;
    options.message_s = message_s;
    flag_all(caches, cached);
    return simulate_length(&caches->study->program, &before->machine, &before->placement, &options, &run_s, error);
}

/* Adds up over the messages of a kind. */
struct kind_times {
    double gain_s;  /* what caches save of the time from memory */
    double saved_s; /* what of that was saved in the recording */
};

/* Adds all messages to their kinds. */
static void add_kinds(const struct run_program *program, const float *memory_s, const float *cached_s,
                      struct kind_times *kinds)
{
    for (size_t i = 0; i < program->n_messages; i++) {
        const struct run_message *message = &program->messages[i];
        double gain_s = (double)memory_s[i] - (double)cached_s[i],
               saved_s = (double)memory_s[i] - (double)message->seconds;
        if ((message->flags & MESSAGE_CACHED) == 0 || !(gain_s > 0) || isnan(saved_s))
            continue;
        kinds[message->kind].gain_s += gain_s;
        kinds[message->kind].saved_s += saved_s;
    }
}

/* Says whether the message of that number, from 0, is one of the share, which is spread evenly. */
static bool is_chosen(uint32_t number, double share)
{
    return floor((number + 1) * share + 0.5) > floor(number * share + 0.5);
}

/* Leaves the flag to the share of each kind, counted for each sender and receiver alone: what two ranks exchange then
 * comes from the same place both ways. Returns how many messages keep it. */
static size_t keep_shares(struct run_program *program, const struct kind_times *kinds)
{
    struct map numbers = {0};
    size_t n = 0;
    for (size_t i = 0; i < program->n_messages; i++) {
        struct run_message *message = &program->messages[i];
        const struct kind_times *kind = &kinds[message->kind];
        if ((message->flags & MESSAGE_CACHED) == 0)
            continue;
        uint32_t *number = map_at(&numbers, (struct map_key){message->kind, message->src, message->dst});
        *number = *number == MAP_ABSENT ? 0 : *number + 1;
        if (message->kind != 0 && kind->gain_s > 0 &&
            is_chosen(*number, fmax(fmin(kind->saved_s / kind->gain_s, 1), 0)))
            n++;
        else
            message->flags &= (uint16_t)~MESSAGE_CACHED;
    }
    map_release(&numbers);
    return n;
}

/* Flags what the recorded times say; all that the table serves are flagged. */
static int flag_as_recorded(const struct caches *caches, struct error *error)
{
    struct run_program *program = &caches->study->program;
    float *memory_s = xcalloc(program->n_messages, sizeof *memory_s);
    float *cached_s = xcalloc(program->n_messages, sizeof *cached_s);
    struct kind_times *kinds = xcalloc(program->n_kinds + 1, sizeof *kinds);
    int code = replay_all_or_none(caches, false, memory_s, error) != 0
                   ? -1
                   : replay_all_or_none(caches, true, cached_s, error);
    add_kinds(program, memory_s, cached_s, kinds);
    caches->study->n_cached = code == 0 ? keep_shares(program, kinds) : 0;
    FREE_ALL(memory_s, cached_s, kinds);
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
    study->in_memory = !study->options->buffers_given && study->program.n_messages > UNASKED_MOST;
    if (study->in_memory)
        return 0;
    int code = run_rates_init(&caches.rates, &study->before.machine, levels, 1, (struct run_ideal){0}, error);
    if (code == 0)
        study->n_cached = flag_all(&caches, true);
    if (study->n_cached > 0 && study->options->buffers == BUFFERS_RECORDED)
        code = flag_as_recorded(&caches, error);
    run_rates_release(&caches.rates);
    return code;
}
