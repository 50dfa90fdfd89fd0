/* Measures the time that SQLite alone takes for the rows of a trace.db: each is read from there, its values bound to
 * the prepared INSERT of an empty database of the same schema and settings as ingest's; indexes are made at the end.
 * Reading is taken off: a pass that only reads is timed as well. Prints the number of rows, and seconds.
 *
 * usage: bare_inserts TRACE.DB COPY.DB SCHEMA.SQL */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const tables[] = {"form", "message_row", "unmatched",     "call_row", "collective",
                                     "kind", "round",       "round_process", "origin",   "partition"};

static sqlite3 *from, *to;

static void check(int result, sqlite3 *database)
{
    if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW)
        return;
    fprintf(stderr, "bare_inserts: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    if (file == NULL || getdelim(&text, &room, '\0', file) <= 0) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* Copies one table, or with insert false only looks at every value. */
static long copy_table(const char *table, int insert)
{
    char sql[256], values[128] = "";
    sqlite3_stmt *read, *write = NULL;
    long rows = 0;
    snprintf(sql, sizeof sql, "SELECT * FROM %s", table);
    check(sqlite3_prepare_v2(from, sql, -1, &read, NULL), from);
    int columns = sqlite3_column_count(read);
    for (int i = 0; i < columns; i++)
        strcat(values, i == 0 ? "?" : ",?");
    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (%s)", table, values);
    check(sqlite3_prepare_v2(to, sql, -1, &write, NULL), to);
    int step;
    for (; (step = sqlite3_step(read)) == SQLITE_ROW; rows++) {
        for (int i = 0; i < columns; i++) {
            int type = sqlite3_column_type(read, i);
            if (type == SQLITE_INTEGER)
                sqlite3_bind_int64(write, i + 1, sqlite3_column_int64(read, i));
            else if (type == SQLITE_NULL)
                sqlite3_bind_null(write, i + 1);
            else
                sqlite3_bind_value(write, i + 1, sqlite3_column_value(read, i));
        }
        if (insert) {
            check(sqlite3_step(write), to);
            sqlite3_reset(write);
        }
    }
    check(step, from);
    sqlite3_finalize(read);
    sqlite3_finalize(write);
    return rows;
}

static double copy_all(int insert, long *rows)
{
    double begin_s = now_s();
    *rows = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        *rows += copy_table(tables[i], insert);
    return now_s() - begin_s;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    char *schema = read_text(argv[3]);
    long rows;
    check(sqlite3_open_v2(argv[1], &from, SQLITE_OPEN_READONLY, NULL), from);
    check(sqlite3_open(argv[2], &to), to);
    check(sqlite3_exec(to,
                       "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA "
                       "cache_size=-8192; BEGIN",
                       NULL, NULL, NULL),
          to);
    check(sqlite3_exec(to, schema, NULL, NULL, NULL), to);
    double reading_s = copy_all(0, &rows);
    double both_s = copy_all(1, &rows);
    double begin_s = now_s();
    check(sqlite3_exec(to, "COMMIT", NULL, NULL, NULL), to);
    printf("%ld %.4f\n", rows, both_s - reading_s + now_s() - begin_s);
    sqlite3_close(from);
    sqlite3_close(to);
    free(schema);
    return 0;
}
