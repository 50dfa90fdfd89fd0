/* Reads into memory all the rounds that predict reads one after the other. */
#include "predictor/what_if/replay_workload.h"

#include "interpose/database/cursor.h"
#include "predictor/replay/replay_history.h"
#include "predictor/replay/replay_mean.h"
#include "predictor/replay/replay_round.h"

/* Adds the place-th round of a kind, which is in *round: its pattern goes into the workload. */
static void add_round(struct replay_round *round, size_t n_rounds, size_t n_taken, struct workload *workload)
{
    struct pattern pattern = replay_round_take(round);
    workload_add(workload, n_rounds, (double)n_rounds / (double)n_taken, &pattern);
}

/* Adds all rounds that are taken. */
static int add_rounds(struct replay_rounds *rounds, struct replay_round *round, const struct replay_history *history,
                      bool post_times, struct workload *workload, struct error *error)
{
    size_t n_messages = 0;
    while (replay_rounds_next(rounds)) {
        size_t n_rounds = rounds->n_rounds, place = rounds->place;
        if (place > 0 && !(post_times && replay_mean_takes(place, n_rounds, n_messages)))
            continue;
        if (replay_round_read(round, rounds->id, error) != 0)
            return -1;
        replay_history_tell(history, rounds->kind_id, round);
        n_messages = place == 0 ? round->pattern.n_messages : n_messages;
        size_t n_taken = post_times ? replay_mean_count(n_rounds, n_messages) : 1;
        if (!post_times || replay_mean_takes(place, n_rounds, n_messages))
            add_round(round, n_rounds, n_taken, workload);
    }
    return 0;
}

int replay_workload(sqlite3 *database, const char *path, const struct placement *placement, bool post_times,
                    struct workload *workload, struct error *error)
{
    struct recorded_places places;
    struct replay_round round = {0};
    struct replay_history history = {0};
    struct replay_rounds rounds;
    if (recorded_places_given(database, path, placement, &places, error) != 0)
        return -1;
    workload_init(workload, placement->n_ranks);
    int result = replay_history_read(database, path, placement->n_ranks, NULL, &history, error);
    if (result == 0)
        result = replay_round_init(&round, database, path, &places, error);
    if (result == 0) {
        replay_rounds_open(&rounds, database, path, error);
        result = add_rounds(&rounds, &round, &history, post_times, workload, error);
        if (cursor_close(&rounds.rows) != 0)
            result = -1;
    }
    replay_history_release(&history);
    replay_round_release(&round);
    recorded_places_release(&places);
    if (result != 0)
        workload_release(workload);
    return result;
}
