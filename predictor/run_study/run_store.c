/* Puts a replay into the trace, beside what was recorded: the report and queries read it there. See run_show.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "interpose/database/transaction.h"
#include "interpose/database/later_tables.h"
#include "predictor/run_study/run_show.h"

enum { OPTIONS_BYTES = 512 };

/* Appends " from mark:1" or the like. */
static void add_bound(char text[OPTIONS_BYTES], const char *word, const struct run_bound *bound)
{
    size_t length = strlen(text);
    const char *blank = length > 0 ? " " : "";
    if (bound->kind == RUN_BOUND_TIME)
        snprintf(text + length, OPTIONS_BYTES - length, "%s%s %.10g s", blank, word, (double)bound->value * 1e-9);
    else if (bound->kind != RUN_BOUND_NONE)
        snprintf(text + length, OPTIONS_BYTES - length, "%s%s %s:%" PRId64, blank, word,
                 bound->kind == RUN_BOUND_MARK ? "mark" : "site", bound->value);
}

static void options_text(const struct run_options *options, char text[OPTIONS_BYTES])
{
    text[0] = '\0';
    add_bound(text, "from", &options->window.from);
    add_bound(text, "to", &options->window.to);
    size_t length = strlen(text);
    if (options->buffers != BUFFERS_RECORDED)
        length += (size_t)snprintf(text + length, OPTIONS_BYTES - length, "%sbuffers %s", length > 0 ? " " : "",
                                   run_buffers_name[options->buffers]);
    if (options->placement != NULL)
        snprintf(text + length, OPTIONS_BYTES - length, "%splacement %s", length > 0 ? " " : "", options->placement);
}

/* Deletes what was stored of the same replay. */
static int forget(sqlite3 *database, const struct run_study *study, const char *options, struct error *error)
{
    static const char *const tables[] = {"replay_part", "replay_place", "replay_efficiency", "replay_run"};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof tables / sizeof tables[0]; i++) {
        char sql[256];
        sqlite3_stmt *statement = NULL;
        snprintf(sql, sizeof sql,
                 "DELETE FROM %s WHERE %s IN (SELECT id FROM replay_run WHERE machine = ? AND law = ? AND "
                 "collectives = ? AND options = ?)",
                 tables[i], strcmp(tables[i], "replay_run") == 0 ? "id" : "run_id");
        const char *const values[] = {study->before.machine.name, study->options->law.name,
                                      run_collectives_name[study->options->collectives], options};
        bool failed = sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK;
        for (int value = 0; !failed && value < 4; value++)
            failed = sqlite3_bind_text(statement, value + 1, values[value], -1, SQLITE_STATIC) != SQLITE_OK;
        if (failed || sqlite3_step(statement) != SQLITE_DONE)
            code = database_error(database, study->options->trace, "the replay cannot be stored", error);
        sqlite3_finalize(statement);
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
    row_insert(&row, "itdd", id, "parallel", m->parallel, p->parallel);
    row_insert(&row, "itdd", id, "load_balance", m->load_balance, p->load_balance);
    row_insert(&row, "itdd", id, "communication", m->communication, p->communication);
    row_insert(&row, "itdd", id, "serialisation", m->serialisation, p->serialisation);
    row_insert(&row, "itdd", id, "transfer", m->transfer, p->transfer);
    return row_finish(&row);
}

int run_store(sqlite3 *database, const struct run_study *study, struct error *error)
{
    const char *path = study->options->trace;
    char options[OPTIONS_BYTES];
    int64_t id = 0;
    options_text(study->options, options);
    if (transaction_begin(database, path, error) != 0)
        return -1;
    int code = later_tables_make(database, path, error);
    if (code == 0)
        code = forget(database, study, options, error);
    if (code == 0 && (store_run(database, study, options, &id) != 0 || store_places(database, study, id) != 0 ||
                      store_efficiencies(database, study, id) != 0))
        code = database_error(database, path, "the replay cannot be stored", error);
    return transaction_end(database, path, code, error);
}
