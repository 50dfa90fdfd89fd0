/* A virtual table (sqlite.org/vtab.html) over the tables of that name in all shards. What a query asks of columns goes
 * into the WHERE of a statement in each shard, so that their indexes are used; SQLite tests each row again. Rows come
 * in the order of their ids, as from one file: of the shards' next rows the first is taken, by a heap. SQLite's ATTACH
 * would end at 10 files. A shard is opened when its first row is wanted. */
#include "interpose/database/shard_rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/shards.h"
#include "share/base/error.h"
#include "share/base/memory.h"

/* The test of random queries plants a fault here. */
#ifndef SHARD_ROWS_FROM
#define SHARD_ROWS_FROM ">="
#endif
#ifndef SHARD_ROWS_LAST_RANK
#define SHARD_ROWS_LAST_RANK(shard) ((shard)->last_rank)
#endif

enum { COLUMNS_MOST = 32, KEYS_MOST = 2, CACHE_KIB = 32768, CACHE_LEAST_KIB = 64 };

/* Guesses for the planner, as SQLite makes them of indexes that nothing is known of. */
static const double rows_unknown = 1e6, rows_of_a_key = 20, share_equal = 0.1, share_range = 0.25;

/* What all tables of a connection share. */
struct shard_set {
    sqlite3 *database;
    char *schema; /* of the trace; NULL: no table is connected yet */
    int64_t only; /* number of the one shard that is seen, 0: all are */
    struct shards list;
    sqlite3 **connections; /* [list.n] NULL: not open */
};

struct shard_rows {
    sqlite3_vtab base;
    struct shard_set *set;
    int table; /* SHARD_MESSAGES, ... */
    int n_columns, n_keys;
    int rank, keys[KEYS_MOST]; /* columns; -1: the row's number */
    int number;                /* column that is the row's number, -1: none */
    char *columns[COLUMNS_MOST];
};

/* The rows of one shard. */
struct part {
    sqlite3_stmt *statement; /* NULL: not prepared for the cursor's plan */
    sqlite3_int64 keys[KEYS_MOST];
};

struct shard_cursor {
    sqlite3_vtab_cursor base;
    char *plan;         /* of which the parts have statements; NULL: none */
    struct part *parts; /* [set->list.n] */
    uint32_t *heap;     /* [n] shards with rows left, of which the first has the next row */
    size_t n;
};

static int say_fault(sqlite3_vtab *table, const char *text)
{
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", text);
    return SQLITE_ERROR;
}

/* Says why a shard cannot be read, and what to do. */
static int fail_shard(sqlite3_vtab *table, const struct shard *shard, const char *fault)
{
    struct error error;
    shard_error(shard, fault, &error);
    return say_fault(table, error.text);
}

/* Reads which shards there are, unless that is known. */
static int read_list(struct shard_rows *table)
{
    struct shard_set *set = table->set;
    struct error error;
    if (set->list.n > 0)
        return SQLITE_OK;
    if (shards_read(&set->list, set->database, set->schema, &error) != 0)
        return say_fault(&table->base, error.text);
    if (set->only > 0)
        shards_keep(&set->list, set->only);
    if (set->list.n == 0)
        return say_fault(&table->base, "table shard: names no file that has the rows: ingest the run again");
    set->connections = xcalloc(set->list.n + 1, sizeof(sqlite3 *));
    return SQLITE_OK;
}

static int column_of(const struct shard_rows *table, const char *name)
{
    for (int i = 0; i < table->n_columns; i++)
        if (strcmp(table->columns[i], name) == 0)
            return i;
    return -1;
}

/* Takes the columns' names from their definitions, the arguments of CREATE VIRTUAL TABLE. *is_without_rowid: they have
 * a primary key of their own. */
