/* Takes the messages of a kind from its first round. Its ranks are numbered anew, so that it costs what its own
 * ranks and messages cost, however large the world is: groups of models hold competitors only, so nothing changes by
 * that. One thread reads the rounds, since a connection of SQLite serves one at a time. The models of a round change
 * nothing that they share and run side by side where it has messages enough: a model is done with 100 messages in about
 * the 50 us that it takes to start and join a thread. */
#include "predictor/replay/model_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine_database.h"
#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "interpose/database/transaction.h"
#include "interpose/sums/concurrent_rounds.h"
#include "predictor/terms/interval.h"
#include "predictor/what_if/places.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/progress.h"
#include "share/base/side_by_side.h"
#include "share/base/text_table.h"

/* Patterns with fewer messages are predicted before a second thread has begun. */
enum { MESSAGES_FOR_THREADS = 2000 };

/* Holds a pattern with what its models are given, and their results: predictions[options->n_models]. */
struct models_run {
    const struct predict_options *options;
    struct model_options model; /* those of the options, of a kind with its rounds */
    const struct pattern *pattern;
    const struct placement *placement;
    const struct machine *machine;
    struct machine_draws draws; /* none without --interval */
    struct model_round round;   /* of the pattern, while models predict */
    struct prediction predictions[MAX_MODELS];
};

/* Begins a run; draws machines for --interval, none where the machine has no intervals. */
static void models_run_init(struct models_run *run, const struct predict_options *options,
                            const struct machine *machine)
{
    struct machine_draws *draws = &run->draws;
    run->options = options;
    run->model = options->model;
    run->machine = machine;
    if (!options->run.interval)
        return;
    machine_draws_init(draws, machine, INTERVAL_DRAWS, 1);
    if (draws->n == 0)
        inform("note: the table '%s' has no confidence intervals, so times are shown without them; "
               "'mpistair calibrate' and 'machine fit' write tables with intervals",
               machine->name);
    else if (draws->n_open > 0)
        inform("note: %zu of %zu tau and bw of '%s' have no interval, or one end of it; what is missing was taken as "
               "exact",
               draws->n_open, draws->n_values, machine->name);
}

static int predict_model(void *context, size_t m, struct error *error)
{
    struct models_run *run = context;
    const struct model_choice *model = &run->options->models[m];
    struct prediction *prediction = &run->predictions[m];
    prediction_init(prediction, run->placement->n_ranks);
    if (model_round_predict(&run->round, model, prediction, error) != 0)
        return -1;
    return prediction_interval(&run->draws, model, run->pattern, run->placement, &run->model, prediction, error);
}

static int models_run_predict(struct models_run *run, struct error *error)
{
    size_t n_threads = run->pattern->n_messages >= MESSAGES_FOR_THREADS ? 0 : 1;
    if (model_round_init(&run->round, run->pattern, run->placement, run->machine, &run->model, run->options->models,
                         run->options->n_models, n_threads, error) != 0)
        return -1;
    int result = side_by_side(run->options->n_models, n_threads, predict_model, run, error);
    model_round_release(&run->round);
    return result;
}

static void predictions_release(struct models_run *run)
{
    for (size_t m = 0; m < run->options->n_models; m++)
        prediction_release(&run->predictions[m]);
}

enum { ROWS_AT_ONCE = 4096 };

/* The table of times for people. */
struct times_table {
    struct text_table *table;
    bool shown[PART_COUNT]; /* parts that are not zero for every rank and model have a column */
    bool widths;            /* this pass is for the widths of columns, as there may be millions of rows */
    size_t column;          /* the next one */
};

static void find_shown(const struct models_run *run, bool shown[PART_COUNT])
{
    for (size_t m = 0; m < run->options->n_models; m++)
        for (size_t part = 0; part < PART_COUNT; part++)
            for (size_t rank = 0; rank < run->predictions[m].n_ranks && !shown[part]; rank++)
                shown[part] = run->predictions[m].part_s[part][rank] > 0;
}

static void times_columns(const struct models_run *run, const struct times_table *times)
{
    struct text_table *table = times->table;
    if (run->options->run.interval) {
        text_table_column(table, "low [us]", TEXT_RIGHT);
        text_table_column(table, "high [us]", TEXT_RIGHT);
    }
    for (size_t part = 0; part < PART_COUNT; part++)
        if (times->shown[part]) {
            char title[32];
            snprintf(title, sizeof title, "%.*s [us]", (int)strlen(prediction_part_name[part]) - 2,
                     prediction_part_name[part]);
            text_table_column(table, title, TEXT_RIGHT);
        }
    if (predict_options_computing(run->options))
        text_table_column(table, "compute slowdown", TEXT_RIGHT);
}

