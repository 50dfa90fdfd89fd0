/* Names are read once, since a row of a message has numbers only, and quoted once, since JSON repeats them by the
 * million. */
#include "report/export/export_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/json.h"
#include "share/base/memory.h"

struct name name_of(struct cursor *rows, int column, struct pool *pool)
{
    struct name name = {.text = cursor_text(rows, column, pool)};
    struct json *string = json_string(name.text);
    char *quoted = NULL;
    size_t length = 0;
    FILE *stream = or_no_memory(open_memstream(&quoted, &length));
    json_print(stream, string, JSON_LINE);
    if (fclose(stream) != 0)
        no_memory(0);
    name.json = pool_clean(pool, quoted, length);
    json_release(string);
    free(quoted);
    return name;
}

/* Maps an id of the table to its index; of two rows with one id the later one counts. */
static void number(struct map *map, int64_t id, size_t n)
{
    *map_at(map, (struct map_key){(uint64_t)id, 0, 0}) = (uint32_t)n;
}

static uint32_t find(const struct map *map, int64_t id)
{
    return map_find(map, (struct map_key){(uint64_t)id, 0, 0});
}

uint32_t names_site(const struct export_names *names, int64_t id)
{
    return find(&names->site_of_id, id);
}

uint32_t names_comm(const struct export_names *names, int64_t id)
{
    return find(&names->comm_of_id, id);
}

static const char make_functions_sql[] =
    "DROP TABLE IF EXISTS temp.export_function;"
    "CREATE TABLE temp.export_function(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "INSERT OR IGNORE INTO temp.export_function(name) SELECT name FROM function"
    " UNION SELECT function FROM collective UNION SELECT function FROM rma UNION SELECT function FROM unmatched"
    " UNION SELECT function FROM file_call UNION SELECT function FROM persistent";

static const char *const blocking_functions[] = {
    "MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend", "MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace", NULL};

static int read_functions(struct export *export, struct export_names *names)
{
    struct cursor rows;
    if (sqlite3_exec(export->database, make_functions_sql, NULL, NULL, NULL) != SQLITE_OK)
        return error_set(export->error, "%s: cannot be read: %s", export->path, sqlite3_errmsg(export->database));
    cursor_open(&rows, export->database, export->path, "SELECT name FROM temp.export_function ORDER BY id",
                export->error);
    while (cursor_next(&rows)) {
        struct named_function function = {.name = name_of(&rows, 0, &names->pool)};
        function.blocking = run_function_named(function.name.text, blocking_functions);
        array_grow(&names->functions, names->n_functions, sizeof function);
        names->functions[names->n_functions++] = function;
    }
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(&rows, export->database, export->path,
                "SELECT f.id, e.id FROM function f JOIN temp.export_function e ON e.name = f.name", export->error);
    while (cursor_next(&rows))
        number(&names->function_of_id, cursor_integer(&rows, 0), (size_t)cursor_integer(&rows, 1) - 1);
    return cursor_close(&rows);
}

static int read_sites(struct export *export, struct export_names *names)
{
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT id, place, coalesce(file, ''), coalesce(line, -1) FROM site", export->error);
    while (cursor_next(&rows)) {
        struct named_site site = {.place = name_of(&rows, 1, &names->pool),
                                  .file = name_of(&rows, 2, &names->pool),
                                  .id = cursor_integer(&rows, 0),
                                  .line = cursor_integer(&rows, 3)};
        number(&names->site_of_id, site.id, names->n_sites);
        array_grow(&names->sites, names->n_sites, sizeof site);
        names->sites[names->n_sites++] = site;
    }
    return cursor_close(&rows);
}

static int read_comms(struct export *export, struct export_names *names)
{
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT id, coalesce(nullif(name, ''), 'communicator ' || id), coalesce(remote, -1) FROM communicator"
                " ORDER BY id",
                export->error);
    while (cursor_next(&rows)) {
        struct named_comm comm = {.name = name_of(&rows, 1, &names->pool),
                                  .id = cursor_integer(&rows, 0),
                                  .remote = cursor_integer(&rows, 2)};
        number(&names->comm_of_id, comm.id, names->n_comms);
        array_grow(&names->comms, names->n_comms, sizeof comm);
        names->comms[names->n_comms++] = comm;
    }
    return cursor_close(&rows);
}

static bool read_side(struct export *export, const struct export_names *names, struct cursor *rows, int column,
                      struct form_side *side)
{
    side->function = find(&names->function_of_id, cursor_integer(rows, column));
    side->site = sqlite3_column_type(rows->statement, column + 1) == SQLITE_NULL
                     ? NAME_NONE
                     : names_site(names, cursor_integer(rows, column + 1));
    side->completed = sqlite3_column_type(rows->statement, column + 2) == SQLITE_NULL
                          ? EXPORT_NOTHING
                          : cursor_integer(rows, column + 2);
    if (side->function == NAME_NONE)
        error_set(export->error, "%s: form %lld: function %lld is not in the table function", export->path,
                  (long long)cursor_integer(rows, 0), (long long)cursor_integer(rows, column));
    return side->function != NAME_NONE;
}

static int read_forms(struct export *export, struct export_names *names)
{
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT id, send_function, send_callsite, send_completed, recv_function, recv_callsite, recv_completed"
                " FROM form",
                export->error);
    while (cursor_next(&rows)) {
        struct named_form form;
        if (!read_side(export, names, &rows, 1, &form.side[0]) || !read_side(export, names, &rows, 4, &form.side[1])) {
            rows.result = -1;
            break;
        }
        number(&names->form_of_id, cursor_integer(&rows, 0), names->n_forms);
        array_grow(&names->forms, names->n_forms, sizeof form);
        names->forms[names->n_forms++] = form;
    }
    return cursor_close(&rows);
}

int export_names_read(struct export *export, struct export_names *names)
{
    *names = (struct export_names){0};
    return read_functions(export, names) != 0 || read_sites(export, names) != 0 || read_comms(export, names) != 0 ||
                   read_forms(export, names) != 0
               ? -1
               : 0;
}

void export_names_release(struct export_names *names)
{
    pool_release(&names->pool);
    free(names->functions);
    free(names->sites);
    free(names->comms);
    free(names->forms);
    map_release(&names->function_of_id);
    map_release(&names->site_of_id);
    map_release(&names->comm_of_id);
    map_release(&names->form_of_id);
    *names = (struct export_names){0};
}
