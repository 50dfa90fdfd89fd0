/* Deadlines and durations must not jump when the date is set. */
#include "share/base/monotonic.h"

#include <time.h>

double clock_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