/* Sets the next cell, or widens its column. */
static void times_cell(struct times_table *times, const char *text)
{
    if (times->widths)
        text_table_widen(times->table, times->column, text);
    else
        text_table_text(times->table, text);
    times->column++;
}

static void number_cell(struct times_table *times, double value, int digits)
{
    char text[32] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.*f", digits, value);
    times_cell(times, text);
}

static void times_rows(FILE *stream, struct times_table *times, const struct models_run *run)
{
    size_t n = 0;
    for (size_t m = 0; m < run->options->n_models; m++)
        for (size_t rank = 0; rank < run->predictions[m].n_ranks; rank++) {
            const struct prediction *p = &run->predictions[m];
            times->column = 0;
            number_cell(times, (double)rank, 0);
            times_cell(times, run->options->models[m].name);
            number_cell(times, p->time_s[rank] * 1e6, 3);
            for (int end = 0; run->options->run.interval && end < 2; end++)
                number_cell(times, (end == 0 ? p->low_s : p->high_s)[rank] * 1e6, 3);
            for (size_t part = 0; part < PART_COUNT; part++)
                if (times->shown[part])
                    number_cell(times, p->part_s[part][rank] * 1e6, 3);
            if (predict_options_computing(run->options))
                number_cell(times, prediction_compute_slowdown(&p->memory, rank), 3);
            if (!times->widths && ++n % ROWS_AT_ONCE == 0)
                text_table_print(times->table, stream);
        }
}

/* The row of CSV has no parts, and only what was asked for. */
static struct json *time_json(const struct models_run *run, size_t model, size_t rank, bool csv)
{
    const struct model_choice *choice = &run->options->models[model];
    const struct prediction *p = &run->predictions[model];
    struct json *row =
        json_pack("{sI ss so}", "rank", (int64_t)rank, "model", choice->name, "time_s", json_finite(p->time_s[rank]));
    for (size_t part = 0; !csv && part < PART_COUNT; part++)
        json_set(row, prediction_part_name[part], json_finite(p->part_s[part][rank]));
    if (!csv || run->options->run.interval) {
        json_set(row, "low_s", json_finite(p->low_s[rank]));
        json_set(row, "high_s", json_finite(p->high_s[rank]));
    }
    if (csv ? predict_options_computing(run->options) : choice->computing)
        json_set(row, "compute_slowdown", json_finite(prediction_compute_slowdown(&p->memory, rank)));
    return row;
}

/* Tables for people, CSV and JSON with the digits that give back the same double. */
static int show_times(FILE *stream, const struct models_run *run, struct error *error)
{
    if (run->options->run.format == FORMAT_TEXT) {
        struct times_table times = {.table = text_table_of("rank|<model|time [us]"), .widths = true};
        find_shown(run, times.shown);
        times_columns(run, &times);
        times_rows(stream, &times, run);
        times.widths = false;
        times_rows(stream, &times, run);
        text_table_end(times.table, stream);
        return 0;
    }
    struct json_rows rows = {.stream = stream, .csv = run->options->run.format == FORMAT_CSV};
    for (size_t m = 0; m < run->options->n_models; m++)
        for (size_t rank = 0; rank < run->predictions[m].n_ranks; rank++)
            json_rows_add(&rows, time_json(run, m, rank, rows.csv));
    return json_rows_end(&rows, error);
}

int predict_pattern(const struct predict_options *options, struct error *error)
{
    struct machine machine = {0};
    struct placement placement = {0};
    struct pattern pattern = {0};
    struct models_run run = {.options = options, .pattern = &pattern, .placement = &placement};
    struct output_file output;
    int result = -1;
    progress_show("predict: the pattern");
    if (machine_find(options->run.machine, &machine, error) != 0 ||
        placement_read_csv(options->run.placement, &placement, error) != 0 ||
        pattern_read_csv(options->pattern, placement.n_ranks, &pattern, error) != 0)
        goto out;
    models_run_init(&run, options, &machine);
    if (models_run_predict(&run, error) != 0)
        goto out;
    for (size_t m = 0; m < options->n_models; m++) {
        model_choice_note(&options->models[m], &machine, run.predictions[m].extrapolated);
        model_choice_note_memory(&options->models[m], &machine, &run.predictions[m].memory);
    }
    if (output_file_open(&output, options->run.output, error) != 0)
        goto out;
    progress_show(NULL);
    result = output_file_end(&output, show_times(output.stream, &run, error), error);
out:
    predictions_release(&run);
    machine_draws_release(&run.draws);
    pattern_release(&pattern);
    placement_release(&placement);
    machine_release(&machine);
    return result;
}

