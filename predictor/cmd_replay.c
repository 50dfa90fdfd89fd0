/* Runs `mpistair replay`: the whole run on one clock, where its time goes, and what it would take elsewhere. */
#include "predictor/predict_commands.h"
#include "predictor/run_study/run_study.h"

int cmd_replay(int argc, char **argv)
{
    struct run_options options;
    struct error error = {0};
    int code = run_options_parse(argc, argv, &options);
    if (code != OPTIONS_READ)
        return code;
    return run_story(&options, &error) == 0 ? EXIT_DONE : error_report(&error);
}
