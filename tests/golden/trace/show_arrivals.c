/* Prints the times of threads that a trace.db gives, as a file that fixed:FILE names, and behind it what was found, a
 * comment.
 *
 * usage: show-arrivals TRACE */
#include <stdio.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"

int main(int argc, char **argv)
{
    struct arrivals_found found;
    struct error error;
    if (argc != 2)
        return EXIT_WRONG_USAGE;
    if (arrivals_trace_write(argv[1], "-", &found, &error) != 0)
        return error_report(&error);
    printf("# ranks %u, threads %zu, rounds %zu, others %zu, partitioned %d, unseen %zu, incomplete %zu\n",
           found.n_ranks, found.n_threads, found.n_rounds, found.n_others, found.partitioned, found.left_out.unseen,
           found.left_out.incomplete);
    return EXIT_DONE;
}
