/* Random queries on the virtual tables of a trace in shards: the same rows as of plain tables with the same rows. Built
 * again with a planted fault (SHARD_ROWS_FROM, SHARD_ROWS_LAST_RANK of shard_rows.c), which must be found. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/database/database.h"
#include "interpose/database/shards.h"
#include "share/base/error.h"
#include "share/base/installation.h"
#include "share/base/memory.h"
#include "share/base/text_file.h"

enum {
    N_SHARDS = 5,
    N_RANKS = 20,
    N_MESSAGES = 1500,
    N_CALLS = 900,
    N_ROUNDS = 150,
    N_QUERIES = 3000,
    SQL_BYTES = 4096
};

static const int first_rank[N_SHARDS + 1] = {0, 1, 6, 7, 15, N_RANKS};

struct tested_table {
    const char *name, *key;
    const char *columns[8];
};

static const struct tested_table tested_tables[] = {
    {"message_row", "id", {"id", "rowid", "src", "dst", "tag", "bytes", "round_id", "late_ns"}},
    {"call_row", "rowid", {"rowid", "rank", "function", "begin_ns", "call_ns", "completed", "idle_calls", "callsite"}},
    {"round_process",
     "round_id, rank",
     {"round_id", "rank", "begin_ns", "end_ns", "in_mpi_ns", "rank", "round_id", "rank"}},
};

static uint64_t state = 88172645463325252;

static int below(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state % (uint64_t)n);
}

static void check(int code, sqlite3 *database)
{
    if (code == SQLITE_OK)
        return;
    fprintf(stderr, "%s\n", sqlite3_errmsg(database));
    exit(1);
}

static sqlite3 *make(const char *path)
{
    sqlite3 *database;
    check(database_connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &database), NULL);
    check(sqlite3_exec(database, "PRAGMA synchronous = OFF; BEGIN", NULL, NULL, NULL), database);
    return database;
}

struct made {
    sqlite3 *one, *index, *shards[N_SHARDS];
    int64_t rows[N_SHARDS][SHARD_TABLES];
};

/* Inserts a row of a rank into both. */
static void put(struct made *made, int rank, int table, const char *sql)
{
    int shard = 0;
    while (rank >= first_rank[shard + 1])
        shard++;
    made->rows[shard][table]++;
    check(sqlite3_exec(made->one, sql, NULL, NULL, NULL), made->one);
    check(sqlite3_exec(made->shards[shard], sql, NULL, NULL, NULL), made->shards[shard]);
}

static void fill(struct made *made)
{
    char sql[SQL_BYTES];
    for (int id = 1; id <= N_MESSAGES; id++) {
        int rank = below(N_RANKS);
        char round[16] = "NULL", wait[16] = "NULL";
        if (below(8) > 0)
            snprintf(round, sizeof round, "%d", 1 + id / 10);
        if (below(4) > 0)
            snprintf(wait, sizeof wait, "%d", below(50));
        snprintf(sql, sizeof sql,
                 "INSERT INTO message_row VALUES (%d, %d, %d, 0, %d, %d, 1, %s, %d, %s, %d, 9, 0, NULL, 3, 1, 1)", id,
                 below(N_RANKS), rank, below(4), below(3) * 100, round, id * 10 + below(20), wait, below(40) - 20);
        put(made, rank, SHARD_MESSAGES, sql);
    }
    for (int id = 1; id <= N_CALLS; id++) {
        int rank = below(N_RANKS);
        snprintf(
            sql, sizeof sql,
            "INSERT INTO call_row(rowid, rank, function, begin_ns, call_ns, completed, idle_calls, callsite) VALUES "
            "(%d, %d, %d, %d, %d, %d, %d, %s)",
            id, rank, below(5), id * 3, below(30), below(3), below(2), below(5) > 0 ? "7" : "NULL");
        put(made, rank, SHARD_CALLS, sql);
    }
    for (int round = 1; round <= N_ROUNDS; round++)
        for (int rank = below(3); rank < N_RANKS; rank += 1 + below(4)) {
            snprintf(sql, sizeof sql, "INSERT INTO round_process VALUES (%d, %d, %d, %d, %d)", round, rank, round * 100,
                     round * 100 + below(90), below(30));
            put(made, rank, SHARD_MEMBERS, sql);
        }
}

