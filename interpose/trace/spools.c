/* A folder of spools may hold more than one run (a user's TMPDIR), the same rank twice (copied by hand), and files that
 * are no spools. Runs are told apart by their key; of a rank's files the one that ended, else that with more chunks, is
 * kept.
 */
#include "spools.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

static bool is_spool_name(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SPOOL_SUFFIX);
    return length > suffix && strcmp(name + length - suffix, SPOOL_SUFFIX) == 0;
}

/* Opens a file and appends it; one that is of no use is told and left out. */
static int add_file(const char *path, struct spools *spools, struct error *error)
{
    struct spool *grown = trace_grow(spools->spools, spools->n_spools, sizeof *grown);
    if (grown == NULL)
        return error_set(error, "%s: no memory", path);
    spools->spools = grown;
    switch (spool_open(path, &spools->spools[spools->n_spools], error)) {
    case SPOOL_READY:
        spools->n_spools++;
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
        if (!is_spool_name(entry->d_name))
            continue;
        char *path = NULL;
        if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
            result = error_set(error, "%s: no memory", folder);
        else
            result = add_file(path, spools, error);
        free(path);
    }
    closedir(directory);
    return result;
}

/* By run, then rank, then the more complete one first. */
static int compare_spools(const void *left, const void *right)
{
    const struct spool *a = left, *b = right;
    int order = strcmp(a->header.run_key, b->header.run_key);
    if (order != 0)
        return order;
    if (a->header.rank != b->header.rank)
        return a->header.rank < b->header.rank ? -1 : 1;
    if ((a->header.end == SPOOL_END_NONE) != (b->header.end == SPOOL_END_NONE))
        return a->header.end == SPOOL_END_NONE ? 1 : -1;
    if (a->cut_off + a->damaged != b->cut_off + b->damaged)
        return a->cut_off + a->damaged < b->cut_off + b->damaged ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* Several runs and no choice: an error that lists them. */
static int check_one_run(const struct spools *spools, struct error *error)
{
    char keys[sizeof error->text / 2] = "";
    size_t used = 0, runs = 0;
    for (size_t i = 0; i < spools->n_spools; i++) {
        const char *key = spools->spools[i].header.run_key;
        if (i > 0 && strcmp(key, spools->spools[i - 1].header.run_key) == 0)
            continue;
        runs++;
        if (used < sizeof keys)
            used += (size_t)snprintf(keys + used, sizeof keys - used, " %s", key);
    }
    if (runs > 1)
        return error_set(error, "%zu runs in one place, choose one by --run KEY:%s%s", runs, keys,
                         used >= sizeof keys ? " ..." : "");
    return 0;
}

static bool is_kept(const struct spool *spool, const struct spool *previous, const char *run_key, int32_t world_size)
{
    if (run_key != NULL && strcmp(spool->header.run_key, run_key) != 0)
        return false;
    if (spool->header.world_size != world_size) {
        fprintf(stderr, "mpistair: %s: its MPI_COMM_WORLD has %d ranks, that of the others %d; left out\n", spool->path,
                spool->header.world_size, world_size);
        return false;
    }
    if (previous != NULL && previous->header.rank == spool->header.rank) {
        bool copy = previous->size == spool->size && memcmp(previous->data, spool->data, spool->size) == 0;
        if (copy)
            return false;
        fprintf(stderr, "mpistair: %s: rank %d again, less complete than %s; left out\n", spool->path,
                spool->header.rank, previous->path);
        return false;
    }
    return true;
}

/* The world's size that most files of the run have: one file may be damaged. */
static int32_t common_world_size(const struct spools *spools, const char *run_key)
{
    int32_t candidate = 0;
    size_t lead = 0;
    for (size_t i = 0; i < spools->n_spools; i++) {
        const struct spool_header *header = &spools->spools[i].header;
        if (run_key != NULL && strcmp(header->run_key, run_key) != 0)
            continue;
        if (lead == 0)
            candidate = header->world_size;
        lead = header->world_size == candidate ? lead + 1 : lead - 1;
    }
    return candidate;
}

int spools_gather(char *const *folders, size_t n_folders, const char *run_key, struct spools *spools,
                  struct error *error)
{
    struct spools found = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < n_folders; i++)
        result = add_folder(folders[i], &found, error);
    if (result == 0 && found.n_spools == 0)
        result = error_set(error,
                           "%s: no spool (*%s) that can be read: was the job recorded? 'mpistair doctor' tells "
                           "what may be missing",
                           folders[0], SPOOL_SUFFIX);
    if (result != 0)
        goto out;
    qsort(found.spools, found.n_spools, sizeof *found.spools, compare_spools);
    if (run_key == NULL)
        result = check_one_run(&found, error);
    if (result != 0)
        goto out;
    found.world_size = common_world_size(&found, run_key);
    size_t kept = 0;
    for (size_t i = 0; i < found.n_spools; i++) {
        struct spool *spool = &found.spools[i];
        if (is_kept(spool, kept > 0 ? &found.spools[kept - 1] : NULL, run_key, found.world_size))
            found.spools[kept++] = *spool;
        else
            spool_close(spool);
    }
    found.n_spools = kept;
    if (kept == 0)
        result = error_set(error, "%s: no spool of the run '%s'", folders[0], run_key != NULL ? run_key : "");
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
    *spools = (struct spools){0};
}
