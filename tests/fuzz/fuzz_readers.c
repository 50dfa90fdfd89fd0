/* Readers run thousands of times in one process: each gets fresh files in a folder of this process's own, and what it
 * prints goes nowhere. */
#include "tests/fuzz/fuzz_readers.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/error.h"

enum { MAX_ARGUMENTS = 24, MAX_PATHS = 32 };

const struct reader readers[] = {
    {"arrivals", read_arrivals},
    {"database", read_database},
    {"dumpi", read_dumpi},
    {"goal", read_goal},
    {"machine", read_machine},
    {"maps", read_maps},
    {"memory_samples", read_memory_samples},
    {"node_topology", read_node_topology},
    {"otf2", read_otf2},
    {"pattern", read_pattern},
    {"placement", read_placement},
    {"raw_file", read_raw_file},
    {"resume", read_resume},
    {"samples", read_samples},
    {"spool", read_spool},
    {"sweep", read_sweep},
    {"sweep_rows", read_sweep_rows},
    {"tit", read_tit},
    {"topology", read_topology},
    {NULL, NULL},
};

static char folder[4096];

/* What libotf2 leaves behind of an archive that it refuses is its own, in functions without names. What our callbacks
 * keep is not seen either, as libotf2 is on their stack. LeakSanitizer calls this, where there is one. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libopen-trace-format2";
}

const struct reader *readers_choose(const char *name)
{
    const struct reader *reader = readers;
    while (name != NULL && reader->name != NULL && strcmp(reader->name, name) != 0)
        reader++;
    if (name == NULL || reader->name == NULL)
        return NULL;
    /* The sanitizers write to the descriptor itself. */
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL)
        abort();
    stdout = stderr = nowhere;
    return reader;
}

static void remove_folder(void)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory != NULL)
        closedir(directory);
    rmdir(folder);
}

const char *scratch_folder(void)
{
    if (folder[0] == '\0') {
        const char *temporary = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%.2000s/mpistair-fuzz-XXXXXX", temporary != NULL ? temporary : "/tmp");
        if (mkdtemp(folder) == NULL)
            abort();
        atexit(remove_folder);
    }
    return folder;
}

const char *scratch_path(const char *name)
{
    static char *paths[MAX_PATHS];
    size_t from = strlen(scratch_folder()) + 1;
    int i = 0;
    while (i < MAX_PATHS && paths[i] != NULL && strcmp(paths[i] + from, name) != 0)
        i++;
    if (i == MAX_PATHS || (paths[i] == NULL && asprintf(&paths[i], "%s/%s", folder, name) < 0))
        abort();
    return paths[i];
}

const char *scratch_file(const char *name, const void *data, size_t size)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "w");
    if (file == NULL || (size > 0 && fwrite(data, 1, size, file) != size) || fclose(file) != 0)
        abort();
    return path;
}

const char *scratch_text(const char *name, const char *text)
{
    return scratch_file(name, text, strlen(text));
}

int command(int (*run)(int argc, char **argv), ...)
{
    char *arguments[MAX_ARGUMENTS + 1] = {strdup("command")};
    int n = 1;
    va_list list;
    va_start(list, run);
    for (const char *argument; n < MAX_ARGUMENTS && (argument = va_arg(list, const char *)) != NULL;)
        arguments[n++] = strdup(argument);
    va_end(list);
    char *owned[MAX_ARGUMENTS]; /* getopt changes their order */
    memcpy(owned, arguments, sizeof owned);
    int code = run(n, arguments);
    while (n > 0)
        free(owned[--n]);
    if (code != EXIT_DONE && code != EXIT_WORK_FAILED)
        abort();
    return code;
}