/* Makes one.db and index.db with its shards in the folder. */
static void make_both(const char *folder)
{
    char path[512], sql[SQL_BYTES];
    struct made made = {0};
    char *schema;
    struct error error;
    if (installation_find(INSTALLATION_SHARE, "sql/schema.sql", path, sizeof path, &error) != 0)
        exit(error_report(&error));
    char *text = text_file_read(path, 1 << 20, &error);
    if (text == NULL)
        exit(error_report(&error));
    snprintf(path, sizeof path, "%s/one.db", folder);
    made.one = make(path);
    snprintf(path, sizeof path, "%s/index.db", folder);
    made.index = make(path);
    check(sqlite3_exec(made.one, text, NULL, NULL, NULL), made.one);
    check(sqlite3_exec(made.index, text, NULL, NULL, NULL), made.index);
    schema = shards_split(made.index);
    check(schema == NULL, made.index);
    for (int i = 0; i < N_SHARDS; i++) {
        snprintf(path, sizeof path, "%s/index.db" SHARD_SUFFIX "%d-k", folder, i + 1);
        made.shards[i] = make(path);
        check(sqlite3_exec(made.shards[i], schema, NULL, NULL, NULL), made.shards[i]);
    }
    fill(&made);
    for (int i = 0; i < N_SHARDS; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO shard VALUES (%d, 'index.db" SHARD_SUFFIX "%d-k', %d, %d, %" PRId64 ", %" PRId64
                 ", %" PRId64 ", 0, NULL, NULL, 'k')",
                 i + 1, i + 1, first_rank[i], first_rank[i + 1] - 1, made.rows[i][0], made.rows[i][1], made.rows[i][2]);
        check(sqlite3_exec(made.index, sql, NULL, NULL, NULL), made.index);
        check(shard_finish(made.shards[i], i + 1, "k"), made.shards[i]);
        check(sqlite3_exec(made.shards[i], "COMMIT", NULL, NULL, NULL), made.shards[i]);
        sqlite3_close(made.shards[i]);
    }
    check(sqlite3_exec(made.index, "COMMIT", NULL, NULL, NULL), made.index);
    check(sqlite3_exec(made.one, "COMMIT", NULL, NULL, NULL), made.one);
    sqlite3_close(made.index);
    sqlite3_close(made.one);
    free(schema);
    free(text);
}

static void add(char *sql, const char *text)
{
    size_t used = strlen(sql);
    snprintf(sql + used, SQL_BYTES - used, "%s", text);
}

/* Adds a value: mostly a whole number that occurs, seldom another, a real, a text, NULL. */
static void add_value(char *sql)
{
    char text[32];
    int number = below(3) > 0 ? below(N_RANKS + 2) - 1 : below(3 * N_CALLS) - 20;
    switch (below(16)) {
    case 0:
        snprintf(text, sizeof text, "%d.5", number);
        break;
    case 1:
        snprintf(text, sizeof text, "'%d'", number);
        break;
    case 2:
        snprintf(text, sizeof text, "NULL");
        break;
    case 3:
        snprintf(text, sizeof text, "'x'");
        break;
    default:
        snprintf(text, sizeof text, "%d", number);
    }
    add(sql, text);
}

static void add_condition(char *sql, const struct tested_table *table)
{
    static const char *const signs[] = {" = ", " < ", " <= ", " > ", " >= ", " IS ", " <> ", " == ", " IS NOT "};
    const char *column = table->columns[below(8)];
    add(sql, column);
    switch (below(8)) {
    case 0:
        add(sql, " IN (");
        for (int i = below(4); i >= 0; i--) {
            add_value(sql);
            add(sql, i > 0 ? ", " : ")");
        }
        break;
    case 1:
        add(sql, " BETWEEN ");
        add_value(sql);
        add(sql, " AND ");
        add_value(sql);
        break;
    case 2:
        add(sql, below(2) ? " IS NULL" : " IS NOT NULL");
        break;
    default:
        add(sql, signs[below(9)]);
        add_value(sql);
    }
}

