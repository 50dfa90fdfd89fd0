/* A rank whose launcher was killed should see it and end, but may not: one of Open MPI 4.1 that has asked the launcher
 * for something in PMIx_Init (PMIx 4.2) waits for the answer without limit, others may spin, and take a processor from
 * all that is measured later. Linux gives orphans to the nearest ancestor that asked for them (prctl(2),
 * PR_SET_CHILD_SUBREAPER). */
#include "calibrate/job/orphans.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "share/base/monotonic.h"

#define WAIT_NS 10000000L

/* Reaps what has ended and signals our other children that are in our session; the signal 0 does nothing to them.
 * Returns how many there are, or -1 where the system does not tell. */
static int signal_children(int number)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    FILE *children = fopen("/proc/thread-self/children", "re");
    if (children == NULL)
        return -1;
    int pid, n = 0;
    while (fscanf(children, "%d", &pid) == 1)
        if (getsid(pid) == getsid(0)) {
            kill(pid, number);
            n++;
        }
    fclose(children);
    return n;
}

bool orphans_collect(void)
{
    return signal_children(0) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1UL) == 0;
}

void orphans_end(double grace_s)
{
    static const int numbers[] = {0, SIGTERM, SIGKILL};
    int n = signal_children(0);
    for (size_t i = 0; n > 0 && i < sizeof numbers / sizeof numbers[0]; i++) {
        /* Children of those that end come to us in turn, and are told as well. */
        for (double begin_s = clock_now_s(); n > 0 && clock_now_s() - begin_s < grace_s;
             n = signal_children(numbers[i]))
            nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0UL);
}
