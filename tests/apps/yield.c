/* Preloaded, it makes an MPICH over UCX give its processor away while it waits, as Open MPI does where ranks outnumber
 * cores. MPICH 4 spins, so that four ranks on two cores wait a time slice for each message: 20,000 MPI_Allreduce take
 * more than a minute without this and 0.4 s with it. */
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

enum { IDLE_POLLS = 20 }; /* in a row until a yield */

unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static _Thread_local unsigned n_idle;
    unsigned (*progress)(void *) = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (!progress) {
        *(void **)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
        __atomic_store_n(&next, progress, __ATOMIC_RELAXED);
    }
    unsigned n_events = progress(worker);
    n_idle = n_events > 0 ? 0 : n_idle + 1;
    if (n_idle >= IDLE_POLLS) {
        n_idle = 0;
        sched_yield();
    }
    return n_events;
}
