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
#include "interpose/database/row.h"
#include "interpose/database/transaction.h"
#include "predictor/what_if/places.h"
#include "share/base/memory.h"
#include "share/base/progress.h"
#include "share/base/side_by_side.h"

/* A round; its ranks are numbered anew. */
struct replay_round {
    struct pattern pattern;
    struct placement placement;           /* places of these ranks; arrays of the world's size */
    uint32_t *world_rank;                 /* [world] world rank of a new number */
    uint32_t *number;                     /* [world] new number of a world rank, plus one; 0: not in this round */
    size_t moved;                         /* messages recorded at another level than the places of their ranks give */
    const char *path;                     /* names the database in errors */
    const struct recorded_places *places; /* of the world */
};

/* Returns the new number of a world rank, and notes its place when it is new. */
static int number_of(struct replay_round *round, int64_t world_rank, uint32_t *number, struct error *error)
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

static int read_round_message(struct replay_round *round, struct cursor *rows)
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

/* Puts a round in the place of the one before. Returns 0, or -1 with the reason. */
static int replay_round_read(struct replay_round *round, sqlite3 *database, int64_t round_id, struct error *error)
{
    struct cursor rows;
    uint32_t number;
    for (size_t i = 0; i < round->placement.n_ranks; i++)
        round->number[round->world_rank[i]] = 0;
    round->placement.n_ranks = 0;
    round->pattern.n_messages = 0;
    round->moved = 0;
    /* As the view message, without the columns that cost it a look-up each. */
    cursor_open(&rows, database, round->path,
                "SELECT src, dst, bytes, f.level FROM message_row m LEFT JOIN form f ON f.id = m.form "
                "WHERE m.round_id = ? AND src <> dst",
                error);
    cursor_bind(&rows, "i", round_id);
    while (cursor_next(&rows))
        rows.result = read_round_message(round, &rows);
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(&rows, database, round->path, "SELECT rank FROM round_process WHERE round_id = ?", error);
    cursor_bind(&rows, "i", round_id);
    while (cursor_next(&rows))
        rows.result = number_of(round, cursor_integer(&rows, 0), &number, error);
    return cursor_close(&rows);
}

/* Rounds with fewer messages are predicted before a second thread has begun. */
enum { MESSAGES_FOR_THREADS = 2000 };

struct replay_state {
    const struct replay *replay;
    struct replay_summary *summary;
    struct recorded_places places;
    struct row insert; /* into prediction */
    int64_t run_ids[MAX_MODELS];
    struct replay_round round; /* the current round */
    /* The rest concerns the current kind. */
    struct model_options options; /* the replay's, with the kind's rounds */
};

static int store_prediction(struct replay_state *state, size_t model, int64_t kind_id,
                            const struct prediction *prediction, struct error *error)
{
    for (size_t i = 0; i < prediction->n_ranks; i++)
        row_insert(&state->insert, "iiidddddddddi", state->run_ids[model], kind_id, (int64_t)state->round.world_rank[i],
                   prediction->time_s[i], prediction->part_s[PART_LATENCY][i], prediction->part_s[PART_BANDWIDTH][i],
                   prediction->part_s[PART_CONTENTION][i], prediction->part_s[PART_QUEUE][i],
                   prediction->part_s[PART_LINK][i], prediction->part_s[PART_SKEW][i], prediction->low_s[i],
                   prediction->high_s[i], (int64_t)prediction->extrapolated);
    return state->insert.failed
               ? database_error(state->replay->database, state->replay->path, "a prediction cannot be stored", error)
               : 0;
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

static int predict_round_models(struct replay_state *state, int64_t kind_id, struct error *error)
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
    int64_t kind_id = cursor_integer(rows, 0);
    state->options = model_options_of_kind(state->replay->options, (uint64_t)cursor_integer(rows, 2));
    if (replay_round_read(&state->round, state->replay->database, cursor_integer(rows, 1), error) != 0)
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
    state->round = (struct replay_round){.world_rank = xcalloc(n_ranks, sizeof *state->round.world_rank),
                                         .number = xcalloc(n_ranks, sizeof *state->round.number),
                                         .path = replay->path,
                                         .places = &state->places};
    placement_init(&state->round.placement, n_ranks);
    state->round.placement.n_ranks = 0;
    for (size_t rank = 0; rank < n_ranks; rank++)
        state->summary->socket_unknown += state->places.node_known[rank] && !state->places.socket_known[rank];
    state->insert = row_prepare(replay->database, "prediction", 13);
    return state->insert.failed ? database_error(replay->database, replay->path, "predictions cannot be stored", error)
                                : 0;
}

/* Runs one statement, with the machine, the model, its options and n as parameters. */
static int execute_for(const struct replay *replay, const char *sql, const struct model_choice *model, int64_t n,
                       struct error *error)
{
    struct cursor rows;
    struct error reason;
    struct model_options_text text;
    cursor_open(&rows, replay->database, replay->path, sql, &reason);
    cursor_bind(&rows, "ttti", replay->machine->name, model->name, model_options_text(model, replay->options, &text),
                n);
    cursor_next(&rows);
    return cursor_close(&rows) == 0
               ? 0
               : database_error(replay->database, replay->path, "predictions cannot be stored", error);
}

/* Replaces the prediction_run of every model, before anything is stored; their ids go into run_ids[n_models]. */
static int open_runs(const struct replay *replay, int64_t *run_ids, struct error *error)
{
    static const char *const statements[] = {
        ("DELETE FROM prediction WHERE run_id IN (SELECT id FROM prediction_run WHERE machine = ?1 AND model = ?2 AND "
         "options = ?3)"),
        "DELETE FROM prediction_run WHERE machine = ?1 AND model = ?2 AND options = ?3",
        "INSERT INTO prediction_run(machine, model, options, extrapolated) VALUES (?1, ?2, ?3, ?4)"};
    for (size_t m = 0; m < replay->n_models; m++) {
        for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
            if (execute_for(replay, statements[i], &replay->models[m], 0, error) != 0)
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
                &replay->models[m], (int64_t)extrapolated[m], error) != 0)
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
    row_finish(&state.insert);
    pattern_release(&state.round.pattern);
    placement_release(&state.round.placement);
    free(state.round.world_rank);
    free(state.round.number);
    result = transaction_end(replay->database, replay->path, result, error);
    recorded_places_release(&state.places);
    return result;
}
