/* Takes the place of otf2.c where mpistair was built without libotf2. */
#include "report/export/trace_export.h"

bool export_otf2_is_built(void)
{
    return false;
}

int export_otf2(struct export *export)
{
    return error_set(
        export->error,
        "--to otf2: mpistair was built without libotf2: install libopen-trace-format2-dev (Debian, Ubuntu), "
        "then build it once more");
}
