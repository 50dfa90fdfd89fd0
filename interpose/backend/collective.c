/* Bytes and records of collectives, see collective.h. */
#include "collective.h"

static int64_t count_at(const struct collective_side *side, int i)
{
    return side->counts ? side->counts[i] : side->wide_counts ? side->wide_counts[i] : side->count;
}

/* Elements for n ranks: one count each where there is an array, else n times the one count. */
static uint64_t side_bytes(const struct collective_side *side, int n)
{
    uint64_t bytes = 0;
    if (!side->counts && !side->wide_counts)
        return elements_bytes(side->count, side->datatype) * (uint64_t)(n > 0 ? n : 0);
    for (int i = 0; i < n; i++)
        bytes += elements_bytes(count_at(side, i), side->datatypes ? side->datatypes[i] : side->datatype);
    return bytes;
}

/* What one rank has in an array of counts, or the one count. */
static uint64_t rank_bytes(const struct collective_side *side, int rank)
{
    return elements_bytes(count_at(side, rank), side->datatype);
}

/* Ranks that the rank's data goes to in an all-to-all: of the remote group in an intercommunicator. */
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

/* Neighbours that this rank sends to in a neighbourhood collective. */
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

/* Bytes that this rank hands in; what it gets in Bcast and Scatter where it is not the root. */
static uint64_t bytes_of(enum mpistair_function function, const struct collective_arguments *a, int rank)
{
    const struct collective_side *send = &a->send, *receive = &a->receive;
    int in_place = send->buffer == MPI_IN_PLACE;
    int is_root = a->root == rank || a->root == MPI_ROOT;
    switch (function) {
    case FN_Barrier:
        return 0;
    case FN_Gather:
    case FN_Gather_c:
    case FN_Gatherv:
    case FN_Gatherv_c:
        if (a->root == MPI_ROOT || a->root == MPI_PROC_NULL)
            return 0;
        return rank_bytes(in_place && is_root ? receive : send, rank);
    case FN_Allgather:
    case FN_Allgather_c:
    case FN_Allgatherv:
    case FN_Allgatherv_c:
        return rank_bytes(in_place ? receive : send, rank);
    case FN_Scatter:
    case FN_Scatter_c:
    case FN_Scatterv:
    case FN_Scatterv_c:
        if (a->root == MPI_PROC_NULL)
            return 0;
        return is_root ? side_bytes(send, peers(a->comm)) : rank_bytes(receive, rank);
    case FN_Alltoall:
    case FN_Alltoall_c:
    case FN_Alltoallv:
    case FN_Alltoallv_c:
    case FN_Alltoallw:
    case FN_Alltoallw_c:
        return side_bytes(in_place ? receive : send, peers(a->comm));
    case FN_Reduce_scatter:
    case FN_Reduce_scatter_c:
    case FN_Reduce_scatter_block:
    case FN_Reduce_scatter_block_c: {
        int n = 0;
        PMPI(Comm_size)(a->comm, &n);
        return side_bytes(receive, n);
    }
    case FN_Neighbor_alltoall:
    case FN_Neighbor_alltoall_c:
    case FN_Neighbor_alltoallv:
    case FN_Neighbor_alltoallv_c:
    case FN_Neighbor_alltoallw:
    case FN_Neighbor_alltoallw_c:
        return side_bytes(send, out_neighbours(a->comm, rank));
    case FN_Bcast:
    case FN_Bcast_c:
    case FN_Reduce:
    case FN_Reduce_c:
        if (a->root == MPI_PROC_NULL || (a->root == MPI_ROOT && function != FN_Bcast && function != FN_Bcast_c))
            return 0;
        return rank_bytes(send, rank);
    default: /* Allreduce, Scan, Exscan, Neighbor_allgather(v): one count */
        return rank_bytes(send, rank);
    }
}

void collective_reserve(struct collective_call *collective, uint32_t communicator)
{
    struct spool_collective *record = spool_lane_reserve(collective->call.thread->lane, sizeof *record);
    if (record) {
        record->function = (uint16_t)collective->call.function;
        record->communicator = communicator;
        record->begin_ticks = collective->call.begin_ticks;
        record->site = collective->call.site;
        record->root = -1;
    }
    collective->record = record;
}

/* Begins the call and reserves its record; the index of comm, or COMMUNICATOR_NONE with nothing reserved. */
static uint32_t open_record(struct collective_call *collective, enum mpistair_function function, uint64_t site,
                            MPI_Comm comm)
{
    collective->record = NULL;
    if (!call_begin(&collective->call, function, site))
        return COMMUNICATOR_NONE;
    uint32_t communicator = communicator_index(collective->call.thread, comm);
    if (communicator != COMMUNICATOR_NONE)
        collective_reserve(collective, communicator);
    return communicator;
}

void collective_begin(struct collective_call *collective, enum mpistair_function function, uint64_t site,
                      const struct collective_arguments *arguments)
{
    uint32_t communicator = open_record(collective, function, site, arguments->comm);
    struct spool_collective *record = collective->record;
    if (!record)
        return;
    record->bytes = bytes_of(function, arguments, communicator_rank(communicator));
    record->root = arguments->root >= 0 ? arguments->root : -1; /* MPI_ROOT, MPI_PROC_NULL: another group's */
    spool_record_publish(record, SPOOL_COLLECTIVE);
}

void collective_end(struct collective_call *collective, int result)
{
    (void)result;
    if (collective->record && call_recorded(&collective->call))
        __atomic_store_n(&collective->record->end_ticks, clock_ticks(recorder.clock_source), __ATOMIC_RELEASE);
}
