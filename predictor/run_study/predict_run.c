/* The program of the run is read once; the laws are replayed side by side. See run_study.h. */
#include "predictor/run_study/run_study.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine_database.h"
#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "interpose/database/transaction.h"
#include "predictor/models/model.h"
#include "predictor/run_study/run_show.h"
#include "share/base/side_by_side.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/progress.h"
#include "share/base/text_table.h"

/* Largest number of messages of a run all of whose laws are replayed at a time, on as many processors; of a longer one
 * so many are. A replay takes 4 bytes of memory a message, and 32 for each under way; the term queue takes 24 more. */
enum { TOGETHER_MOST = 2000000, LONG_TOGETHER = 4 };

/* Holds what the laws of a run share, and a result each. */
struct law_runs {
    const struct predict_options *options;
    struct run_options run; /* of the options, with a law each */
    struct run_study study;
    struct run_halves halves;
    double replicate; /* error of odd against even calls */
    struct law_result {
        struct run_parts *predicted; /* [n_places] NULL: the replay failed, with the reason */
        double run_s;
        struct run_error error;
        struct run_window_error windows[RUN_WINDOWS];
        struct error reason;
    } * results; /* [options->n_laws] */
};

static int replay_law(void *context, size_t number, struct error *error)
{
    (void)error;
    struct law_runs *runs = context;
    struct law_result *result = &runs->results[number];
    const struct run_side *side = &runs->study.before;
    const struct run_law_choice *law = &runs->options->laws[number];
    struct simulation_options options = side->options;
    struct simulation_result simulated;
    options.law = law->law;
    options.terms = law->terms;
    if (simulate(&runs->study.program, &side->machine, &side->placement, &options, &simulated, &result->reason) == 0) {
        result->predicted = simulated.predicted;
        simulated.predicted = NULL;
        result->run_s = simulated.end_s - simulated.begin_s;
        result->error = run_error_of(&runs->study.program, &runs->study.messages, result->predicted);
        run_window_errors(&runs->study.program, &runs->study.windows, simulated.window_s, result->windows);
    }
    simulation_result_release(&simulated);
    return 0;
}

/* Returns how many laws are replayed at a time, 0: as there are processors. */
static size_t laws_together(const struct law_runs *runs)
{
    size_t n = usable_processors();
    if (runs->study.program.n_messages <= TOGETHER_MOST)
        return 0;
    for (size_t i = 0; i < runs->options->n_laws; i++)
        if ((runs->options->laws[i].terms & RUN_TERM_QUEUE) != 0)
            return 1;
    return n < LONG_TOGETHER ? n : LONG_TOGETHER;
}

static int replay_laws(struct law_runs *runs, struct error *error)
{
    size_t n_laws = runs->options->n_laws, n_failed = 0;
    runs->results = xcalloc(n_laws + 1, sizeof *runs->results);
    if (side_by_side(n_laws, laws_together(runs), replay_law, runs, error) != 0)
        return -1;
    for (size_t i = 0; i < n_laws; i++)
        n_failed += runs->results[i].predicted == NULL;
    if (n_failed == n_laws)
        return error_set(error, "%s", runs->results[0].reason.text);
    for (size_t i = 0; i < n_laws; i++)
        if (runs->results[i].predicted == NULL)
            inform("note: law %s: %s", runs->options->laws[i].name, runs->results[i].reason.text);
    return 0;
}

static void note_half(void *context, const struct run_program *program, const struct run_call *call)
{
    double inside_s[2];
    (void)program;
    run_messages_inside(&call->part_s, inside_s);
    run_halves_add(context, call, inside_s);
}

static int read_runs(struct law_runs *runs, sqlite3 *database, struct error *error)
{
    const struct run_watch watch = {note_half, &runs->halves};
    progress_show("predict: the program of the run");
    if (run_study_open(&runs->run, database, &watch, &runs->study, error) != 0)
        return -1;
    const struct run_program *program = &runs->study.program;
    run_halves_keep(&runs->halves, program, &runs->study.messages);
    runs->replicate = run_halves_error(&runs->halves, program->n_ranks);
    return 0;
}

