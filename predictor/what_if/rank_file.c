/* Open MPI (--rankfile F; since version 5 --map-by rankfile:file=F) reads `rank R=HOST slot=SOCKET:CORES`: each rank
 * gets an equal share of its socket's cores, all of them (`*`) where there are fewer cores than ranks or nobody knows
 * how many. Hydra (-f F) takes a line `HOST:1` for each rank in their order. Hydra numbers a node for each run of lines
 * with the same name: seen with MPICH 4.0.2, ranks of one host that are not consecutive have no shared memory then. */
#include "predictor/what_if/places.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "predictor/pattern/group.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"

/* Describes the node of a rank as the launchers know it. */
struct host {
    char *name;
    uint32_t cores_per_socket; /* 0: not known */
};

/* Sets what the trace says of the node of each rank: hosts[n_ranks]. Returns 0, or -1: a node has no name, or one
 * that is no word of a launcher's file. */
static int hosts_read(sqlite3 *database, const char *path, const struct placement *placement, struct host *hosts,
                      struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path,
                "SELECT host, CASE WHEN sockets > 0 AND cores > 0 THEN cores / sockets END FROM node WHERE id = ?",
                error);
    for (size_t rank = 0; rows.result == 0 && rank < placement->n_ranks; rank++) {
        uint32_t node = placement->node[rank];
        sqlite3_reset(rows.statement);
        sqlite3_bind_int64(rows.statement, 1, node);
        if (!cursor_next(&rows)) {
            if (rows.result == 0)
                rows.result = error_set(error, "a rank file: node %u of rank %zu has no name in the trace", node, rank);
            break;
        }
        const char *name = (const char *)sqlite3_column_text(rows.statement, 0);
        int64_t cores = cursor_integer(&rows, 1);
        hosts[rank] = (struct host){xstrdup(name != NULL ? name : ""), cores <= UINT32_MAX ? (uint32_t)cores : 0};
        const char *at = hosts[rank].name;
        while (isalnum((unsigned char)*at) || (*at != '\0' && strchr("._-", *at) != NULL))
            at++;
        if (*at != '\0' || at == hosts[rank].name)
            rows.result = error_set(
                error, "a rank file: node %u is named '%.64s'; expected letters, digits, '.', '_' and '-' only", node,
                hosts[rank].name);
    }
    return cursor_close(&rows);
}

/* Writes "SOCKET:CORES" of the i-th of n ranks on a socket. */
static void write_slot(FILE *stream, uint32_t socket, uint32_t cores, size_t i, size_t n)
{
    size_t share = cores / n;
    if (share == 0)
        fprintf(stream, "%u:*", socket);
    else if (share == 1)
        fprintf(stream, "%u:%zu", socket, i);
    else
        fprintf(stream, "%u:%zu-%zu", socket, i * share, (i + 1) * share - 1);
}

static void write_open_mpi(FILE *stream, const struct placement *placement, const struct host *hosts,
                           const struct grouping *sockets)
{
    for (size_t rank = 0; rank < placement->n_ranks; rank++) {
        size_t group = sockets->of[rank], first = sockets->first[group], i = first;
        while (sockets->member[i] != rank)
            i++;
        fprintf(stream, "rank %zu=%s slot=", rank, hosts[rank].name);
        write_slot(stream, placement->socket[rank], hosts[rank].cores_per_socket, i - first,
                   sockets->first[group + 1] - first);
        fputc('\n', stream);
    }
}

static void write_hydra(FILE *stream, const struct placement *placement, const struct host *hosts)
{
    for (size_t rank = 0; rank < placement->n_ranks; rank++)
        fprintf(stream, "%s:1\n", hosts[rank].name);
}

static size_t count_split(const struct grouping *nodes)
{
    size_t split = 0;
    for (size_t node = 0; node < nodes->n_groups; node++) {
        const uint32_t *ranks = &nodes->member[nodes->first[node]];
        size_t n = nodes->first[node + 1] - nodes->first[node];
        split += ranks[n - 1] - ranks[0] != n - 1;
    }
    return split;
}

enum { FILE_OPEN_MPI, FILE_HYDRA, FILE_CSV, FILE_COUNT };

/* Writes all files. split_nodes: those whose ranks are not consecutive. */
static int write_files(const char *prefix, const struct placement *placement, const struct host *hosts,
                       size_t *split_nodes, struct error *error)
{
    static const char *const suffixes[FILE_COUNT] = {".rankfile", ".hosts", ".L.csv"};
    struct grouping sockets, nodes;
    struct output_file files[FILE_COUNT];
    if (output_files_open(files, prefix, suffixes, FILE_COUNT, error) != 0)
        return -1;
    grouping_init(&sockets, placement, GROUP_BY_SOCKET);
    grouping_init(&nodes, placement, GROUP_BY_NODE);
    write_open_mpi(files[FILE_OPEN_MPI].stream, placement, hosts, &sockets);
    write_hydra(files[FILE_HYDRA].stream, placement, hosts);
    placement_write_csv(files[FILE_CSV].stream, placement);
    *split_nodes = count_split(&nodes);
    grouping_release(&sockets);
    grouping_release(&nodes);
    return output_files_end(files, FILE_COUNT, 0, error);
}

int rank_file_write(const char *prefix, const struct placement *placement, sqlite3 *database, const char *trace,
                    struct error *error)
{
    struct host *hosts = xcalloc(placement->n_ranks + 1, sizeof *hosts);
    size_t split_nodes = 0;
    int result = hosts_read(database, trace, placement, hosts, error);
    if (result == 0)
        result = write_files(prefix, placement, hosts, &split_nodes, error);
    if (result == 0 && split_nodes > 0)
        inform(
            "note: the ranks of %zu nodes are not consecutive; MPICH's hydra takes such ranks of one host in %s.hosts "
            "for ranks of different nodes, without shared memory",
            split_nodes, prefix);
    for (size_t rank = 0; rank < placement->n_ranks; rank++)
        free(hosts[rank].name);
    free(hosts);
    return result;
}
