/* Cores neither start nor end together, and while one of them is idle the others have its share of the memory.
 *
 * No MPI says how it moves bytes, but the kernel does: its TCP sockets count what they received, and a copy within the
 * kernel costs this process system time. A network card that writes by itself does neither. */
#include "calibrate/benchmark/memory/memory_steady.h"

#include <math.h>
#include <stdio.h>

/* Iterations, at least, of which one is neither the first nor the last. */
enum { ITERATIONS_LEAST = 3 };

bool memory_steady_window(const struct memory_iterations *cores, size_t n_cores, struct memory_window *window)
{
    *window = (struct memory_window){-INFINITY, INFINITY};
    for (size_t i = 0; i < n_cores; i++) {
        if (cores[i].n < ITERATIONS_LEAST)
            return false;
        window->begin_s = fmax(window->begin_s, cores[i].end_s[0]);
        window->end_s = fmin(window->end_s, cores[i].end_s[cores[i].n - 2]);
    }
    return n_cores > 0 && window->begin_s < window->end_s;
}

/* Returns how much of an iteration is in the window, from 0 to 1. */
static double share_within(double begin_s, double end_s, const struct memory_window *window)
{
    double within_s = fmin(end_s, window->end_s) - fmax(begin_s, window->begin_s);
    return within_s > 0 && end_s > begin_s ? within_s / (end_s - begin_s) : 0;
}

uint64_t memory_steady_bytes(const struct memory_iterations *cores, size_t n_cores, uint64_t block_bytes,
                             const struct memory_window *window)
{
    double iterations = 0;
    for (size_t i = 0; i < n_cores; i++)
        for (size_t k = 1; k < cores[i].n; k++)
            iterations += share_within(cores[i].end_s[k - 1], cores[i].end_s[k], window);
    return (uint64_t)llround(iterations * (double)block_bytes);
}

size_t memory_steady_messages(const struct memory_messages *messages, const struct memory_window *window,
                              double *seconds)
{
    size_t n = 0;
    *seconds = 0;
    for (size_t i = 1; i < messages->n; i++) {
        const struct memory_window *time = &messages->times[i];
        if (window != NULL && (time->begin_s < window->begin_s || time->end_s > window->end_s))
            continue;
        *seconds += time->end_s - time->begin_s;
        n++;
    }
    return n;
}

/* Rate above which no core copies, B/s: more system time a byte means a copy. */
#define COPY_BYTES_PER_S 40e9
/* Least share of system time in that of messages from which it counts as a copy; above the resolution of the kernel's
 * accounts. */
#define SYSTEM_SHARE_LEAST 0.05

void transport_judge(const struct transport_use *use, struct transport *transport)
{
    double copied_s = use->system_s - use->idle_share * use->seconds;
    double share = use->seconds > 0 ? use->system_s / use->seconds : 0;
    *transport = (struct transport){.is_copy = true};
    if (use->tcp_bytes >= use->bytes / 2) {
        snprintf(transport->seen, sizeof transport->seen, "TCP sockets brought %.0f of %.0f MB",
                 (double)use->tcp_bytes / 1e6, (double)use->bytes / 1e6);
        return;
    }
    transport->is_copy =
        copied_s > SYSTEM_SHARE_LEAST * use->seconds && (double)use->bytes < COPY_BYTES_PER_S * copied_s;
    snprintf(transport->seen, sizeof transport->seen, "%.0f %% system time while %.0f MB came at %.2f GB/s",
             100 * share, (double)use->bytes / 1e6, use->seconds > 0 ? (double)use->bytes / use->seconds / 1e9 : 0);
}