/* Stores the times of a law. Where the same run was replayed, its story stays. */
static void store_law(sqlite3 *database, const struct law_runs *runs, size_t number, bool *failed)
{
    char options[RUN_OPTIONS_BYTES];
    struct run_options run = runs->run;
    run.law = runs->options->laws[number];
    run_options_text(&run, options);
    const char *machine = runs->study.before.machine.name, *law = run.law.name;
    const char *collectives = run_collectives_name[run.collectives];
    struct cursor rows;
    struct error reason;
    cursor_open(&rows, database, run.trace,
                "SELECT id FROM replay_run WHERE machine = ?1 AND law = ?2 AND options = ?3 AND collectives = ?4",
                &reason);
    cursor_bind(&rows, "tttt", machine, law, options, collectives);
    int64_t id = cursor_next(&rows) ? cursor_integer(&rows, 0) : INT64_MIN;
    *failed = cursor_close(&rows) != 0 || *failed;
    if (id == INT64_MIN) {
        struct row row = row_prepare(database, "replay_run", 8);
        row_insert(&row, "ottttddd", INT64_MIN, machine, law, collectives, options, runs->study.program.measured_run_s,
                   runs->results[number].run_s, NAN);
        id = sqlite3_last_insert_rowid(database);
        *failed = row_finish(&row) != 0 || *failed;
    }
    char *sql = xasprintf("DELETE FROM message_time WHERE run_id = %" PRId64
                          "; DELETE FROM message_window WHERE run_id = %" PRId64,
                          id, id);
    *failed = sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK || *failed;
    free(sql);
    *failed = run_store_messages(database, &runs->study.program, &runs->study.messages, runs->results[number].predicted,
                                 id) != 0 ||
              *failed;
    *failed =
        run_store_windows(database, run.trace, &runs->study.program, runs->results[number].windows, id) != 0 || *failed;
}

static void store_halves(sqlite3 *database, const struct law_runs *runs, bool *failed)
{
    const struct run_program *program = &runs->study.program;
    *failed = sqlite3_exec(database, "DELETE FROM message_halves", NULL, NULL, NULL) != SQLITE_OK || *failed;
    struct row row = row_prepare(database, "message_halves", 5);
    for (size_t i = 0; i < runs->halves.n; i++) {
        const struct run_half *half = &runs->halves.rows[i];
        const struct run_site *site = &program->sites[half->site];
        row_insert(&row, "itodd", (int64_t)half->rank, site->function, site->callsite >= 0 ? site->callsite : INT64_MIN,
                   half->odd_s[0], half->even_s[0]);
    }
    *failed = row_finish(&row) != 0 || *failed;
}

static int store_laws(sqlite3 *database, const struct law_runs *runs, struct error *error)
{
    const char *path = runs->run.trace;
    bool failed = false;
    progress_show("predict: storing");
    if (transaction_begin(database, path, error) != 0)
        return -1;
    int n_changes = sqlite3_total_changes(database);
    int code = machine_store(database, path, &runs->study.before.machine, error);
    /* What was replayed with other values of a machine of this name goes. */
    const char *machine = runs->study.before.machine.name;
    if (code == 0 && sqlite3_total_changes(database) > n_changes)
        code = run_forget(database, path, "machine = ?", &machine, 1, error);
    if (code == 0) {
        for (size_t i = 0; i < runs->options->n_laws; i++)
            if (runs->results[i].predicted != NULL)
                store_law(database, runs, i, &failed);
        if (runs->run.window.from.kind == RUN_BOUND_NONE && runs->run.window.to.kind == RUN_BOUND_NONE)
            store_halves(database, runs, &failed); /* those of the whole run */
        if (failed)
            code = database_error(database, path, "predictions cannot be stored", error);
    }
    return transaction_end(database, path, code, error);
}

/* Says whether a law comes before another one: by its error to nine digits, none last, of equal ones in the order of
 * the table. So does the report (report/collect/collect_rounds.c). */
static bool comes_before(const struct law_runs *runs, size_t law, size_t other)
{
    double own = round(runs->results[law].error.error * 1e9), its = round(runs->results[other].error.error * 1e9);
    if (isnan(own) != isnan(its))
        return isnan(its);
    if (own < its || own > its)
        return own < its;
    return runs->options->laws[law].law < runs->options->laws[other].law;
}

