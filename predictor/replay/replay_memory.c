/* Rows are found by machine, model and options, as the runs of the table prediction_run are. See replay_memory.h. */
#include "predictor/replay/replay_memory.h"

#include "interpose/database/database.h"
#include "interpose/database/later_tables.h"
#include "predictor/replay/replay_runs.h"

static int memory_store_failed(const struct replay *replay, struct error *error)
{
    return database_error(replay->database, replay->path, "what +memory predicts cannot be stored", error);
}

int replay_memory_init(struct replay_memory *memory, const struct replay *replay, struct error *error)
{
    *memory = (struct replay_memory){.replay = replay};
    if (later_tables_make(replay->database, replay->path, error) != 0)
        return -1;
    for (size_t m = 0; m < replay->n_models; m++)
        if (replay_execute(replay, "DELETE FROM prediction_memory WHERE machine = ?1 AND model = ?2 AND options = ?3",
                           &replay->models[m], 0, error) != 0)
            return -1;
    return sqlite3_prepare_v2(replay->database,
                              "INSERT INTO prediction_memory(machine, model, options, kind_id, rank, memory_s, "
                              "arriving_s, computing, compute_slowdown) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                              -1, &memory->insert, NULL) == SQLITE_OK
               ? 0
               : memory_store_failed(replay, error);
}

int replay_memory_store(struct replay_memory *memory, size_t model, sqlite3_int64 kind_id,
                        const struct prediction *prediction, const uint32_t *world_rank, struct error *error)
{
    const struct replay *replay = memory->replay;
    const struct prediction_memory *of = &prediction->memory;
    struct model_options_text text;
    sqlite3_bind_text(memory->insert, 1, replay->machine->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(memory->insert, 2, replay->models[model].name, -1, SQLITE_STATIC);
    sqlite3_bind_text(memory->insert, 3, model_options_text(&replay->models[model], replay->options, &text), -1,
                      SQLITE_TRANSIENT);
    sqlite3_bind_int64(memory->insert, 4, kind_id);
    for (size_t rank = 0; rank < prediction->n_ranks; rank++) {
        double arriving_s = of->arriving_s[rank];
        sqlite3_bind_int64(memory->insert, 5, world_rank[rank]);
        sqlite3_bind_double(memory->insert, 6, prediction->part_s[PART_MEMORY][rank]);
        sqlite3_bind_double(memory->insert, 7, arriving_s);
        sqlite3_bind_double(memory->insert, 8, arriving_s > 0 ? of->computing_s[rank] / arriving_s : 0);
        sqlite3_bind_double(memory->insert, 9, prediction_compute_slowdown(of, rank));
        if (sqlite3_step(memory->insert) != SQLITE_DONE)
            return memory_store_failed(replay, error);
        sqlite3_reset(memory->insert);
    }
    return 0;
}

void replay_memory_release(struct replay_memory *memory)
{
    sqlite3_finalize(memory->insert);
    *memory = (struct replay_memory){0};
}
