/* Open MPI (--rankfile F; since version 5 --map-by rankfile:file=F) reads `rank R=HOST slot=SOCKET:CORES`: each rank
 * gets an equal share of its socket's cores, all of them (`*`) where there are fewer cores than ranks or nobody knows
 * how many. Hydra (-f F) takes a line `HOST:1` for each rank in their order. Hydra numbers a node for each run of lines
 * with the same name: seen with MPICH 4.0.2, ranks of one host that are not consecutive have no shared memory then. */
#include "predictor/what_if/rank_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "predictor/pattern/group.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"

/* Describes a node as the launchers know it. */
struct host {
    uint32_t node;
    char *name;
    uint32_t cores_per_socket; /* 0: not known */
};

/* Is sorted by node and owns all that it holds. */
struct hosts {
    struct host *hosts; /* [n] */
    size_t n;
};

static void hosts_add(struct hosts *hosts, uint32_t node, const char *name, uint32_t cores_per_socket)
{
    array_grow(&hosts->hosts, hosts->n, sizeof *hosts->hosts);
    hosts->hosts[hosts->n++] = (struct host){.node = node, .name = xstrdup(name), .cores_per_socket = cores_per_socket};
}

static int compare_hosts(const void *a, const void *b)
{
    const struct host *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static void hosts_sort(struct hosts *hosts)
{
    if (hosts->n > 0)
        qsort(hosts->hosts, hosts->n, sizeof *hosts->hosts, compare_hosts);
}

static void hosts_release(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->n; i++)
        free(hosts->hosts[i].name);
    free(hosts->hosts);
    *hosts = (struct hosts){0};
}

static const struct host *hosts_find(const struct hosts *hosts, uint32_t node)
{
    const struct host key = {.node = node};
    return hosts->n > 0 ? bsearch(&key, hosts->hosts, hosts->n, sizeof key, compare_hosts) : NULL;
}

static int add_host(struct cursor *rows, const char *path, struct hosts *hosts, struct error *error)
{
    int64_t node = cursor_integer(rows, 0), sockets = cursor_integer(rows, 2), cores = cursor_integer(rows, 3);
    const char *name = (const char *)sqlite3_column_text(rows->statement, 1);
    if (node < 0 || node > UINT32_MAX)
        return error_set(error, "%s: node: number %lld", path, (long long)node);
    bool known = sockets > 0 && cores > 0 && cores / sockets <= UINT32_MAX;
    hosts_add(hosts, (uint32_t)node, name != NULL ? name : "", known ? (uint32_t)(cores / sockets) : 0);
    return 0;
}

/* Reads those of a trace. */
static int hosts_read(sqlite3 *database, const char *path, struct hosts *hosts, struct error *error)
{
    struct cursor rows;
    int result = 0;
    *hosts = (struct hosts){0};
    cursor_open(&rows, database, path, "SELECT id, host, sockets, cores FROM node", error);
    while (result == 0 && cursor_next(&rows))
        result = add_host(&rows, path, hosts, error);
    if (cursor_close(&rows) != 0)
        result = -1;
    if (result != 0)
        hosts_release(hosts);
    else
        hosts_sort(hosts);
    return result;
}

/* Checks that every rank's node has a name that is one word of a launcher's file. */
static int check_names(const struct placement *placement, const struct hosts *hosts, struct error *error)
{
    for (size_t rank = 0; rank < placement->n_ranks; rank++) {
        const struct host *host = hosts_find(hosts, placement->node[rank]);
        if (host == NULL)
            return error_set(error, "a rank file: node %u of rank %zu has no name in the trace", placement->node[rank],
                             rank);
        const char *at = host->name;
        while (isalnum((unsigned char)*at) || (*at != '\0' && strchr("._-", *at) != NULL))
            at++;
        if (*at != '\0' || at == host->name)
            return error_set(error,
                             "a rank file: node %u is named '%.64s'; expected letters, digits, '.', '_' and '-' only",
                             host->node, host->name);
    }
    return 0;
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

static void write_open_mpi(FILE *stream, const struct placement *placement, const struct hosts *hosts,
                           const struct grouping *sockets)
{
    for (size_t rank = 0; rank < placement->n_ranks; rank++) {
        const struct host *host = hosts_find(hosts, placement->node[rank]);
        size_t group = sockets->of[rank], first = sockets->first[group], i = first;
        while (sockets->member[i] != rank)
            i++;
        fprintf(stream, "rank %zu=%s slot=", rank, host->name);
        write_slot(stream, placement->socket[rank], host->cores_per_socket, i - first,
                   sockets->first[group + 1] - first);
        fputc('\n', stream);
    }
}

static void write_hydra(FILE *stream, const struct placement *placement, const struct hosts *hosts)
{
    for (size_t rank = 0; rank < placement->n_ranks; rank++)
        fprintf(stream, "%s:1\n", hosts_find(hosts, placement->node[rank])->name);
}

static void write_placement_csv(FILE *stream, const struct placement *placement)
{
    fputs("rank,node,socket\n", stream);
    for (size_t rank = 0; rank < placement->n_ranks; rank++)
        fprintf(stream, "%zu,%u,%u\n", rank, placement->node[rank], placement->socket[rank]);
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

/* Opens all files, or none. */
static int open_files(const char *prefix, struct output_file files[FILE_COUNT], struct error *error)
{
    static const char *const suffix[FILE_COUNT] = {".rankfile", ".hosts", ".L.csv"};
    size_t size = strlen(prefix) + 16;
    char *path = xmalloc(size);
    int result = 0;
    for (size_t i = 0; result == 0 && i < FILE_COUNT; i++) {
        snprintf(path, size, "%s%s", prefix, suffix[i]);
        result = output_file_open(&files[i], path, error);
        for (size_t k = 0; result != 0 && k < i; k++)
            output_file_discard(&files[k]);
    }
    free(path);
    return result;
}

/* Writes all files. split_nodes: those whose ranks are not consecutive. */
static int write_files(const char *prefix, const struct placement *placement, const struct hosts *hosts,
                       size_t *split_nodes, struct error *error)
{
    struct grouping sockets = {0}, nodes = {0};
    struct output_file files[FILE_COUNT];
    int result = check_names(placement, hosts, error);
    if (result == 0)
        result = open_files(prefix, files, error);
    if (result == 0) {
        grouping_init(&sockets, placement, GROUP_BY_SOCKET);
        grouping_init(&nodes, placement, GROUP_BY_NODE);
        write_open_mpi(files[FILE_OPEN_MPI].stream, placement, hosts, &sockets);
        write_hydra(files[FILE_HYDRA].stream, placement, hosts);
        write_placement_csv(files[FILE_CSV].stream, placement);
        *split_nodes = count_split(&nodes);
        for (size_t i = 0; i < FILE_COUNT; i++)
            if (result == 0)
                result = output_file_commit(&files[i], error);
            else
                output_file_discard(&files[i]);
    }
    grouping_release(&sockets);
    grouping_release(&nodes);
    return result;
}

int rank_file_write(const char *prefix, const struct placement *placement, sqlite3 *database, const char *trace,
                    struct error *error)
{
    struct hosts hosts = {0};
    size_t split_nodes = 0;
    int result = hosts_read(database, trace, &hosts, error);
    if (result == 0)
        result = write_files(prefix, placement, &hosts, &split_nodes, error);
    if (result == 0 && split_nodes > 0)
        inform(
            "note: the ranks of %zu nodes are not consecutive; MPICH's hydra takes such ranks of one host in %s.hosts "
            "for ranks of different nodes, without shared memory",
            split_nodes, prefix);
    hosts_release(&hosts);
    return result;
}
