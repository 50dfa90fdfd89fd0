/* Puts a replay into the trace, beside what was recorded: the report and queries read it there. See run_show.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "interpose/database/transaction.h"
#include "predictor/run_study/run_show.h"
#include "share/base/memory.h"

int run_forget(sqlite3 *database, const char *path, const char *where, const char *const *values, int n_values,
               struct error *error)
{
    static const char *const tables[] = {"replay_part",  "replay_place",   "replay_ideal", "replay_efficiency",
                                         "message_time", "message_window", "replay_run"};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof tables / sizeof tables[0]; i++) {
        sqlite3_stmt *statement = NULL;
        char *sql = xasprintf("DELETE FROM %s WHERE %s IN (SELECT id FROM replay_run WHERE %s)", tables[i],
                              strcmp(tables[i], "replay_run") == 0 ? "id" : "run_id", where);
        bool failed = sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK;
        for (int value = 0; !failed && value < n_values; value++)
            failed = sqlite3_bind_text(statement, value + 1, values[value], -1, SQLITE_STATIC) != SQLITE_OK;
        if (failed || sqlite3_step(statement) != SQLITE_DONE)
            code = database_error(database, path, "the replay cannot be stored", error);
        sqlite3_finalize(statement);
        free(sql);
    }
    return code;
}

static int store_run(sqlite3 *database, const struct run_study *study, const char *options, int64_t *id)
{
    struct row row = row_prepare(database, "replay_run", 8);
    row_insert(&row, "ottttddd", INT64_MIN, study->before.machine.name, study->options->law.name,
               run_collectives_name[study->options->collectives], options, study->program.measured_run_s,
               run_side_s(&study->before), run_mpi_error(study));
    *id = sqlite3_last_insert_rowid(database);
    return row_finish(&row);
}

/* Stores what a place's time consists of, without what is 0. */
static void store_parts(struct row *row, int64_t id, size_t place, const struct run_parts *measured,
                        const struct run_parts *predicted)
{
    for (int part = 0; part < RUN_PART_COUNT; part++) {
        bool transfer = part >= RUN_LATENCY && part <= RUN_PROGRESS;
        double measured_s = transfer || measured == NULL ? NAN : measured->part_s[part];
        if (measured_s > 0 || predicted->part_s[part] > 0)
            row_insert(row, "iitdd", id, (int64_t)place, run_part_name[part], measured_s, predicted->part_s[part]);
    }
    double measured_s = measured != NULL ? run_parts_sum(measured, RUN_LATENCY, RUN_PROGRESS) : NAN;
    double predicted_s = run_parts_sum(predicted, RUN_LATENCY, RUN_PROGRESS);
    if (measured_s > 0 || predicted_s > 0)
        row_insert(row, "iitdd", id, (int64_t)place, "transfer", measured_s, predicted_s);
}

static int store_places(sqlite3 *database, const struct run_study *study, int64_t id)
{
    const struct run_program *program = &study->program;
    struct row places = row_prepare(database, "replay_place", 7), parts = row_prepare(database, "replay_part", 5);
    for (size_t i = 0; i < program->n_places; i++) {
        const struct run_site *site = &program->sites[program->places[i].site];
        row_insert(&places, "iiitodd", id, (int64_t)i, (int64_t)program->places[i].rank, site->function,
                   site->callsite >= 0 ? site->callsite : INT64_MIN, study->blame.cost_s[i],
                   study->blame.critical_s[i]);
        store_parts(&parts, id, i, program->measured != NULL ? &program->measured[i] : NULL,
                    &study->before.result.predicted[i]);
    }
    for (size_t i = 0; i < program->n_strands; i++) {
        const struct run_strand *strand = &program->strands[i];
        double lost_s = program->ranks[strand->rank].lost_s;
        if (lost_s > 0 && (i == 0 || program->strands[i - 1].rank != strand->rank))
            row_insert(&parts, "iitdd", id, (int64_t)strand->tail_place, "not_recorded", lost_s, 0.0);
    }
    int code = row_finish(&places);
    return row_finish(&parts) != 0 ? -1 : code;
}

static int store_efficiencies(sqlite3 *database, const struct run_study *study, int64_t id)
{
    const struct run_efficiencies *m = &study->measured, *p = &study->predicted;
    struct row row = row_prepare(database, "replay_efficiency", 4);
    for (enum run_efficiency kind = 0; kind < EFFICIENCY_COUNT; kind++)
        row_insert(&row, "itdd", id, run_efficiency_name[kind], m->share[kind], p->share[kind]);
    row_insert(&row, "itdd", id, "ideal", m->ideal, p->ideal);
    return row_finish(&row);
}

