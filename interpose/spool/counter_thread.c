/* Instructions and cycles are those of perf_event_open, of threads that the main thread and its children start behind
 * MPI_Init too. Everything else getrusage and /proc tell without a privilege: perf's own counts of switches and faults
 * need one, as they are made in the kernel. */
#include "interpose/spool/counter_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interpose/spool/clock.h"
#include "interpose/spool/network_counters.h"
#include "interpose/spool/own_thread.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1) /* Linux 5.9 */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef PERF_FLAG_FD_CLOEXEC
#define PERF_FLAG_FD_CLOEXEC (1UL << 3)
#endif

enum { MOST_COST = 200 /* a sample may take one part in so many of the time between two */ };

/* Counters of perf_event_open. The first two are those of the processor. */
static const struct {
    uint32_t type;
    uint32_t in_kernel; /* is an event of the kernel */
    uint64_t event;
    enum spool_counter counter;
} perf_events[] = {
    {PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_INSTRUCTIONS, COUNTER_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_CPU_CYCLES, COUNTER_CYCLES},
    {PERF_TYPE_SOFTWARE, 1, PERF_COUNT_SW_CPU_MIGRATIONS, COUNTER_MIGRATIONS},
};
enum { PERF_EVENTS = sizeof perf_events / sizeof *perf_events };

/* What the thread has open in its own table; -1: not there. */
struct counter_files {
    int perf[PERF_EVENTS];
    int schedstat;           /* of the main thread */
    int stat;                /* the same; where the machine tells frequencies */
    uint64_t last_ns, clock; /* COUNTER_CLOCK up to then */
};

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

/* Returns what all threads have without those of the recorder that this one is; both only grow. */
static uint64_t without(long all, long own)
{
    return all > own ? (uint64_t)(all - own) : 0;
}

/* Reads what needs no descriptor; with is_own the calling thread is left out. */
static void sample_usage(struct spool_counter_sample *sample, int is_own)
{
    struct rusage all, own = {0};
    if (getrusage(RUSAGE_SELF, &all) != 0 || (is_own && getrusage(RUSAGE_THREAD, &own) != 0))
        return;
    uint64_t user_ns = timeval_ns(all.ru_utime), own_user_ns = timeval_ns(own.ru_utime);
    uint64_t system_ns = timeval_ns(all.ru_stime), own_system_ns = timeval_ns(own.ru_stime);
    sample->value[COUNTER_USER_NS] = user_ns > own_user_ns ? user_ns - own_user_ns : 0;
    sample->value[COUNTER_SYSTEM_NS] = system_ns > own_system_ns ? system_ns - own_system_ns : 0;
    sample->value[COUNTER_VOLUNTARY] = without(all.ru_nvcsw, own.ru_nvcsw);
    sample->value[COUNTER_INVOLUNTARY] = without(all.ru_nivcsw, own.ru_nivcsw);
    sample->value[COUNTER_MINOR_FAULTS] = without(all.ru_minflt, own.ru_minflt);
    sample->value[COUNTER_MAJOR_FAULTS] = without(all.ru_majflt, own.ru_majflt);
}

