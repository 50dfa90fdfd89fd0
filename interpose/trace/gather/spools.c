/* A folder of spools may hold more than one run (a user's TMPDIR), the same rank twice (copied by hand), and files that
 * are no spools. Runs are told apart by their key, and joined where their worlds met (worlds.h). If a rank has several
 * files, the one that ended is kept, else the one with more chunks. */
#include "interpose/trace/gather/spools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/trace/state/trace.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"

/* Limits the size of a run: up to the first number one spool is proof enough, beyond it one of so many ranks must be
 * there. */
enum { WORLD_WITHOUT_PROOF = 1 << 16, RANKS_A_SPOOL = 16 };

/* Notes whose file it is: KEY-RANK.mpispool. */
static void add_begun(const char *path, struct spools *spools)
{
    const char *name = file_name(path), *dash = strrchr(name, '-');
    char *end;
    struct spool_begun begun = {.rank = -1};
    long rank = dash == NULL || dash[1] < '0' || dash[1] > '9' ? -1 : strtol(dash + 1, &end, 10);
    if (rank >= 0 && rank < SPOOL_WORLD_LIMIT && strcmp(end, SPOOL_SUFFIX) == 0 &&
        (size_t)(dash - name) < sizeof begun.key) {
        memcpy(begun.key, name, (size_t)(dash - name));
        begun.rank = (int32_t)rank;
    }
    ARRAY_ADD(spools->begun, spools->n_begun, begun);
}

/* Opens a file and appends it; one that is of no use is reported and left out. */
static int add_file(const char *path, struct spools *spools, struct error *error)
{
    array_grow(&spools->spools, spools->n_spools, sizeof *spools->spools);
    switch (spool_open(path, &spools->spools[spools->n_spools], error)) {
    case SPOOL_READY:
        spools->n_spools++;
        return 0;
    case SPOOL_BEGUN:
        add_begun(path, spools);
        return 0;
    case SPOOL_UNUSABLE:
        fprintf(stderr, "mpistair: %s; left out\n", error->text);
        return 0;
    default:
        return -1;
    }
}

static int add_folder(const char *folder, struct spools *spools, struct error *error)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return error_set(error, "%s: not a folder of spools: %s", folder, strerror(errno));
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(directory)) != NULL;) {
        if (!ends_with(entry->d_name, SPOOL_SUFFIX))
            continue;
        char *path = xasprintf("%s/%s", folder, entry->d_name);
        result = add_file(path, spools, error);
        free(path);
    }
    closedir(directory);
    return result;
}

/* Orders by run, then rank, then the more complete one first. */
static int compare_spools(const void *left, const void *right)
{
    const struct spool *a = left, *b = right;
    return strcmp(a->header.run_key, b->header.run_key) ?: ORDER(a->header.rank, b->header.rank)
               ?: ORDER(a->header.end == SPOOL_END_NONE, b->header.end == SPOOL_END_NONE)
               ?: ORDER(a->cut_off + a->damaged, b->cut_off + b->damaged) ?: ORDER(b->size, a->size)
               ?: strcmp(a->path, b->path);
}

static bool is_kept(const struct spool *spool, const struct spool *previous, int32_t world_size)
{
    if (spool->header.world_size != world_size) {
        inform("%s: its MPI_COMM_WORLD has %d ranks, that of the others %d; left out", spool->path,
               spool->header.world_size, world_size);
        return false;
    }
    if (previous != NULL && previous->header.rank == spool->header.rank) {
        bool copy = previous->size == spool->size &&
                    memcmp(&previous->header, &spool->header, sizeof spool->header) == 0 &&
                    memcmp(previous->data + SPOOL_HEADER_BYTES, spool->data + SPOOL_HEADER_BYTES,
                           spool->size - SPOOL_HEADER_BYTES) == 0;
        if (copy)
            return false;
        inform("%s: rank %d again, less complete than %s; left out", spool->path, spool->header.rank, previous->path);
        return false;
    }
    return true;
}

/* Turns ranks of the world into ranks of the run. */
static void renumber(struct spool *spool, const struct world *world, uint32_t number, int32_t run_size)
{
    struct spool_header *header = &spool->header;
    spool->world = number;
    spool->world_first = world->first;
    header->world_size = run_size;
    header->rank += world->first;
    header->node_leader += header->node_leader >= 0 ? world->first : 0;
    header->link_init.parent_rank += header->link_init.parent_rank >= 0 ? world->first : 0;
    header->link_finalize.parent_rank += header->link_finalize.parent_rank >= 0 ? world->first : 0;
}

