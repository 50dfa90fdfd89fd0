/* Reads collectives and calls of one-sided communication.
 *
 * A transfer is a one-sided message from the origin to the target, also that of MPI_Get: the bytes are the same, and no
 * call of the target is needed either way. Its origin waits for it in the next call that synchronises its window. */
#include <stdlib.h>
#include <string.h>

#include "predictor/run_read/reading.h"
#include "share/base/array.h"

static int add_collective(void *context, struct cursor *rows)
{
    struct reading *reading = context;
    struct read_member member = {.member = NO_OBJECT};
    struct item item = {.done_ns = NO_TIME, .kind = ITEM_COLLECTIVE};
    int64_t comm, call_ns, nonblocking, callsite;
    uint64_t bytes;
    uint32_t calling, function, root = NO_OBJECT;
    if (row_read(reading, rows, "collective", "rFibRttlisFi", &member.rank, &calling, &comm, &bytes, &root,
                 &member.begin_ns, &member.end_ns, &call_ns, &nonblocking, &callsite, &function, &member.nth) != 0)
        return -1;
    if (member.begin_ns == NO_TIME || call_ns == NO_TIME)
        return error_set(reading->error, "%s: collective: begin_ns or call_ns of rank %u is NULL", reading->path,
                         member.rank);
    member.bytes = (double)bytes;
    member.nonblocking = nonblocking != 0 || member.end_ns == NO_TIME;
    if (member.end_ns != NO_TIME && member.end_ns < member.begin_ns)
        member.end_ns = member.begin_ns;
    item.begin_ns = member.begin_ns;
    item.end_ns = member.nonblocking ? member.begin_ns + call_ns : member.end_ns;
    item.done_ns = member.nonblocking ? member.end_ns : NO_TIME;
    item.site = site_by(reading, calling, callsite);
    return member_add(reading, &member, comm, function, root, &item);
}

int collectives_read(struct reading *reading)
{
    /* A persistent request does what the call that made it names; its site is that of the call that started it. */
    return rows_read(reading,
                     "SELECT c.rank, c.function, c.comm, c.bytes, c.root, c.begin_ns, c.end_ns, c.call_ns,"
                     " c.nonblocking, c.callsite, coalesce(nullif(p.function, ''), c.function), c.instance"
                     " FROM collective c LEFT JOIN persistent p ON p.id = c.persistent"
                     " ORDER BY c.rank, c.begin_ns, c.id",
                     add_collective, reading);
}

/* Describes a transfer that no call has waited for yet. */
struct open_transfer {
    int64_t window, target; /* target of the transfer */
    size_t item;            /* of its rank */
};
struct transfers {
    struct reading *reading;
    struct open_transfer *open; /* [n_open] of the rank */
    size_t n_open;
    uint32_t rank;
};

enum sync { SYNC_NONE, SYNC_TARGET, SYNC_ALL, SYNC_FENCE, SYNC_COLLECTIVE };
static enum sync sync_of(const char *function)
{
    static const struct {
        const char *name;
        enum sync sync;
    } syncs[] = {{"MPI_Win_fence", SYNC_FENCE},
                 {"MPI_Win_flush", SYNC_TARGET},
                 {"MPI_Win_flush_local", SYNC_TARGET},
                 {"MPI_Win_unlock", SYNC_TARGET},
                 {"MPI_Win_flush_all", SYNC_ALL},
                 {"MPI_Win_flush_local_all", SYNC_ALL},
                 {"MPI_Win_unlock_all", SYNC_ALL},
                 {"MPI_Win_complete", SYNC_ALL},
                 {"MPI_Win_free", SYNC_FENCE},
                 {"MPI_Win_create", SYNC_COLLECTIVE},
                 {"MPI_Win_allocate", SYNC_COLLECTIVE},
                 {"MPI_Win_allocate_shared", SYNC_COLLECTIVE},
                 {"MPI_Win_create_c", SYNC_COLLECTIVE},
                 {"MPI_Win_allocate_c", SYNC_COLLECTIVE},
                 {"MPI_Win_create_dynamic", SYNC_COLLECTIVE},
                 {"MPI_Win_allocate_shared_c", SYNC_COLLECTIVE}};
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++)
        if (strcmp(function, syncs[i].name) == 0)
            return syncs[i].sync;
    return SYNC_NONE;
}

