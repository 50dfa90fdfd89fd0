/* Reads traces of other tools through the whole command: what it lets pass is a trace that can be read. */
#include "interpose/record_commands.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/command/commands.h"
#include "tests/fuzz/fuzz_readers.h"

/* A line is enough for thousands of ranks, which take seconds and are no finding. */
enum { MOST_RANKS = 64 };

static bool has_few_ranks(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *rest = text;
    bool result = text != NULL;
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        line += strspn(line, " \t\r\v\f");
        line += strncmp(line, "num_ranks", 9) == 0 ? 9 : 0;
        result = result && strtoul(line, NULL, 10) <= MOST_RANKS;
    }
    free(text);
    return result;
}

static void import(const char *format, const char *name, const uint8_t *data, size_t size)
{
    const char *path = scratch_file(name, data, size), *trace = scratch_path("imported.db");
    if (command(cmd_import, path, "--from", format, "--quiet", "-o", trace, NULL) == 0 &&
        command(cmd_query, trace, "SELECT count(*) FROM message", NULL) != 0)
        __builtin_trap();
}

void read_goal(const uint8_t *data, size_t size)
{
    if (has_few_ranks(data, size))
        import("goal", "x.goal", data, size);
}

void read_tit(const uint8_t *data, size_t size)
{
    if (has_few_ranks(data, size))
        import("tit", "x.tit", data, size);
}

void read_dumpi(const uint8_t *data, size_t size)
{
    import("dumpi", "x-0.bin", data, size);
}
