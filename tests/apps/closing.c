/* Preloaded, it lets jobs of MPICH 4.0 over UCX's TCP end. In MPI_Finalize each rank closes its connections, for which
 * the other side has to make progress, and then waits for all ranks without making any: at times the rank that closes
 * last waits for ever. With this a rank makes progress for 50 ms more behind each connection that it closes. */
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

#define PROGRESS_S 0.05

static void *worker_seen;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    worker_seen = worker;
    return next(worker);
}

void *ucp_disconnect_nb(void *endpoint);
void *ucp_disconnect_nb(void *endpoint)
{
    static void *(*next)(void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_disconnect_nb");
    void *request = next(endpoint);
    for (double end_s = now_s() + PROGRESS_S; worker_seen && now_s() < end_s;)
        (void)ucp_worker_progress(worker_seen);
    return request;
}
