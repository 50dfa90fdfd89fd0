/* A trace keeps the machines with which it was predicted, so that a prediction can be told apart from one of another
 * table of the same name. */
#include "calibrate/machine/machine_database.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "share/base/installation.h"
#include "share/base/nearest.h"

static int run(sqlite3 *database, const char *path, const char *sql, const char *name, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = 0;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK ||
        (name != NULL && sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) != SQLITE_OK) ||
        sqlite3_step(statement) != SQLITE_DONE)
        result = database_error(database, path, "machine tables cannot be changed", error);
    sqlite3_finalize(statement);
    return result;
}

static int insert_rows(sqlite3 *database, const char *path, const struct machine *machine, struct error *error)
{
    struct row head = row_prepare(database, "machine", 2);
    row_insert(&head, "tt", machine->name, machine->source);
    if (row_finish(&head) != 0)
        return database_error(database, path, "the machine cannot be stored", error);
    struct row rows = row_prepare(database, "machine_parameter", 11);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        row_insert(&rows, "ttttodtddot", machine->name, level_text(row->level), machine_protocol_name[row->protocol],
                   row->quantity, row->n == MACHINE_NO_N ? INT64_MIN : (int64_t)row->n, row->value, row->unit,
                   row->ci_low, row->ci_high, row->samples == 0 ? INT64_MIN : (int64_t)row->samples,
                   row->method[0] == '\0' ? NULL : row->method);
    }
    return row_finish(&rows) == 0 ? 0 : database_error(database, path, "the machine cannot be stored", error);
}

/* Compares exactly on purpose: NaN equals NaN, and any other difference is one. */
static bool same_value(double a, double b)
{
    return isnan(a) ? isnan(b) : !(a < b) && !(a > b) && !isnan(b);
}

static bool same_machine(const struct machine *a, const struct machine *b)
{
    if (a->n_parameters != b->n_parameters || strcmp(a->source, b->source) != 0)
        return false;
    for (size_t i = 0; i < a->n_parameters; i++) {
        const struct machine_parameter *x = &a->parameters[i], *y = &b->parameters[i];
        if (x->level != y->level || x->protocol != y->protocol || strcmp(x->quantity, y->quantity) != 0 ||
            x->n != y->n || !same_value(x->value, y->value) || !same_value(x->ci_low, y->ci_low) ||
            !same_value(x->ci_high, y->ci_high) || x->samples != y->samples || strcmp(x->method, y->method) != 0)
            return false;
    }
    return true;
}

int machine_store(sqlite3 *database, const char *path, const struct machine *machine, struct error *error)
{
    static const char *const remove[] = {
        /* What was predicted by other values under the same name is no longer known. */
        "DELETE FROM prediction WHERE run_id IN (SELECT id FROM prediction_run WHERE machine = ?)",
        "DELETE FROM prediction_run WHERE machine = ?",
        "DELETE FROM machine_parameter WHERE machine = ?",
        "DELETE FROM machine WHERE name = ?",
    };
    for (size_t i = 0; i < machine->n_parameters; i++)
        if (machine->parameters[i].n != MACHINE_NO_N && machine->parameters[i].n > INT64_MAX)
            return error_set(error, "%s: n %llu of machine '%s' is too large for a database", path,
                             (unsigned long long)machine->parameters[i].n, machine->name);
    struct machine stored;
    int found = machine_load(database, path, machine->name, &stored, NULL);
    if (found == 0) {
        bool same = same_machine(&stored, machine);
        machine_release(&stored);
        if (same)
            return 0;
    }
    if (run(database, path, "SAVEPOINT machine_store", NULL, error) != 0)
        return -1;
    int result = 0;
    for (size_t i = 0; i < sizeof remove / sizeof remove[0] && result == 0 && found != 1; i++)
        result = run(database, path, remove[i], machine->name, error);
    if (result == 0)
        result = insert_rows(database, path, machine, error);
    if (result == 0)
        result = run(database, path, "RELEASE machine_store", NULL, error);
    if (result != 0) {
        run(database, path, "ROLLBACK TO machine_store", NULL, NULL);
        run(database, path, "RELEASE machine_store", NULL, NULL);
    }
    return result;
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text == NULL ? "" : (const char *)text;
}

static int copy(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size)
        return -1;
    memcpy(to, from, length + 1);
    return 0;
}

static int read_parameter(struct cursor *rows, struct machine_parameter *row, struct error *error)
{
    sqlite3_stmt *statement = rows->statement;
    *row = (struct machine_parameter){.n = MACHINE_NO_N};
    if (level_parse(text_of(statement, 0), &row->level) != 0 ||
        machine_parse_protocol(text_of(statement, 1), &row->protocol) != 0)
        return error_set(error, "'%.40s %.40s' is no level and protocol", text_of(statement, 0), text_of(statement, 1));
    if (copy(row->quantity, sizeof row->quantity, text_of(statement, 2)) != 0 ||
        copy(row->unit, sizeof row->unit, text_of(statement, 5)) != 0 ||
        copy(row->method, sizeof row->method, text_of(statement, 9)) != 0)
        return error_set(error, "quantity, unit or method of '%.40s' is too long", text_of(statement, 2));
    if (sqlite3_column_type(statement, 3) != SQLITE_NULL) {
        sqlite3_int64 n = sqlite3_column_int64(statement, 3);
        if (n < 0)
            return error_set(error, "%s has a negative n", row->quantity);
        row->n = (uint64_t)n;
    }
    row->value = cursor_real(rows, 4);
    row->ci_low = cursor_real(rows, 6);
    row->ci_high = cursor_real(rows, 7);
    sqlite3_int64 samples = sqlite3_column_int64(statement, 8);
    row->samples = samples > 0 ? (uint64_t)samples : 0;
    return machine_check_parameter(row, error);
}

