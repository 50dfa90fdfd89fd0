/* A user may name a trace, a folder of spools, or one spool of it. All commands that read traces accept all of these,
 * so that it does not matter whether the job made its trace itself. */
#include "report/command/commands.h"

#include <getopt.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interpose/record_commands.h"
#include "interpose/database/database.h"
#include "predictor/run_read/trace_part.h"
#include "share/base/error.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/utf8.h"
#include "interpose/spool/event.h"

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* Counts the spools in folder; *newest becomes the time of the newest. */
static size_t count_spools(const char *folder, struct timespec *newest)
{
    char *pattern = xasprintf("%s/*" SPOOL_SUFFIX, folder);
    glob_t found = {0};
    *newest = (struct timespec){0};
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        found.gl_pathc = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat spool;
        if (stat(found.gl_pathv[i], &spool) == 0 && is_later(spool.st_mtim, *newest))
            *newest = spool.st_mtim;
    }
    size_t n = found.gl_pathc;
    globfree(&found);
    free(pattern);
    return n;
}

/* Ingests a folder to its trace.db unless that is as new as the spools there. Returns an exit code. */
static int ingest_folder(const char *folder, char **path)
{
    struct timespec newest;
    struct stat database;
    size_t n = count_spools(folder, &newest);
    *path = xasprintf("%s/trace.db", folder);
    bool exists = stat(*path, &database) == 0;
    if (n == 0 && !exists)
        return fail("%s: a folder without spools (*" SPOOL_SUFFIX "); expected a trace.db or the folder that "
                    "MPISTAIR_SPOOL named",
                    folder);
    if (exists && !is_later(newest, database.st_mtim))
        return EXIT_DONE;
    inform("%s: %zu spool%s, ingested to %s", folder, n, n == 1 ? "" : "s", *path);
    char name[] = "ingest", option[] = "-o";
    char *arguments[] = {name, option, *path, xstrdup(folder), NULL};
    optind = 0; /* cmd_ingest reads its options anew */
    int result = cmd_ingest(4, arguments);
    free(arguments[3]);
    return result;
}

int open_trace(struct open_trace *trace, const char *path)
{
    struct error error;
    struct stat status;
    int result = EXIT_DONE;
    *trace = (struct open_trace){0};
    char *name = xstrdup(path);
    if (ends_with(path, SPOOL_SUFFIX)) {
        char *slash = strrchr(name, '/');
        if (slash == NULL)
            strcpy(name, ".");
        else
            slash[slash == name ? 1 : 0] = '\0';
    }
    if (stat(name, &status) == 0 && S_ISDIR(status.st_mode))
        result = ingest_folder(name, &trace->path);
    else
        trace->path = xstrdup(name);
    free(name);
    if (result == EXIT_DONE && database_open(trace->path, false, &trace->database, &error) != 0)
        result = error_report(&error);
    if (trace->database != NULL)
        utf8_clean(trace->path, trace->path, strlen(trace->path));
    return result;
}

int open_trace_part(struct open_trace *trace, const char *path, const struct run_window *window,
                    struct trace_part *part)
{
    struct error error;
    int result = open_trace(trace, path);
    *part = (struct trace_part){0};
    if (result == EXIT_DONE && trace_part_apply(trace->database, trace->path, window, part, &error) != 0)
        result = error_report(&error);
    return result;
}

void close_trace(struct open_trace *trace)
{
    sqlite3_close(trace->database);
    free(trace->path);
    *trace = (struct open_trace){0};
}
