/* Reads traces of other tools through the whole command: what it lets pass is a trace that can be read. */
#include "interpose/record_commands.h"
#include "report/command/commands.h"
#include "tests/fuzz/fuzz_readers.h"

static void import(const char *format, const char *name, const uint8_t *data, size_t size)
{
    const char *path = scratch_file(name, data, size), *trace = scratch_path("imported.db");
    if (command(cmd_import, path, "--from", format, "--quiet", "-o", trace, NULL) == 0 &&
        command(cmd_query, trace, "SELECT count(*) FROM message", NULL) != 0)
        __builtin_trap();
}

void read_goal(const uint8_t *data, size_t size)
{
    import("goal", "x.goal", data, size);
}

void read_tit(const uint8_t *data, size_t size)
{
    import("tit", "x.tit", data, size);
}

void read_dumpi(const uint8_t *data, size_t size)
{
    import("dumpi", "x-0.bin", data, size);
}
