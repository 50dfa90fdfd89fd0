/* A report asks for the same sums several times, and SQLite groups by sorting: 3e6 messages cost it 1 to 3 s a time. So
 * the sums over messages are formed here, in one pass, into arrays over ranks; the two views that go over all rounds
 * and that others build upon are filled once, into tables of the same name. A view of the trace sees no temporary
 * table, so all views are made again as temporary ones, from their own text; names in queries find these first. */
#include "working_tables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "machine.h"

enum { UNKNOWN_LEVEL = LEVEL_COUNT, SENT, SUM_COUNT, MAX_RANK = 1 << 24 };

struct sum {
    sqlite3_int64 n, bytes;
};

struct message_sums {
    struct sum (*of_rank)[SUM_COUNT]; /* [n_ranks] received by level, then sent */
    size_t n_ranks;                   /* the largest seen, plus one */
    size_t capacity;
    unsigned char *level_of_form; /* [n_forms] */
    size_t n_forms;
};

static const char fill[] =
    "CREATE TEMP TABLE incoming(level TEXT, dst INTEGER, n INTEGER, bytes INTEGER);"
    "CREATE TEMP TABLE outgoing(src INTEGER PRIMARY KEY, n INTEGER, bytes INTEGER);"
    "CREATE TEMP TABLE kind_actual(kind_id, rank, rounds, actual_s, PRIMARY KEY(kind_id, rank)) WITHOUT ROWID;"
    "CREATE TEMP TABLE kind_halves(kind_id, rank, rounds, first_s, second_s, PRIMARY KEY(kind_id, rank)) WITHOUT ROWID;"
    "INSERT INTO temp.kind_actual SELECT kind_id, rank, rounds, actual_s FROM main.kind_actual;"
    "INSERT INTO temp.kind_halves SELECT kind_id, rank, rounds, first_s, second_s FROM main.kind_halves;";

static int failed(sqlite3 *database, const char *path, struct error *error)
{
    return database_error(database, path, "the tables of the report cannot be made", error);
}

static int make_room(struct message_sums *sums, size_t rank)
{
    if (rank < sums->capacity)
        return 0;
    size_t capacity = 2 * rank + 64;
    void *grown = realloc(sums->of_rank, capacity * sizeof *sums->of_rank);
    if (grown == NULL)
        return -1;
    sums->of_rank = grown;
    memset(sums->of_rank + sums->capacity, 0, (capacity - sums->capacity) * sizeof *sums->of_rank);
    sums->capacity = capacity;
    return 0;
}

/* One message of a rank. */
static int add(struct message_sums *sums, const char *path, sqlite3_int64 rank, size_t which, sqlite3_int64 bytes,
               struct error *error)
{
    if (rank < 0 || rank >= MAX_RANK)
        return error_set(error, "%s: rank %lld of a message, expected 0 to %d", path, (long long)rank, MAX_RANK - 1);
    if (make_room(sums, (size_t)rank) != 0)
        return error_set(error, "%s: no memory for the sums of %lld ranks", path, (long long)rank);
    if ((size_t)rank >= sums->n_ranks)
        sums->n_ranks = (size_t)rank + 1;
    struct sum *sum = &sums->of_rank[rank][which];
    sum->n++;
    if (__builtin_add_overflow(sum->bytes, bytes, &sum->bytes))
        return error_set(error, "%s: the bytes of rank %lld are too many for 64 bits", path, (long long)rank);
    return 0;
}

static int add_form(struct message_sums *sums, sqlite3_stmt *statement, struct error *error)
{
    sqlite3_int64 form = sqlite3_column_int64(statement, 0), level = sqlite3_column_int64(statement, 1);
    bool known = sqlite3_column_type(statement, 1) != SQLITE_NULL && level >= 0 && level < LEVEL_COUNT;
    if (form < 0 || form >= MAX_RANK)
        return 0; /* its messages count as of no known level */
    if ((size_t)form >= sums->n_forms) {
        size_t n = 2 * (size_t)form + 64;
        unsigned char *grown = realloc(sums->level_of_form, n);
        if (grown == NULL)
            return error_set(error, "no memory for %zu forms of messages", n);
        memset(grown + sums->n_forms, UNKNOWN_LEVEL, n - sums->n_forms);
        sums->level_of_form = grown;
        sums->n_forms = n;
    }
    sums->level_of_form[form] = known ? (unsigned char)level : UNKNOWN_LEVEL;
    return 0;
}

