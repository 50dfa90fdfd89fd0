/* Measures the ways of data from one GPU to another at each level (Bienz 2021): messages of the GPUs' memory by an MPI
 * that takes it (Table I), 3-step, extra message and duplicate device pointer (Sections III and IV), the same bytes in
 * several messages between GPUs and between hosts (Figs. 8 and 9), and what several processes that copy from one GPU
 * at once get of it.
 *
 * A sample goes there and back; half of that is one way. bytes are those of all processes of a GPU, n is how many these
 * are at each end, count the messages of each. Copies are part of the time by the wall clock; variants with _events
 * have what the copies of one way take on the GPU alone. Of pull and push, bytes are those of one of n processes that
 * copy from the GPU, or to it, at the same time. What there is not is told in a note `not_available WHAT REASON`.
 * Before anything is measured each way has carried values that were looked at. */
#include <stdio.h>

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/measure/mpi_job.h"
#include "calibrate/benchmark/gpu/gpu_aware.h"
#include "calibrate/benchmark/gpu/gpu_transfer.h"
#include "calibrate/measure/shared_clock.h"

#define PATHS_BYTES_MIN     1024u /* of what is shared or split */
#define PATHS_BYTES_MAX     16777216u
#define PATHS_NOT_AVAILABLE MEASURE_NOTE "not_available "
#define WITHOUT_MOCK(t)     ((t) + sizeof MACHINE_MOCK)

enum { PATHS_REPEATS_MAX = 1024, PATHS_WARM_SHARE = 16, PATHS_STEP = 4, CHECK_BYTES = 5003, CHECK_COUNT = 3 };

/* Lists what is told apart, for each level. */
static const struct paths_shape {
    const char *variant; /* behind MACHINE_MOCK and a '_' where the driver is a mock */
    const char *word;    /* of --path */
    int path;
    int n_members, count;
    bool by_events;
} paths_shapes[] = {
    {MACHINE_MOCK "_host", GPU_HOST_NAME, GPU_HOST, 1, 1, false},
    {MACHINE_MOCK "_host", GPU_HOST_NAME, GPU_HOST, 1, 5, false},
    {MACHINE_MOCK "_host", GPU_HOST_NAME, GPU_HOST, 1, 10, false},
    {MACHINE_MOCK "_gpudirect", "gpudirect", GPU_DIRECT, 1, 1, false},
    {MACHINE_MOCK "_gpudirect", "gpudirect", GPU_DIRECT, 1, 5, false},
    {MACHINE_MOCK "_gpudirect", "gpudirect", GPU_DIRECT, 1, 10, false},
    {MACHINE_MOCK "_3-step", "3-step", GPU_3_STEP, 1, 1, false},
    {MACHINE_MOCK "_3-step", "3-step", GPU_3_STEP, 1, 5, false},
    {MACHINE_MOCK "_3-step", "3-step", GPU_3_STEP, 1, 10, false},
    {MACHINE_MOCK "_3-step_events", "3-step", GPU_3_STEP, 1, 1, true},
    {MACHINE_MOCK "_extra-message", "extra-message", GPU_EXTRA_MESSAGE, 2, 1, false},
    {MACHINE_MOCK "_extra-message", "extra-message", GPU_EXTRA_MESSAGE, 4, 1, false},
    {MACHINE_MOCK "_extra-message", "extra-message", GPU_EXTRA_MESSAGE, 8, 1, false},
    {MACHINE_MOCK "_extra-message_events", "extra-message", GPU_EXTRA_MESSAGE, 2, 1, true},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 1, 1, false},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 2, 1, false},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 4, 1, false},
    {MACHINE_MOCK "_duplicate-pointer", "duplicate-pointer", GPU_DUPLICATE_POINTER, 8, 1, false},
    {MACHINE_MOCK "_duplicate-pointer_events", "duplicate-pointer", GPU_DUPLICATE_POINTER, 2, 1, true},
    {MACHINE_MOCK "_pull", "duplicate-pointer", GPU_PULL, 2, 1, false},
    {MACHINE_MOCK "_pull", "duplicate-pointer", GPU_PULL, 4, 1, false},
    {MACHINE_MOCK "_pull", "duplicate-pointer", GPU_PULL, 8, 1, false},
    {MACHINE_MOCK "_pull_events", "duplicate-pointer", GPU_PULL, 2, 1, true},
    {MACHINE_MOCK "_push", "duplicate-pointer", GPU_PUSH, 2, 1, false},
    {MACHINE_MOCK "_push", "duplicate-pointer", GPU_PUSH, 4, 1, false},
    {MACHINE_MOCK "_push", "duplicate-pointer", GPU_PUSH, 8, 1, false},
    {MACHINE_MOCK "_push_events", "duplicate-pointer", GPU_PUSH, 2, 1, true},
};
enum { PATHS_N_SHAPES = sizeof paths_shapes / sizeof paths_shapes[0] };

