/* Runs `mpistair pattern`: makes a pattern, or takes one, tells its statistics, and writes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/predict_commands.h"
#include "interpose/database/database.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "predictor/generate/pattern_options.h"
#include "predictor/generate/pattern_write.h"
#include "predictor/replay/replay_pattern.h"

static int take_round(const struct pattern_options *options, struct pattern *pattern, struct placement *placement,
                      struct error *error)
{
    sqlite3 *database = NULL;
    if (database_open(options->trace, false, &database, error) != 0)
        return -1;
    int result = replay_pattern(database, options->trace, options->round_kind_given, (int64_t)options->round_kind,
                                pattern, placement, error);
    sqlite3_close(database);
    return result;
}

/* Fills an empty pattern and placement, which the caller releases. */
static int obtain(const struct pattern_options *options, struct pattern *pattern, struct placement *placement,
                  struct error *error)
{
    if (options->trace != NULL)
        return take_round(options, pattern, placement, error);
    if (options->pattern != NULL)
        return placement_read_csv(options->placement, placement, error) != 0
                   ? -1
                   : pattern_read_csv(options->pattern, placement->n_ranks, pattern, error);
    placement_make(&options->request, placement);
    return options->kind->make(&options->request, placement, pattern, error);
}

int cmd_pattern(int argc, char **argv)
{
    struct pattern_options options;
    struct pattern pattern = {0};
    struct placement placement = {0};
    struct pattern_statistics statistics;
    struct error error = {.text = ""};
    int result = pattern_options_parse(argc, argv, &options);
    if (result != OPTIONS_READ)
        return result;
    result = obtain(&options, &pattern, &placement, &error);
    if (result == 0)
        result = pattern_statistics(&pattern, &placement, &statistics, &error);
    if (result == 0 && options.output != NULL)
        result = pattern_write(options.output, &pattern, &placement, &error);
    if (result == 0)
        result = pattern_show(stdout, &statistics, options.json, &error);
    pattern_release(&pattern);
    placement_release(&placement);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
