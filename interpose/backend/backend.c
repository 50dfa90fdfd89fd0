/* Exports what the preload library looks for in this shared object, see bind.h. */
#include "interpose/backend/wrappers.h"
#include "interpose/backend/site/modules.h"

extern const struct mpistair_backend mpistair_backend_v1;

__attribute__((visibility("default"))) const struct mpistair_backend mpistair_backend_v1 = {
    .table_hash = MPISTAIR_TABLE_HASH,
    .n_functions = FN_COUNT,
    .wrappers = recorder_wrappers,
    .start = lifecycle_start,
    .note_modules = modules_note,
    .expect_change = modules_expect_change,
};
