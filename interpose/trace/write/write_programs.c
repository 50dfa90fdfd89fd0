/* Processes know the command lines of their own alone. Where all are the same nothing is said of ranks. Where very many
 * differ, as with a rank's number among the arguments, programs stand for them without their arguments. See
 * write_programs.h. */
#include "interpose/trace/write/write_programs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/row.h"
#include "share/base/memory.h"
#include "share/base/ranges.h"

enum { NAMED = 16 };

/* Holds a command that some ranks ran: its first `length` bytes. */
struct program {
    const char *command;
    size_t length;
    struct ranges ranges;
    bool is_cut; /* arguments are left out */
};

struct programs {
    struct program all[NAMED + 1];
    size_t n; /* NAMED + 1: there are more */
};

/* Returns the command of a rank, "" where it is not known. */
static const char *command_of(const struct trace *trace, int32_t rank)
{
    const struct spool *spool = trace->processes[rank].spool;
    return spool != NULL ? spool->header.command : "";
}

static void add(struct programs *programs, const char *command, bool with_arguments, int32_t rank)
{
    size_t length = with_arguments ? strlen(command) : strcspn(command, " "), i = 0;
    while (i < programs->n &&
           (programs->all[i].length != length || memcmp(programs->all[i].command, command, length) != 0))
        i++;
    if (i > NAMED)
        return;
    if (i == programs->n)
        programs->all[programs->n++] = (struct program){.command = command, .length = length};
    programs->all[i].is_cut = programs->all[i].is_cut || command[length] != '\0';
    ranges_add(&programs->all[i].ranges, rank);
}

static void find_programs(const struct trace *trace, struct programs *programs, bool with_arguments)
{
    programs->n = 0;
    for (int32_t rank = 0; rank < trace->world_size && programs->n <= NAMED; rank++)
        if (command_of(trace, rank)[0] != '\0')
            add(programs, command_of(trace, rank), with_arguments, rank);
}

void programs_describe(const struct trace *trace, struct programs_text *text)
{
    struct programs *programs = xmalloc(sizeof *programs);
    size_t used = 0;
    text->text[0] = '\0';
    find_programs(trace, programs, true);
    if (programs->n > NAMED)
        find_programs(trace, programs, false);
    for (size_t i = 0; i < programs->n && used < sizeof text->text; i++) {
        struct program *program = &programs->all[i];
        char *end = text->text + used;
        size_t room = sizeof text->text - used;
        const char *ranks = ranges_text(&program->ranges);
        int written;
        if (i == NAMED)
            written = snprintf(end, room, ", ...");
        else if (programs->n == 1)
            written =
                snprintf(end, room, "%.*s%s", (int)program->length, program->command, program->is_cut ? " ..." : "");
        else
            written =
                snprintf(end, room, "%s%.*s%s (rank%s %s)", i > 0 ? ", " : "", (int)program->length, program->command,
                         program->is_cut ? " ..." : "", ranks[strspn(ranks, "0123456789")] == '\0' ? "" : "s", ranks);
        used += written > 0 ? (size_t)written : 0;
    }
    free(programs);
}

int write_programs(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "program", 3);
    for (int32_t first = 0; first < trace->world_size;) {
        const char *command = command_of(trace, first);
        int32_t end = first + 1;
        while (end < trace->world_size && strcmp(command_of(trace, end), command) == 0)
            end++;
        if (command[0] != '\0')
            row_insert(&row, "iit", (int64_t)first, (int64_t)end - 1, command);
        first = end;
    }
    return row_finish(&row);
}
