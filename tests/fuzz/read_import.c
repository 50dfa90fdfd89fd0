/* Reads traces of other tools through the whole command: what it lets pass is a trace that can be read. */
#include "interpose/record_commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    if (command(cmd_import, path, "--from", format, "--quiet", "--incomplete", "-o", trace, NULL) == 0 &&
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

/* The files of an archive of two locations. */
static const char *const archive[] = {"x.otf2", "x.def", "x/0.def", "x/0.evt", "x/1.def", "x/1.evt"};

static void remove_archive(void)
{
    for (size_t i = 0; i < sizeof archive / sizeof *archive; i++)
        unlink(scratch_path(archive[i]));
    rmdir(scratch_path("x"));
}

/* Returns whether libotf2 comes to an end with an anchor: it believes the number of properties, which stands behind
 * three texts. Import ends such a try after seconds; here they would be most of the time. */
static bool has_few_properties(const uint8_t *anchor, size_t size)
{
    enum { TEXTS_AT = 46, MOST = 1000 };
    size_t at = TEXTS_AT;
    for (int texts = 0; texts < 3 && at < size; at++)
        texts += anchor[at] == 0;
    if (at + 4 > size)
        return true;
    uint32_t n = 0;
    for (size_t i = 0; i < 4; i++)
        n |= (uint32_t)anchor[at + i] << (anchor[1] == 'B' ? 8 * i : 24 - 8 * i);
    return n <= MOST;
}

/* Reads an archive: its files one behind the other, each behind its length of two bytes, little endian. */
void read_otf2(const uint8_t *data, size_t size)
{
    if (mkdir(scratch_path("x"), 0700) == 0)
        atexit(remove_archive);
    for (size_t i = 0; i < sizeof archive / sizeof *archive; i++) {
        size_t length = size >= 2 ? (size_t)(data[0] | data[1] << 8) : 0;
        data += size >= 2 ? 2 : size;
        size -= size >= 2 ? 2 : size;
        length = length < size ? length : size;
        if (i == 0 && !has_few_properties(data, length))
            return;
        scratch_file(archive[i], data, length);
        data += length;
        size -= length;
    }
    const char *trace = scratch_path("imported.db");
    if (command(cmd_import, scratch_path(archive[0]), "--quiet", "-o", trace, NULL) == 0 &&
        command(cmd_query, trace, "SELECT count(*) FROM message", NULL) != 0)
        __builtin_trap();
}

void read_dumpi(const uint8_t *data, size_t size)
{
    import("dumpi", "x-0.bin", data, size);
}
