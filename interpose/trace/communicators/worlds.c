/* Joins worlds that met into groups, one of which is the run. Its worlds are ordered by their start, and the ranks of
 * each follow those of the one before. See worlds.h and meetings.h. */
#include "interpose/trace/communicators/worlds.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/trace/communicators/meetings.h"
#include "interpose/trace/state/trace.h"
#include "share/base/array.h"

/* Returns the world's size that most files of a run have, as one file may be damaged. */
static int32_t common_size(const struct spool *spools, const struct world *world)
{
    int32_t candidate = 0;
    size_t lead = 0;
    for (size_t i = world->begin; i < world->end; i++) {
        if (lead == 0)
            candidate = spools[i].header.world_size;
        lead = spools[i].header.world_size == candidate ? lead + 1 : lead - 1;
    }
    return candidate;
}

/* Makes one world for each key. */
static void list_worlds(const struct spool *spools, size_t n_spools, struct worlds *worlds)
{
    for (size_t i = 0; i < n_spools; i++) {
        const struct spool_header *header = &spools[i].header;
        struct world *last = worlds->n_worlds > 0 ? &worlds->worlds[worlds->n_worlds - 1] : NULL;
        if (last == NULL || strcmp(last->key, header->run_key) != 0) {
            array_grow(&worlds->worlds, worlds->n_worlds, sizeof *worlds->worlds);
            last = &worlds->worlds[worlds->n_worlds];
            *last = (struct world){
                .begin = i, .started_unix_ns = header->started_unix_ns, .group = (uint32_t)worlds->n_worlds};
            memcpy(last->key, header->run_key, sizeof last->key);
            worlds->n_worlds++;
        }
        last->end = i + 1;
        if (header->started_unix_ns < last->started_unix_ns)
            last->started_unix_ns = header->started_unix_ns;
    }
    for (size_t i = 0; i < worlds->n_worlds; i++)
        worlds->worlds[i].size = common_size(spools, &worlds->worlds[i]);
}

/* Gives all worlds of both groups the smaller number. */
static void unite_worlds(struct worlds *worlds, uint32_t a, uint32_t b)
{
    uint32_t groups[2] = {worlds->worlds[a].group, worlds->worlds[b].group};
    uint32_t smaller = groups[0] < groups[1] ? groups[0] : groups[1];
    for (size_t i = 0; i < worlds->n_worlds; i++)
        if (worlds->worlds[i].group == groups[0] || worlds->worlds[i].group == groups[1])
            worlds->worlds[i].group = smaller;
}

static void join_all(struct worlds *worlds, const struct meetings *meetings)
{
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *one = &meetings->all[i];
        for (size_t k = i + 1; one->link != MEETING_NONE && k < meetings->n; k++)
            if (meetings->all[k].link == one->link && meetings->all[k].world != one->world)
                unite_worlds(worlds, one->world, meetings->all[k].world);
    }
}

/* Chooses the group of the key; without a key there must be one. Returns 0, or -1 with the reason. */
static int choose_group(const struct worlds *worlds, const char *run_key, uint32_t *group, struct error *error)
{
    char keys[sizeof error->text / 2] = "";
    size_t used = 0, runs = 0;
    for (size_t i = 0; i < worlds->n_worlds; i++) {
        const struct world *world = &worlds->worlds[i];
        if (run_key != NULL && strcmp(world->key, run_key) == 0) {
            *group = world->group;
            return 0;
        }
        if (world->group != i)
            continue; /* a world with a smaller number stands for the group */
        *group = world->group;
        runs++;
        if (used < sizeof keys)
            used += (size_t)snprintf(keys + used, sizeof keys - used, " %s", world->key);
    }
    if (run_key != NULL)
        return error_set(error, "no spool of the run '%s'; there are:%s%s", run_key, keys,
                         used >= sizeof keys ? " ..." : "");
    if (runs > 1)
        return error_set(error, "%zu runs in one place, choose one by --run KEY:%s%s", runs, keys,
                         used >= sizeof keys ? " ..." : "");
    return 0;
}

static int compare_start(const void *left, const void *right)
{
    const struct world *a = left, *b = right;
    if (a->started_unix_ns != b->started_unix_ns)
        return a->started_unix_ns < b->started_unix_ns ? -1 : 1;
    return strcmp(a->key, b->key);
}

/* Returns the rank in the run of a meeting's process. */
static int32_t rank_of(const struct worlds *worlds, const struct meeting *meeting)
{
    for (size_t i = 0; i < worlds->n_worlds; i++)
        if (strcmp(worlds->worlds[i].key, meeting->spool->header.run_key) == 0)
            return worlds->worlds[i].first + meeting->spool->header.rank;
    return -1;
}

static void keep_links(struct worlds *worlds, const struct meetings *meetings)
{
    for (size_t i = 0; i < meetings->n; i++) {
        const struct meeting *meeting = &meetings->all[i];
        int32_t rank = rank_of(worlds, meeting);
        if (rank < 0)
            continue;
        bool ambiguous = meeting->link == MEETING_NONE && meeting->candidates > 0;
        if (ambiguous && meeting->made->rank == 0)
            fprintf(stderr,
                    "mpistair: rank %d: several processes may be those that its %s met; they are not joined by it\n",
                    rank, function_name(meeting->made->function));
        if (meeting->link == MEETING_NONE && !ambiguous)
            continue;
        uint32_t *link = map_at(&worlds->links, (struct map_key){(uint32_t)rank, meeting->made->index, 0});
        *link = ambiguous ? WORLDS_AMBIGUOUS : meeting->link;
    }
    worlds->n_links = meetings->n_links;
}

int worlds_choose(const struct spool *spools, size_t n_spools, const char *run_key, struct worlds *worlds,
                  struct error *error)
{
    struct meetings meetings = {0};
    uint32_t group = 0;
    int64_t first = 0;
    size_t kept = 0;
    *worlds = (struct worlds){0};
    list_worlds(spools, n_spools, worlds);
    for (uint32_t i = 0; worlds->n_worlds > 1 && i < worlds->n_worlds; i++)
        meetings_collect(&meetings, spools, n_spools, worlds->worlds[i].begin, worlds->worlds[i].end, i);
    meetings_pair(&meetings);
    join_all(worlds, &meetings);
    int result = choose_group(worlds, run_key, &group, error);
    if (result != 0)
        goto out;
    for (size_t i = 0; i < worlds->n_worlds; i++)
        if (worlds->worlds[i].group == group)
            worlds->worlds[kept++] = worlds->worlds[i];
    worlds->n_worlds = kept;
    qsort(worlds->worlds, kept, sizeof *worlds->worlds, compare_start);
    for (size_t i = 0; i < kept; i++) {
        worlds->worlds[i].first = (int32_t)first;
        first += worlds->worlds[i].size;
    }
    if (first > SPOOL_WORLD_LIMIT)
        result = error_set(error, "%zu joined worlds have more than %d processes", kept, SPOOL_WORLD_LIMIT);
    else
        keep_links(worlds, &meetings);
out:
    free(meetings.all);
    return result;
}

void worlds_release(struct worlds *worlds)
{
    free(worlds->worlds);
    map_release(&worlds->links);
    *worlds = (struct worlds){0};
}