/* A round; its ranks are numbered anew. */
struct round {
    struct pattern pattern;
    struct placement placement;           /* places of these ranks; arrays of the world's size */
    uint32_t *world_rank;                 /* [world] world rank of a new number */
    uint32_t *number;                     /* [world] new number of a world rank, plus one; 0: not in this round */
    size_t moved;                         /* messages recorded at another level than the places of their ranks give */
    const char *path;                     /* names the database in errors */
    const struct recorded_places *places; /* of the world */
};

static void round_init(struct round *round, const char *path, const struct recorded_places *places)
{
    size_t n_ranks = places->placement.n_ranks;
    *round = (struct round){.world_rank = xcalloc(n_ranks, sizeof *round->world_rank),
                            .number = xcalloc(n_ranks, sizeof *round->number),
                            .path = path,
                            .places = places};
    placement_init(&round->placement, n_ranks);
    round->placement.n_ranks = 0;
}

static void round_release(struct round *round)
{
    pattern_release(&round->pattern);
    placement_release(&round->placement);
    FREE_ALL(round->world_rank, round->number);
}

/* Returns the new number of a world rank, and notes its place when it is new. */
static int number_of(struct round *round, int64_t world_rank, uint32_t *number, struct error *error)
{
    const struct recorded_places *places = round->places;
    if (world_rank < 0 || (size_t)world_rank >= places->placement.n_ranks)
        return error_set(error, "%s: rank %lld of a message is not in the world of %zu ranks", round->path,
                         (long long)world_rank, places->placement.n_ranks);
    if (round->number[world_rank] == 0) {
        if (!places->node_known[world_rank])
            return error_set(error, "%s: it is not known where rank %lld ran: give a placement with --placement L.csv",
                             round->path, (long long)world_rank);
        size_t n = round->placement.n_ranks++;
        round->placement.node[n] = places->placement.node[world_rank];
        round->placement.socket[n] = places->placement.socket[world_rank];
        round->world_rank[n] = (uint32_t)world_rank;
        round->number[world_rank] = (uint32_t)n + 1;
    }
    *number = round->number[world_rank] - 1;
    return 0;
}

static int add_round_message(struct round *round, struct cursor *rows)
{
    uint32_t src, dst;
    int64_t bytes = cursor_integer(rows, 2);
    if (number_of(round, cursor_integer(rows, 0), &src, rows->error) != 0 ||
        number_of(round, cursor_integer(rows, 1), &dst, rows->error) != 0)
        return -1;
    if (bytes < 0)
        return error_set(rows->error, "%s: a message of %lld bytes", round->path, (long long)bytes);
    bool level_known = sqlite3_column_type(rows->statement, 3) != SQLITE_NULL;
    if (level_known && cursor_integer(rows, 3) != (int64_t)placement_level(&round->placement, src, dst))
        round->moved++;
    pattern_append(&round->pattern, src, dst, (uint64_t)bytes);
    if (round->pattern.full)
        return error_set(rows->error, "%s: a round of more than %zu messages", round->path, round->pattern.n_messages);
    return 0;
}

/* As the view message, without the columns that cost it a look-up each. */
#define ROUND_MESSAGES                                                                                                 \
    "SELECT src, dst, bytes, f.level FROM round_place p CROSS JOIN message_row m ON m.round_id = p.round_id AND "      \
    "m.id BETWEEN p.first_message AND p.last_message LEFT JOIN form f ON f.id = m.form WHERE p.round_id = ? AND "      \
    "src <> dst"

static int round_read_messages(struct round *round, sqlite3 *database, const char *sql, int64_t round_id,
                               struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, round->path, sql, error);
    cursor_bind(&rows, "i", round_id);
    while (cursor_next(&rows))
        rows.result = add_round_message(round, &rows);
    return cursor_close(&rows);
}