static struct gpu_ends paths_levels[LEVEL_COUNT];
static bool is_open[LEVEL_COUNT];
static bool is_aware;
static struct pair paths_pairs[LEVEL_COUNT][GPU_MEMBERS_MAX];   /* from end to end */
static struct pair paths_copiers[LEVEL_COUNT][GPU_MEMBERS_MAX]; /* of each first member with itself */
static char paths_names[LEVEL_COUNT][32];

/* Says what a path needs that a level has not; NULL where it has all. */
static const char *lacks(const struct measure *measure, const struct gpu_ends *ends, int path)
{
    if (path != GPU_DIRECT)
        return NULL;
    return is_aware ? gpu_ends_no_direct(measure, ends) : "MPI not CUDA-aware, as far as it says";
}

/* Returns whether a shape is measured at a level. */
static bool paths_is_measured(const struct measure *measure, const struct paths_shape *shape, enum level level)
{
    const struct gpu_ends *ends = &paths_levels[level];
    bool copies_at_once = shape->path == GPU_PULL || shape->path == GPU_PUSH;
    if (!is_open[level] || !gpu_word_listed(measure->paths, shape->word) || shape->n_members > ends->n_members)
        return false;
    if ((shape->path == GPU_DUPLICATE_POINTER || copies_at_once) && !ends->has_shared)
        return false;
    return lacks(measure, ends, shape->path) == NULL && (!copies_at_once || level == LEVEL_INTRA_SOCKET);
}

static void note_level(const struct measure *measure, enum level level)
{
    const struct gpu_ends *ends = &paths_levels[level];
    const char *name = level_name[level];
    if (ends->n_members == 0)
        fprintf(stderr, PATHS_NOT_AVAILABLE "gpu_paths_%s no two of the %d ranks are at this level\n", name,
                measure->size);
    if (!is_open[level])
        return;
    const char *reason = lacks(measure, ends, GPU_DIRECT);
    if (reason != NULL && is_aware && gpu_word_listed(measure->paths, gpu_path_name[GPU_DIRECT]))
        fprintf(stderr, PATHS_NOT_AVAILABLE "gpudirect_%s %s\n", name, reason);
    for (int path = GPU_EXTRA_MESSAGE; path <= GPU_DUPLICATE_POINTER; path++)
        if (ends->n_members < 2 && gpu_word_listed(measure->paths, gpu_path_name[path]))
            fprintf(stderr, PATHS_NOT_AVAILABLE "%s_%s each end has one process on its socket: two are needed\n",
                    gpu_path_name[path], name);
}

