/* Collectives and kinds are few enough to be in memory whole, so they are written at the end, after their numbers and
 * families are final. */
#include "interpose/trace/write/write_collectives.h"

#include "interpose/trace/rows/form.h"
#include "interpose/database/row.h"

int write_collective_calls(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "call_row", 7);
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *collective = &trace->collectives[i];
        bool same_call = i > 0 && collective->function == FN_Startall && collective[-1].function == FN_Startall &&
                         collective[-1].rank == collective->rank && collective[-1].begin_ns == collective->begin_ns;
        if (collective->function != FN_Pcontrol && !(collective->flags & SPOOL_OFF) && !same_call)
            row_insert(&row, "iiiiiiu", (int64_t)collective->rank, function_id(collective->function),
                       collective->begin_ns, collective->call_end_ns - collective->begin_ns, (int64_t)0, (int64_t)0,
                       collective->callsite);
    }
    return row_finish(&row);
}

int32_t collective_root(const struct trace *trace, const struct trace_collective *collective)
{
    const struct trace_communicator *communicator = &trace->communicators[collective->communicator];
    bool inside = collective->root >= 0 && collective->root < communicator->size && communicator->remote_size == 0;
    return inside ? communicator->members[collective->root] : -1;
}

int write_collectives(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "collective", 13);
    int64_t id = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *collective = &trace->collectives[i];
        if (collective->function == FN_Pcontrol || (collective->flags & SPOOL_OFF))
            continue;
        row_insert(&row, "iitiinioiiuou", ++id, (int64_t)collective->rank, function_name(collective->function),
                   (int64_t)collective->communicator, (int64_t)collective->bytes, collective_root(trace, collective),
                   collective->begin_ns, collective->end_ns, collective->call_end_ns - collective->begin_ns,
                   (int64_t)((collective->flags & SPOOL_NONBLOCKING) != 0),
                   collective->persistent == TRACE_NONE ? TRACE_NONE : collective->persistent + 1,
                   collective->stack == TRACE_NONE ? TRACE_NO_TIME : (int64_t)collective->stack + 1,
                   collective->callsite);
    }
    return row_finish(&row);
}

/* Writes how the sizes of the messages of kinds of one family differ. */
static int write_families(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "kind_family", 4);
    for (size_t i = 0; i < trace->n_kinds; i++)
        row_insert(&row, "iiii", (int64_t)i + 1, (int64_t)trace->kinds[i].family + 1,
                   (int64_t)trace->kinds[i].smallest_bytes, (int64_t)trace->kinds[i].largest_bytes);
    return row_finish(&row);
}

int write_kinds(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "kind", 4);
    for (size_t i = 0; i < trace->n_kinds; i++)
        row_insert(&row, "iiii", (int64_t)i + 1, (int64_t)trace->kinds[i].rounds, (int64_t)trace->kinds[i].messages,
                   (int64_t)trace->kinds[i].bytes);
    return row_finish(&row) == 0 ? write_families(trace, database) : -1;
}
