/* Reads the options that belong together only with --what-if; every mistake is printed here, once, with what was
 * expected. */
#include "predictor/options/what_if_options.h"

#include <string.h>

#include "share/base/error.h"

/* A search longer than a day is a slip. */
enum { MOST_SECONDS = 86400 };
static const double default_seconds = 10;

void what_if_option_rows(struct what_if_options *options, struct option_row rows[WHAT_IF_ROWS])
{
    *options = (struct what_if_options){.seconds = default_seconds, .seed = 1};
    const struct option_row all[WHAT_IF_ROWS] = {
        {.help = "What if: predicts the run as it is, and with all these changes together; the trace is not changed:"},
        {0, "what-if", NULL, "implied by each of these changes", .flag = &options->asked},
        {0, "to-machine", "NAME|FILE", "another machine table", .text = &options->machine, .words = WORDS_MACHINE},
        {0, "to-placement", "L.csv|fill|round-robin-nodes|round-robin-sockets",
         "other places of the ranks, from a file, or the same places assigned by a rule", .text = &options->placement},
        {0, "best-placement", NULL, "search for an order of the ranks on their places that shortens the run",
         .flag = &options->best_placement},
        {0, "seconds", "S", "time limit of the search; default: 10", .real = &options->seconds, .most = MOST_SECONDS,
         .given = &options->search_option},
        {0, "seed", "N", "seed of the search; default: 1", .whole = &options->seed, .given = &options->search_option},
        {0, "eager-threshold", "BYTES", "smallest size sent by rendezvous", .whole = &options->eager_bytes,
         .given = &options->eager_given},
        {0, "rank-file", "PREFIX",
         "write the new placement to PREFIX.rankfile (Open MPI), PREFIX.hosts (MPICH's hydra), PREFIX.L.csv",
         .text = &options->rank_file},
    };
    memcpy(rows, all, sizeof all);
}

int what_if_options_check(struct what_if_options *options, const char *command, bool others)
{
    bool places = options->placement != NULL || options->best_placement;
    bool changes = others || places || options->machine != NULL || options->eager_given;
    options->asked = options->asked || changes || options->search_option || options->rank_file != NULL;
    if (!options->asked)
        return 0;
    if (options->placement != NULL && options->best_placement)
        return wrong_usage(command, "--to-placement and --best-placement exclude each other");
    if (options->search_option && !options->best_placement)
        return wrong_usage(command, "--seconds and --seed require --best-placement");
    if (options->seconds <= 0)
        return wrong_usage(command, "--seconds 0: expected more than 0");
    if (options->rank_file != NULL && options->rank_file[0] == '\0')
        return wrong_usage(command, "--rank-file: expected a prefix of file names");
    if (options->rank_file != NULL && !places)
        return wrong_usage(command, "--rank-file requires --to-placement or --best-placement");
    if (!changes)
        return wrong_usage(command,
                           "--what-if: expected a change, such as --to-machine or --best-placement (--machine and "
                           "--placement describe the run as it is)");
    return 0;
}
