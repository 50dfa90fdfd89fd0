/* A step asks how much of its time its rank spent inside MPI. Calls of several threads overlap, so they are kept as
 * disjoint intervals with running sums, and one search answers. */
#include "interpose/trace/memory/in_mpi.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"

/* Holds one interval: time inside MPI before a moment is a sum of whole intervals and a part. */
struct busy_interval {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t before_ns; /* time inside MPI before begin_ns */
};

void busy_add(struct busy *busy, int64_t begin_ns, int64_t end_ns)
{
    struct busy_interval *last = busy->n > 0 ? &busy->intervals[busy->first + busy->n - 1] : NULL;
    if (last != NULL && begin_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return;
    }
    struct busy_interval added = {begin_ns, end_ns, last == NULL ? 0 : last->before_ns + last->end_ns - last->begin_ns};
    array_reserve(&busy->intervals, &busy->capacity, busy->first + busy->n + 1, sizeof *busy->intervals);
    busy->intervals[busy->first + busy->n++] = added;
}

int64_t busy_before(const struct busy *busy, int64_t at_ns)
{
    if (busy->n == 0)
        return 0;
    const struct busy_interval *intervals = busy->intervals + busy->first;
    size_t low = 0, high = busy->n;
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
    const struct busy_interval *last = &intervals[low - 1];
    return last->before_ns + (at_ns < last->end_ns ? at_ns : last->end_ns) - last->begin_ns;
}

void busy_forget(struct busy *busy, int64_t before_ns)
{
    while (busy->n > 1 && busy->intervals[busy->first].end_ns < before_ns) {
        busy->first++;
        busy->n--;
    }
    if (busy->first > busy->n) {
        memmove(busy->intervals, busy->intervals + busy->first, busy->n * sizeof *busy->intervals);
        busy->first = 0;
    }
}

void busy_release(struct busy *busy)
{
    free(busy->intervals);
    *busy = (struct busy){0};
}