static void read_columns(struct shard_rows *table, int n, const char *const *definitions, bool *is_without_rowid)
{
    table->number = -1;
    for (int i = 0; i < n; i++) {
        if (strncmp(definitions[i], "PRIMARY KEY", 11) == 0)
            *is_without_rowid = true;
        if (*is_without_rowid || table->n_columns == COLUMNS_MOST)
            break;
        if (strstr(definitions[i], "INTEGER PRIMARY KEY") != NULL)
            table->number = table->n_columns;
        table->columns[table->n_columns++] = xasprintf("%.*s", (int)strcspn(definitions[i], " \t\n"), definitions[i]);
    }
    const struct shard_table *known = &shard_tables[table->table];
    table->rank = column_of(table, known->rank);
    for (; table->n_keys < KEYS_MOST && known->keys[table->n_keys] != NULL; table->n_keys++)
        table->keys[table->n_keys] = column_of(table, known->keys[table->n_keys]);
}

static int disconnect_rows(sqlite3_vtab *base)
{
    struct shard_rows *table = (struct shard_rows *)base;
    for (int i = 0; i < table->n_columns; i++)
        free(table->columns[i]);
    free(table);
    return SQLITE_OK;
}

static int connect_rows(sqlite3 *database, void *context, int argc, const char *const *argv, sqlite3_vtab **made,
                        char **error)
{
    struct shard_set *set = context;
    struct shard_rows *table = xcalloc(1, sizeof *table);
    bool is_without_rowid = false;
    table->set = set;
    while (table->table < SHARD_TABLES && strcmp(shard_tables[table->table].name, argv[2]) != 0)
        table->table++;
    if (set->schema == NULL)
        set->schema = xstrdup(argv[1]);
    if (table->table == SHARD_TABLES || strcmp(set->schema, argv[1]) != 0) {
        *error = sqlite3_mprintf("%s.%s: expected a table of the one trace in shards that a connection may have",
                                 argv[1], argv[2]);
        free(table);
        return SQLITE_ERROR;
    }
    read_columns(table, argc - 3, argv + 3, &is_without_rowid);
    sqlite3_str *sql = sqlite3_str_new(database);
    for (int i = 3; i < argc; i++)
        sqlite3_str_appendf(sql, "%s%s", i == 3 ? "CREATE TABLE shard_rows(" : ",", argv[i]);
    sqlite3_str_appendf(sql, ")%s", is_without_rowid ? " WITHOUT ROWID" : "");
    char *text = sqlite3_str_finish(sql);
    int result = text == NULL ? SQLITE_NOMEM : sqlite3_declare_vtab(database, text);
    sqlite3_free(text);
    if (result != SQLITE_OK) {
        disconnect_rows(&table->base);
        return result;
    }
    sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    *made = &table->base;
    return SQLITE_OK;
}

/* Returns how a constraint is written; NULL: it is none that shards are asked. */
static const char *operator_of(int code)
{
    switch (code) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return "=";
    case SQLITE_INDEX_CONSTRAINT_IS:
        return "IS";
    case SQLITE_INDEX_CONSTRAINT_GT:
        return ">";
    case SQLITE_INDEX_CONSTRAINT_GE:
        return SHARD_ROWS_FROM;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return "<";
    case SQLITE_INDEX_CONSTRAINT_LE:
        return "<=";
    default:
        return NULL;
    }
}

/* What a constraint says of the shards that have to be asked: a letter for each value in front of the statement. */
static char letter_of(const struct shard_rows *table, const struct sqlite3_index_constraint *constraint)
{
    if (constraint->iColumn < 0 || constraint->iColumn != table->rank)
        return '.';
    switch (constraint->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS:
        return '=';
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
        return '>';
    default:
        return '<';
    }
}

static bool is_number(const struct shard_rows *table, int column)
{
    return column < 0 || column == table->number;
}

/* Returns whether rows in the order of the keys are in that which is asked for. */
static bool has_order(const struct shard_rows *table, const sqlite3_index_info *plan)
{
    for (int i = 0; i < plan->nOrderBy; i++) {
        int column = plan->aOrderBy[i].iColumn, key = i < table->n_keys ? table->keys[i] : -2;
        bool is_key = key == -1 ? is_number(table, column) : column == key;
        if (!is_key || plan->aOrderBy[i].desc)
            return false;
        if (i + 1 == table->n_keys) /* no two rows are equal in these */
            return true;
    }
    return plan->nOrderBy > 0;
}

