/* Numbers the ranks of a round anew, so that it costs what its own ranks and messages cost, however large the world is.
 * Groups of models hold competitors only, so nothing changes by that. */
#include "predictor/replay/replay_round.h"

#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "share/base/memory.h"

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

int replay_round_init(struct replay_round *round, sqlite3 *database, const char *path,
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

void replay_round_release(struct replay_round *round)
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

int replay_round_read(struct replay_round *round, sqlite3_int64 round_id, struct error *error)
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