/* Stores what the efficiencies of regions need, where there are any: they are those of the whole run. */
static int store_ideal(sqlite3 *database, const struct run_study *study, int64_t id)
{
    const struct run_window *window = &study->options->window;
    struct cursor rows;
    struct error error;
    bool wanted = study->ideal_inside_s != NULL && study->program.n_bursts == 0 &&
                  window->from.kind == RUN_BOUND_NONE && window->to.kind == RUN_BOUND_NONE;
    cursor_open(&rows, database, study->options->trace, "SELECT EXISTS (SELECT 1 FROM site_region)", &error);
    wanted = cursor_next(&rows) && cursor_integer(&rows, 0) != 0 && wanted;
    if (cursor_close(&rows) != 0)
        return -1;
    struct row row = row_prepare(database, "replay_ideal", 3);
    for (size_t place = 0; wanted && place < study->program.n_places; place++)
        if (study->ideal_inside_s[place] > 0)
            row_insert(&row, "iid", id, (int64_t)place, study->ideal_inside_s[place]);
    return row_finish(&row);
}

int run_store_messages(sqlite3 *database, const struct run_program *program, const struct run_messages *messages,
                       const struct run_parts *predicted, int64_t id)
{
    struct row row = row_prepare(database, "message_time", 15);
    for (size_t place = 0; place < program->n_places; place++) {
        const struct run_site *site = &program->sites[program->places[place].site];
        const double *part_s = predicted[place].part_s;
        double other_s = part_s[RUN_OTHER] - messages->copied_s[place];
        if (messages->is_mixed[place])
            other_s += part_s[RUN_COLLECTIVE_WAIT] + part_s[RUN_COLLECTIVE_TRANSFER];
        if (messages->is_message[place])
            row_insert(&row, "iiitodddddddddd", id, (int64_t)place, (int64_t)program->places[place].rank,
                       site->function, site->callsite >= 0 ? site->callsite : INT64_MIN,
                       run_messages_s(messages, program->measured, place), run_messages_s(messages, predicted, place),
                       part_s[RUN_LATE_SENDER], part_s[RUN_LATE_RECEIVER], part_s[RUN_LATENCY], part_s[RUN_BANDWIDTH],
                       part_s[RUN_CONTENTION], part_s[RUN_QUEUE], part_s[RUN_PROGRESS], fmax(other_s, 0));
    }
    return row_finish(&row);
}

/* Returns when in the run a time of the program was, in ns. end: where one burst ends and the next begins, the end of
 * the first is meant. */
static int64_t when_ns(const struct run_program *program, const int64_t *bursts, double at_s, bool end)
{
    size_t burst = 0;
    if (program->n_bursts == 0)
        return llround(at_s * 1e9);
    while (burst + 1 < program->n_bursts &&
           (end ? program->burst_s[burst + 1] < at_s : program->burst_s[burst + 1] <= at_s))
        burst++;
    return bursts[burst] + llround((at_s - program->burst_s[burst]) * 1e9);
}

int run_store_windows(sqlite3 *database, const char *path, const struct run_program *program,
                      const struct run_window_error *errors, int64_t id)
{
    int64_t *bursts = xcalloc(program->n_bursts + 1, sizeof *bursts);
    struct cursor rows;
    struct error error;
    cursor_open(&rows, database, path, "SELECT begin_ns FROM burst ORDER BY begin_ns", &error);
    for (size_t i = 0; i < program->n_bursts && cursor_next(&rows); i++)
        bursts[i] = cursor_integer(&rows, 0);
    int code = cursor_close(&rows);
    struct row row = row_prepare(database, "message_window", 8);
    for (size_t w = 0; w < RUN_WINDOWS; w++)
        row_insert(&row, "iiiidddi", id, (int64_t)w, when_ns(program, bursts, run_window_begin_s(program, w), false),
                   when_ns(program, bursts, run_window_begin_s(program, w + 1), true), errors[w].measured_s,
                   errors[w].modelled_s, errors[w].off_s, (int64_t)errors[w].worst_rank);
    free(bursts);
    return row_finish(&row) != 0 ? -1 : code;
}

int run_store(sqlite3 *database, const struct run_study *study, struct error *error)
{
    const char *path = study->options->trace;
    char options[RUN_OPTIONS_BYTES];
    int64_t id = 0;
    struct run_window_error windows[RUN_WINDOWS];
    run_options_text(study->options, options);
    const char *const same[] = {study->before.machine.name, study->options->law.name,
                                run_collectives_name[study->options->collectives], options};
    if (transaction_begin(database, path, error) != 0)
        return -1;
    run_window_errors(&study->program, &study->windows, study->before.result.window_s, windows);
    int code =
        run_forget(database, path, "machine = ? AND law = ? AND collectives = ? AND options = ?", same, 4, error);
    if (code == 0 &&
        (store_run(database, study, options, &id) != 0 || store_places(database, study, id) != 0 ||
         store_efficiencies(database, study, id) != 0 || store_ideal(database, study, id) != 0 ||
         run_store_messages(database, &study->program, &study->messages, study->before.result.predicted, id) != 0 ||
         run_store_windows(database, path, &study->program, windows, id) != 0))
        code = database_error(database, path, "the replay cannot be stored", error);
    code = transaction_end(database, path, code, error);
    return code;
}
