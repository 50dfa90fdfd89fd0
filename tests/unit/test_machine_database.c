/* Tests machine tables in a database: what was stored is loaded again, a changed one replaces it and drops its
 * predictions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine_database.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void execute(sqlite3 *database, const char *sql)
{
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int count(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int value = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static sqlite3 *database_with_schema(void)
{
    char path[4096], *text = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/sql/schema.sql", getenv("MPISTAIR_SHARE"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(getdelim(&text, &length, '\0', file) > 0);
    fclose(file);
    sqlite3 *database;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    execute(database, text);
    free(text);
    return database;
}

static struct machine two_rows(double bandwidth)
{
    struct machine machine = {.name = "m", .source = "measured"};
    struct machine_parameter tau = {.level = LEVEL_INTER_NODE,
                                    .protocol = PROTOCOL_ANY,
                                    .quantity = "tau",
                                    .n = MACHINE_NO_N,
                                    .value = 1e-6,
                                    .unit = "s",
                                    .ci_low = NAN,
                                    .ci_high = NAN};
    struct machine_parameter bw = {.level = LEVEL_INTER_NODE,
                                   .protocol = PROTOCOL_ANY,
                                   .quantity = "bw",
                                   .n = 4,
                                   .value = bandwidth,
                                   .unit = "B/s",
                                   .ci_low = 0.9 * bandwidth,
                                   .ci_high = NAN,
                                   .samples = 7,
                                   .method = "relative-median"};
    machine_append(&machine, &tau);
    machine_append(&machine, &bw);
    return machine;
}

static void loads_what_was_stored(void **state)
{
    (void)state;
    sqlite3 *database = database_with_schema();
    struct machine machine = two_rows(0.1 + 0.2), loaded;
    struct error error;
    assert_int_equal(machine_store(database, "db", &machine, &error), 0);
    assert_int_equal(machine_load(database, "db", "m", &loaded, &error), 0);
    assert_int_equal(loaded.n_parameters, 2);
    assert_string_equal(loaded.source, "measured");
    assert_true(loaded.parameters[0].n == MACHINE_NO_N && isnan(loaded.parameters[0].ci_low));
    assert_string_equal(loaded.parameters[0].method, "");
    const struct machine_parameter *bw = &loaded.parameters[1];
    assert_memory_equal(&bw->value, &machine.parameters[1].value, sizeof bw->value);
    assert_true(bw->n == 4 && bw->samples == 7 && isnan(bw->ci_high) && bw->level == LEVEL_INTER_NODE);
    assert_string_equal(bw->method, "relative-median");
    assert_int_equal(machine_load(database, "db", "other", &loaded, &error), 1);
    machine_release(&loaded);
    machine_release(&machine);
    sqlite3_close(database);
}

static void replaces_with_its_predictions(void **state)
{
    (void)state;
    sqlite3 *database = database_with_schema();
    struct machine machine = two_rows(1e9), other = two_rows(2e9);
    struct error error;
    assert_int_equal(machine_store(database, "db", &machine, &error), 0);
    execute(database,
            "INSERT INTO prediction_run(id, machine, model, options, extrapolated) VALUES (1, 'm', 'postal', "
            "'', 0), (2, 'n', 'postal', '', 0);"
            "INSERT INTO prediction(run_id, kind_id, rank, time_s, latency_s, bandwidth_s, contention_s, "
            "queue_s, link_s, skew_s, extrapolated) VALUES (1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0), (2, 1, 0, 1, 1, 0, 0, 0, "
            "0, 0, 0)");
    assert_int_equal(machine_store(database, "db", &machine, &error), 0);
    assert_int_equal(count(database, "SELECT count(*) FROM prediction"), 2);
    assert_int_equal(machine_store(database, "db", &other, &error), 0);
    assert_int_equal(count(database, "SELECT count(*) FROM prediction"), 1);
    assert_int_equal(count(database, "SELECT max(id) FROM prediction_run"), 2);
    assert_int_equal(count(database, "SELECT count(*) FROM machine_parameter"), 2);
    machine_release(&machine);
    machine_release(&other);
    sqlite3_close(database);
}

static void refuses_a_damaged_table(void **state)
{
    (void)state;
    static const char *const damages[] = {
        "UPDATE machine_parameter SET level = 'planet'",   "UPDATE machine_parameter SET protocol = 'fast'",
        "UPDATE machine_parameter SET value = -1",         "UPDATE machine_parameter SET unit = 'GB/s'",
        "UPDATE machine_parameter SET n = -4 WHERE n = 4", "UPDATE machine_parameter SET quantity = 'tau', n = NULL",
        "UPDATE machine_parameter SET value = 'fast'",     "UPDATE machine_parameter SET method = hex(zeroblob(50))",
        "UPDATE machine SET source = hex(zeroblob(1000))", "DROP TABLE machine_parameter",
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        sqlite3 *database = database_with_schema();
        struct machine machine = two_rows(1e9), loaded = {0};
        struct error error = {""};
        assert_int_equal(machine_store(database, "db", &machine, &error), 0);
        execute(database, damages[i]);
        if (machine_load(database, "db", "m", &loaded, &error) != -1 || strncmp(error.text, "db: ", 4) != 0)
            fail_msg("'%s' gave '%s'", damages[i], error.text);
        machine_release(&machine);
        sqlite3_close(database);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_what_was_stored),
        cmocka_unit_test(replaces_with_its_predictions),
        cmocka_unit_test(refuses_a_damaged_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