/* Estimates rows and cost by the constraints. */
static void estimate(const struct shard_rows *table, sqlite3_index_info *plan)
{
    const struct shards *list = &table->set->list;
    double all = list->n == 0 ? rows_unknown : 0, n = list->n == 0 ? 1 : (double)list->n;
    for (size_t i = 0; i < list->n; i++)
        all += (double)list->shards[i].rows[table->table];
    double rows = all, read = all, asked = n;
    for (int i = 0; i < plan->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &plan->aConstraint[i];
        if (plan->aConstraintUsage[i].argvIndex == 0)
            continue;
        bool is_equal = constraint->op == SQLITE_INDEX_CONSTRAINT_EQ || constraint->op == SQLITE_INDEX_CONSTRAINT_IS;
        if (is_number(table, constraint->iColumn)) {
            rows = is_equal ? 1 : rows * share_range;
            read = is_equal ? 1 : read * share_range;
            if (is_equal && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ)
                plan->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
        } else if (constraint->iColumn == table->rank) {
            rows *= is_equal ? 1 / n : share_range;
            read *= is_equal ? 1 / n : share_range;
            asked = is_equal ? 1 : asked;
        } else if (constraint->iColumn == table->keys[0] && is_equal) {
            rows = rows < rows_of_a_key ? rows : rows_of_a_key;
            read = read < rows_of_a_key ? read : rows_of_a_key;
        } else {
            rows *= is_equal ? share_equal : share_range;
        }
    }
    plan->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
    plan->estimatedCost = 2 * asked + 1.5 * read;
}

static int plan_rows(sqlite3_vtab *base, sqlite3_index_info *plan)
{
    struct shard_rows *table = (struct shard_rows *)base;
    const struct shard_table *known = &shard_tables[table->table];
    int n_values = 0, n_conditions = 0, result = read_list(table);
    if (result != SQLITE_OK)
        return result;
    sqlite3_str *letters = sqlite3_str_new(table->set->database), *sql = sqlite3_str_new(table->set->database);
    for (int i = 0; i < table->n_keys; i++)
        sqlite3_str_appendf(sql, "%s%s", i == 0 ? "SELECT " : ",", known->keys[i]);
    for (int i = 0; i < table->n_columns; i++)
        sqlite3_str_appendf(sql, ",%s", plan->colUsed & (sqlite3_uint64)1 << i ? table->columns[i] : "NULL");
    sqlite3_str_appendf(sql, " FROM %s", known->name);
    for (int i = 0; i < plan->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &plan->aConstraint[i];
        const char *sign = operator_of(constraint->op);
        bool is_null = constraint->op == SQLITE_INDEX_CONSTRAINT_ISNULL;
        if (!constraint->usable || (sign == NULL && !is_null) || constraint->iColumn >= table->n_columns)
            continue;
        const char *column = constraint->iColumn < 0 ? "rowid" : table->columns[constraint->iColumn];
        const char *joined = n_conditions++ == 0 ? "WHERE" : "AND";
        if (is_null) {
            sqlite3_str_appendf(sql, " %s %s IS NULL", joined, column);
            continue;
        }
        plan->aConstraintUsage[i].argvIndex = ++n_values;
        sqlite3_str_appendchar(letters, 1, letter_of(table, constraint));
        sqlite3_str_appendf(sql, " %s %s %s ?%d", joined, column, sign, n_values);
    }
    for (int i = 0; i < table->n_keys; i++)
        sqlite3_str_appendf(sql, "%s%s", i == 0 ? " ORDER BY " : ",", known->keys[i]);
    char *statement = sqlite3_str_finish(sql), *of_values = sqlite3_str_finish(letters);
    plan->idxStr = sqlite3_mprintf("%s\n%s", of_values == NULL ? "" : of_values, statement);
    plan->needToFreeIdxStr = 1;
    plan->orderByConsumed = has_order(table, plan);
    estimate(table, plan);
    sqlite3_free(statement);
    sqlite3_free(of_values);
    return plan->idxStr == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

static int open_rows(sqlite3_vtab *base, sqlite3_vtab_cursor **opened)
{
    struct shard_rows *table = (struct shard_rows *)base;
    int result = read_list(table);
    if (result != SQLITE_OK)
        return result;
    struct shard_cursor *cursor = xcalloc(1, sizeof *cursor);
    cursor->parts = xcalloc(table->set->list.n + 1, sizeof *cursor->parts);
    cursor->heap = xcalloc(table->set->list.n + 1, sizeof *cursor->heap);
    *opened = &cursor->base;
    return SQLITE_OK;
}

static void forget_plan(struct shard_cursor *cursor)
{
    size_t n = ((const struct shard_rows *)cursor->base.pVtab)->set->list.n;
    for (size_t i = 0; cursor->plan != NULL && i < n; i++) {
        sqlite3_finalize(cursor->parts[i].statement);
        cursor->parts[i].statement = NULL;
    }
    free(cursor->plan);
    cursor->plan = NULL;
}

static int close_rows(sqlite3_vtab_cursor *base)
{
    struct shard_cursor *cursor = (struct shard_cursor *)base;
    forget_plan(cursor);
    FREE_ALL(cursor->parts, cursor->heap, cursor);
    return SQLITE_OK;
}

/* True if the values leave a rank of the shard. Only whole numbers tell. */
static bool may_have(const struct shard *shard, const char *letters, sqlite3_value **values)
{
    for (int i = 0; letters[i] != '\n'; i++) {
        if (letters[i] == '.' || sqlite3_value_type(values[i]) != SQLITE_INTEGER)
            continue;
        sqlite3_int64 rank = sqlite3_value_int64(values[i]);
        if ((letters[i] != '<' && rank > SHARD_ROWS_LAST_RANK(shard)) ||
            (letters[i] != '>' && rank < shard->first_rank))
            return false;
    }
    return true;
}

static bool is_before(const struct shard_cursor *cursor, uint32_t a, uint32_t b)
{
    const struct part *one = &cursor->parts[a], *other = &cursor->parts[b];
    return one->keys[0] != other->keys[0] ? one->keys[0] < other->keys[0] : one->keys[1] < other->keys[1];
}

/* Moves an element of the heap down to its place. */
static void sink_down(struct shard_cursor *cursor, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < cursor->n; child++)
            if (is_before(cursor, cursor->heap[child], cursor->heap[least]))
                least = child;
        if (least == at)
            return;
        uint32_t moved = cursor->heap[at];
        cursor->heap[at] = cursor->heap[least];
        cursor->heap[least] = moved;
        at = least;
    }
}