/* Sorts the numbers of the laws, the best one first. */
static void order_laws(const struct law_runs *runs, size_t *order)
{
    size_t n = 0;
    for (size_t i = 0; runs->results != NULL && i < runs->options->n_laws; i++) {
        if (runs->results[i].predicted == NULL)
            continue;
        size_t at = n++;
        for (; at > 0 && comes_before(runs, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    order[n] = SIZE_MAX;
}

static void show_laws_text(FILE *stream, const struct law_runs *runs, const size_t *order)
{
    struct text_table *table =
        text_table_of("<law|error|bias|MAPE|worst rank|measured [s]|modelled [s]|run [s]|run off");
    double measured_run_s = runs->study.program.measured_run_s;
    fprintf(stream, "machine %s\n", runs->study.before.machine.name);
    for (; *order != SIZE_MAX; order++) {
        const struct law_result *result = &runs->results[*order];
        text_table_text(table, runs->options->laws[*order].name);
        text_table_real(table, 100 * result->error.error, 1, " %");
        text_table_real(table, 100 * result->error.bias, 1, " %");
        text_table_real(table, 100 * result->error.mape, 1, " %");
        text_table_cell(table, "%" PRIu32, result->error.worst_rank);
        text_table_real(table, result->error.worst_measured_s, 6, "");
        text_table_real(table, result->error.worst_modelled_s, 6, "");
        text_table_real(table, result->run_s, 6, "");
        text_table_real(table, 100 * (result->run_s / measured_run_s - 1), 1, " %");
    }
    text_table_end(table, stream);
    double measured_s = runs->results[order[-1]].error.measured_s;
    fprintf(stream, "time inside messages: %.6f s of all ranks, in a run of %.6f s; ", measured_s, measured_run_s);
    if (isnan(runs->replicate))
        fputs("no call came twice\n", stream);
    else
        fprintf(stream, "replicate error %.1f %%\n", 100 * runs->replicate);
}

/* Says where the errors that are shown say little. */
static void show_doubts(FILE *stream, const struct law_runs *runs, size_t best)
{
    run_show_bursts(stream, &runs->study.program);
    const char *judgement = judgement_of(runs->results[best].error.error, (int64_t)runs->study.n_between);
    if (strcmp(judgement, "too few messages") == 0)
        fprintf(stream, "too little to judge a law by: the run has %zu message%s between ranks\n",
                runs->study.n_between, runs->study.n_between == 1 ? "" : "s");
    else if (judgement[0] != '\0')
        fprintf(stream, "no law explains even half of the time in messages\n");
    if (!runs->study.whole.is_whole)
        fprintf(stream, "the recording is not whole, so measured and modelled times are of what was recorded: %s\n",
                runs->study.whole.reason);
}

/* Writes CSV, or JSON, which also says how far an error can be believed, and of which bursts it is. */
static int show_laws_rows(FILE *stream, const struct law_runs *runs, const size_t *order, bool csv, struct error *error)
{
    struct json_rows rows = {.stream = stream, .csv = csv};
    for (; *order != SIZE_MAX; order++) {
        const struct law_result *result = &runs->results[*order];
        struct json *row = json_pack(
            "{ss ss sf sf sf sI sf sf sf sf sf}", "machine", runs->study.before.machine.name, "law",
            runs->options->laws[*order].name, "error", result->error.error, "bias", result->error.bias, "mape",
            result->error.mape, "worst_rank", (int64_t)result->error.worst_rank, "worst_measured_s",
            result->error.worst_measured_s, "worst_modelled_s", result->error.worst_modelled_s, "measured_run_s",
            runs->study.program.measured_run_s, "modelled_run_s", result->run_s, "replicate_error", runs->replicate);
        if (!csv) {
            json_set(row, "judgement", json_string(judgement_of(result->error.error, (int64_t)runs->study.n_between)));
            run_bursts_json(row, &runs->study.program);
        }
        json_rows_add(&rows, row);
    }
    return json_rows_end(&rows, error);
}

/* Replays the run by the best law once more, for where its time goes and who is to blame, and stores that, as replay
 * does. What goes wrong is a note: the errors of the laws stand. */
static void tell_story(struct law_runs *runs, sqlite3 *database, const struct run_law_choice *best)
{
    struct error error = {.text = ""};
    runs->run.law = *best;
    runs->study.before.options.law = best->law;
    runs->study.before.options.terms = best->terms;
    progress_show("predict: where the time goes");
    if (run_study_replay(&runs->study, &error) != 0 || run_store(database, &runs->study, &error) != 0)
        inform("note: where the time goes is not known: %s", error.text);
}

static int show_laws(FILE *stream, const struct law_runs *runs, const size_t *order, struct error *error)
{
    progress_show(NULL);
    int format = runs->options->run.format;
    if (format == FORMAT_CSV || format == FORMAT_JSON)
        return show_laws_rows(stream, runs, order, format == FORMAT_CSV, error);
    if (runs->study.n_between == 0) {
        fputs("nothing to predict: no message goes from one rank to another\n", stream);
        return 0;
    }
    show_laws_text(stream, runs, order);
    show_doubts(stream, runs, order[0]);
    return 0;
}

int predict_run(const struct predict_options *options, struct error *error)
{
    struct law_runs runs = {.options = options, .run = options->run};
    struct output_file output;
    size_t order[MAX_MODELS + 1];
    sqlite3 *database = NULL;
    int code = database_open(options->run.trace, true, &database, error);
    if (code == 0)
        code = read_runs(&runs, database, error);
    progress_show("predict: the laws");
    if (code == 0)
        code = replay_laws(&runs, error);
    if (code == 0)
        code = store_laws(database, &runs, error);
    order_laws(&runs, order);
    if (code == 0)
        tell_story(&runs, database, &options->laws[order[0]]);
    if (code == 0)
        code = output_file_open(&output, options->run.output, error);
    if (code == 0)
        code = output_file_end(&output, show_laws(output.stream, &runs, order, error), error);
    progress_show(NULL);
    for (size_t i = 0; runs.results != NULL && i < options->n_laws; i++)
        free(runs.results[i].predicted);
    free(runs.results);
    run_halves_release(&runs.halves);
    run_study_release(&runs.study);
    sqlite3_close(database);
    return code;
}
