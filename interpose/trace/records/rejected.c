/* A loop may make the same rejected call a million times, so calls are counted by rank, call site and function where
 * they come close together. */
#include "interpose/trace/records/records.h"

#include "interpose/database/row.h"
#include "interpose/trace/rows/sink.h"

/* Maximum number of entries compared with a call; after that it gets an entry of its own. */
enum { PLACES_COMPARED = 64 };

void rejected_load(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    uint32_t callsite = callsite_of(&loader->callsites, trace, record->site, record->post_ticks);
    for (size_t i = trace->n_rejected; i > 0 && trace->n_rejected - i < PLACES_COMPARED; i--) {
        struct trace_rejected *known = &trace->rejected[i - 1];
        if (known->rank == loader->rank && known->callsite == callsite && known->function == record->function) {
            known->calls++;
            return;
        }
    }
    TRACE_ADD(
        trace->rejected, trace->n_rejected,
        (struct trace_rejected){.rank = loader->rank, .callsite = callsite, .function = record->function, .calls = 1});
}

int rejected_write(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "rejected", 4);
    for (size_t i = 0; i < trace->n_rejected; i++) {
        const struct trace_rejected *rejected = &trace->rejected[i];
        row_insert(&row, "utui", rejected->rank, function_name(rejected->function), rejected->callsite,
                   rejected->calls);
    }
    return row_finish(&row);
}
