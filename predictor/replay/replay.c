/* A kind's messages are those of its first round; models that know post times run on its other rounds, too
 * (replay_mean.h). Its ranks are numbered anew, so that a kind costs what its own ranks
 * and messages cost, however large the world is; groups hold competitors only, so nothing changes by that. */
#include "replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "machine_database.h"
#include "predict_options.h"
#include "progress.h"
#include "replay_mean.h"
#include "replay_place.h"
#include "replay_runs.h"
#include "side_by_side.h"

/* Fewer are predicted before a second thread has begun. */
enum { MESSAGES_FOR_THREADS = 2000 };

enum { STATEMENT_MESSAGES, STATEMENT_RANKS, STATEMENT_INSERT, STATEMENT_COUNT };

static const char *const statement_text[STATEMENT_COUNT] = {
    /* As the view message has it, without the columns that cost it a look-up each. */
    [STATEMENT_MESSAGES] = "SELECT src, dst, bytes, f.level, (send_post_ns - begin_ns) * 1e-9, "
                           "(send_post_ns + late_ns - begin_ns) * 1e-9, comm, f.any_source "
                           "FROM (SELECT begin_ns FROM round WHERE id = ?1) CROSS JOIN message_row m "
                           "LEFT JOIN form f ON f.id = m.form WHERE m.round_id = ?1 AND src <> dst",
    [STATEMENT_RANKS] = "SELECT rank, (p.begin_ns - r.begin_ns) * 1e-9 FROM round_process p JOIN round r ON r.id = "
                        "p.round_id WHERE round_id = ?",
    [STATEMENT_INSERT] =
        ("INSERT INTO prediction(run_id, kind_id, rank, time_s, latency_s, bandwidth_s, contention_s, "
         "queue_s, link_s, skew_s, low_s, high_s, extrapolated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
};

struct replay_state {
    const struct replay *replay;
    struct replay_summary *summary;
    struct recorded_places places;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    sqlite3_int64 run_ids[MAX_MODELS];
    /* The kind at hand. */
    struct model_options options;         /* the replay's, with the kind's rounds */
    struct pattern pattern;               /* ranks numbered anew */
    struct placement placement;           /* arrays of the world's size */
    uint32_t *world_rank;                 /* [world] of a new number */
    uint32_t *number;                     /* [world] of a world rank, plus one; 0: not in this kind */
    double *begin_s;                      /* [world] of a new number, the rank's begin in the round at hand */
    struct replay_mean means[MAX_MODELS]; /* of models that know post times */
};

static int failed(const struct replay_state *state, const char *what, struct error *error)
{
    return database_error(state->replay->database, state->replay->path, what, error);
}

/* The new number of a world rank, its place noted when it is new. */
static int number_of(struct replay_state *state, sqlite3_int64 world_rank, uint32_t *number, struct error *error)
{
    const struct recorded_places *places = &state->places;
    if (world_rank < 0 || (size_t)world_rank >= places->placement.n_ranks)
        return error_set(error, "%s: rank %lld of a message is not in the world of %zu ranks", state->replay->path,
                         (long long)world_rank, places->placement.n_ranks);
    if (state->number[world_rank] == 0) {
        if (!places->node_known[world_rank])
            return error_set(error, "%s: it is not known where rank %lld ran: give a placement with --placement L.csv",
                             state->replay->path, (long long)world_rank);
        size_t n = state->placement.n_ranks++;
        state->placement.node[n] = places->placement.node[world_rank];
        state->placement.socket[n] = places->placement.socket[world_rank];
        state->world_rank[n] = (uint32_t)world_rank;
        state->number[world_rank] = (uint32_t)n + 1;
        state->begin_s[n] = 0;
    }
    *number = state->number[world_rank] - 1;
    return 0;
}

static int read_message(struct replay_state *state, sqlite3_stmt *statement, struct error *error)
{
    uint32_t src, dst;
    sqlite3_int64 bytes = sqlite3_column_int64(statement, 2);
    if (number_of(state, sqlite3_column_int64(statement, 0), &src, error) != 0 ||
        number_of(state, sqlite3_column_int64(statement, 1), &dst, error) != 0)
        return -1;
    if (bytes < 0)
        return error_set(error, "%s: a message of %lld bytes", state->replay->path, (long long)bytes);
    bool level_known = sqlite3_column_type(statement, 3) != SQLITE_NULL;
    if (level_known && sqlite3_column_int(statement, 3) != (int)placement_level(&state->placement, src, dst))
        state->summary->moved++;
    sqlite3_int64 comm = sqlite3_column_int64(statement, 6);
    if (comm < 0 || comm > PATTERN_COMMUNICATOR_MAX)
        return error_set(error, "%s: a message of communicator %lld", state->replay->path, (long long)comm);
    double send_s = sqlite3_column_double(statement, 4), recv_s = sqlite3_column_double(statement, 5);
    if (pattern_append(&state->pattern, src, dst, (uint64_t)bytes) != 0 ||
        pattern_set_posts(&state->pattern, &send_s, &recv_s) != 0 ||
        pattern_set_match(&state->pattern, (uint32_t)comm, sqlite3_column_int(statement, 7) != 0) != 0)
        return error_set(error, "no memory for %zu messages", state->pattern.n_messages);
    return 0;
}

/* A receive that was posted before its rank's round, a standing one, counts from there. */
static void begin_with_round(struct replay_state *state)
{
    const struct pattern *pattern = &state->pattern;
    for (size_t k = 0; k < pattern->n_messages; k++) {
        pattern->send_s[k] = fmax(pattern->send_s[k], state->begin_s[pattern->src[k]]);
        pattern->recv_s[k] = fmax(pattern->recv_s[k], state->begin_s[pattern->dst[k]]);
    }
}

static int read_round(struct replay_state *state, sqlite3_int64 round_id, struct error *error)
{
    for (size_t i = 0; i < state->placement.n_ranks; i++)
        state->number[state->world_rank[i]] = 0;
    state->placement.n_ranks = 0;
    state->pattern.n_messages = 0;
    for (int which = STATEMENT_MESSAGES; which <= STATEMENT_RANKS; which++) {
        sqlite3_stmt *statement = state->statements[which];
        int step, result = 0;
        uint32_t number;
        sqlite3_bind_int64(statement, 1, round_id);
        while (result == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
            result = which == STATEMENT_MESSAGES ? read_message(state, statement, error)
                                                 : number_of(state, sqlite3_column_int64(statement, 0), &number, error);
            if (which == STATEMENT_RANKS && result == 0)
                state->begin_s[number] = sqlite3_column_double(statement, 1);
        }
        if (result == 0 && step != SQLITE_DONE)
            result = failed(state, "a round cannot be read", error);
        sqlite3_reset(statement);
        if (result != 0)
            return -1;
    }
    begin_with_round(state);
    return 0;
}

static int store_prediction(struct replay_state *state, sqlite3_int64 run_id, sqlite3_int64 kind_id,
                            const struct prediction *prediction, struct error *error)
{
    sqlite3_stmt *statement = state->statements[STATEMENT_INSERT];
    for (size_t i = 0; i < prediction->n_ranks; i++) {
        sqlite3_bind_int64(statement, 1, run_id);
        sqlite3_bind_int64(statement, 2, kind_id);
        sqlite3_bind_int64(statement, 3, state->world_rank[i]);
        sqlite3_bind_double(statement, 4, prediction->time_s[i]);
        for (int part = 0; part < PART_COUNT; part++)
            sqlite3_bind_double(statement, 5 + part, prediction->part_s[part][i]);
        sqlite3_bind_double(statement, 5 + PART_COUNT, prediction->low_s[i]); /* SQLite stores NaN as NULL */
        sqlite3_bind_double(statement, 6 + PART_COUNT, prediction->high_s[i]);
        sqlite3_bind_int64(statement, 7 + PART_COUNT, (sqlite3_int64)prediction->extrapolated);
        if (sqlite3_step(statement) != SQLITE_DONE)
            return failed(state, "a prediction cannot be stored", error);
        sqlite3_reset(statement);
    }
    return 0;
}

/* The round at hand by some of the models; predictions[replay->n_models]. */
struct round_jobs {
    const struct replay_state *state;
    size_t models[MAX_MODELS], n_models;
    struct prediction *predictions;
};

static int predict_round(void *context, size_t number, struct error *error)
{
    const struct round_jobs *jobs = context;
    const struct replay_state *state = jobs->state;
    const struct replay *replay = state->replay;
    size_t model = jobs->models[number];
    struct prediction *prediction = &jobs->predictions[model];
    if (prediction_init(prediction, state->placement.n_ranks) != 0)
        return error_set(error, "no memory for %zu ranks", state->placement.n_ranks);
    int result = model_choice_predict(&replay->models[model], &state->pattern, &state->placement, replay->machine,
                                      &state->options, prediction, error);
    if (result == 0 && replay->draws != NULL)
        result = prediction_interval(replay->draws, &replay->models[model], &state->pattern, &state->placement,
                                     &state->options, prediction, error);
    return result;
}

/* What a model says of the round at hand: stored, or added to the mean of a model that knows post times. */
static int take_prediction(struct replay_state *state, size_t model, bool post_times, sqlite3_int64 kind_id,
                           const struct prediction *prediction, struct error *error)
{
    if (post_times) {
        replay_mean_add(&state->means[model], prediction, state->world_rank);
        return 0;
    }
    state->summary->extrapolated[model] += prediction->extrapolated;
    return store_prediction(state, state->run_ids[model], kind_id, prediction, error);
}

/* The round at hand, by the models that know post times or by the others. */
static int predict_models(struct replay_state *state, bool post_times, sqlite3_int64 kind_id, struct error *error)
{
    const struct replay *replay = state->replay;
    struct prediction predictions[MAX_MODELS] = {0};
    struct round_jobs jobs = {.state = state, .predictions = predictions};
    for (size_t m = 0; m < replay->n_models; m++)
        if (model_choice_post_times(&replay->models[m]) == post_times)
            jobs.models[jobs.n_models++] = m;
    size_t n_threads = state->pattern.n_messages >= MESSAGES_FOR_THREADS ? 0 : 1;
    int result = side_by_side(jobs.n_models, n_threads, predict_round, &jobs, error);
    for (size_t i = 0; result == 0 && i < jobs.n_models; i++)
        result = take_prediction(state, jobs.models[i], post_times, kind_id, &predictions[jobs.models[i]], error);
    for (size_t m = 0; m < replay->n_models; m++)
        prediction_release(&predictions[m]);
    return result;
}

/* Stores the means of the kind whose last round is at hand. */
static int end_kind(struct replay_state *state, sqlite3_int64 kind_id, struct error *error)
{
    struct prediction prediction;
    if (prediction_init(&prediction, state->placement.n_ranks) != 0)
        return error_set(error, "no memory for %zu ranks", state->placement.n_ranks);
    int result = 0;
    for (size_t m = 0; result == 0 && m < state->replay->n_models; m++) {
        if (state->means[m].sums == NULL)
            continue;
        replay_mean_take(&state->means[m], &prediction, state->world_rank);
        result = store_prediction(state, state->run_ids[m], kind_id, &prediction, error);
        state->summary->extrapolated[m] += prediction.extrapolated;
    }
    prediction_release(&prediction);
    return result;
}

/* One row of predict_kinds: the place-th of a kind's rounds. */
static int predict_row(struct replay_state *state, sqlite3_stmt *rounds, size_t place, bool post_times,
                       struct error *error)
{
    sqlite3_int64 kind_id = sqlite3_column_int64(rounds, 0), n_rounds = sqlite3_column_int64(rounds, 2);
    if (place == 0) {
        state->options = model_options_of_kind(state->replay->options, (uint64_t)n_rounds);
        if (read_round(state, sqlite3_column_int64(rounds, 1), error) != 0 ||
            predict_models(state, false, kind_id, error) != 0)
            return -1;
        state->summary->n_kinds++;
        state->summary->n_messages += state->pattern.n_messages;
    }
    if (post_times && replay_mean_takes(place, (size_t)n_rounds, state->pattern.n_messages) &&
        ((place > 0 && read_round(state, sqlite3_column_int64(rounds, 1), error) != 0) ||
         predict_models(state, true, kind_id, error) != 0))
        return -1;
    return place + 1 == (size_t)n_rounds ? end_kind(state, kind_id, error) : 0;
}

static int predict_kinds(struct replay_state *state, struct error *error)
{
    sqlite3_stmt *rounds = NULL;
    struct progress progress;
    int result = 0, step = SQLITE_ERROR;
    bool post_times = false;
    sqlite3_int64 kind_id = 0;
    for (size_t m = 0; m < state->replay->n_models; m++)
        post_times = post_times || model_choice_post_times(&state->replay->models[m]);
    progress_start(&progress, "predict: kinds of round");
    if (sqlite3_prepare_v2(state->replay->database,
                           "SELECT kind_id, id, count(*) OVER (PARTITION BY kind_id) FROM round ORDER BY kind_id, id",
                           -1, &rounds, NULL) == SQLITE_OK)
        for (size_t place = 0; result == 0 && (step = sqlite3_step(rounds)) == SQLITE_ROW; place++) {
            if (sqlite3_column_int64(rounds, 0) != kind_id)
                place = 0;
            kind_id = sqlite3_column_int64(rounds, 0);
            result = predict_row(state, rounds, place, post_times, error);
            progress_step(&progress, state->summary->n_kinds);
        }
    if (result == 0 && step != SQLITE_DONE)
        result = failed(state, "the rounds cannot be read", error);
    progress_end(&progress);
    sqlite3_finalize(rounds);
    return result;
}

static int prepare(struct replay_state *state, struct error *error)
{
    const struct replay *replay = state->replay;
    int result = replay->placement == NULL
                     ? recorded_places_read(replay->database, replay->path, &state->places, error)
                     : recorded_places_given(replay->database, replay->path, replay->placement, &state->places, error);
    if (result != 0)
        return -1;
    size_t n_ranks = state->places.placement.n_ranks;
    state->world_rank = calloc(n_ranks, sizeof *state->world_rank);
    state->number = calloc(n_ranks, sizeof *state->number);
    state->begin_s = calloc(n_ranks, sizeof *state->begin_s);
    if (state->world_rank == NULL || state->number == NULL || state->begin_s == NULL ||
        placement_init(&state->placement, n_ranks) != 0)
        return error_set(error, "no memory for %zu ranks", n_ranks);
    state->placement.n_ranks = 0;
    for (size_t m = 0; m < replay->n_models; m++)
        if (model_choice_post_times(&replay->models[m]) && replay_mean_init(&state->means[m], n_ranks) != 0)
            return error_set(error, "no memory for %zu ranks", n_ranks);
    for (size_t rank = 0; rank < n_ranks; rank++)
        state->summary->socket_unknown += state->places.node_known[rank] && !state->places.socket_known[rank];
    for (int which = 0; which < STATEMENT_COUNT; which++)
        if (sqlite3_prepare_v2(replay->database, statement_text[which], -1, &state->statements[which], NULL) !=
            SQLITE_OK)
            return failed(state, "the messages cannot be read", error);
    return 0;
}

int replay_run(const struct replay *replay, struct replay_summary *summary, struct error *error)
{
    struct replay_state state = {.replay = replay, .summary = summary};
    *summary = (struct replay_summary){.extrapolated = summary->extrapolated};
    if (replay_execute(replay, "BEGIN IMMEDIATE", NULL, 0, error) != 0)
        return -1;
    int result = machine_store(replay->database, replay->path, replay->machine, error);
    if (result == 0)
        result = prepare(&state, error);
    if (result == 0)
        result = replay_open_runs(replay, state.run_ids, error);
    for (size_t m = 0; m < replay->n_models; m++)
        summary->extrapolated[m] = 0;
    if (result == 0)
        result = predict_kinds(&state, error);
    if (result == 0)
        result = replay_close_runs(replay, summary->extrapolated, error);
    for (int which = 0; which < STATEMENT_COUNT; which++)
        sqlite3_finalize(state.statements[which]);
    if (result == 0)
        result = replay_execute(replay, "COMMIT", NULL, 0, error);
    if (result != 0)
        replay_execute(replay, "ROLLBACK", NULL, 0, NULL);
    pattern_release(&state.pattern);
    placement_release(&state.placement);
    recorded_places_release(&state.places);
    free(state.world_rank);
    free(state.number);
    free(state.begin_s);
    for (size_t m = 0; m < replay->n_models; m++)
        replay_mean_release(&state.means[m]);
    return result;
}
