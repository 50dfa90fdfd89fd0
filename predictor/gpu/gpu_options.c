/* Reads the options that belong together only with --gpu; every mistake is printed here, once, with what was
 * expected. */
#include "predictor/gpu/gpu_options.h"

#include <string.h>

#include "share/base/error.h"

enum { MOST_MESSAGES = 1000000 };

void gpu_option_rows(struct gpu_options *options, struct option_row rows[GPU_ROWS])
{
    *options = (struct gpu_options){.problem = {.messages = 1, .gpus = 1}};
    struct gpu_problem *problem = &options->problem;
    bool *own = &options->own;
    const struct option_row all[GPU_ROWS] = {
        {.help = "Paths between GPUs, in place of a trace or a pattern; --level, --bytes and --ppn (processes of a "
                 "node, which share its GPUs) apply, too:"},
        {0, "gpu", NULL, "predict this; requires --machine and --bytes", .flag = &options->asked},
        {0, "messages", "N", "number of equal messages of a GPU; default: 1", .whole = &problem->messages, .least = 1,
         .most = MOST_MESSAGES, .given = own},
        {0, "duplicate", "SHARE",
         "share of a message that all others contain, too, and that is copied once: 0 (default) to 1",
         .real = &problem->duplicate, .most = 1, .given = own},
        {0, "gpus", "N", "number of GPUs of a node that send at once; default: 1", .u32 = &problem->gpus, .least = 1,
         .most = 1024, .given = own},
        {0, "path", "P[,P]", "gpudirect, 3-step, extra-message, duplicate-pointer; default: all in the table",
         .text = &options->paths_text, .given = own, .words = WORDS_NONE},
    };
    memcpy(rows, all, sizeof all);
}

static int take_paths(struct gpu_options *options)
{
    options->paths_given = options->paths_text != NULL;
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        options->path_asked[path] = !options->paths_given;
    const char *at = options->paths_text;
    char word[GPU_WORD_BYTES];
    while (gpu_word_next(&at, word)) {
        enum gpu_path found;
        if (gpu_path_parse(word, &found) != 0)
            return wrong_usage("predict",
                               "--path: no path '%s': expected gpudirect, 3-step, extra-message or duplicate-pointer",
                               word);
        options->path_asked[found] = true;
    }
    return 0;
}

int gpu_options_check(struct gpu_options *options, struct finegrain_options *shared)
{
    struct gpu_problem *problem = &options->problem;
    if (!options->asked)
        return !options->own ? 0 : wrong_usage("predict", "--messages, --duplicate, --gpus and --path require --gpu");
    if (shared->bytes == 0)
        return wrong_usage("predict", "--gpu requires --bytes BYTES, the total of all messages of a GPU");
    if (shared->bytes > 1ull << GPU_MOST_BYTES_LOG2)
        return wrong_usage("predict", "--bytes %llu: expected at most 2^%d", (unsigned long long)shared->bytes,
                           GPU_MOST_BYTES_LOG2);
    if (shared->bytes < problem->messages)
        return wrong_usage("predict", "--bytes %llu, --messages %llu: expected at least one byte per message",
                           (unsigned long long)shared->bytes, (unsigned long long)problem->messages);
    if (shared->ppn == 1)
        shared->ppn = problem->gpus;
    if (shared->ppn % problem->gpus != 0)
        return wrong_usage("predict", "--ppn %u, --gpus %u: expected equally many processes for each GPU", shared->ppn,
                           problem->gpus);
    int result = finegrain_take_level(shared);
    problem->bytes = shared->bytes;
    problem->ppn = shared->ppn;
    problem->level = shared->level;
    return result == 0 ? take_paths(options) : result;
}
