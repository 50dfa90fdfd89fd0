/* Takes the messages of a kind from its first round. Its ranks are numbered anew, so that it costs what its own
 * ranks and messages cost, however large the world is: groups of models hold competitors only, so nothing changes by
 * that. One thread reads the rounds, since a connection of SQLite serves one at a time. The models of a round share
 * nothing and run side by side where it has messages enough: a model is done with 100 messages in about the 50 us
 * that it takes to start and join a thread. */
#include "predictor/replay/replay.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "calibrate/machine/machine_database.h"
#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/transaction.h"
#include "predictor/what_if/places.h"
#include "share/base/memory.h"
#include "share/base/progress.h"
#include "share/base/side_by_side.h"

enum { ROUND_MESSAGES, ROUND_RANKS, REPLAY_ROUND_STATEMENTS };

struct replay_round {
    struct pattern pattern;     /* of the round read last; its ranks are numbered anew */
    struct placement placement; /* places of these ranks; arrays of the world's size */
    uint32_t *world_rank;       /* [world] world rank of a new number */
    size_t moved;               /* messages recorded at another level than the places of their ranks give */
    /* The rest is private. */
    sqlite3 *database;
    const char *path;
    const struct recorded_places *places;
    uint32_t *number; /* [world] new number of a world rank, plus one; 0: not in this round */
    sqlite3_stmt *statements[REPLAY_ROUND_STATEMENTS];
};

static const char *const statement_text[REPLAY_ROUND_STATEMENTS] = {
    /* Selects as the view message does, without the columns that cost it a look-up each. */
    [ROUND_MESSAGES] = "SELECT src, dst, bytes, f.level FROM message_row m LEFT JOIN form f ON f.id = m.form "
                       "WHERE m.round_id = ? AND src <> dst",
    [ROUND_RANKS] = "SELECT rank FROM round_process WHERE round_id = ?",
};

static int round_failed(const struct replay_round *round, struct error *error)
{
    return database_error(round->database, round->path, "a round cannot be read", error);
}

/* Prepares. path names the database in messages; places are those of the world, borrowed like the others. Returns 0, or
 * -1 with the reason; replay_round_release in either case. */
static int replay_round_init(struct replay_round *round, sqlite3 *database, const char *path,
                             const struct recorded_places *places, struct error *error)
{
    size_t n_ranks = places->placement.n_ranks;
    *round = (struct replay_round){.database = database, .path = path, .places = places};
    round->world_rank = xcalloc(n_ranks, sizeof *round->world_rank);
    round->number = xcalloc(n_ranks, sizeof *round->number);
    placement_init(&round->placement, n_ranks);
    round->placement.n_ranks = 0;
    for (int which = 0; which < REPLAY_ROUND_STATEMENTS; which++)
        if (sqlite3_prepare_v2(database, statement_text[which], -1, &round->statements[which], NULL) != SQLITE_OK)
            return round_failed(round, error);
    return 0;
}

static void replay_round_release(struct replay_round *round)
{
    for (int which = 0; which < REPLAY_ROUND_STATEMENTS; which++)
        sqlite3_finalize(round->statements[which]);
    pattern_release(&round->pattern);
    placement_release(&round->placement);
    free(round->world_rank);
    free(round->number);
    *round = (struct replay_round){0};
}

/* Returns the new number of a world rank, and notes its place when it is new. */
static int number_of(struct replay_round *round, sqlite3_int64 world_rank, uint32_t *number, struct error *error)
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

static int read_round_message(struct replay_round *round, sqlite3_stmt *statement, struct error *error)
{
    uint32_t src, dst;
    sqlite3_int64 bytes = sqlite3_column_int64(statement, 2);
    if (number_of(round, sqlite3_column_int64(statement, 0), &src, error) != 0 ||
        number_of(round, sqlite3_column_int64(statement, 1), &dst, error) != 0)
        return -1;
    if (bytes < 0)
        return error_set(error, "%s: a message of %lld bytes", round->path, (long long)bytes);
    bool level_known = sqlite3_column_type(statement, 3) != SQLITE_NULL;
    if (level_known && sqlite3_column_int(statement, 3) != (int)placement_level(&round->placement, src, dst))
        round->moved++;
    if (pattern_append(&round->pattern, src, dst, (uint64_t)bytes) != 0)
        return error_set(error, "%s: a round of more than %zu messages", round->path, round->pattern.n_messages);
    return 0;
}

