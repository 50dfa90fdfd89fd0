/* One law's replay, shown and stored. See run_study.h. */
#include "predictor/run_study/run_study.h"

#include <stdlib.h>
#include <unistd.h>

#include "interpose/database/database.h"
#include "predictor/run_export/run_export.h"
#include "predictor/run_study/run_show.h"
#include "predictor/what_if/places.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/progress.h"

/* Stores the run; what only concerns the storing is a note, since the answer stands. */
static void store_story(const struct run_options *options, const struct run_study *study)
{
    struct error error = {0};
    sqlite3 *database = NULL;
    if (access(options->trace, W_OK) != 0)
        error_set(&error, "%s: is read-only", options->trace);
    else if (database_open(options->trace, true, &database, &error) == 0)
        run_store(database, study, &error);
    sqlite3_close(database);
    if (error.text[0] != '\0')
        inform("note: the replay is shown, but not stored: %s", error.text);
}

/* Says that what was asked for changes nothing, what was left out, and where a format has no words for it that what is
 * called predicted was copied. */
static void note_study(const struct run_study *study)
{
    const struct simulation_result *result = &study->before.result;
    bool memory = (study->options->law.terms & RUN_TERM_MEMORY) != 0;
    if (study->in_memory)
        inform("note: the buffers of %zu messages are taken to be in memory; --buffers recorded finds out, which takes "
               "three times as long",
               study->program.n_messages);
    if (study->options->buffers == BUFFERS_CACHED && study->n_cached == 0 && study->program.n_messages > 0)
        inform("note: --buffers cached changes no message: '%s' has no rows bw_cached and cached_bytes for them; "
               "'mpistair calibrate' measures these",
               study->before.machine.name);
    if (study->options->format == FORMAT_CSV && !run_study_predicts(study))
        inform("note: %s", run_copied(study));
    if (memory && result->n_contending == 0 && study->program.n_messages > 0)
        inform("note: +memory changes no message of the program: the memory_... rows of '%s' are for messages between "
               "nodes, which a NIC writes, and none of them has bytes",
               study->before.machine.name);
    if (memory && result->n_small > 0)
        inform("note: +memory: outside the calibrated range: %zu of %zu messages are smaller than 1 MB",
               result->n_small, result->n_contending);
}

static int replay_and_show(const struct run_options *options, sqlite3 *database, struct error *error)
{
    struct run_study study;
    struct output_file output;
    int code = run_study(options, database, &study, error);
    progress_show(NULL);
    if (code == 0)
        note_study(&study);
    if (code == 0)
        code = run_export(&study.program, options->goal, options->tit, error);
    if (code == 0)
        code = output_file_open(&output, options->output, error);
    if (code == 0) {
        if (options->what_if.rank_file != NULL)
            code = rank_file_write(options->what_if.rank_file, &study.after.placement, database, options->trace, error);
        if (code == 0)
            code = run_show(output.stream, database, &study, error);
        code = output_file_end(&output, code, error);
    }
    if (code == 0)
        store_story(options, &study);
    run_study_release(&study);
    return code;
}

int run_story(const struct run_options *options, struct error *error)
{
    sqlite3 *database = NULL;
    int code = database_open(options->trace, false, &database, error);
    if (code == 0)
        code = replay_and_show(options, database, error);
    sqlite3_close(database);
    return code;
}
