/* gpu_collectives does a collective between GPUs in the ways of H VI (share/doc/MODELS.md, Papers), and times them.
 *
 *     gpu_collectives COLLECTIVE WAY BYTES PROCESSES_PER_GPU [REPEATS [SIZES]]
 *
 * COLLECTIVE is alltoall, alltoallv, alltoallv-messages (the same by MPI_Isend and MPI_Irecv) or allreduce. BYTES go
 * from each GPU to each, itself too; allreduce adds vectors of BYTES up. k = PROCESSES_PER_GPU processes that follow
 * each other in a node have a GPU together. WAY is
 *
 *     cuda-aware         a process of each GPU gives the device's memory to MPI
 *     3-step             a process of each GPU copies to the host; these do the collective, and copy back
 *     extra-message      that process shares the data out to the k of its GPU by messages; each does the collective on
 *                        its part, between the processes of its number, and sends back what it got
 *     duplicate-pointer  each of the k copies its part from the device, does the collective on it, and copies back
 *
 * A part is a k-th of what goes to each GPU; of alltoallv-messages all that goes to every k-th GPU, so that there are
 * fewer messages (H VI.B). Where there is no GPU the host's memory plays its (device_memory.h); cuda-aware then ends
 * with exit code 1 and `not available: REASON`, as where MPI does not take it. Values are integers of 8 bytes: BYTES is
 * a multiple of 8, and of 8 k where alltoall and allreduce cut them.
 *
 * REPEATS are 4 as in H. SIZES is constant, as in H; varying, which alltoallv and alltoallv-messages take: sizes differ
 * by source and destination, some are 0 (gpu_parts.h); or spoiled: a value that arrived is changed, to see that it is
 * found. Every process looks at what its GPU received, in every repeat; a wrong value ends the job with exit code 1.
 *
 * Rank 0 prints CSV: a header and a row. A repeat lasts from a barrier until its slowest process is done. The interval
 * holds the median with 95 % by order statistics; below 6 repeats, which bound none, it is from the smallest to the
 * largest time, and stderr says with what probability that holds the median. Wrong usage ends with one line and exit
 * code 2. */
#include "calibrate/measure/plan.h"
#include "share/base/error.h"
#include "share/base/number.h"
#include "tests/apps/app.h"
#include "tests/apps/gpu_content.h"
#include "share/base/statistics.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 4, REPEATS_MOST = 1000000 };

static const char *const collectives[] = {"alltoall", "alltoallv", "alltoallv-messages", "allreduce", NULL};
static const char *const ways[] = {"cuda-aware", "3-step", "extra-message", "duplicate-pointer", NULL};
enum sizes { CONSTANT, VARYING, SPOILED };
static const char *const sizes[] = {"constant", "varying", "spoiled", NULL};

struct request {
    int collective, way, sizes;
    uint64_t bytes, per_gpu, repeats;
};

/* Says what is wrong, once for all ranks. Returns EXIT_WRONG_USAGE. */
__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...)
{
    if (app_rank() != 0)
        return EXIT_WRONG_USAGE;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return EXIT_WRONG_USAGE;
}

/* Sets *which to the place of the text among the words. Returns 0, or EXIT_WRONG_USAGE. */
static int read_word(const char *argument, const char *const *words, const char *text, int *which)
{
    char list[128] = "";
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            *which = i;
            return 0;
        }
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    return refuse("%s %s: expected one of %s", argument, text, list);
}

static int read_count(const char *argument, const char *text, uint64_t most, uint64_t *count)
{
    uint64_t value = 0;
    if (number_u64(text, &value) != NULL || value < 1 || value > most)
        return refuse("%s %s: expected an integer from 1 to %llu", argument, text, (unsigned long long)most);
    *count = value;
    return 0;
}

/* Looks at what only all arguments together tell. Returns 0, or EXIT_WRONG_USAGE. */
static int check(const struct request *request)
{
    bool is_cut = request->collective == GPU_ALLTOALL || request->collective == GPU_ALLREDUCE;
    bool is_v = request->collective == GPU_ALLTOALLV || request->collective == GPU_MESSAGES;
    uint64_t holders = (uint64_t)gpu_way_holders((enum gpu_way)request->way, (int)request->per_gpu);
    uint64_t unit = sizeof(gpu_value) * (is_cut ? holders : 1), segments = (uint64_t)app_size() / request->per_gpu;
    if (request->bytes % unit != 0)
        return refuse("BYTES %llu: %s %s needs a multiple of %llu, of 8 for each process that holds a part",
                      (unsigned long long)request->bytes, collectives[request->collective], ways[request->way],
                      (unsigned long long)unit);
    if (2 * request->bytes / sizeof(gpu_value) > INT_MAX / (segments + 1))
        return refuse("BYTES %llu: more than MPI can count for %llu GPUs", (unsigned long long)request->bytes,
                      (unsigned long long)segments);
    if (request->sizes == VARYING && !is_v)
        return refuse("SIZES varying: expected of alltoallv and alltoallv-messages alone, not of %s",
                      collectives[request->collective]);
    return 0;
}