/* Goes to the next row of a shard. Returns SQLITE_ROW, SQLITE_DONE, or an error's code, which the table says. */
static int step_part(struct shard_cursor *cursor, uint32_t index)
{
    struct shard_rows *table = (struct shard_rows *)cursor->base.pVtab;
    struct part *part = &cursor->parts[index];
    int step = sqlite3_step(part->statement);
    if (step == SQLITE_ROW) {
        for (int i = 0; i < table->n_keys; i++)
            part->keys[i] = sqlite3_column_int64(part->statement, i);
    } else if (step != SQLITE_DONE) {
        char *fault = xasprintf("cannot be read: %s", sqlite3_errmsg(table->set->connections[index]));
        step = fail_shard(&table->base, &table->set->list.shards[index], fault);
        free(fault);
    }
    return step;
}

/* Opens the shard, and prepares its statement, where that is not done. */
static int prepare_part(struct shard_cursor *cursor, uint32_t index, const char *sql)
{
    struct shard_rows *table = (struct shard_rows *)cursor->base.pVtab;
    struct shard_set *set = table->set;
    const struct shard *shard = &set->list.shards[index];
    char fault[SHARD_TEXT_BYTES];
    if (set->connections[index] == NULL) {
        if ((set->connections[index] = shard_open(shard, fault)) == NULL)
            return fail_shard(&table->base, shard, fault);
        int kib = CACHE_KIB / (int)set->list.n;
        char *pragma = xasprintf("PRAGMA cache_size=-%d", kib < CACHE_LEAST_KIB ? CACHE_LEAST_KIB : kib);
        sqlite3_exec(set->connections[index], pragma, NULL, NULL, NULL);
        free(pragma);
    }
    struct part *part = &cursor->parts[index];
    if (part->statement != NULL)
        return sqlite3_reset(part->statement);
    if (sqlite3_prepare_v2(set->connections[index], sql, -1, &part->statement, NULL) == SQLITE_OK)
        return SQLITE_OK;
    snprintf(fault, sizeof fault, "cannot be read: %.200s", sqlite3_errmsg(set->connections[index]));
    return fail_shard(&table->base, shard, fault);
}

