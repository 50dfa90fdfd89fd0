/* Reads the options that belong together only with --what-if; every mistake is printed here, once, with what was
 * expected. */
#include "predictor/what_if/what_if_options.h"

#include <stddef.h>

#include "share/base/error.h"
#include "share/base/number.h"

/* A search longer than a day is a slip. */
#define MOST_SECONDS 86400.0
static const double default_seconds = 10;

const char what_if_usage[] =
    "\n"
    "What would be, printed beside what is; nothing is stored in the trace. All changes given count together:\n"
    "      --what-if            asks for at least one of these changes, each of which may be given without it\n"
    "      --to-machine NAME|FILE\n"
    "                           another machine table\n"
    "      --to-placement L.csv|fill|round-robin-nodes|round-robin-sockets\n"
    "                           other places, by hand or the same ones by rule\n"
    "      --best-placement     the same places in an order that lowers the run's T; the first --model judges,\n"
    "                           default flow\n"
    "      --seconds S          for that search, at most; default 10\n"
    "      --seed N             of that search; default 1\n"
    "      --eager-threshold BYTES\n"
    "                           smallest size that goes by rendezvous\n"
    "      --aggregate          messages to one partner in a round as one\n"
    "      --rank-file PREFIX   the other placement as PREFIX.rankfile (Open MPI), PREFIX.hosts (MPICH's hydra),\n"
    "                           PREFIX.L.csv\n";

void what_if_options_init(struct what_if_options *options)
{
    *options = (struct what_if_options){.seconds = default_seconds, .seed = 1};
}

static int take_number(const char *option, const char *argument, uint64_t *value)
{
    const char *wrong = number_u64(argument, value);
    return wrong == NULL ? 0 : wrong_usage("predict", "%s: '%.40s' %s", option, argument, wrong);
}

int what_if_option_take(struct what_if_options *options, int code, const char *argument)
{
    const char *wrong;
    if (code < WHAT_IF || code > WHAT_IF_RANK_FILE)
        return -1;
    options->asked = true;
    switch ((enum what_if_option)code) {
    case WHAT_IF:
        return 0;
    case WHAT_IF_MACHINE:
        options->machine = argument;
        return 0;
    case WHAT_IF_PLACEMENT:
        options->placement = argument;
        return 0;
    case WHAT_IF_BEST:
        options->best_placement = true;
        return 0;
    case WHAT_IF_AGGREGATE:
        options->aggregate = true;
        return 0;
    case WHAT_IF_EAGER:
        options->eager_given = true;
        return take_number("--eager-threshold", argument, &options->eager_bytes);
    case WHAT_IF_SECONDS:
        options->search_option = true;
        wrong = number_real(argument, &options->seconds);
        if (wrong != NULL)
            return wrong_usage("predict", "--seconds: '%.40s' %s", argument, wrong);
        if (options->seconds <= 0 || options->seconds > MOST_SECONDS)
            return wrong_usage("predict", "--seconds %.40s: expected more than 0, and %.0f at most", argument,
                               MOST_SECONDS);
        return 0;
    case WHAT_IF_SEED:
        options->search_option = true;
        return take_number("--seed", argument, &options->seed);
    case WHAT_IF_RANK_FILE:
        options->rank_file = argument;
        return argument[0] != '\0' ? 0 : wrong_usage("predict", "--rank-file: expected the beginning of a file name");
    }
    return -1;
}

int what_if_options_check(const struct what_if_options *options)
{
    if (!options->asked)
        return 0;
    bool places = options->placement != NULL || options->best_placement;
    if (options->placement != NULL && options->best_placement)
        return wrong_usage("predict", "both --to-placement and --best-placement: expected one of them");
    if (options->search_option && !options->best_placement)
        return wrong_usage("predict", "--seconds and --seed are for --best-placement");
    if (options->rank_file != NULL && !places)
        return wrong_usage("predict", "--rank-file needs --to-placement or --best-placement");
    if (options->machine == NULL && !places && !options->aggregate && !options->eager_given)
        return wrong_usage("predict", "--what-if: expected a change: --to-machine, --to-placement, --best-placement, "
                                      "--eager-threshold or --aggregate (--machine and --placement say what is)");
    return 0;
}
