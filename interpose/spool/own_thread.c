/* A thread that the program did not start must not take its signals. See own_thread.h. */
#include "interpose/spool/own_thread.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

enum { OWN_STACK_BYTES = 128 << 10 };

int own_thread_start(pthread_t *thread, void *(*run)(void *), void *data)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    cpu_set_t everywhere;
    if (pthread_attr_init(&attributes) != 0)
        return -1;
    memset(&everywhere, 0xff, sizeof everywhere);
    pthread_attr_setstacksize(&attributes, OWN_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_attr_setaffinity_np(&attributes, sizeof everywhere, &everywhere);
    if (error == 0)
        error = pthread_create(thread, &attributes, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error == 0)
        pthread_setname_np(*thread, "mpistair");
    return error;
}
