#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "levels.h"
#include "options.h"
#include "place.h"
#include "schedule.h"
#include "thresholds_mpit.h"

enum { TASK_TAG = 1, RESULT_TAG = 2, CACHE_LINE = 64 };

/* How long a rank that is not measured sleeps between looks at its mailbox, and how far ahead a start is set: further
 * when somebody was told too late. */
#define IDLE_S     0.5e-3
#define LEADER_S   0.1e-3
#define LEAD_MIN_S 1.5e-3
#define LEAD_MAX_S 0.1

/* What a rank answers: of each sample its seconds, -1 where it was told of it too late, and how late at most. */
struct result {
    double seconds[MEASURE_SAMPLES_MAX];
    double late_s;
};

/* Receives without spinning: the processor belongs to whoever is measured. */
static void receive_gently(const struct measure *measure, void *data, size_t size, int source, int tag, double sleep_s)
{
    for (int arrived = 0;;) {
        MPI_Iprobe(source, tag, measure->control, &arrived, MPI_STATUS_IGNORE);
        if (arrived)
            break;
        clock_sleep_s(sleep_s);
    }
    MPI_Recv(data, (int)size, MPI_BYTE, source, tag, measure->control, MPI_STATUS_IGNORE);
}

static struct result perform(struct measure *measure, const struct benchmark_program *program, const struct task *task)
{
    struct result result = {.late_s = 0};
    if (measure->send_buffer == NULL) {
        measure->send_buffer = malloc(measure->buffer_bytes);
        measure->recv_buffer = malloc(measure->buffer_bytes);
        if (measure->send_buffer == NULL || measure->recv_buffer == NULL) {
            fprintf(stderr, "mpistair: rank %d: no memory for two buffers of %zu bytes; use --buffer\n", measure->rank,
                    measure->buffer_bytes);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        memset(measure->send_buffer, 1, measure->buffer_bytes);
        memset(measure->recv_buffer, 0, measure->buffer_bytes);
    }
    for (int i = 0; i < task->samples; i++) {
        double late_s = clock_wait_until(task->start_s + i * task->gap_s - measure->offset_s);
        double seconds = program->exchange(measure, task);
        result.seconds[i] = late_s > 0 ? -1 : seconds;
        result.late_s = late_s > result.late_s ? late_s : result.late_s;
    }
    return result;
}

static void follow(struct measure *measure, const struct benchmark_program *program)
{
    for (;;) {
        struct task task;
        receive_gently(measure, &task, sizeof task, 0, TASK_TAG, IDLE_S);
        if (task.partner < 0)
            return;
        struct result result = perform(measure, program, &task);
        MPI_Send(&result, sizeof result, MPI_BYTE, 0, RESULT_TAG, measure->control);
    }
}

/* The tasks of an item's pairs: side 0 is the first of a pair. */
static int rank_of(const struct pair *pair, int side)
{
    return side == 0 ? pair->first : pair->second;
}

static void combine(struct result *slowest, const struct result *result, int n_samples)
{
    for (int i = 0; i < n_samples; i++)
        if (result->seconds[i] < 0 || slowest->seconds[i] < 0)
            slowest->seconds[i] = -1;
        else if (result->seconds[i] > slowest->seconds[i])
            slowest->seconds[i] = result->seconds[i];
    slowest->late_s = result->late_s > slowest->late_s ? result->late_s : slowest->late_s;
}

void measure_visit(struct measure *measure, const struct benchmark_program *program, const struct item *item,
                   int repeats, int n_samples, double *seconds)
{
    struct task own = {.partner = -1};
    double start_s = clock_now_s() + measure->lead_s;
    for (size_t i = 0; i < 2 * item->n_pairs; i++) {
        const struct pair *pair = &item->pairs[i / 2];
        int side = (int)(i % 2), rank = rank_of(pair, side);
        struct task task = {.start_s = start_s,
                            .gap_s = 0,
                            .bytes = item->bytes,
                            .mode = item->mode,
                            .count = item->count,
                            .repeats = repeats,
                            .samples = n_samples,
                            .partner = rank_of(pair, 1 - side),
                            .is_first = side == 0};
        if (side == 1 && pair->first == pair->second)
            continue;
        if (rank == 0)
            own = task;
        else
            MPI_Send(&task, sizeof task, MPI_BYTE, rank, TASK_TAG, measure->control);
    }
    struct result slowest = {.late_s = 0};
    if (own.partner >= 0)
        slowest = perform(measure, program, &own);
    for (size_t i = 0; i < 2 * item->n_pairs; i++) {
        const struct pair *pair = &item->pairs[i / 2];
        int rank = rank_of(pair, (int)(i % 2));
        struct result result;
        if (rank == 0 || (i % 2 == 1 && pair->first == pair->second))
            continue;
        receive_gently(measure, &result, sizeof result, rank, RESULT_TAG, LEADER_S);
        combine(&slowest, &result, n_samples);
    }
    bool late = slowest.late_s > 0;
    measure->lead_s *= late ? 1.5 : 0.99;
    measure->lead_s = measure->lead_s < LEAD_MIN_S   ? LEAD_MIN_S
                      : measure->lead_s > LEAD_MAX_S ? LEAD_MAX_S
                                                     : measure->lead_s;
    for (int i = 0; i < n_samples; i++)
        seconds[i] = slowest.seconds[i];
}

void measure_write(const struct measure *measure, const struct benchmark_program *program, const struct item *item,
                   int repeats, double seconds)
{
    printf("%s,%s,%s,%llu,%llu,%d,%.9g,%u,%s,%s,%d,%.3f\n", program->name, item->variant,
           machine_level_name[item->level], (unsigned long long)item->bytes, (unsigned long long)item->n, item->count,
           seconds, measure->launch, item->ranks, item->domain != NULL ? item->domain : "", repeats,
           clock_now_s() - measure->begin_s);
}

static void lead(struct measure *measure, const struct benchmark_program *program)
{
    puts(MEASURE_CSV_HEADER);
    measure->begin_s = clock_now_s();
    if ((program->lead != NULL ? program->lead : schedule_lead)(measure, program) != 0) {
        fprintf(stderr, "mpistair: rank 0: no memory for the list of measurements\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    struct task end = {.partner = -1};
    for (int rank = 1; rank < measure->size; rank++)
        MPI_Send(&end, sizeof end, MPI_BYTE, rank, TASK_TAG, measure->control);
    fflush(stdout);
}

static void note_levels(const struct measure *measure)
{
    for (int level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct pair pair;
        const char *variable = "";
        if (levels_pairs(&measure->placement, (enum machine_level)level, 1, &pair) == 0) {
            fprintf(stderr, MEASURE_NOTE "left_out %s: no two of the %d ranks are at this level\n",
                    machine_level_name[level], measure->size);
            continue;
        }
        double bytes = thresholds_rendezvous_bytes((enum machine_level)level, &variable);
        if (bytes > 0)
            fprintf(stderr, MEASURE_NOTE "rendezvous %s %.0f %s\n", machine_level_name[level], bytes, variable);
    }
}

int measure_main(int argc, char **argv, const struct benchmark_program *program)
{
    MPI_Init(&argc, &argv);
    struct measure measure = {.lead_s = 2 * LEAD_MIN_S};
    struct error error;
    MPI_Comm_rank(MPI_COMM_WORLD, &measure.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &measure.size);
    MPI_Comm_dup(MPI_COMM_WORLD, &measure.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &measure.control);
    bool leads = measure.rank == 0, hello = false;
    if (leads) {
        char library[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(library, &length);
        library[strcspn(library, "\n")] = '\0';
        for (char *c = library; *c != '\0'; c++)
            *c = *c == '\t' ? ' ' : *c;
        fprintf(stderr, MEASURE_NOTE "ranks %d\n" MEASURE_NOTE "library %s\n", measure.size, library);
    }
    int code = options_parse(argc, argv, program, leads, &measure, &hello);
    if (code == 0 && !hello) {
        if (place_find(measure.control, stderr, &measure.placement, &measure.host, &error) != 0) {
            code = leads ? error_report(&error) : EXIT_WORK_FAILED;
        } else if (program->prepare == NULL || (code = program->prepare(&measure, leads)) == 0) {
            measure.offset_s = clock_offset_s(measure.control, measure.host);
            if (leads) {
                note_levels(&measure);
                lead(&measure, program);
            } else {
                follow(&measure, program);
            }
        }
        placement_release(&measure.placement);
        free(measure.host);
    }
    free(measure.send_buffer);
    free(measure.recv_buffer);
    MPI_Comm_free(&measure.comm);
    MPI_Comm_free(&measure.control);
    MPI_Finalize();
    return code < 0 ? EXIT_DONE : code;
}

size_t measure_places(struct measure *measure, uint64_t bytes, int repeats, size_t *place)
{
    size_t stride = ((size_t)bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    size_t reserved = stride * (size_t)repeats;
    if (measure->cursor + reserved > measure->buffer_bytes)
        measure->cursor = 0;
    *place = measure->cursor;
    measure->cursor += reserved;
    return stride;
}
