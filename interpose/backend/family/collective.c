/* Records collectives as one timed call each: the record is stored before MPI is called, so that a process that is
 * killed in a collective leaves it behind. */
#include "interpose/backend/family/collective.h"

#include "interpose/backend/family/operation.h"

/* Which arguments of a collective say how many bytes a rank hands in differs by collective, and is written here
 * alone. The blocking, nonblocking and persistent forms of one, and their _c twins, are alike. */

/* Returns n times as many bytes, saturating at INT64_MAX. */
static uint64_t multiply_bytes(uint64_t bytes, uint64_t n)
{
    int64_t all;
    return __builtin_mul_overflow(bytes, n, &all) ? (uint64_t)INT64_MAX : (uint64_t)all;
}

static int64_t count_at(const struct collective_side *side, int i)
{
    return side->counts ? side->counts[i] : side->wide_counts ? side->wide_counts[i] : side->count;
}

/* Returns the bytes for n ranks: one count each where there is an array, else n times the one count. */
static uint64_t side_bytes(const struct collective_side *side, int n)
{
    uint64_t bytes = 0;
    if (!side->counts && !side->wide_counts)
        return n > 0 ? multiply_bytes(elements_bytes(side->count, side->datatype), (uint64_t)n) : 0;
    for (int i = 0; i < n; i++)
        bytes =
            add_bytes(bytes, elements_bytes(count_at(side, i), side->datatypes ? side->datatypes[i] : side->datatype));
    return bytes;
}

/* Returns the bytes that one rank has in an array of counts, or by the one count. */
static uint64_t rank_bytes(const struct collective_side *side, int rank)
{
    return elements_bytes(count_at(side, rank), side->datatype);
}

/* Returns to how many ranks the rank's data goes in an all-to-all: those of the remote group in an intercommunicator.
 */
static int peers(MPI_Comm comm)
{
    int is_inter = 0, n = 0;
    PMPI(Comm_test_inter)(comm, &is_inter);
    if (is_inter)
        PMPI(Comm_remote_size)(comm, &n);
    else
        PMPI(Comm_size)(comm, &n);
    return n;
}

/* Returns to how many neighbours this rank sends in a neighbourhood collective. */
static int out_neighbours(MPI_Comm comm, int rank)
{
    int topology = MPI_UNDEFINED, n = 0, in, weighted;
    PMPI(Topo_test)(comm, &topology);
    if (topology == MPI_CART && PMPI(Cartdim_get)(comm, &n) == MPI_SUCCESS)
        return 2 * n;
    if (topology == MPI_GRAPH)
        PMPI(Graph_neighbors_count)(comm, rank, &n);
    else if (topology == MPI_DIST_GRAPH)
        PMPI(Dist_graph_neighbors_count)(comm, &in, &n, &weighted);
    return n;
}

uint64_t collective_bytes(const struct collective_arguments *a, int rank)
{
    const struct collective_side *send = &a->send, *receive = &a->receive;
    int in_place = send->buffer == MPI_IN_PLACE;
    int is_root = a->root == rank || a->root == MPI_ROOT;
    switch (a->like) {
    case FN_Barrier:
        return 0;
    case FN_Gather:
    case FN_Gatherv:
        if (a->root == MPI_ROOT || a->root == MPI_PROC_NULL)
            return 0;
        return rank_bytes(in_place && is_root ? receive : send, rank);
    case FN_Allgather:
    case FN_Allgatherv:
        return rank_bytes(in_place ? receive : send, rank);
    case FN_Scatter:
    case FN_Scatterv:
        if (a->root == MPI_PROC_NULL)
            return 0;
        return is_root ? side_bytes(send, peers(a->comm)) : rank_bytes(receive, rank);
    case FN_Alltoall:
    case FN_Alltoallv:
    case FN_Alltoallw:
        return side_bytes(in_place ? receive : send, peers(a->comm));
    case FN_Reduce_scatter:
    case FN_Reduce_scatter_block: {
        int n = 0;
        PMPI(Comm_size)(a->comm, &n);
        return side_bytes(receive, n);
    }
    case FN_Neighbor_alltoall:
    case FN_Neighbor_alltoallv:
    case FN_Neighbor_alltoallw:
        return side_bytes(send, out_neighbours(a->comm, rank));
    case FN_Bcast:
    case FN_Reduce:
        if (a->root == MPI_PROC_NULL || (a->root == MPI_ROOT && a->like != FN_Bcast))
            return 0;
        return rank_bytes(send, rank);
    default: /* Allreduce, Scan, Exscan, Neighbor_allgather(v): they have one count */
        return rank_bytes(send, rank);
    }
}

static void sum(struct collective_call *collective, uint32_t communicator)
{
    collective->summed = 1;
    collective->communicator = communicator;
    collective->bytes = 0;
}

void collective_reserve(struct collective_call *collective, uint32_t communicator)
{
    struct spool_collective *record = NULL;
    collective->summed = 0;
    unsigned off = __atomic_load_n(&recorder.off, __ATOMIC_RELAXED);
    if (off & RECORDER_SUMS)
        sum(collective, communicator);
    else
        record = spool_lane_reserve(collective->call.thread->lane, sizeof *record);
    if (record) {
        record->flags = (uint16_t)off; /* it counts for the numbers of those that follow */
        record->function = (uint16_t)collective->call.function;
        record->communicator = communicator;
        record->begin_ticks = collective->call.begin_ticks;
        record->site = collective->call.site;
        record->stack = collective->call.thread->stack;
        record->root = -1;
    }
    collective->record = record;
}

void collective_begin(struct collective_call *collective, const struct collective_arguments *arguments)
{
    uint32_t communicator = communicator_index(collective->call.thread, arguments->comm);
    collective->record = NULL;
    collective->summed = 0;
    if (communicator == COMMUNICATOR_NONE)
        return;
    collective_reserve(collective, communicator);
    struct spool_collective *record = collective->record;
    uint64_t bytes = record || collective->summed ? collective_bytes(arguments, communicator_rank(communicator)) : 0;
    collective->bytes = bytes;
    if (!record)
        return;
    record->bytes = bytes;
    record->root = arguments->root >= 0 ? arguments->root : -1; /* MPI_ROOT, MPI_PROC_NULL: the root is in the other
                                                                 * group */
    spool_record_publish(record, SPOOL_COLLECTIVE);
}

void collective_end(struct collective_call *collective, int result)
{
    (void)result;
    uint64_t now = now_ticks();
    if (collective->summed)
        total_add_call(&collective->call, collective->call.function, WINDOW_COLLECTIVE, collective->communicator,
                       collective->bytes, now);
    if (collective->record)
        __atomic_store_n(&collective->record->end_ticks, now, __ATOMIC_RELEASE);
}

void icollective_begin(struct collective_call *collective, const struct collective_arguments *arguments)
{
    collective_begin(collective, arguments);
    if (collective->record)
        collective->record->flags |= SPOOL_NONBLOCKING;
}

void icollective_end(struct collective_call *collective, int result, const MPI_Request *request)
{
    struct spool_collective *record = collective->record;
    if (!record) {
        collective_end(collective, result);
        return;
    }
    uint64_t now = now_ticks();
    record->call_ticks = saturate_ticks(now - collective->call.begin_ticks);
    if (result == MPI_SUCCESS) {
        request_table_add(collective->call.thread, HANDLE_KEY(*request), record);
    } else {
        record->flags |= SPOOL_FAILED;
        __atomic_store_n(&record->end_ticks, now, __ATOMIC_RELEASE);
    }
}
