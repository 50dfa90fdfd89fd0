/* A step asks how much of its time its rank spent inside MPI. Calls of several threads overlap, so they are kept as
 * disjoint intervals with running sums, and one search answers. */
#include "interpose/trace/state/time_in_mpi.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"

/* One interval: time inside MPI before a moment is a sum of whole intervals and a part. */
struct mpi_interval {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t before_ns; /* time inside MPI before begin_ns */
};

void time_in_mpi_add(struct time_in_mpi *time, int64_t begin_ns, int64_t end_ns)
{
    struct mpi_interval *last = time->n > 0 ? &time->intervals[time->first + time->n - 1] : NULL;
    if (last != NULL && begin_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return;
    }
    struct mpi_interval added = {begin_ns, end_ns, last == NULL ? 0 : last->before_ns + last->end_ns - last->begin_ns};
    array_reserve(&time->intervals, &time->capacity, time->first + time->n + 1, sizeof *time->intervals);
    time->intervals[time->first + time->n++] = added;
}

int64_t time_in_mpi_before(const struct time_in_mpi *time, int64_t at_ns)
{
    if (time->n == 0)
        return 0;
    const struct mpi_interval *intervals = time->intervals + time->first;
    size_t low = 0, high = time->n;
    /* Most questions are about what was just added. */
    if (high > 4 && intervals[high - 4].begin_ns < at_ns)
        low = high - 4;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (intervals[middle].begin_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return intervals[0].before_ns;
    const struct mpi_interval *last = &intervals[low - 1];
    return last->before_ns + (at_ns < last->end_ns ? at_ns : last->end_ns) - last->begin_ns;
}

void time_in_mpi_forget(struct time_in_mpi *time, int64_t before_ns)
{
    while (time->n > 1 && time->intervals[time->first].end_ns < before_ns) {
        time->first++;
        time->n--;
    }
    if (time->first > time->n) {
        memmove(time->intervals, time->intervals + time->first, time->n * sizeof *time->intervals);
        time->first = 0;
    }
}

void time_in_mpi_release(struct time_in_mpi *time)
{
    free(time->intervals);
    *time = (struct time_in_mpi){0};
}