/* Puts a round in the place of the one before. Returns 0, or -1 with the reason. */
static int round_read(struct round *round, sqlite3 *database, int64_t round_id, struct error *error)
{
    struct cursor rows;
    uint32_t number;
    for (size_t i = 0; i < round->placement.n_ranks; i++)
        round->number[round->world_rank[i]] = 0;
    round->placement.n_ranks = 0;
    round->pattern.n_messages = 0;
    round->moved = 0;
    if (round_read_messages(round, database, ROUND_MESSAGES, round_id, error) != 0)
        return -1;
    cursor_open(&rows, database, round->path, "SELECT rank FROM round_process WHERE round_id = ?", error);
    cursor_bind(&rows, "i", round_id);
    while (cursor_next(&rows))
        rows.result = number_of(round, cursor_integer(&rows, 0), &number, error);
    return cursor_close(&rows);
}

static int find_round(sqlite3 *database, const char *path, bool kind_given, int64_t kind, int64_t *round,
                      struct error *error)
{
    int64_t kinds[3], rounds[2]; /* number, least, largest; number, least */
    if (cursor_numbers(database, path, "SELECT count(DISTINCT kind_id), min(kind_id), max(kind_id) FROM round", kinds,
                       3, error) != 0)
        return -1;
    if (kinds[0] == 0)
        return error_set(error, "%s: holds no rounds", path);
    if (!kind_given && kinds[0] > 1)
        return error_set(error,
                         "%s: holds %" PRId64 " kinds of round, %" PRId64 " to %" PRId64 ": choose with --kind K", path,
                         kinds[0], kinds[1], kinds[2]);
    kind = kind_given ? kind : kinds[1];
    char *sql = xasprintf("SELECT count(*), min(id) FROM round WHERE kind_id = %" PRId64, kind);
    int result = cursor_numbers(database, path, sql, rounds, 2, error);
    free(sql);
    if (result == 0 && rounds[0] == 0)
        return error_set(error, "%s: no round of kind %" PRId64 "; the kinds are from %" PRId64 " to %" PRId64, path,
                         kind, kinds[1], kinds[2]);
    *round = rounds[1];
    return result;
}

int round_take(sqlite3 *database, const char *path, bool kind_given, int64_t kind, struct pattern *pattern,
               struct placement *placement, struct error *error)
{
    struct recorded_places places = {0};
    struct round round;
    int64_t id = 0;
    if (find_round(database, path, kind_given, kind, &id, error) != 0 ||
        recorded_places_read(database, path, &places, error) != 0)
        return -1;
    round_init(&round, path, &places);
    for (uint32_t rank = 0; rank < places.placement.n_ranks; rank++)
        round.number[rank] = rank + 1; /* all keep theirs */
    int result = round_read_messages(&round, database, ROUND_MESSAGES " ORDER BY src, send_post_ns, m.id", id, error);
    if (result == 0) {
        *pattern = round.pattern;
        *placement = places.placement;
        round.pattern = (struct pattern){0};
        places.placement = (struct placement){0};
    }
    round_release(&round);
    recorded_places_release(&places);
    return result;
}

/* Holds a recorded run while its kinds are predicted. */
struct rounds {
    sqlite3 *database;
    const char *path;
    struct machine machine;
    struct models_run run;
    struct recorded_places places;
    struct round round;
    struct row insert; /* into prediction */
    int64_t run_ids[MAX_MODELS];
    size_t extrapolated[MAX_MODELS]; /* values beyond the bandwidth tables, summed over kinds */
    size_t n_kinds;
    size_t n_messages;     /* messages of one round of each kind */
    size_t socket_unknown; /* ranks that are taken as on socket 0 of their node */
    size_t moved;          /* as of a round */
};

static int store_prediction(struct rounds *rounds, size_t model, int64_t kind_id, struct error *error)
{
    const struct prediction *p = &rounds->run.predictions[model];
    for (size_t i = 0; i < p->n_ranks; i++)
        row_insert(&rounds->insert, "iiidddddddddi", rounds->run_ids[model], kind_id,
                   (int64_t)rounds->round.world_rank[i], p->time_s[i], p->part_s[PART_LATENCY][i],
                   p->part_s[PART_BANDWIDTH][i], p->part_s[PART_CONTENTION][i], p->part_s[PART_QUEUE][i],
                   p->part_s[PART_LINK][i], p->part_s[PART_SKEW][i], p->low_s[i], p->high_s[i],
                   (int64_t)p->extrapolated);
    return rounds->insert.failed
               ? database_error(rounds->database, rounds->path, "a prediction cannot be stored", error)
               : 0;
}

