/* One sample is one time in which threads compute, messages come, or both. The threads begin before the first message
 * and end behind the last, so that all messages fall into the time in which all cores compute. */
#include "calibrate/benchmark/memory/memory_measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "calibrate/benchmark/memory/memory_crew.h"
#include "calibrate/benchmark/memory/memory_stream.h"
#include "calibrate/measure/measure.h"
#include "share/base/monotonic.h"

/* Counts messages of a sample behind the first, at least; and how often a sample that was too short is taken again,
 * how many times as long. */
enum { MESSAGES_LEAST = 3, TRIES = 4, LONGER = 4 };

/* Holds what one sample brought. */
struct sample {
    uint64_t computed_bytes;
    double computed_s;
    uint64_t received_bytes;
    double received_s;
};

static void print_numa(uint32_t numa)
{
    if (numa != MEMORY_NO_DATA)
        printf("%u", numa);
    putchar(',');
}

static void memory_write_row(const struct memory_measure *measure, const struct memory_place *place,
                             enum memory_variant variant, uint64_t bytes, double seconds, double at_s)
{
    printf(MEMORY_BENCHMARK ",%s,%s,%llu,%u,%.9g,%u,", memory_variant_name[variant], level_name[measure->seats->level],
           (unsigned long long)bytes, place->n, seconds, measure->launch);
    print_numa(place->computing_numa);
    print_numa(place->message_numa);
    printf("%.3f\n", at_s);
}

/* Writes the sample in one piece: what is cut off ends between samples. */
static void keep(const struct memory_measure *measure, struct memory_task *task, const struct sample *sample)
{
    const struct memory_place *place = &task->place;
    bool computes = place->n > 0, receives = place->message_numa != MEMORY_NO_DATA;
    double at_s = clock_now_s() - measure->begin_s;
    if (computes)
        memory_write_row(measure, place, place->variant, sample->computed_bytes, sample->computed_s, at_s);
    if (receives)
        memory_write_row(measure, place, computes ? MEMORY_MESSAGE : place->variant, sample->received_bytes,
                         sample->received_s, at_s);
    fflush(stdout);
    point_add(&task->samples, computes ? sample->computed_s / (double)sample->computed_bytes
                                       : sample->received_s / (double)sample->received_bytes);
}

static void memory_rest(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

/* Finds what counts of a sample. Returns false where it was too short. */
static bool evaluate(const struct memory_crew *crew, const struct memory_messages *messages, size_t block_bytes,
                     struct sample *sample)
{
    struct memory_window window;
    if (crew->n > 0) {
        if (!memory_steady_window(crew->iterations, crew->n, &window))
            return false;
        sample->computed_bytes = memory_steady_bytes(crew->iterations, crew->n, block_bytes, &window);
        sample->computed_s = window.end_s - window.begin_s;
    }
    if (messages->n == 0)
        return true;
    size_t n = memory_steady_messages(messages, crew->n > 0 ? &window : NULL, &sample->received_s);
    sample->received_bytes = (uint64_t)n * STREAM_BYTES;
    return n > 0;
}

/* Lets the threads of a task compute and its messages come for so long. Returns 1; 0 where that was too short; -1 with
 * the reason. */
static int try_sample(struct memory_measure *measure, const struct memory_place *place, double seconds,
                      struct sample *sample, struct error *error)
{
    struct memory_crew crew = {0};
    struct memory_messages messages = {0};
    struct memory_data *data = measure->data;
    void *const *blocks = NULL;
    void *buffer = NULL;
    if (place->n > 0 && (blocks = memory_data_blocks(data, place->computing_numa, place->n, error)) == NULL)
        return -1;
    if (place->message_numa != MEMORY_NO_DATA &&
        (buffer = memory_data_buffer(data, place->message_numa, error)) == NULL)
        return -1;
    if (place->n > 0 && memory_crew_start(&crew, data->topology, place->n, measure->seats->cores, blocks,
                                          data->block_bytes, error) != 0)
        return -1;
    if (buffer != NULL)
        stream_receive(measure->comm, buffer, STREAM_BYTES, seconds, MESSAGES_LEAST, &messages);
    else
        memory_rest(seconds);
    memory_crew_stop(&crew);
    int result = evaluate(&crew, &messages, data->block_bytes, sample);
    memory_crew_release(&crew);
    free(messages.times);
    return result;
}

static int take_sample(struct memory_measure *measure, struct memory_task *task, struct error *error)
{
    double seconds = measure->sample_s;
    struct sample sample = {0};
    int result = 0;
    for (int i = 0; i < TRIES && result == 0; i++, seconds *= LONGER)
        result = try_sample(measure, &task->place, seconds, &sample, error);
    if (result == 0)
        return error_set(error,
                         "%u computing cores on NUMA node %u: none was ever between its first and its last "
                         "iteration while all others computed, in %.1f s; what else runs on them?",
                         task->place.n, task->place.computing_numa, seconds / LONGER);
    if (result > 0)
        keep(measure, task, &sample);
    return result > 0 ? 0 : -1;
}

int memory_measure_all(struct memory_measure *measure, struct error *error)
{
    size_t n_done = 0;
    double begin_s = clock_now_s();
    for (struct memory_task *task; (task = memory_plan_next(measure->plan)) != NULL; n_done++) {
        if (take_sample(measure, task, error) != 0)
            return -1;
        size_t left = memory_plan_left(measure->plan);
        fprintf(stderr, MEASURE_NOTE "progress " MEMORY_BENCHMARK " %zu %zu %.0f\n", n_done + 1, n_done + 1 + left,
                (clock_now_s() - begin_s) / (double)(n_done + 1) * (double)left);
    }
    return 0;
}