static int add_message(struct message_sums *sums, const char *path, sqlite3_stmt *statement, struct error *error)
{
    sqlite3_int64 form = sqlite3_column_int64(statement, 3), bytes = sqlite3_column_int64(statement, 2);
    size_t level = form >= 0 && (size_t)form < sums->n_forms ? sums->level_of_form[form] : (size_t)UNKNOWN_LEVEL;
    if (add(sums, path, sqlite3_column_int64(statement, 0), SENT, bytes, error) != 0)
        return -1;
    return add(sums, path, sqlite3_column_int64(statement, 1), level, bytes, error);
}

static int sum_up(sqlite3 *database, const char *path, struct message_sums *sums, struct error *error)
{
    static const char *const queries[] = {"SELECT id, level FROM form",
                                          "SELECT src, dst, bytes, form FROM message_row"};
    for (int which = 0; which < 2; which++) {
        sqlite3_stmt *statement = NULL;
        int step = SQLITE_ERROR, result = 0;
        if (sqlite3_prepare_v2(database, queries[which], -1, &statement, NULL) == SQLITE_OK)
            while (result == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
                result = which == 0 ? add_form(sums, statement, error) : add_message(sums, path, statement, error);
        if (result == 0 && step != SQLITE_DONE)
            result = failed(database, path, error);
        sqlite3_finalize(statement);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* Rows of the sums that are not 0. */
static int store(sqlite3 *database, const char *path, const struct message_sums *sums, struct error *error)
{
    sqlite3_stmt *in = NULL, *out = NULL;
    bool ready =
        sqlite3_prepare_v2(database, "INSERT INTO temp.incoming VALUES (?4, ?1, ?2, ?3)", -1, &in, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(database, "INSERT INTO temp.outgoing VALUES (?1, ?2, ?3)", -1, &out, NULL) == SQLITE_OK;
    for (size_t which = 0; ready && which < SUM_COUNT; which++) {
        sqlite3_stmt *statement = which == SENT ? out : in;
        for (size_t rank = 0; ready && rank < sums->n_ranks; rank++) {
            const struct sum *sum = &sums->of_rank[rank][which];
            if (sum->n == 0)
                continue;
            sqlite3_bind_int64(statement, 1, (sqlite3_int64)rank);
            sqlite3_bind_int64(statement, 2, sum->n);
            sqlite3_bind_int64(statement, 3, sum->bytes);
            if (which < UNKNOWN_LEVEL)
                sqlite3_bind_text(statement, 4, machine_level_name[which], -1, SQLITE_STATIC);
            else if (which == UNKNOWN_LEVEL)
                sqlite3_bind_null(statement, 4);
            ready = sqlite3_step(statement) == SQLITE_DONE;
            sqlite3_reset(statement);
        }
    }
    int result = ready ? 0 : failed(database, path, error);
    sqlite3_finalize(in);
    sqlite3_finalize(out);
    return result;
}

/* The views of the trace as temporary ones, but for those that have become tables. */
static int make_views(sqlite3 *database, const char *path, struct error *error)
{
    static const char prefix[] = "CREATE VIEW ";
    sqlite3_stmt *statement = NULL;
    int step = SQLITE_ERROR, result = 0;
    if (sqlite3_prepare_v2(database,
                           "SELECT sql FROM main.sqlite_schema WHERE type = 'view' AND name NOT IN ('kind_actual', "
                           "'kind_halves')",
                           -1, &statement, NULL) == SQLITE_OK)
        while (result == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(statement, 0);
            if (text == NULL || strncmp(text, prefix, sizeof prefix - 1) != 0)
                continue; /* not of our schema: no query asks for it */
            char *sql = sqlite3_mprintf("CREATE TEMP VIEW %s", text + sizeof prefix - 1);
            if (sql == NULL || sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
                result = failed(database, path, error);
            sqlite3_free(sql);
        }
    if (result == 0 && step != SQLITE_DONE)
        result = failed(database, path, error);
    sqlite3_finalize(statement);
    return result;
}

int working_tables_make(sqlite3 *database, const char *path, struct error *error)
{
    struct message_sums sums = {0};
    int result = sqlite3_exec(database, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(database, path, error);
    if (result == 0 && sqlite3_exec(database, fill, NULL, NULL, NULL) != SQLITE_OK)
        result = failed(database, path, error);
    if (result == 0)
        result = sum_up(database, path, &sums, error);
    if (result == 0)
        result = store(database, path, &sums, error);
    if (result == 0)
        result = make_views(database, path, error);
    if (result == 0 && sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        result = failed(database, path, error);
    free(sums.of_rank);
    free(sums.level_of_form);
    return result;
}