/* Reads name and source. Returns 0; 1 if there is no such machine; -1 with the reason. */
static int read_head(sqlite3 *database, const char *path, const char *name, struct machine *machine,
                     struct error *error)
{
    struct cursor rows;
    int result = 1;
    cursor_open(&rows, database, path, "SELECT name, source FROM machine WHERE name = ?", error);
    cursor_bind(&rows, "t", name);
    if (cursor_next(&rows))
        result = copy(machine->name, sizeof machine->name, text_of(rows.statement, 0)) == 0 &&
                         copy(machine->source, sizeof machine->source, text_of(rows.statement, 1)) == 0
                     ? 0
                     : error_set(error, "%s: machine '%.64s': name or source is too long", path, name);
    return cursor_close(&rows) != 0 ? -1 : result;
}

static int read_parameters(sqlite3 *database, const char *path, const char *name, struct machine *machine,
                           struct error *error)
{
    struct cursor rows;
    struct error reason = {""};
    int result = 0;
    cursor_open(&rows, database, path,
                "SELECT level, protocol, quantity, n, value, unit, ci_low, ci_high, samples, method FROM "
                "machine_parameter WHERE machine = ? ORDER BY rowid",
                error);
    cursor_bind(&rows, "t", name);
    while (result == 0 && cursor_next(&rows)) {
        struct machine_parameter row;
        result = read_parameter(&rows, &row, &reason);
        if (result == 0)
            machine_append(machine, &row);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    if (result == 0)
        result = machine_check(machine, &reason);
    return result == 0 ? 0 : error_set(error, "%s: machine '%.64s': %s", path, name, reason.text);
}

int machine_load(sqlite3 *database, const char *path, const char *name, struct machine *machine, struct error *error)
{
    struct machine loaded = {0};
    int result = read_head(database, path, name, &loaded, error);
    if (result == 0)
        result = read_parameters(database, path, name, &loaded, error);
    if (result == 0)
        *machine = loaded;
    else
        machine_release(&loaded);
    return result;
}

int machine_each(sqlite3 *database, const char *path, void (*each)(void *context, const char *name, const char *source),
                 void *context, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path, "SELECT name, source FROM machine ORDER BY name", error);
    while (cursor_next(&rows))
        each(context, text_of(rows.statement, 0), text_of(rows.statement, 1));
    return cursor_close(&rows);
}

/* Lists the machines of a trace: how many, and "a, b". */
struct machine_names {
    size_t n;
    char first[64];
    char text[512];
};

static void add_name(void *context, const char *name, const char *source)
{
    (void)source;
    struct machine_names *names = context;
    size_t length = strlen(names->text);
    if (names->n++ == 0)
        snprintf(names->first, sizeof names->first, "%s", name);
    snprintf(names->text + length, sizeof names->text - length, "%s%s", length > 0 ? ", " : "", name);
}

/* Joins why no machine of that name was found and those that the trace has. */
static void say_unknown(const char *wanted, const struct machine_names *names, const struct error *reason,
                        struct error *error)
{
    struct nearest nearest = nearest_to(wanted);
    for (const char *at = names->text; names->n > 0 && at != NULL;
         at = strstr(at, ", ") != NULL ? strstr(at, ", ") + 2 : NULL) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        nearest_add(&nearest, name);
    }
    installation_each("machines", ".tbl", nearest_add_named, &nearest, NULL);
    const char *hint = nearest_hint(&nearest);
    if (hint[0] != '\0')
        error_set(error, "machine '%.64s': not in the trace, nor among the shipped ones%s", wanted, hint);
    else
        error_set(error, "%s%s%s", reason->text, names->n > 0 ? "; the trace has: " : "", names->text);
}

int machine_of_trace(const char *trace, sqlite3 *database, const char *wanted, struct machine *machine,
                     struct error *error)
{
    struct machine_names names = {0};
    struct error reason = {.text = ""};
    if (machine_each(database, trace, add_name, &names, error) != 0)
        return -1;
    if (wanted == NULL && names.n != 1)
        return error_set(error,
                         "%s: %s: choose with --machine NAME|FILE ('mpistair machine list' shows those shipped)%s%s",
                         trace, names.n == 0 ? "holds no machine" : "holds several machines",
                         names.n > 0 ? ", of the trace: " : "", names.text);
    const char *name = wanted != NULL ? wanted : names.first;
    int result = machine_load(database, trace, name, machine, error);
    if (result == 1) {
        result = machine_find(name, machine, &reason);
        if (result != 0)
            say_unknown(wanted, &names, &reason, error);
    }
    if (result == 0 && !machine_name_valid(machine->name)) { /* it goes into CSV and JSON as it is */
        machine_release(machine);
        result = error_set(error, "%s: '%.64s' is not a valid name of a machine", trace, name);
    }
    return result;
}