static int read_arguments(int n, char **arguments, struct request *request)
{
    *request = (struct request){.repeats = REPEATS, .sizes = CONSTANT};
    if (n < 4 || n > 6)
        return refuse("expected COLLECTIVE WAY BYTES PROCESSES_PER_GPU [REPEATS [SIZES]], found %d arguments", n);
    int code = read_word("COLLECTIVE", collectives, arguments[0], &request->collective);
    code = code ? code : read_word("WAY", ways, arguments[1], &request->way);
    code = code ? code : read_count("BYTES", arguments[2], UINT64_C(1) << 32, &request->bytes);
    code = code ? code : read_count("PROCESSES_PER_GPU", arguments[3], INT_MAX, &request->per_gpu);
    code = code || n < 5 ? code : read_count("REPEATS", arguments[4], REPEATS_MOST, &request->repeats);
    code = code || n < 6 ? code : read_word("SIZES", sizes, arguments[5], &request->sizes);
    return code ? code : check(request);
}

/* Fills seconds[repeats], on rank 0 of all those of the slowest process. */
static void measure(struct gpu_job *job, const struct request *request, double *seconds)
{
    MPI_Comm all = job->groups->all;
    for (int repeat = 0; repeat < (int)request->repeats; repeat++) {
        gpu_content_fill(job, repeat);
        MPI_Barrier(all);
        double begin_s = MPI_Wtime();
        gpu_job_run(job);
        seconds[repeat] = MPI_Wtime() - begin_s;
        if (request->sizes == SPOILED)
            gpu_content_spoil(job);
        gpu_content_check(job, repeat);
    }
    void *from = job->groups->gpu == 0 && job->groups->member == 0 ? MPI_IN_PLACE : (void *)seconds;
    MPI_Reduce(from, seconds, (int)request->repeats, MPI_DOUBLE, MPI_MAX, 0, all);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Writes the row; sorts seconds. */
static void print(const struct request *request, int n_gpus, double *seconds)
{
    size_t n = request->repeats;
    double low_s = 0, high_s = 0;
    qsort(seconds, n, sizeof *seconds, compare);
    if (!sorted_median_interval(seconds, n, &low_s, &high_s)) {
        low_s = seconds[0];
        high_s = seconds[n - 1];
        fprintf(stderr,
                "%s: %zu repeats: ci_low_s and ci_high_s are the smallest and the largest time, which hold the "
                "median with %.1f %%; 6 repeats bound it with 95 %%\n",
                program_invocation_short_name, n, 100 * (1 - ldexp(1, 1 - (int)n)));
    }
    printf("collective,way,bytes,gpus,processes_per_gpu,repeats,minimum_s,median_s,ci_low_s,ci_high_s\n");
    printf("%s,%s,%llu,%d,%llu,%zu,%.9g,%.9g,%.9g,%.9g\n", collectives[request->collective], ways[request->way],
           (unsigned long long)request->bytes, n_gpus, (unsigned long long)request->per_gpu, n, seconds[0],
           sorted_median(seconds, n), low_s, high_s);
}

/* Does what is asked for. Returns the exit code. */
static int run(const struct request *request)
{
    struct gpu_groups groups;
    int uneven = gpu_groups_open((int)request->per_gpu, &groups);
    if (uneven != 0)
        return refuse("PROCESSES_PER_GPU %llu: does not divide the %d ranks of a node",
                      (unsigned long long)request->per_gpu, uneven);
    struct gpu_data data = {.collective = (enum gpu_collective)request->collective,
                            .n_gpus = groups.n_gpus,
                            .values = request->bytes / sizeof(gpu_value),
                            .varying = request->sizes == VARYING};
    struct gpu_job job;
    gpu_job_init(&job, (enum gpu_way)request->way, &groups, &data);
    for (enum gpu_side side = GPU_SENDS; side <= GPU_RECEIVES; side++)
        device_open(&job.device[side], groups.group, groups.gpu, gpu_data_bytes(&data, side, groups.gpu));
    double *seconds = app_allocate(request->repeats, sizeof(*seconds));
    measure(&job, request, seconds);
    if (app_rank() == 0)
        print(request, groups.n_gpus, seconds);
    free(seconds);
    for (enum gpu_side side = GPU_SENDS; side <= GPU_RECEIVES; side++)
        device_release(&job.device[side]);
    gpu_job_release(&job);
    gpu_groups_release(&groups);
    return EXIT_DONE;
}

/* Says on all ranks why the memory of GPUs cannot be given to MPI, where one of them meets a reason. Returns 0, or
 * EXIT_WORK_FAILED. */
static int check_aware(void)
{
    const char *reason = device_refused_by_mpi();
    int refused = reason != NULL, any_refused;
    MPI_Allreduce(&refused, &any_refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any_refused && app_rank() == 0)
        fprintf(stderr, "not available: %s\n", reason != NULL ? reason : "another rank sees no GPU");
    return any_refused ? EXIT_WORK_FAILED : 0;
}

int main(int argc, char **argv)
{
    struct request request;
    MPI_Init(&argc, &argv);
    int code = read_arguments(argc - 1, argv + 1, &request);
    if (code == 0 && request.way == GPU_CUDA_AWARE)
        code = check_aware();
    code = code ? code : run(&request);
    MPI_Finalize();
    return code;
}