/* Keeps the spools of the chosen worlds, world by world, and closes the others. */
static void keep_spool(struct spools *found)
{
    const struct worlds *worlds = &found->worlds;
    const struct world *last = &worlds->worlds[worlds->n_worlds - 1];
    struct spool *kept = xcalloc(found->n_spools, sizeof *kept);
    bool *is_moved = xcalloc(found->n_spools, sizeof *is_moved);
    size_t n = 0;
    found->world_size = last->first + last->size;
    for (uint32_t w = 0; w < worlds->n_worlds; w++) {
        const struct world *world = &worlds->worlds[w];
        const struct spool *previous = NULL;
        for (size_t i = world->begin; i < world->end; i++) {
            if (!is_kept(&found->spools[i], previous, world->size))
                continue;
            previous = &found->spools[i];
            is_moved[i] = true;
            kept[n] = found->spools[i];
            renumber(&kept[n++], world, w, found->world_size);
        }
    }
    for (size_t i = 0; i < found->n_spools; i++)
        if (!is_moved[i])
            spool_close(&found->spools[i]);
    free(is_moved);
    free(found->spools);
    found->spools = kept;
    found->n_spools = n;
}

/* Turns the ranks of processes that ended at once into ranks of the run. */
static void renumber_begun(struct spools *found)
{
    for (size_t i = 0; i < found->n_begun; i++) {
        struct spool_begun *begun = &found->begun[i];
        int32_t rank = -1;
        for (size_t w = 0; begun->rank >= 0 && w < found->worlds.n_worlds; w++)
            if (strcmp(found->worlds.worlds[w].key, begun->key) == 0 && begun->rank < found->worlds.worlds[w].size)
                rank = found->worlds.worlds[w].first + begun->rank;
        begun->rank = rank;
    }
}

/* Refuses a world size without proof: what is kept of a process that left no spool is little, but a damaged number of
 * them may be large. */
static int check_world(const struct spools *found, struct error *error)
{
    if (found->world_size <= WORLD_WITHOUT_PROOF || (size_t)found->world_size / RANKS_A_SPOOL <= found->n_spools)
        return 0;
    return error_set(error,
                     "%s: its job has %d processes, but only %zu of them left spools here: the number is damaged, or "
                     "the folders of the others are missing",
                     found->spools[0].path, found->world_size, found->n_spools);
}

int spools_gather(char *const *folders, size_t n_folders, const char *run_key, struct spools *spools,
                  struct error *error)
{
    struct spools found = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < n_folders; i++)
        result = add_folder(folders[i], &found, error);
    if (result == 0 && found.n_spools == 0 && found.n_begun > 0)
        result = error_set(error, "%s: nothing was recorded: all %zu processes ended at once, in MPI_Init", folders[0],
                           found.n_begun);
    else if (result == 0 && found.n_spools == 0)
        result = error_set(
            error, "%s: no readable spool (*%s): was the job recorded? 'mpistair doctor' checks what recording needs",
            folders[0], SPOOL_SUFFIX);
    if (result != 0)
        goto out;
    qsort(found.spools, found.n_spools, sizeof *found.spools, compare_spools);
    result = worlds_choose(found.spools, found.n_spools, run_key, &found.worlds, error);
    if (result == 0) {
        keep_spool(&found);
        result = check_world(&found, error);
    }
    if (result == 0)
        renumber_begun(&found);
out:
    if (result == 0)
        *spools = found;
    else
        spools_release(&found);
    return result;
}

void spools_release(struct spools *spools)
{
    for (size_t i = 0; i < spools->n_spools; i++)
        spool_close(&spools->spools[i]);
    free(spools->spools);
    free(spools->begun);
    worlds_release(&spools->worlds);
    *spools = (struct spools){0};
}

/* A spool's header names further files, and a header may be damaged or forged. So only the last part of the name is
 * used, in the spool's own folder, and what is opened must be a plain file of bounded length. */

/* Longer files are none of ours: a process has at most 65,530 mappings, and a topology is a few MiB. */
#define COMPANION_LIMIT_BYTES ((size_t)1 << 24)

/* Opens the spool's folder. Returns its descriptor, or -1. */
static int open_folder(const struct spool *spool)
{
    const char *slash = strrchr(spool->path, '/');
    char *folder = slash == NULL ? xstrdup(".") : xstrndup(spool->path, (size_t)(slash - spool->path) + 1);
    int descriptor = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return descriptor;
}

/* Reads all of the file; one that grows meanwhile is cut. */
static char *read_file(int file)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > (off_t)COMPANION_LIMIT_BYTES)
        return NULL;
    size_t size = (size_t)status.st_size, length = 0;
    char *text = xmalloc(size + 1);
    for (ssize_t got; length < size && (got = read(file, text + length, size - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    return text;
}

char *companion_read(const struct spool *spool, const char *named)
{
    const char *name = file_name(named);
    int folder = name[0] == '\0' ? -1 : open_folder(spool);
    int file = folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *text = file < 0 ? NULL : read_file(file);
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    return text;
}
