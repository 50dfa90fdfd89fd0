/* An MPI may allocate memory for each message: MPICH 4.0 does so for partitions. Where the C library returns it to the
 * system at once, or each thread has memory of its own to take it from, a message costs the first touch of all its
 * pages, which takes several times as long as to move it. Whether it does depends on how much was freed before and on
 * which thread waits, and ends after some hundred iterations. All threads take from one place here; it only grows. */
#include "calibrate/measure/kept_memory.h"

#include <limits.h>
#include <malloc.h>

void kept_memory_set(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest that is taken */
#endif
}