/* Puts a round in the place of the one before. Returns 0, or -1 with the reason. */
static int replay_round_read(struct replay_round *round, sqlite3_int64 round_id, struct error *error)
{
    for (size_t i = 0; i < round->placement.n_ranks; i++)
        round->number[round->world_rank[i]] = 0;
    round->placement.n_ranks = 0;
    round->pattern.n_messages = 0;
    round->moved = 0;
    for (int which = ROUND_MESSAGES; which <= ROUND_RANKS; which++) {
        sqlite3_stmt *statement = round->statements[which];
        int step, result = 0;
        uint32_t number;
        sqlite3_bind_int64(statement, 1, round_id);
        while (result == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
            result = which == ROUND_MESSAGES ? read_round_message(round, statement, error)
                                             : number_of(round, sqlite3_column_int64(statement, 0), &number, error);
        }
        if (result == 0 && step != SQLITE_DONE)
            result = round_failed(round, error);
        sqlite3_reset(statement);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* Rounds with fewer messages are predicted before a second thread has begun. */
enum { MESSAGES_FOR_THREADS = 2000 };

static const char insert[] =
    "INSERT INTO prediction(run_id, kind_id, rank, time_s, latency_s, bandwidth_s, contention_s, "
    "queue_s, link_s, skew_s, low_s, high_s, extrapolated) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

struct replay_state {
    const struct replay *replay;
    struct replay_summary *summary;
    struct recorded_places places;
    sqlite3_stmt *insert;
    sqlite3_int64 run_ids[MAX_MODELS];
    struct replay_round round; /* the current round */
    /* The rest concerns the current kind. */
    struct model_options options; /* the replay's, with the kind's rounds */
};

static int replay_failed(const struct replay_state *state, const char *what, struct error *error)
{
    return database_error(state->replay->database, state->replay->path, what, error);
}

static int store_prediction(struct replay_state *state, size_t model, sqlite3_int64 kind_id,
                            const struct prediction *prediction, struct error *error)
{
    sqlite3_stmt *statement = state->insert;
    for (size_t i = 0; i < prediction->n_ranks; i++) {
        sqlite3_bind_int64(statement, 1, state->run_ids[model]);
        sqlite3_bind_int64(statement, 2, kind_id);
        sqlite3_bind_int64(statement, 3, state->round.world_rank[i]);
        sqlite3_bind_double(statement, 4, prediction->time_s[i]);
        for (int part = 0; part < STORED_PARTS; part++)
            sqlite3_bind_double(statement, 5 + part, prediction->part_s[part][i]);
        sqlite3_bind_double(statement, 5 + STORED_PARTS, prediction->low_s[i]); /* SQLite stores NaN as NULL */
        sqlite3_bind_double(statement, 6 + STORED_PARTS, prediction->high_s[i]);
        sqlite3_bind_int64(statement, 7 + STORED_PARTS, (sqlite3_int64)prediction->extrapolated);
        if (sqlite3_step(statement) != SQLITE_DONE)
            return replay_failed(state, "a prediction cannot be stored", error);
        sqlite3_reset(statement);
    }
    return 0;
}

/* Predicts the current round by all models; predictions[replay->n_models]. */
struct round_jobs {
    const struct replay_state *state;
    struct prediction *predictions;
};

static int predict_round(void *context, size_t model, struct error *error)
{
    const struct round_jobs *jobs = context;
    const struct replay_state *state = jobs->state;
    const struct replay *replay = state->replay;
    struct prediction *prediction = &jobs->predictions[model];
    prediction_init(prediction, state->round.placement.n_ranks);
    int result = model_choice_predict(&replay->models[model], &state->round.pattern, &state->round.placement,
                                      replay->machine, &state->options, prediction, error);
    if (result == 0 && replay->draws != NULL)
        result = prediction_interval(replay->draws, &replay->models[model], &state->round.pattern,
                                     &state->round.placement, &state->options, prediction, error);
    return result;
}

static int predict_round_models(struct replay_state *state, sqlite3_int64 kind_id, struct error *error)
{
    const struct replay *replay = state->replay;
    struct prediction predictions[MAX_MODELS] = {0};
    struct round_jobs jobs = {.state = state, .predictions = predictions};
    size_t n_threads = state->round.pattern.n_messages >= MESSAGES_FOR_THREADS ? 0 : 1;
    int result = side_by_side(replay->n_models, n_threads, predict_round, &jobs, error);
    for (size_t m = 0; result == 0 && m < replay->n_models; m++) {
        state->summary->extrapolated[m] += predictions[m].extrapolated;
        result = store_prediction(state, m, kind_id, &predictions[m], error);
    }
    for (size_t m = 0; m < replay->n_models; m++)
        prediction_release(&predictions[m]);
    return result;
}

/* Predicts a kind by its first round. */
static int predict_kind(struct replay_state *state, struct cursor *rows, struct error *error)
{
    sqlite3_int64 kind_id = cursor_integer(rows, 0);
    state->options = model_options_of_kind(state->replay->options, (uint64_t)cursor_integer(rows, 2));
    if (replay_round_read(&state->round, cursor_integer(rows, 1), error) != 0)
        return -1;
    state->summary->n_kinds++;
    state->summary->moved += state->round.moved;
    state->summary->n_messages += state->round.pattern.n_messages;
    return predict_round_models(state, kind_id, error);
}

static int predict_kinds(struct replay_state *state, struct error *error)
{
    struct cursor rows;
    struct progress progress;
    int result = 0;
    progress_start(&progress, "predict: kinds of round");
    cursor_open(&rows, state->replay->database, state->replay->path,
                "SELECT kind_id, min(id), count(*) FROM round GROUP BY kind_id ORDER BY kind_id", error);
    while (result == 0 && cursor_next(&rows)) {
        result = predict_kind(state, &rows, error);
        progress_step(&progress, state->summary->n_kinds);
    }
    progress_end(&progress);
    return cursor_close(&rows) != 0 ? -1 : result;
}

static int prepare_replay(struct replay_state *state, struct error *error)
{
    const struct replay *replay = state->replay;
    int result = replay->placement == NULL
                     ? recorded_places_read(replay->database, replay->path, &state->places, error)
                     : recorded_places_given(replay->database, replay->path, replay->placement, &state->places, error);
    if (result != 0)
        return -1;
    size_t n_ranks = state->places.placement.n_ranks;
    if (replay_round_init(&state->round, replay->database, replay->path, &state->places, error) != 0)
        return -1;
    for (size_t rank = 0; rank < n_ranks; rank++)
        state->summary->socket_unknown += state->places.node_known[rank] && !state->places.socket_known[rank];
    if (sqlite3_prepare_v2(replay->database, insert, -1, &state->insert, NULL) != SQLITE_OK)
        return replay_failed(state, "predictions cannot be stored", error);
    return 0;
}

/* Runs one statement, with the machine and, if model is not NULL, model and options as parameters 1 to 3, then n as the
 * 4th. */
static int execute_for(const struct replay *replay, const char *sql, const struct model_choice *model, sqlite3_int64 n,
                       struct error *error)
{
    sqlite3_stmt *statement = NULL;
    struct model_options_text text;
    int result = 0;
    bool ready = sqlite3_prepare_v2(replay->database, sql, -1, &statement, NULL) == SQLITE_OK;
    if (ready && model != NULL) {
        sqlite3_bind_text(statement, 1, replay->machine->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, model->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, model_options_text(model, replay->options, &text), -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(statement, 4, n);
    }
    if (!ready || sqlite3_step(statement) != SQLITE_DONE)
        result = database_error(replay->database, replay->path, "predictions cannot be stored", error);
    sqlite3_finalize(statement);
    return result;
}

/* Replaces the prediction_run of every model, before anything is stored; their ids go into run_ids[n_models]. */
static int open_runs(const struct replay *replay, sqlite3_int64 *run_ids, struct error *error)
{
    for (size_t m = 0; m < replay->n_models; m++) {
        if (execute_for(replay,
                        "DELETE FROM prediction WHERE run_id IN (SELECT id FROM prediction_run WHERE machine = ?1 AND "
                        "model = ?2 AND options = ?3)",
                        &replay->models[m], 0, error) != 0 ||
            execute_for(replay, "DELETE FROM prediction_run WHERE machine = ?1 AND model = ?2 AND options = ?3",
                        &replay->models[m], 0, error) != 0 ||
            execute_for(replay,
                        "INSERT INTO prediction_run(machine, model, options, extrapolated) VALUES (?1, ?2, ?3, ?4)",
                        &replay->models[m], 0, error) != 0)
            return -1;
        run_ids[m] = sqlite3_last_insert_rowid(replay->database);
    }
    return 0;
}

static int close_runs(const struct replay *replay, const size_t *extrapolated, struct error *error)
{
    for (size_t m = 0; m < replay->n_models; m++)
        if (execute_for(
                replay,
                "UPDATE prediction_run SET extrapolated = ?4 WHERE machine = ?1 AND model = ?2 AND options = ?3",
                &replay->models[m], (sqlite3_int64)extrapolated[m], error) != 0)
            return -1;
    return 0;
}

int replay_run(const struct replay *replay, struct replay_summary *summary, struct error *error)
{
    struct replay_state state = {.replay = replay, .summary = summary};
    *summary = (struct replay_summary){.extrapolated = summary->extrapolated};
    if (transaction_begin(replay->database, replay->path, error) != 0)
        return -1;
    int result = machine_store(replay->database, replay->path, replay->machine, error);
    if (result == 0)
        result = prepare_replay(&state, error);
    if (result == 0)
        result = open_runs(replay, state.run_ids, error);
    for (size_t m = 0; m < replay->n_models; m++)
        summary->extrapolated[m] = 0;
    if (result == 0)
        result = predict_kinds(&state, error);
    if (result == 0)
        result = close_runs(replay, summary->extrapolated, error);
    sqlite3_finalize(state.insert);
    replay_round_release(&state.round);
    result = transaction_end(replay->database, replay->path, result, error);
    recorded_places_release(&state.places);
    return result;
}
