/* A rank that waits for a processor looks like a slow message. Where the kernel does not report the wait, it is
 * estimated from the time that a thread did not run, so that it is known in containers without schedstat, too. Two
 * ranks on one processor show only if both report where they ran during a sample, so the processors of all ranks are
 * compared once a series. */
#include "calibrate/measure/processor.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "share/base/hash.h"

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the wait by the kernel, in seconds; NaN where it reports none. The file is opened once: a rank asks twice a
 * sample. */
static double told_wait_s(void)
{
    static int file = -1;
    char text[96], *end;
    if (file == -1)
        file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        file = -2;
        return NAN;
    }
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    if (length <= 0)
        return NAN;
    text[length] = '\0';
    strtoull(text, &end, 10);
    return *end == ' ' ? 1e-9 * (double)strtoull(end, NULL, 10) : NAN;
}

/* Returns what the thread did not run since the last call, summed up over those calls between which it was interrupted.
 */
static double guessed_wait_s(double run_s)
{
    static double before_s, before_run_s, wait_s;
    static long before_switches = -1;
    struct rusage usage;
    double now_s = seconds_of(CLOCK_MONOTONIC);
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    if (before_switches >= 0 && usage.ru_nivcsw > before_switches)
        wait_s += fmax(now_s - before_s - (run_s - before_run_s), 0);
    before_switches = usage.ru_nivcsw;
    before_s = now_s;
    before_run_s = run_s;
    return wait_s;
}

struct processor_time processor_now(void)
{
    struct processor_time time = {.run_s = seconds_of(CLOCK_THREAD_CPUTIME_ID), .wait_s = told_wait_s()};
    if (isnan(time.wait_s))
        time.wait_s = guessed_wait_s(time.run_s);
    return time;
}

/* Returns whether the ranks of one machine have a processor each. */
static bool has_own_each(const struct processor_use *ranks, size_t n, uint64_t machine)
{
    cpu_set_t cpus;
    int n_ranks = 0;
    CPU_ZERO(&cpus);
    for (size_t i = 0; i < n; i++)
        if (ranks[i].machine == machine) {
            CPU_OR(&cpus, &cpus, &ranks[i].cpus);
            n_ranks++;
        }
    return n_ranks <= CPU_COUNT(&cpus);
}

void processor_lost(const struct processor_use *ranks, size_t n, double *wanted_s, double *lost_s)
{
    *wanted_s = *lost_s = 0;
    for (size_t i = 0; i < n; i++) {
        if (!has_own_each(ranks, n, ranks[i].machine))
            continue;
        *wanted_s += ranks[i].time.run_s + ranks[i].time.wait_s;
        *lost_s += ranks[i].time.wait_s;
    }
}

/* Adds a line `cpu3 user nice system idle iowait irq softirq steal ...`, in ticks; guest time is part of user time. */
static bool add_processor(const char *line, const cpu_set_t *cpus, double *stolen, double *all)
{
    unsigned long long ticks[8];
    unsigned cpu;
    if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &ticks[0], &ticks[1], &ticks[2], &ticks[3],
               &ticks[4], &ticks[5], &ticks[6], &ticks[7]) != 9)
        return false;
    if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, cpus))
        return true;
    *stolen += (double)ticks[7];
    for (int i = 0; i < 8; i++)
        *all += (double)ticks[i];
    return true;
}

bool processor_stolen(double *stolen_s, double *all_s)
{
    char *line = NULL;
    size_t size = 0;
    double stolen = 0, all = 0, tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    cpu_set_t cpus;
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL)
        return false;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        for (bool more = getline(&line, &size, file) > 0; more;) /* the first line is the sum of all */
            more = getline(&line, &size, file) > 0 && add_processor(line, &cpus, &stolen, &all);
    free(line);
    fclose(file);
    *stolen_s = stolen * tick_s;
    *all_s = all * tick_s;
    return all > 0;
}

/* A hash of the text that the kernel draws at boot. */
uint64_t sharing_machine(void)
{
    char boot_id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL && fgets(boot_id, sizeof boot_id, file) == NULL)
        boot_id[0] = '\0';
    if (file != NULL)
        fclose(file);
    return hash_text(HASH_BASIS, boot_id);
}

static size_t ranks_of_machine(const struct sharing *ranks, size_t n, uint64_t machine)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += ranks[i].machine == machine;
    return found;
}

bool sharing_found(const struct sharing *ranks, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct sharing *a = &ranks[i];
        for (size_t j = 0; j < i; j++) {
            const struct sharing *b = &ranks[j];
            if (a->machine != b->machine || (a->begin != b->begin && a->end != b->end))
                continue;
            size_t n_ranks = ranks_of_machine(ranks, n, a->machine);
            if (n_ranks <= (size_t)a->n_processors && n_ranks <= (size_t)b->n_processors)
                return true;
        }
    }
    return false;
}