/* Reads a file of /proc again from its beginning. Returns its length, 0 where that fails. */
static size_t read_again(int fd, char *text, size_t size)
{
    ssize_t length = fd >= 0 ? pread(fd, text, size - 1, 0) : -1;
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

static void sample_wait(struct spool_counter_sample *sample, int schedstat)
{
    char text[128];
    uint64_t run_ns, wait_ns;
    if (read_again(schedstat, text, sizeof text) > 0 && sscanf(text, "%" SCNu64 " %" SCNu64, &run_ns, &wait_ns) == 2 &&
        run_ns > 0)
        sample->value[COUNTER_WAIT_NS] = wait_ns;
}

/* Returns an event's count, scaled where it had the processor's counters for a part of its time only. */
static uint64_t perf_count(int fd)
{
    uint64_t got[3]; /* count, time enabled, time running */
    if (fd < 0 || read(fd, got, sizeof got) != (ssize_t)sizeof got || (got[1] > 0 && got[2] == 0))
        return SPOOL_NOT_KNOWN;
    return got[1] == got[2] ? got[0] : (uint64_t)((double)got[0] * ((double)got[1] / (double)got[2]));
}

/* Returns the processor that the main thread had last; -1: not known. It is the 39th word, the 37th behind the name,
 * which may have blanks and brackets. */
static int main_processor(int stat)
{
    char text[1024];
    int processor = -1;
    if (read_again(stat, text, sizeof text) == 0)
        return -1;
    const char *at = strrchr(text, ')');
    for (int word = 0; at && word < 37; word++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, "%d", &processor) == 1 ? processor : -1;
}

/* Adds the clock of the main thread's processor since the last sample. */
static void sample_clock(struct spool_counter_sample *sample, struct counter_files *files)
{
    char path[96], text[32];
    uint64_t khz = 0;
    int processor = main_processor(files->stat);
    if (processor < 0)
        return;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", processor);
    spool_read_text(path, text, sizeof text);
    if (sscanf(text, "%" SCNu64, &khz) != 1)
        return;
    if (files->last_ns != 0 && sample->at_ns > files->last_ns)
        files->clock += (sample->at_ns - files->last_ns) / 1000 * khz / 1000;
    files->last_ns = sample->at_ns;
    sample->value[COUNTER_CLOCK] = files->clock;
}

static void open_perf(struct counter_thread *counter, struct counter_files *files)
{
    int error = 0;
    for (int i = 0; i < PERF_EVENTS; i++) {
        struct perf_event_attr attributes = {.size = sizeof attributes,
                                             .type = perf_events[i].type,
                                             .config = perf_events[i].event,
                                             .exclude_kernel = !perf_events[i].in_kernel,
                                             .exclude_hv = 1,
                                             .inherit = 1,
                                             .read_format =
                                                 PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
        files->perf[i] = (int)syscall(SYS_perf_event_open, &attributes, counter->main, -1, -1, PERF_FLAG_FD_CLOEXEC);
        error = i == 0 && files->perf[i] < 0 ? errno : error;
    }
    counter->counters->perf = files->perf[0] >= 0                                    ? COUNTERS_PERF_THERE
                              : error == EPERM || error == EACCES || error == ENOSYS ? COUNTERS_PERF_FORBIDDEN
                                                                                     : COUNTERS_PERF_NONE;
}

/* Opens what there is, in the calling thread's own table of descriptors. */
static void open_files(struct counter_thread *counter, struct counter_files *files)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", (long)counter->main);
    files->schedstat = open(path, O_RDONLY | O_CLOEXEC);
    if (access("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", R_OK) == 0) {
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)counter->main);
        files->stat = open(path, O_RDONLY | O_CLOEXEC);
    }
    open_perf(counter, files);
}

/* Takes every other sample away. */
static void halve(struct spool_counters *counters)
{
    for (uint32_t i = 1; 2 * i < SPOOL_COUNTER_SAMPLES; i++)
        counters->samples[i] = counters->samples[2 * i];
    __atomic_store_n(&counters->n, (SPOOL_COUNTER_SAMPLES + 1) / 2, __ATOMIC_RELEASE);
    counters->interval_ns *= 2;
}

/* The kernel divides the time of a process into that of the program and its own anew each time, so that the difference
 * of two may shrink a little. */
static void keep_growing(struct spool_counter_sample *sample, const struct spool_counters *counters)
{
    for (int i = 0; counters->n > 0 && i < COUNTERS; i++) {
        uint64_t before = counters->samples[counters->n - 1].value[i];
        if (before != SPOOL_NOT_KNOWN && sample->value[i] < before)
            sample->value[i] = before;
    }
}

static void add_sample(struct spool_counters *counters, struct spool_counter_sample sample)
{
    keep_growing(&sample, counters);
    if (counters->n == SPOOL_COUNTER_SAMPLES)
        halve(counters);
    counters->samples[counters->n] = sample;
    __atomic_store_n(&counters->n, counters->n + 1, __ATOMIC_RELEASE);
}

/* Returns a sample of what needs no descriptor. */
static struct spool_counter_sample usage_now(const struct counter_thread *counter, int is_own)
{
    struct spool_counter_sample sample = {.at_ns = spool_clock_node_ns()};
    for (int i = 0; i < COUNTERS; i++)
        sample.value[i] = SPOOL_NOT_KNOWN;
    sample_usage(&sample, is_own);
    counter->read_openmp(&sample.value[COUNTER_OPENMP_REGION_NS]);
    return sample;
}

