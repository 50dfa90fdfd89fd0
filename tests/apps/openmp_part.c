/* What openmp_threads.c loads: a step of two threads of OpenMP, of which one has nothing to do for a part of the time.
 * The test compiles it, by a compiler whose OpenMP has OMPT. Work is sleep. */
#include <omp.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2 };

/* Returns when the work is done. */
static double work(double ms)
{
    struct timespec time = {.tv_nsec = (long)(ms * 1e6)};
    nanosleep(&time, NULL);
    return omp_get_wtime();
}

/* Works in one of the ways of openmp_threads.c; adds the length of the region and what its threads waited in barriers,
 * for tasks all that they do not work. */
extern void openmp_part(const char *way, int is_uneven, double *region_s, double *idle_s);
void openmp_part(const char *way, int is_uneven, double *region_s, double *idle_s)
{
    double done_s[THREADS] = {0}, waited_s[THREADS] = {0}, worked_s = 0, long_ms = is_uneven ? 6 : 2;
    double begin_s = omp_get_wtime();
    int of_tasks = strcmp(way, "tasks") == 0;
    if (of_tasks) {
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        for (int i = 0; i < 4; i++)
#pragma omp task shared(worked_s)
        {
            double task_s = omp_get_wtime();
            task_s = work(2) - task_s;
#pragma omp atomic
            worked_s += task_s;
        }
    } else if (strcmp(way, "nested") == 0) {
#pragma omp parallel num_threads(1)
#pragma omp parallel num_threads(THREADS)
        done_s[omp_get_thread_num()] = work(omp_get_thread_num() == 0 ? long_ms : 2);
    } else {
#pragma omp parallel num_threads(THREADS)
        {
            int own = omp_get_thread_num();
            double half_s = work(own == 0 ? long_ms / 2 : 1);
#pragma omp barrier
            waited_s[own] = omp_get_wtime() - half_s;
            done_s[own] = work(own == 0 ? long_ms / 2 : 1);
        }
    }
    double end_s = omp_get_wtime();
    *region_s += end_s - begin_s;
    for (int i = 0; i < THREADS && !of_tasks; i++)
        *idle_s += waited_s[i] + end_s - done_s[i];
    if (of_tasks)
        *idle_s += THREADS * (end_s - begin_s) - worked_s;
}
