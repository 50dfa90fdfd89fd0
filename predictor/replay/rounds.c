/* Takes the messages of a kind from its first round. Its ranks are numbered anew, so that it costs what its own
 * ranks and messages cost, however large the world is: groups of models hold competitors only, so nothing changes by
 * that. One thread reads the rounds, since a connection of SQLite serves one at a time. The models of a round share
 * nothing and run side by side where it has messages enough: a model is done with 100 messages in about the 50 us
 * that it takes to start and join a thread. */
#include "predictor/replay/rounds.h"

#include <inttypes.h>
#include <stdlib.h>

#include "calibrate/machine/machine_database.h"
#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "interpose/database/transaction.h"
#include "predictor/what_if/places.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/progress.h"
#include "share/base/side_by_side.h"

/* Patterns with fewer messages are predicted before a second thread has begun. */
enum { MESSAGES_FOR_THREADS = 2000 };

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
    if (model_choice_predict(model, run->pattern, run->placement, run->machine, &run->model, prediction, error) != 0)
        return -1;
    return prediction_interval(&run->draws, model, run->pattern, run->placement, &run->model, prediction, error);
}

static int models_run_predict(struct models_run *run, struct error *error)
{
    size_t n_threads = run->pattern->n_messages >= MESSAGES_FOR_THREADS ? 0 : 1;
    return side_by_side(run->options->n_models, n_threads, predict_model, run, error);
}

static void predictions_release(struct models_run *run)
{
    for (size_t m = 0; m < run->options->n_models; m++)
        prediction_release(&run->predictions[m]);
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
    free(round->world_rank);
    free(round->number);
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
    if (pattern_append(&round->pattern, src, dst, (uint64_t)bytes) != 0)
        return error_set(rows->error, "%s: a round of more than %zu messages", round->path, round->pattern.n_messages);
    return 0;
}

/* As the view message, without the columns that cost it a look-up each. */
#define ROUND_MESSAGES                                                                                                 \
    "SELECT src, dst, bytes, f.level FROM message_row m LEFT JOIN form f ON f.id = m.form WHERE m.round_id = ? AND "   \
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
    run->model = model_options_of_kind(&run->options->model, (uint64_t)cursor_integer(rows, 2));
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
