/* Exports what the preload library looks for in this shared object, see bind.h. */
#include "interpose/backend/wrappers.h"
#include "interpose/backend/region/region.h"
#include "interpose/backend/site/modules.h"

extern struct mpistair_backend mpistair_backend_v1;

static int start_backend(const struct mpistair_host *host)
{
    int result = lifecycle_start(host);
    if (recorder.sums)
        mpistair_backend_v1.wrappers = recorder_sum_wrappers;
    return result;
}

__attribute__((visibility("default"))) struct mpistair_backend mpistair_backend_v1 = {
    .table_hash = MPISTAIR_TABLE_HASH,
    .n_functions = FN_COUNT,
    .wrappers = recorder_wrappers,
    .start = start_backend,
    .note_modules = modules_note,
    .expect_change = modules_expect_change,
    .regions = &region_calls,
};
