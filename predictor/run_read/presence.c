/* Finds when ranks were there. A world that was spawned begins late and may end early: until then, and from then
 * on, its ranks neither compute nor wait, nor have a processor. What comes after one on its machine takes its
 * place. */

#include "predictor/run_read/reading.h"
#include "share/base/memory.h"

struct span {
    int64_t begin_ns, end_ns;
};

static void widen(struct span *span, const struct read_rank *rank)
{
    span->begin_ns = rank->from_ns < span->begin_ns ? rank->from_ns : span->begin_ns;
    span->end_ns = rank->to_ns > span->end_ns ? rank->to_ns : span->end_ns;
}

/* Gives a rank the place of the one that ended last before it began. open[*n]: ranks that nobody follows so far, with
 * room for one more. */
static void follow(struct reading *reading, uint32_t *open, size_t *n, uint32_t number)
{
    struct run_rank *ranks = reading->program->ranks;
    const struct read_rank *rank = &reading->ranks[number];
    size_t best = *n;
    for (size_t i = 0; i < *n; i++) {
        const struct read_rank *other = &reading->ranks[open[i]];
        if (other->world != rank->world && other->to_ns <= rank->from_ns &&
            ranks[open[i]].machine == ranks[number].machine &&
            (best == *n || other->to_ns > reading->ranks[open[best]].to_ns))
            best = i;
    }
    if (best < *n)
        ranks[number].follows = open[best] + 1;
    else
        ++*n;
    open[best] = number;
}

/* Finds who spawned whom. All ranks of a group that spawns are in the call, so the first stands for them. */
static int find_parents(struct reading *reading)
{
    struct cursor rows;
    cursor_open(
        &rows, reading->database, reading->path,
        "SELECT m.world_rank, (SELECT min(world_rank) FROM communicator_member p WHERE p.communicator = c.remote) "
        "FROM communicator c JOIN communicator_member m ON m.communicator = c.id "
        "WHERE c.function = 'MPI_Comm_get_parent' AND c.remote IS NOT NULL",
        reading->error);
    while (cursor_next(&rows)) {
        int64_t child = cursor_integer(&rows, 0), parent = cursor_integer(&rows, 1);
        if (child > 0 && parent >= 0 && parent < child && (size_t)child < reading->program->n_ranks)
            reading->program->ranks[child].parent = (uint32_t)parent + 1;
    }
    return cursor_close(&rows);
}

int presence_find(struct reading *reading)
{
    size_t n = reading->program->n_ranks, n_open = 0;
    struct span run = {INT64_MAX, INT64_MIN}, *worlds = xmalloc(n * sizeof *worlds);
    uint32_t *open = xmalloc((n + 1) * sizeof *open);
    bool several = false;
    for (size_t i = 0; i < n; i++)
        worlds[i] = (struct span){INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < n; i++) {
        const struct read_rank *rank = &reading->ranks[i];
        several |= rank->world != reading->ranks[0].world;
        widen(&worlds[rank->world], rank);
        widen(&run, rank);
    }
    for (uint32_t i = 0; several && i < n; i++) {
        const struct span *world = &worlds[reading->ranks[i].world];
        double run_s = reading_seconds(run.end_ns - run.begin_ns);
        follow(reading, open, &n_open, i);
        if (run_s > 0)
            reading->program->ranks[i].absent_share = 1 - reading_seconds(world->end_ns - world->begin_ns) / run_s;
    }
    FREE_ALL(worlds, open);
    return several ? find_parents(reading) : 0;
}
