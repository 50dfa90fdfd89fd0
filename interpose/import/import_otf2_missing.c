/* Takes the place of import_otf2.c where mpistair was built without libotf2. */
#include "interpose/import/import.h"

int import_otf2(const char *path, struct import_run *run, struct error *error)
{
    (void)run;
    return error_set(
        error,
        "%s: mpistair was built without libotf2: install libopen-trace-format2-dev (Debian, Ubuntu), then build "
        "it once more",
        path);
}
