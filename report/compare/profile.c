/* Reads what `mpistair diff` compares of a run. */
#include "report/compare/profile.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/progress.h"

static int read_run(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    bool found = false;
    cursor_open(&rows, database, profile->path,
                "SELECT command, mpi_library, world_size, duration_ns, started_unix_ns, run_key, mpi_family FROM run",
                error);
    while (cursor_next(&rows)) {
        found = true;
        int64_t n_ranks = cursor_integer(&rows, 2);
        profile->command = cursor_text(&rows, 0, &profile->pool);
        profile->mpi = cursor_text(&rows, 6, &profile->pool);
        profile->n_ranks = n_ranks < 0 || n_ranks > INT32_MAX ? 0 : (uint32_t)n_ranks;
        profile->duration_s = cursor_real(&rows, 3) * 1e-9;
        profile->started_ns = cursor_integer(&rows, 4);
        profile->run_key = cursor_text(&rows, 5, &profile->pool);
    }
    int result = cursor_close(&rows);
    if (result == 0 && !found)
        return error_set(error, "%s: the table run is empty, expected a row; is the trace made by 'mpistair ingest'?",
                         profile->path);
    if (result == 0 && !(isfinite(profile->duration_s) && profile->duration_s >= 0))
        return error_set(error, "%s: run.duration_ns is %g, expected a time from 0 on", profile->path,
                         profile->duration_s * 1e9);
    return result;
}

static int read_processors(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, profile->path,
                "SELECT avg(wait_share) FROM processor_share WHERE wait_share BETWEEN 0 AND 1", error);
    while (cursor_next(&rows)) {
        double share = cursor_real(&rows, 0);
        profile->processor_wait = isfinite(share) ? share : 0;
    }
    return cursor_close(&rows);
}

int profile_read(struct profile *profile, sqlite3 *database, const char *path, struct error *error)
{
    *profile = (struct profile){.path = path, .command = "", .mpi = "", .run_key = ""};
    progress_show("diff: calls and messages of a run");
    int result = read_run(profile, database, error) != 0 || read_processors(profile, database, error) != 0 ||
                         whole_read(&profile->whole, database, path, error) != 0 ||
                         profile_read_calls(profile, database, error) != 0 ||
                         profile_read_bytes(profile, database, error) != 0 ||
                         profile_read_levels(profile, database, error) != 0
                     ? -1
                     : 0;
    progress_show(NULL);
    return result;
}

void profile_release(struct profile *profile)
{
    free(profile->sites);
    free(profile->cells);
    pool_release(&profile->pool);
    *profile = (struct profile){0};
}