static bool is_transfer(const char *function)
{
    static const char *const names[] = {"MPI_Put",
                                        "MPI_Get",
                                        "MPI_Accumulate",
                                        "MPI_Get_accumulate",
                                        "MPI_Fetch_and_op",
                                        "MPI_Compare_and_swap",
                                        "MPI_Rput",
                                        "MPI_Rget",
                                        "MPI_Raccumulate",
                                        "MPI_Rget_accumulate",
                                        NULL};
    return run_function_named(function, names);
}

/* Lets the call that ends then complete the open transfers of the window, or of one target. */
static void complete_transfers(struct transfers *transfers, int64_t window, int64_t target, struct item *sync)
{
    struct reading *reading = transfers->reading;
    size_t kept = 0;
    for (size_t i = 0; i < transfers->n_open; i++) {
        struct open_transfer *open = &transfers->open[i];
        if (open->window == window && (target < 0 || open->target == target)) {
            struct read_item *item = &reading->ranks[transfers->rank].items[open->item];
            item->done = item_pack(reading, item->begin_ns, sync->end_ns);
            sync->completed++;
        } else {
            transfers->open[kept++] = *open;
        }
    }
    transfers->n_open = kept;
}

static int add_transfer(struct transfers *transfers, struct item *item, int64_t window, uint32_t target, uint64_t bytes,
                        bool by_request)
{
    struct reading *reading = transfers->reading;
    struct run_program *program = reading->program;
    uint32_t object = (uint32_t)program->n_messages;
    struct run_message message = {.bytes = bytes, .src = transfers->rank, .dst = target, .flags = MESSAGE_ONE_SIDED};
    array_grow(&reading->late_ns, object, sizeof *reading->late_ns);
    if (run_program_message(program, &message) != 0)
        return reading_too_large(reading);
    reading->late_ns[object] = 0;
    if (!by_request)
        ARRAY_ADD(transfers->open, transfers->n_open,
                  (struct open_transfer){window, target, reading->ranks[transfers->rank].n_items});
    item->object = object;
    item->kind = ITEM_ONE_SIDED;
    return item_add(reading, transfers->rank, item);
}

static int add_one_sided(void *context, struct cursor *rows)
{
    struct transfers *transfers = context;
    struct reading *reading = transfers->reading;
    struct item item = {.done_ns = NO_TIME, .object = NO_OBJECT, .kind = ITEM_CALL};
    int64_t comm, window, end_ns, call_ns, by_request, callsite, nth;
    uint64_t bytes;
    uint32_t rank, function, target = NO_OBJECT;
    if (row_read(reading, rows, "rma", "rFiiRbttlisi", &rank, &function, &comm, &window, &target, &bytes,
                 &item.begin_ns, &end_ns, &call_ns, &by_request, &callsite, &nth) != 0)
        return -1;
    if (item.begin_ns == NO_TIME || call_ns == NO_TIME)
        return error_set(reading->error, "%s: rma: begin_ns or call_ns of rank %u is NULL", reading->path, rank);
    if (rank != transfers->rank)
        transfers->n_open = 0;
    transfers->rank = rank;
    item.site = site_by(reading, function, callsite);
    item.end_ns = item.begin_ns + call_ns;
    item.done_ns = by_request != 0 ? end_ns : NO_TIME;
    const char *name = reading->functions[function].name;
    if (is_transfer(name) && target != NO_OBJECT)
        return add_transfer(transfers, &item, window, target, bytes, by_request != 0);
    item.done_ns = NO_TIME;
    enum sync sync = sync_of(name);
    int64_t waited_for = sync == SYNC_TARGET && target != NO_OBJECT ? (int64_t)target : -1;
    if (sync == SYNC_TARGET || sync == SYNC_ALL || sync == SYNC_FENCE)
        complete_transfers(transfers, window, waited_for, &item);
    if (sync < SYNC_FENCE || sqlite3_column_type(rows->statement, 2) == SQLITE_NULL)
        return item_add(reading, rank, &item);
    struct read_member member = {.begin_ns = item.begin_ns,
                                 .end_ns = item.end_ns,
                                 .rank = rank,
                                 .nth = nth,
                                 .member = NO_OBJECT,
                                 .nonblocking = end_ns == NO_TIME};
    item.kind = ITEM_COLLECTIVE;
    return member_add(reading, &member, comm, function, NO_OBJECT, &item);
}

int one_sided_read(struct reading *reading)
{
    struct transfers transfers = {.reading = reading, .rank = NO_OBJECT};
    int result = rows_read(reading,
                           "SELECT rank, function, comm, window, target, bytes, begin_ns, end_ns, call_ns, nonblocking,"
                           " callsite, instance FROM rma ORDER BY rank, begin_ns, id",
                           add_one_sided, &transfers);
    free(transfers.open);
    return result;
}
