/* Rows come in any order, as threads write them; they are sorted once, so that a draw is a search among ranks. */
#include "calibrate/finegrain/arrivals/arrivals_fixed.h"

#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"

static int compare_rows(const void *first, const void *second)
{
    const struct arrival_row *a = first, *b = second;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Takes the threads of the rank of row `begin`. Returns the row behind them, or 0 with the reason. */
static size_t take_rank(const char *path, const struct arrival_rows *rows, size_t begin, struct fixed_rank *taken,
                        struct error *error)
{
    const struct arrival_row *row = rows->rows;
    uint32_t rank = row[begin].rank, thread = 0;
    size_t turns = 0, end = begin;
    while (end < rows->n && row[end].rank == rank) {
        size_t first = end;
        if (row[end].thread != thread) {
            error_set(error, "%s:%u: rank %u has thread %u, but no thread %u; expected threads from 0 on", path,
                      row[end].line, rank, row[end].thread, thread);
            return 0;
        }
        while (end < rows->n && row[end].rank == rank && row[end].thread == thread)
            end++;
        if (thread > 0 && end - first != turns) {
            error_set(error, "%s:%u: rank %u thread %u has %zu times, thread 0 has %zu; expected as many for each",
                      path, row[end - 1].line, rank, thread, end - first, turns);
            return 0;
        }
        turns = end - first;
        thread++;
    }
    *taken = (struct fixed_rank){.rank = rank, .n_threads = thread, .turns = turns};
    return end;
}

int fixed_times_make(const char *path, struct arrival_rows *rows, struct fixed_times *times, struct error *error)
{
    *times = (struct fixed_times){.named = rows->named, .seconds = xcalloc(rows->n, sizeof *times->seconds)};
    size_t capacity = 0;
    qsort(rows->rows, rows->n, sizeof *rows->rows, compare_rows);
    for (size_t i = 0; i < rows->n; i++)
        times->seconds[i] = rows->rows[i].seconds;
    for (size_t begin = 0, end; begin < rows->n; begin = end) {
        struct fixed_rank taken;
        end = take_rank(path, rows, begin, &taken, error);
        if (end == 0) {
            fixed_times_release(times);
            return -1;
        }
        array_reserve(&times->ranks, &capacity, times->n_ranks + 1, sizeof *times->ranks);
        taken.seconds = times->seconds + begin;
        times->ranks[times->n_ranks++] = taken;
    }
    return 0;
}

void fixed_times_release(struct fixed_times *times)
{
    free(times->ranks);
    free(times->seconds);
    *times = (struct fixed_times){0};
}

const struct fixed_rank *fixed_times_of(const struct fixed_times *times, uint32_t rank)
{
    if (!times->named)
        return times->n_ranks > 0 ? &times->ranks[0] : NULL;
    size_t low = 0, high = times->n_ranks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < times->n_ranks && times->ranks[low].rank == rank ? &times->ranks[low] : NULL;
}