/* Predicts a kind by its first round. */
static int predict_kind(struct rounds *rounds, struct cursor *rows, struct error *error)
{
    int64_t kind_id = cursor_integer(rows, 0);
    struct models_run *run = &rounds->run;
    int64_t n_rounds = cursor_integer(rows, 2);
    run->model = run->options->model; /* repeated as often as the kind was, unless fewer times are asked for */
    if (run->model.repetitions == 0 || (size_t)n_rounds < run->model.repetitions)
        run->model.repetitions = (size_t)n_rounds;
    if (round_read(&rounds->round, rounds->database, cursor_integer(rows, 1), error) != 0)
        return -1;
    rounds->n_kinds++;
    rounds->moved += rounds->round.moved;
    rounds->n_messages += rounds->round.pattern.n_messages;
    int result = models_run_predict(run, error);
    for (size_t m = 0; result == 0 && m < run->options->n_models; m++) {
        rounds->extrapolated[m] += run->predictions[m].extrapolated;
        result = store_prediction(rounds, m, kind_id, error);
    }
    predictions_release(run);
    return result;
}

static int predict_kinds(struct rounds *rounds, struct error *error)
{
    struct cursor rows;
    struct progress progress;
    progress_start(&progress, "predict: kinds of round");
    cursor_open(&rows, rounds->database, rounds->path,
                "SELECT kind_id, min(id), count(*) FROM round GROUP BY kind_id ORDER BY kind_id", error);
    while (cursor_next(&rows)) {
        rows.result = predict_kind(rounds, &rows, error);
        progress_step(&progress, rounds->n_kinds);
    }
    progress_end(&progress);
    return cursor_close(&rows);
}

/* Runs one statement, with the machine, the model, its options and n as parameters. */
static int execute_for(const struct rounds *rounds, const char *sql, size_t model, int64_t n, struct error *error)
{
    const struct predict_options *options = rounds->run.options;
    const struct model_choice *choice = &options->models[model];
    struct cursor rows;
    struct error reason;
    struct model_options_text text;
    cursor_open(&rows, rounds->database, rounds->path, sql, &reason);
    cursor_bind(&rows, "ttti", rounds->machine.name, choice->name, model_options_text(choice, &options->model, &text),
                n);
    cursor_next(&rows);
    return cursor_close(&rows) == 0
               ? 0
               : database_error(rounds->database, rounds->path, "predictions cannot be stored", error);
}

/* Replaces the prediction_run of every model, before anything is stored. */
static int open_runs(struct rounds *rounds, struct error *error)
{
    static const char *const statements[] = {
        ("DELETE FROM prediction WHERE run_id IN (SELECT id FROM prediction_run WHERE machine = ?1 AND model = ?2 AND "
         "options = ?3)"),
        "DELETE FROM prediction_run WHERE machine = ?1 AND model = ?2 AND options = ?3",
        "INSERT INTO prediction_run(machine, model, options, extrapolated) VALUES (?1, ?2, ?3, ?4)"};
    for (size_t m = 0; m < rounds->run.options->n_models; m++) {
        for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
            if (execute_for(rounds, statements[i], m, 0, error) != 0)
                return -1;
        rounds->run_ids[m] = sqlite3_last_insert_rowid(rounds->database);
    }
    return 0;
}

/* Reads the places, then predicts and stores. */
static int predict_and_store(struct rounds *rounds, const struct placement *given, struct error *error)
{
    int result = given == NULL ? recorded_places_read(rounds->database, rounds->path, &rounds->places, error)
                               : recorded_places_given(rounds->database, rounds->path, given, &rounds->places, error);
    if (result != 0)
        return -1;
    round_init(&rounds->round, rounds->path, &rounds->places);
    for (size_t rank = 0; rank < rounds->places.placement.n_ranks; rank++)
        rounds->socket_unknown += rounds->places.node_known[rank] && !rounds->places.socket_known[rank];
    rounds->insert = row_prepare(rounds->database, "prediction", 13);
    if (rounds->insert.failed)
        return database_error(rounds->database, rounds->path, "predictions cannot be stored", error);
    if (open_runs(rounds, error) != 0 || predict_kinds(rounds, error) != 0)
        return -1;
    for (size_t m = 0; result == 0 && m < rounds->run.options->n_models; m++)
        result = execute_for(
            rounds, "UPDATE prediction_run SET extrapolated = ?4 WHERE machine = ?1 AND model = ?2 AND options = ?3", m,
            (int64_t)rounds->extrapolated[m], error);
    return result;
}