static void take_sample(struct counter_thread *counter, struct counter_files *files)
{
    struct spool_counter_sample sample = usage_now(counter, 1);
    sample_wait(&sample, files->schedstat);
    sample_clock(&sample, files);
    for (int i = 0; i < PERF_EVENTS; i++)
        sample.value[perf_events[i].counter] = perf_count(files->perf[i]);
    add_sample(counter->counters, sample);
}

/* Takes a sample, and makes them fewer where that takes long. */
static void take_measured(struct counter_thread *counter, struct counter_files *files)
{
    struct spool_counters *counters = counter->counters;
    struct timespec begin = {0}, end = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    take_sample(counter, files);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    int64_t took_ns = (end.tv_sec - begin.tv_sec) * INT64_C(1000000000) + end.tv_nsec - begin.tv_nsec;
    if (took_ns > 0 && (uint64_t)took_ns > counters->interval_ns / MOST_COST)
        counters->interval_ns *= 2;
}

/* Waits for the next sample. Returns whether the thread is to end. */
static int wait_for_next(struct counter_thread *counter)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + counter->counters->interval_ns;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&counter->lock);
    while (!counter->stop && pthread_cond_timedwait(&counter->stopping, &counter->lock, &until) == 0)
        ;
    int stop = counter->stop;
    pthread_mutex_unlock(&counter->lock);
    return stop;
}

static void *counter_main(void *data)
{
    struct counter_thread *counter = data;
    struct counter_files files = {.perf = {-1, -1, -1}, .schedstat = -1, .stat = -1};
    struct network_counters network = {.network = NULL};
    int has_table = syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_UNSHARE) == 0;
    if (has_table)
        open_files(counter, &files);
    if (has_table && counter->network)
        network_counters_open(&network, counter->network, counter->root);
    network_counters_take(&network, 1);
    for (int stop = 0; !stop;) {
        stop = wait_for_next(counter);
        take_measured(counter, &files);
        network_counters_take(&network, stop);
    }
    return NULL;
}

/* Starts the thread. Returns 0 or another value. */
static int counter_start(struct counter_thread *counter)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&counter->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&counter->stopping, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return own_thread_start(&counter->thread, counter_main, counter);
}

/* Takes the first sample, before the program goes on. What the thread opens counts from there. */
static void take_first(const struct counter_thread *counter, const struct spool_processor_use *use)
{
    struct spool_counter_sample sample = usage_now(counter, 0);
    static const enum spool_counter opened[] = {COUNTER_MIGRATIONS, COUNTER_INSTRUCTIONS, COUNTER_CYCLES,
                                                COUNTER_CLOCK};
    if (counter->main == getpid())
        sample.value[COUNTER_WAIT_NS] = use->wait_ns;
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        sample.value[opened[i]] = 0;
    add_sample(counter->counters, sample);
}

void counter_thread_begin(struct counter_thread *counter, struct spool_header *header,
                          void (*read_openmp)(uint64_t *sums), int without_thread)
{
    int saved_errno = errno;
    *counter = (struct counter_thread){
        .counters = spool_counters_of(header), .main = (pid_t)syscall(SYS_gettid), .read_openmp = read_openmp};
    if (header->node_leader == header->rank)
        counter->network = spool_network_of(header);
    counter->root = getenv("MPISTAIR_TEST_ROOT");
    counter->root = counter->root ? counter->root : "";
    counter->counters->interval_ns = SPOOL_COUNTERS_FIRST_NS;
    take_first(counter, &header->use_init);
    counter->running = !without_thread && counter_start(counter) == 0;
    errno = saved_errno;
}

void counter_thread_end(struct counter_thread *counter)
{
    int saved_errno = errno;
    if (counter->counters && counter->running) {
        pthread_mutex_lock(&counter->lock);
        counter->stop = 1;
        pthread_cond_signal(&counter->stopping);
        pthread_mutex_unlock(&counter->lock);
        pthread_join(counter->thread, NULL);
    } else if (counter->counters) {
        add_sample(counter->counters, usage_now(counter, 0));
    }
    counter->counters = NULL;
    errno = saved_errno;
}
