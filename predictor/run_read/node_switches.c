/* A table in front of the trace's own is seen by temporary views alone, so those of the schema that read it are made
 * again, from schema.sql: a trace that was written before there was such a table has none of them. */
#include "predictor/run_read/node_switches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/new_database.h"
#include "interpose/database/row.h"
#include "predictor/terms/topology_find.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* The nodes of a trace. */
struct trace_hosts {
    uint32_t *nodes;    /* [n] */
    const char **hosts; /* [n], in the pool */
    size_t n;
    struct pool pool;
};

static void trace_hosts_release(struct trace_hosts *hosts)
{
    FREE_ALL(hosts->nodes, hosts->hosts);
    pool_release(&hosts->pool);
}

static int trace_hosts_read(sqlite3 *database, const char *path, struct trace_hosts *hosts, struct error *error)
{
    struct cursor rows;
    *hosts = (struct trace_hosts){0};
    cursor_open(&rows, database, path, "SELECT id, host FROM main.node WHERE id BETWEEN 0 AND 4294967294 ORDER BY id",
                error);
    while (cursor_next(&rows)) {
        array_grow(&hosts->nodes, hosts->n, sizeof *hosts->nodes);
        array_grow(&hosts->hosts, hosts->n, sizeof *hosts->hosts);
        hosts->nodes[hosts->n] = (uint32_t)cursor_integer(&rows, 0);
        hosts->hosts[hosts->n++] = cursor_text(&rows, 1, &hosts->pool);
    }
    return cursor_close(&rows);
}

int node_switches_place(sqlite3 *database, const char *path, struct topology *topology, struct error *error)
{
    struct trace_hosts hosts;
    uint32_t position;
    if (topology->kind != TOPOLOGY_TREE)
        return 0;
    int result = trace_hosts_read(database, path, &hosts, error);
    if (result == 0)
        topology_place_hosts(topology, hosts.nodes, hosts.hosts, hosts.n);
    for (size_t i = 0; result == 0 && i < hosts.n; i++)
        if (topology_position(topology, hosts.nodes[i], &position) != 0)
            result = error_set(error, "%s: node '%s' is at no switch of '%s': add it to the Nodes of its switch", path,
                               hosts.hosts[i], topology->name);
    trace_hosts_release(&hosts);
    return result;
}

static const char table_sql[] = "CREATE TEMP TABLE node_switch(node INTEGER NOT NULL, level INTEGER NOT NULL, switch "
                                "TEXT NOT NULL, PRIMARY KEY (node, level)) WITHOUT ROWID";

static int execute_sql(sqlite3 *database, const char *path, const char *sql, struct error *error)
{
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : database_error(database, path, "its switches cannot be taken", error);
}

/* Fills the table with the switches above one node. */
static void insert_above(struct row *row, const struct topology *topology, uint32_t node, uint32_t position)
{
    struct topology_above above[TOPOLOGY_TREE_LEVELS];
    size_t n = topology_above(topology, position, above);
    for (size_t level = 1; level <= n; level++) {
        const struct topology_above *one = &above[level - 1];
        char *name = one->name != NULL                     ? xstrdup(one->name)
                     : topology->kind == TOPOLOGY_FAT_TREE ? xasprintf("%s %zu.%u", one->kind, level, one->number)
                                                           : xasprintf("%s %u", one->kind, one->number);
        row_insert(row, "iit", (int64_t)node, (int64_t)level, name);
        free(name);
    }
}

static int fill_table(sqlite3 *database, const char *path, struct topology *topology, struct error *error)
{
    struct trace_hosts hosts;
    size_t n_placed = 0, first_missing = SIZE_MAX;
    if (trace_hosts_read(database, path, &hosts, error) != 0)
        return -1;
    if (topology->kind == TOPOLOGY_TREE)
        topology_place_hosts(topology, hosts.nodes, hosts.hosts, hosts.n);
    struct row row = row_prepare(database, "temp.node_switch", 3);
    for (size_t i = 0; i < hosts.n; i++) {
        uint32_t position;
        if (topology_position(topology, hosts.nodes[i], &position) == 0) {
            insert_above(&row, topology, hosts.nodes[i], position);
            n_placed++;
        } else if (first_missing == SIZE_MAX)
            first_missing = i;
    }
    int result = row_finish(&row) == 0 ? 0 : database_error(database, path, "its switches cannot be stored", error);
    if (result == 0 && n_placed == 0 && hosts.n > 0)
        result = error_set(error, "--topology: none of the %zu nodes of %s (%s%s) has a place in '%s'", hosts.n, path,
                           hosts.hosts[0], hosts.n > 1 ? ", ..." : "", topology->name);
    else if (result == 0 && first_missing != SIZE_MAX)
        inform("--topology: %zu of %zu nodes of %s (%s%s) have no place in '%s'", hosts.n - n_placed, hosts.n, path,
               hosts.hosts[first_missing], hosts.n - n_placed > 1 ? ", ..." : "", topology->name);
    trace_hosts_release(&hosts);
    return result;
}

/* Makes the table of a topology that the user names. */
static int table_of_topology(sqlite3 *database, const char *path, const char *name, struct error *error)
{
    struct topology topology;
    if (topology_find(name, &topology, error) != 0)
        return -1;
    int result =
        topology.kind == TOPOLOGY_LINKS
            ? error_set(error, "--topology: '%s' is a list of routes, which has no switches; expected another kind",
                        topology.name)
            : execute_sql(database, path, table_sql, error);
    if (result == 0)
        result = fill_table(database, path, &topology, error);
    topology_release(&topology);
    return result;
}

/* Makes a view of the schema again, as a temporary one. */
static int view_again(sqlite3 *database, const char *path, const char *schema, const char *name, struct error *error)
{
    static const char make[] = "CREATE VIEW ";
    char *head = xasprintf("%s%s(", make, name);
    const char *begin = strstr(schema, head), *end = begin != NULL ? strstr(begin, ";\n") : NULL;
    free(head);
    if (end == NULL)
        return error_set(error, "schema.sql has no view %s: it is of another version of mpistair", name);
    char *sql = xasprintf("DROP VIEW IF EXISTS temp.%s; CREATE TEMP VIEW %.*s", name,
                          (int)(end - begin) - (int)strlen(make), begin + strlen(make));
    int result = execute_sql(database, path, sql, error);
    free(sql);
    return result;
}

static int views_of_switches(sqlite3 *database, const char *path, struct error *error)
{
    static const char *const views[] = {"switch_distance", "switch_volume"};
    char *schema = new_database_schema(error);
    int result = schema != NULL ? 0 : -1;
    for (size_t i = 0; result == 0 && i < sizeof views / sizeof *views; i++)
        result = view_again(database, path, schema, views[i], error);
    free(schema);
    return result;
}

int node_switches_take(sqlite3 *database, const char *path, const char *topology, struct error *error)
{
    int64_t has_table;
    if (cursor_numbers(database, path, "SELECT count(*) FROM main.sqlite_master WHERE name = 'node_switch'", &has_table,
                       1, error) != 0)
        return -1;
    if (topology == NULL && has_table != 0)
        return 0;
    int result = topology != NULL ? table_of_topology(database, path, topology, error)
                                  : execute_sql(database, path, table_sql, error);
    return result == 0 ? views_of_switches(database, path, error) : -1;
}