static void make_query(char *sql)
{
    static const char *const selected[] = {"*", "count(*)", "total(%s), min(%s), max(%s)"};
    const struct tested_table *table = &tested_tables[below(3)];
    int kind = below(4);
    char what[128];
    const char *column = table->columns[below(8)];
    sql[0] = '\0';
    if (kind == 3)
        snprintf(what, sizeof what, "%s, count(*)", column);
    else if (kind == 2)
        snprintf(what, sizeof what, "total(%s), min(%s), max(%s)", column, column, column);
    else
        snprintf(what, sizeof what, "%s", selected[kind]);
    snprintf(sql, SQL_BYTES, "SELECT %s FROM %s", what, table->name);
    for (int n = below(4), i = 0; i < n; i++) {
        add(sql, i == 0 ? " WHERE " : " AND ");
        if (below(6) == 0) {
            add(sql, "(");
            add_condition(sql, table);
            add(sql, " OR ");
            add_condition(sql, table);
            add(sql, ")");
        } else {
            add_condition(sql, table);
        }
    }
    if (kind == 3) {
        add(sql, " GROUP BY ");
        add(sql, column);
        add(sql, " ORDER BY 1");
    } else if (kind == 0) {
        add(sql, " ORDER BY ");
        for (int i = below(3); i > 0; i--) {
            add(sql, table->columns[below(8)]);
            add(sql, below(2) ? " DESC, " : ", ");
        }
        add(sql, table->key);
        add(sql, below(3) > 0 ? "" : " DESC");
        if (below(4) == 0)
            add(sql, " LIMIT 7 OFFSET 2");
    }
}

/* Returns all rows as text, for sqlite3_free. */
static char *rows_of(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_str *rows = sqlite3_str_new(database);
    check(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), database);
    int step;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            sqlite3_str_appendf(rows, "%s%c", sqlite3_column_text(statement, i),
                                i + 1 < sqlite3_column_count(statement) ? '|' : '\n');
    if (step != SQLITE_DONE)
        check(step, database);
    sqlite3_finalize(statement);
    char *text = sqlite3_str_finish(rows);
    return text != NULL ? text : sqlite3_mprintf("");
}

int main(void)
{
    static const char *const joins[] = {
        "SELECT m.id, p.in_mpi_ns FROM message_row m JOIN round_process p ON p.round_id = m.round_id AND p.rank = "
        "m.dst "
        "WHERE m.src < 7 ORDER BY 1, 2",
        "SELECT p.round_id, p.rank, count(*) FROM round_process p LEFT JOIN message_row m ON m.round_id = p.round_id "
        "AND "
        "m.dst = p.rank GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT a.id, b.id FROM message_row a JOIN message_row b ON b.id = a.id + 1 ORDER BY 1",
        "SELECT DISTINCT rank FROM call_row ORDER BY rank DESC",
        "SELECT rank, (SELECT count(*) FROM message_row m WHERE m.dst = c.rank) FROM call_row c ORDER BY c.rowid",
    };
    char folder[] = "/tmp/shard_rows.XXXXXX", path[512], sql[SQL_BYTES];
    sqlite3 *one, *index;
    int n_wrong = 0, n_rows = 0;
    if (mkdtemp(folder) == NULL)
        return 1;
    make_both(folder);
    snprintf(path, sizeof path, "%s/one.db", folder);
    check(database_connect(path, SQLITE_OPEN_READONLY, &one), NULL);
    snprintf(path, sizeof path, "%s/index.db", folder);
    check(database_connect(path, SQLITE_OPEN_READONLY, &index), NULL);
    const int n_joins = sizeof joins / sizeof *joins;
    for (int i = 0; i < N_QUERIES + n_joins; i++) {
        if (i < n_joins)
            snprintf(sql, sizeof sql, "%s", joins[i]);
        else
            make_query(sql);
        char *expected = rows_of(one, sql), *found = rows_of(index, sql);
        n_rows += expected[0] != '\0';
        if (strcmp(expected, found) != 0 && n_wrong++ < 3)
            printf("%s\n  one file:  %.300s\n  in shards: %.300s\n", sql, expected, found);
        sqlite3_free(expected);
        sqlite3_free(found);
    }
    sqlite3_close(one);
    sqlite3_close(index);
    char *remove = xasprintf("rm -r %s", folder);
    int removed = system(remove);
    free(remove);
    printf("%d queries with rows, %d differ\n", n_rows, n_wrong);
#ifdef PLANTED
    return removed == 0 && n_wrong > 0 ? 0 : 1;
#else
    return removed == 0 && n_wrong == 0 && n_rows > N_QUERIES / 4 ? 0 : 1;
#endif
}
