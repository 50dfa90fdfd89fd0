/* Takes the place of symbols.c where mpistair was built without the headers of libdw. */
#include <stdio.h>

#include "interpose/trace/site/symbols.h"

bool callsites_can_be_resolved(const char **reason)
{
    *reason = "mpistair was built without libdw: install libdw-dev (Debian, Ubuntu), then build it once more";
    return false;
}

void callsites_resolve(struct trace *trace)
{
    static bool is_said;
    const char *reason;
    if (trace->n_callsites == 0 || is_said || callsites_can_be_resolved(&reason))
        return;
    fprintf(stderr, "mpistair: no source lines: %s\n", reason);
    is_said = true;
}