static void note_rounds(const struct rounds *rounds)
{
    const struct predict_options *options = rounds->run.options;
    for (size_t m = 0; m < options->n_models; m++)
        model_choice_note(&options->models[m], &rounds->machine, rounds->extrapolated[m]);
    if (rounds->n_kinds == 0)
        inform("note: %s holds no rounds; there is nothing to predict", rounds->path);
    if (options->run.placement != NULL)
        return;
    places_note_sockets(rounds->socket_unknown);
    if (rounds->moved > 0)
        inform("note: %zu of %zu messages were recorded at another level than the main places of their ranks give "
               "(unbound ranks?); the models used the places",
               rounds->moved, rounds->n_messages);
}

/* Holds a row of the view model_error; NaN and worst_rank -1 where nothing was measured. */
struct model_error {
    double values[3]; /* error, mape, bias */
    long long worst_rank;
};

static struct json *error_json(const char *machine, const char *model, const char *options,
                               const struct model_error *row, const char *judgement)
{
    return json_pack("{ss ss ss so so so so ss}", "machine", machine, "model", model, "options", options, "error",
                     json_finite(row->values[0]), "mape", json_finite(row->values[1]), "bias",
                     json_finite(row->values[2]), "worst_rank",
                     row->worst_rank >= 0 ? json_integer(row->worst_rank) : json_null(), "judgement", judgement);
}

static void read_error_row(struct cursor *cursor, const struct predict_options *options, struct model_error *rows)
{
    struct model_options_text own;
    for (size_t m = 0; m < options->n_models; m++) {
        const char *model = (const char *)sqlite3_column_text(cursor->statement, 0);
        const char *text = (const char *)sqlite3_column_text(cursor->statement, 1);
        if (model == NULL || text == NULL || strcmp(model, options->models[m].name) != 0 ||
            strcmp(text, model_options_text(&options->models[m], &options->model, &own)) != 0)
            continue;
        for (int i = 0; i < 3; i++)
            rows[m].values[i] = cursor_real(cursor, 2 + i);
        if (sqlite3_column_type(cursor->statement, 5) != SQLITE_NULL)
            rows[m].worst_rank = cursor_integer(cursor, 5);
    }
}

static void show_errors_text(FILE *stream, const struct predict_options *options, const char *machine,
                             const struct model_error *rows)
{
    struct text_table *table = text_table_of("<model|error|MAPE|bias|worst rank");
    fprintf(stream, "machine %s\n", machine);
    for (size_t m = 0; m < options->n_models; m++) {
        text_table_text(table, options->models[m].name);
        for (int i = 0; i < 3; i++)
            text_table_real(table, 100 * rows[m].values[i], 1, " %");
        text_table_real(table, rows[m].worst_rank >= 0 ? (double)rows[m].worst_rank : (double)NAN, 0, "");
    }
    text_table_end(table, stream);
}

/* Reads the rows of all models in one query: the view goes over all rounds. */
static int read_error_rows(sqlite3 *database, const struct predict_options *options, const char *machine,
                           struct model_error *rows, struct error *error)
{
    struct cursor cursor;
    for (size_t m = 0; m < options->n_models; m++)
        rows[m] = (struct model_error){.values = {NAN, NAN, NAN}, .worst_rank = -1};
    cursor_open(&cursor, database, options->run.trace,
                "SELECT model, options, error, mape, bias, worst_rank FROM round_model_error WHERE machine = ?", error);
    sqlite3_bind_text(cursor.statement, 1, machine, -1, SQLITE_STATIC);
    while (cursor_next(&cursor))
        read_error_row(&cursor, options, rows);
    return cursor_close(&cursor);
}

