/* Each question has a file: predict_memory.c, predict_finegrain.c, predict_gpu.c. */
#include "predictor/tables/ask_table.h"

void table_option_rows(struct table_options *options, struct option_row rows[TABLE_ROWS])
{
    memory_option_rows(&options->memory, rows);
    finegrain_option_rows(&options->finegrain, rows + MEMORY_ROWS);
    gpu_option_rows(&options->gpu, rows + MEMORY_ROWS + FINEGRAIN_ROWS);
}

const char *table_options_asked(const struct table_options *options)
{
    if (options->memory.asked)
        return "--memory";
    if (options->finegrain.asked)
        return "--finegrain";
    return options->gpu.asked ? "--gpu" : NULL;
}

int table_options_check(struct table_options *options)
{
    const struct finegrain_options *finegrain = &options->finegrain;
    bool gpu = options->gpu.asked;
    if (options->memory.asked + finegrain->asked + gpu > 1)
        return wrong_usage("predict", "%s and %s: expected one of them", table_options_asked(options),
                           gpu ? "--gpu" : "--finegrain");
    if (finegrain->shared && !finegrain->asked && !gpu)
        return wrong_usage("predict", "--level, --bytes and --ppn require --finegrain or --gpu");
    int result = memory_options_check(&options->memory);
    if (result == 0)
        result = finegrain_options_check(&options->finegrain);
    return result == 0 ? gpu_options_check(&options->gpu, &options->finegrain) : result;
}

int table_answer(const struct table_question *question)
{
    struct machine machine;
    struct error error;
    if (machine_find(question->machine, &machine, &error) != 0)
        return error_report(&error);
    int result = (question->options->memory.asked      ? memory_answer
                  : question->options->finegrain.asked ? finegrain_answer
                                                       : gpu_answer)(question, &machine, &error);
    machine_release(&machine);
    return result < 0 ? error_report(&error) : result;
}
