/* Reads the options that belong together only with --what-if; every mistake is printed here, once, with what was
 * expected. */
#include "predictor/what_if/what_if_options.h"

#include <string.h>

#include "share/base/error.h"

/* A search longer than a day is a slip. */
enum { MOST_SECONDS = 86400 };
static const double default_seconds = 10;

void what_if_option_rows(struct what_if_options *options, struct option_row rows[WHAT_IF_ROWS])
{
    *options = (struct what_if_options){.seconds = default_seconds, .seed = 1};
    const struct option_row all[WHAT_IF_ROWS] = {
        {.help = "What would be, printed beside what is; nothing is stored in the trace. All changes given count "
                 "together:"},
        {0, "what-if", NULL, "asks for at least one of these changes, each of which may be given without it",
         .flag = &options->asked},
        {0, "to-machine", "NAME|FILE", "another machine table", .text = &options->machine, .words = WORDS_MACHINE},
        {0, "to-placement", "L.csv|fill|round-robin-nodes|round-robin-sockets",
         "other places, by hand or the same ones by rule", .text = &options->placement},
        {0, "best-placement", NULL,
         "the same places in an order that lowers the run's modelled time; the first --model judges,\ndefault flow",
         .flag = &options->best_placement},
        {0, "seconds", "S", "for that search, at most; default 10", .real = &options->seconds, .most = MOST_SECONDS,
         .given = &options->search_option},
        {0, "seed", "N", "of that search; default 1", .whole = &options->seed, .given = &options->search_option},
        {0, "eager-threshold", "BYTES", "smallest size that goes by rendezvous", .whole = &options->eager_bytes,
         .given = &options->eager_given},
        {0, "aggregate", NULL, "messages to one partner in a round as one", .flag = &options->aggregate},
        {0, "rank-file", "PREFIX",
         "the other placement as PREFIX.rankfile (Open MPI), PREFIX.hosts (MPICH's hydra),\nPREFIX.L.csv",
         .text = &options->rank_file},
    };
    memcpy(rows, all, sizeof all);
}

int what_if_options_check(struct what_if_options *options)
{
    bool places = options->placement != NULL || options->best_placement;
    bool changes = places || options->machine != NULL || options->aggregate || options->eager_given;
    options->asked = options->asked || changes || options->search_option || options->rank_file != NULL;
    if (!options->asked)
        return 0;
    if (options->placement != NULL && options->best_placement)
        return wrong_usage("predict", "both --to-placement and --best-placement: expected one of them");
    if (options->search_option && !options->best_placement)
        return wrong_usage("predict", "--seconds and --seed are for --best-placement");
    if (options->seconds <= 0)
        return wrong_usage("predict", "--seconds 0: expected more than 0");
    if (options->rank_file != NULL && options->rank_file[0] == '\0')
        return wrong_usage("predict", "--rank-file: expected the beginning of a file name");
    if (options->rank_file != NULL && !places)
        return wrong_usage("predict", "--rank-file needs --to-placement or --best-placement");
    if (!changes)
        return wrong_usage("predict", "--what-if: expected a change: --to-machine, --to-placement, --best-placement, "
                                      "--eager-threshold or --aggregate (--machine and --placement say what is)");
    return 0;
}