/* Describes the transfer of a shape for this rank. Returns false where it takes no part. */
static bool make_transfer(const struct measure *measure, const struct paths_shape *shape, enum level level,
                          struct gpu_transfer *transfer)
{
    struct gpu_ends *ends = &paths_levels[level];
    struct gpu_end *end = gpu_ends_own(ends);
    if (end == NULL || end->own >= shape->n_members)
        return false;
    const struct gpu_end *other = end == &ends->side[0] ? &ends->side[1] : &ends->side[0];
    *transfer = (struct gpu_transfer){.comm = measure->comm,
                                      .end = end,
                                      .path = shape->path,
                                      .n_members = shape->n_members,
                                      .partner = other->members[end->own],
                                      .count = shape->count,
                                      .by_events = shape->by_events};
    return true;
}

static void enter(struct gpu_end *end)
{
    struct error error;
    if (end->gpu.driver.library == NULL || gpu_enter(&end->gpu, &error) == 0)
        return;
    abort_all("%s", error.text);
}

/* Sends values along each way, in parts and messages of unequal sizes. Collective. */
static void check(const struct measure *measure)
{
    for (int level = 0; level < LEVEL_COUNT; level++)
        for (size_t i = 0; i < PATHS_N_SHAPES; i++) {
            struct paths_shape shape = paths_shapes[i];
            struct gpu_transfer transfer;
            if (!paths_is_measured(measure, &shape, (enum level)level) || shape.path >= GPU_PULL || shape.by_events)
                continue;
            shape.count = CHECK_COUNT;
            bool takes_part = make_transfer(measure, &shape, (enum level)level, &transfer);
            transfer.bytes = CHECK_BYTES;
            if (takes_part)
                enter(transfer.end);
            gpu_transfer_check(takes_part ? &transfer : NULL,
                               takes_part && transfer.end == &paths_levels[level].side[0], measure->comm);
        }
}

static bool is_anything_asked(const struct measure *measure)
{
    bool asked = false;
    for (size_t i = 0; i < PATHS_N_SHAPES; i++)
        asked = asked || gpu_word_listed(measure->paths, paths_shapes[i].word);
    return asked;
}

/* Says on all ranks whether rank 0 sees a GPU. */
static bool paths_look(const struct measure *measure)
{
    struct gpu gpu;
    struct error error;
    int found = 0;
    if (measure->rank == 0) {
        found = gpu_open(&gpu, &error) == 0;
        if (found)
            gpu_close(&gpu);
        else
            fprintf(stderr, PATHS_NOT_AVAILABLE "gpu %s\n", error.text);
    }
    MPI_Bcast(&found, 1, MPI_INT, 0, measure->comm);
    return found != 0;
}

static void paths_release(struct measure *measure)
{
    for (int level = 0; level < LEVEL_COUNT; level++)
        gpu_ends_release(measure, &paths_levels[level]);
}

/* Returns a negative number, which ends the program with 0, where there is nothing to measure. */
static int paths_prepare(struct measure *measure, bool speak)
{
    if (!is_anything_asked(measure) || !paths_look(measure))
        return -1;
    int aware = gpu_mpi_is_aware(), all_aware, n = 0;
    MPI_Allreduce(&aware, &all_aware, 1, MPI_INT, MPI_MIN, measure->comm);
    is_aware = all_aware != 0;
    if (speak && !is_aware && gpu_word_listed(measure->paths, gpu_path_name[GPU_DIRECT]))
        fprintf(stderr, PATHS_NOT_AVAILABLE "%s MPI not CUDA-aware, as far as it says\n", gpu_path_name[GPU_DIRECT]);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct gpu_ends *ends = &paths_levels[level];
        ends->side[0].own = ends->side[1].own = -1;
        if (level == LEVEL_SELF)
            continue;
        gpu_ends_choose(measure, (enum level)level, ends);
        gpu_ends_take(measure, ends);
        is_open[level] = ends->has_gpus;
        if (speak)
            note_level(measure, (enum level)level);
        for (size_t i = 0; i < PATHS_N_SHAPES; i++)
            n += paths_is_measured(measure, &paths_shapes[i], (enum level)level);
    }
    if (n > 0) {
        check(measure);
        return 0;
    }
    paths_release(measure);
    return -1;
}