static int first_row(sqlite3_vtab_cursor *base, int number, const char *letters, int argc, sqlite3_value **argv)
{
    struct shard_cursor *cursor = (struct shard_cursor *)base;
    const struct shards *list = &((const struct shard_rows *)base->pVtab)->set->list;
    (void)number;
    if (cursor->plan == NULL || strcmp(cursor->plan, letters) != 0) {
        forget_plan(cursor);
        cursor->plan = xstrdup(letters);
    }
    cursor->n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        if (!may_have(&list->shards[i], letters, argv))
            continue;
        int result = prepare_part(cursor, i, strchr(letters, '\n') + 1);
        for (int k = 0; result == SQLITE_OK && k < argc; k++)
            result = sqlite3_bind_value(cursor->parts[i].statement, k + 1, argv[k]);
        if (result == SQLITE_OK)
            result = step_part(cursor, i);
        if (result == SQLITE_ROW)
            cursor->heap[cursor->n++] = i;
        else if (result != SQLITE_DONE)
            return result;
    }
    for (size_t i = cursor->n / 2; i-- > 0;)
        sink_down(cursor, i);
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct shard_cursor *cursor = (struct shard_cursor *)base;
    int step = step_part(cursor, cursor->heap[0]);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return step;
    if (step == SQLITE_DONE)
        cursor->heap[0] = cursor->heap[--cursor->n];
    sink_down(cursor, 0);
    return SQLITE_OK;
}

static int at_last(sqlite3_vtab_cursor *base)
{
    return ((struct shard_cursor *)base)->n == 0;
}

static int row_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    const struct shard_cursor *cursor = (const struct shard_cursor *)base;
    int n_keys = ((const struct shard_rows *)base->pVtab)->n_keys;
    sqlite3_result_value(result, sqlite3_column_value(cursor->parts[cursor->heap[0]].statement, n_keys + column));
    return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *number)
{
    const struct shard_cursor *cursor = (const struct shard_cursor *)base;
    *number = cursor->parts[cursor->heap[0]].keys[0];
    return SQLITE_OK;
}

static const sqlite3_module module_shard_rows = {
    .xCreate = connect_rows,
    .xConnect = connect_rows,
    .xBestIndex = plan_rows,
    .xDisconnect = disconnect_rows,
    .xDestroy = disconnect_rows,
    .xOpen = open_rows,
    .xClose = close_rows,
    .xFilter = first_row,
    .xNext = next_row,
    .xEof = at_last,
    .xColumn = row_column,
    .xRowid = row_number,
};

static void release_set(void *context)
{
    struct shard_set *set = context;
    for (size_t i = 0; i < set->list.n; i++)
        sqlite3_close(set->connections[i]);
    shards_release(&set->list);
    FREE_ALL(set->connections, set->schema, set);
}

/* mpistair_shard_only(number): lets the connection see one shard, before the first one is read. */
static void see_only(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct shard_set *set = sqlite3_user_data(context);
    (void)n;
    if (set->list.n == 0)
        set->only = sqlite3_value_int64(values[0]);
    else
        sqlite3_result_error(context, SHARD_ONLY_FUNCTION ": a shard was read before", -1);
}

int shard_rows_register(sqlite3 *database)
{
    struct shard_set *set = xcalloc(1, sizeof *set);
    set->database = database;
    int result = sqlite3_create_module_v2(database, SHARDS_MODULE, &module_shard_rows, set, release_set);
    return result != SQLITE_OK ? result
                               : sqlite3_create_function(database, SHARD_ONLY_FUNCTION, 1,
                                                         SQLITE_UTF8 | SQLITE_DIRECTONLY, set, see_only, NULL, NULL);
}