/* Says where the errors that are shown say little, or that a model explains little. */
static void show_judgement(FILE *stream, const struct predict_options *options, const struct model_error *rows,
                           int64_t messages)
{
    size_t n = 0, judged = 0;
    bool few = false;
    for (size_t m = 0; m < options->n_models; m++) {
        const char *judgement = judgement_of(rows[m].values[0], messages);
        few = few || strcmp(judgement, "too few messages") == 0;
        n += judgement[0] != '\0' ? 1 : 0;
        judged += isnan(rows[m].values[0]) ? 0 : 1;
    }
    if (few)
        fprintf(stream, "too little to judge a model by: the rounds have %" PRId64 " message%s\n", messages,
                messages == 1 ? "" : "s");
    else if (n > 0 && n == judged)
        fprintf(stream, "%s even half of the time in messages\n",
                judged == 1 ? "the model does not explain" : "no model explains");
}

static int show_errors(FILE *stream, const struct predict_options *options, sqlite3 *database, const char *machine,
                       struct error *error)
{
    struct model_error rows[MAX_MODELS];
    struct model_options_text text;
    double share;
    int64_t messages;
    if (concurrent_rounds_share(database, options->run.trace, &share, error) != 0 ||
        cursor_numbers(database, options->run.trace, "SELECT total(1.0 * rounds * messages) FROM kind", &messages, 1,
                       error) != 0 ||
        read_error_rows(database, options, machine, rows, error) != 0)
        return -1;
    progress_show(NULL);
    bool withheld = options->run.format == FORMAT_TEXT && share > CONCURRENT_LIMIT;
    for (size_t m = 0; withheld && m < options->n_models; m++)
        for (size_t i = 0; i < sizeof rows[m].values / sizeof rows[m].values[0]; i++)
            rows[m].values[i] = NAN;
    if (options->run.format != FORMAT_TEXT) {
        struct json_rows out = {.stream = stream, .csv = options->run.format == FORMAT_CSV};
        for (size_t m = 0; m < options->n_models; m++)
            json_rows_add(&out, error_json(machine, options->models[m].name,
                                           model_options_text(&options->models[m], &options->model, &text), &rows[m],
                                           judgement_of(rows[m].values[0], messages)));
        return json_rows_end(&out, error);
    }
    show_errors_text(stream, options, machine, rows);
    show_judgement(stream, options, rows, messages);
    if (withheld)
        fprintf(stream,
                "no error is claimed: in %.1f %% of the time another round was under way on the same\n"
                "socket or NIC, and the models take rounds one by one; the view round_model_error has\n"
                "the figures all the same\n",
                100 * share);
    return 0;
}

/* Predicts in one transaction, and shows the errors. */
static int predict_kinds_of(struct rounds *rounds, const struct placement *given, FILE *stream, struct error *error)
{
    sqlite3 *database = rounds->database;
    if (transaction_begin(database, rounds->path, error) != 0)
        return -1;
    int result = machine_store(database, rounds->path, &rounds->machine, error);
    if (result == 0)
        result = predict_and_store(rounds, given, error);
    row_finish(&rounds->insert);
    result = transaction_end(database, rounds->path, result, error);
    if (result != 0)
        return -1;
    note_rounds(rounds);
    progress_show("predict: errors of the models");
    return show_errors(stream, rounds->run.options, database, rounds->machine.name, error);
}

int predict_rounds(const struct predict_options *options, struct error *error)
{
    struct rounds rounds = {.path = options->run.trace};
    struct placement given = {0};
    struct output_file output;
    const char *placement = options->run.placement;
    int result = -1;
    rounds.run =
        (struct models_run){.options = options, .pattern = &rounds.round.pattern, .placement = &rounds.round.placement};
    if (database_open(rounds.path, true, &rounds.database, error) != 0)
        return -1;
    if (machine_of_trace(rounds.path, rounds.database, options->run.machine, &rounds.machine, error) != 0)
        goto out;
    models_run_init(&rounds.run, options, &rounds.machine);
    if ((placement != NULL && placement_read_csv(placement, &given, error) != 0) ||
        output_file_open(&output, options->run.output, error) != 0)
        goto out;
    result = predict_kinds_of(&rounds, placement != NULL ? &given : NULL, output.stream, error);
    result = output_file_end(&output, result, error);
out:
    round_release(&rounds.round);
    recorded_places_release(&rounds.places);
    machine_draws_release(&rounds.run.draws);
    placement_release(&given);
    machine_release(&rounds.machine);
    sqlite3_close(rounds.database);
    return result;
}