static void paths_append(const struct measure *measure, struct item_list *list, size_t i, enum level level)
{
    const struct paths_shape *shape = &paths_shapes[i];
    bool copies_at_once = shape->path >= GPU_PULL;
    uint64_t most = measure->buffer_bytes / (copies_at_once ? (uint64_t)shape->n_members : 1);
    item_add_sizes(list,
                   (struct item){.level = level,
                                 .mode = (int)(level * PATHS_N_SHAPES + i),
                                 .variant = paths_levels[level].is_mock ? shape->variant : WITHOUT_MOCK(shape->variant),
                                 .n = (uint64_t)shape->n_members,
                                 .count = shape->count,
                                 .repeats = PATHS_REPEATS_MAX,
                                 .n_pairs = (size_t)shape->n_members,
                                 .pairs = copies_at_once ? paths_copiers[level] : paths_pairs[level],
                                 .ranks = paths_names[level]},
                   shape->n_members * shape->count > 1 ? PATHS_BYTES_MIN : 1,
                   most < PATHS_BYTES_MAX ? most : PATHS_BYTES_MAX, PATHS_STEP);
}

static void paths_list(const struct measure *measure, struct item_list *list)
{
    for (enum level level = 0; level < LEVEL_COUNT; level++) {
        const struct gpu_end *side = paths_levels[level].side;
        for (int i = 0; i < paths_levels[level].n_members; i++) {
            paths_pairs[level][i] = (struct pair){side[0].members[i], side[1].members[i]};
            paths_copiers[level][i] = (struct pair){side[0].members[i], side[0].members[i]};
        }
        snprintf(paths_names[level], sizeof paths_names[level], "%d-%d", side[0].members[0], side[1].members[0]);
        for (size_t i = 0; i < PATHS_N_SHAPES; i++)
            if (paths_is_measured(measure, &paths_shapes[i], level))
                paths_append(measure, list, i, level);
    }
}

static void paths_round_trips(struct measure *measure, struct gpu_transfer *transfer, const struct task *task, int n)
{
    for (int i = 0; i < n; i++) {
        measure_places(measure, transfer->bytes, 1, &transfer->place);
        if (transfer->path >= GPU_PULL) {
            gpu_transfer_copy(transfer);
            continue;
        }
        if (task->is_first)
            gpu_transfer_send(transfer);
        gpu_transfer_receive(transfer);
        if (!task->is_first)
            gpu_transfer_send(transfer);
    }
}

static double paths_exchange(struct measure *measure, const struct task *task)
{
    const struct paths_shape *shape = &paths_shapes[task->mode % PATHS_N_SHAPES];
    struct gpu_transfer transfer = {.path = shape->path};
    (void)make_transfer(measure, shape, (enum level)(task->mode / PATHS_N_SHAPES), &transfer);
    bool copies_at_once = shape->path >= GPU_PULL;
    transfer.bytes = copies_at_once ? task->bytes * (uint64_t)shape->n_members : task->bytes;
    enter(transfer.end);
    measure_meet(measure, task);
    paths_round_trips(measure, &transfer, task, 1 + task->repeats / PATHS_WARM_SHARE);
    transfer.copies_s = 0;
    double begin_s = clock_now_s();
    paths_round_trips(measure, &transfer, task, task->repeats);
    if (shape->by_events)
        return transfer.copies_s / task->repeats;
    if (copies_at_once)
        return (clock_now_s() - begin_s) / task->repeats;
    /* The second rank's time begins before the first message is on its way, so it does not count. */
    return task->is_first ? (clock_now_s() - begin_s) / (2.0 * task->repeats) : 0;
}

const struct benchmark_program gpu_paths_program = {
    .name = "gpu_paths",
    .summary = "Data from one GPU to another: GPUDirect, 3-step, extra message, duplicate pointer, several messages.",
    .prepare = paths_prepare,
    .list = paths_list,
    .exchange = paths_exchange,
    .release = paths_release,
};
