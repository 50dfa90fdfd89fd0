/* Goes over the kinds of finding, and puts what they find in order. See diagnosis.h for what they share. */
#include "report/diagnose/findings.h"

#include <stdlib.h>

#include "report/diagnose/evidence.h"
#include "report/diagnose/gains.h"
#include "share/base/array.h"

static int findings_count_processes(sqlite3 *database, const char *path, int64_t *n, struct error *error)
{
    struct cursor rows;
    *n = 0;
    cursor_open(&rows, database, path, "SELECT count(*) FROM process", error);
    if (cursor_next(&rows))
        *n = cursor_integer(&rows, 0);
    return cursor_close(&rows);
}

static const char *findings_path(sqlite3 *database)
{
    const char *path = sqlite3_db_filename(database, "main");
    return path == NULL || path[0] == '\0' ? "trace.db" : path;
}

int findings_collect_read(struct findings *findings, struct pool *pool, sqlite3 *database, struct run_program *program,
                          struct simulation_result *recorded, struct findings_watch *watch, struct error *error)
{
    struct diagnosis diagnosis = {.database = database,
                                  .path = findings_path(database),
                                  .pool = pool,
                                  .findings = findings,
                                  .error = error,
                                  .pairs = &watch->pairs,
                                  .calls = &watch->calls};
    *findings = (struct findings){0};
    int result = 0;
    diagnosis_init(&diagnosis, program, recorded);
    for (size_t i = 0; result == 0 && diagnosis.all_s > 0 && i < FINDING_KIND_COUNT; i++) {
        const struct finding_kind *kind = finding_kind((enum finding_number)i);
        result = kind->find != NULL ? kind->find(&diagnosis) : 0;
    }
    if (result == 0 && findings->n > 0)
        gains_collect(&diagnosis);
    evidence_collect(&diagnosis);
    for (size_t i = 0; i < findings->n; i++) {
        mend_release(findings->rows[i].mend);
        findings->rows[i].mend = NULL;
    }
    diagnosis_release(&diagnosis);
    return result;
}

static void findings_watch_call(void *context, const struct run_program *program, const struct run_call *call)
{
    struct findings_watch *watch = context;
    (void)program;
    if (call->n_steps == watch->n_steps) /* behind the last one of a strand */
        return;
    ARRAY_ADD(watch->calls.rows, watch->calls.n,
              (struct run_timed_call){call->begin_s, (float)(call->end_s - call->begin_s), 0, watch->n_steps});
    watch->n_steps = call->n_steps;
}

int findings_watch_init(struct findings_watch *watch, sqlite3 *database, const char *path, struct error *error)
{
    *watch = (struct findings_watch){.watch = {findings_watch_call, watch}};
    watch->messages = pair_sums_watch(&watch->pairs);
    return pair_sums_init(&watch->pairs, database, path, error);
}

void findings_watch_release(struct findings_watch *watch)
{
    pair_sums_release(&watch->pairs);
    run_timed_calls_release(&watch->calls);
}

int findings_collect(struct findings *findings, struct pool *pool, sqlite3 *database, struct error *error)
{
    struct run_program program = {0};
    struct simulation_result recorded = {0};
    struct findings_watch watch;
    const char *path = findings_path(database);
    int64_t n;
    *findings = (struct findings){0};
    if (findings_count_processes(database, path, &n, error) != 0)
        return -1;
    if (n == 0)
        return 0;
    int result = findings_watch_init(&watch, database, path, error);
    if (result == 0)
        result = run_program_read(
            database, path,
            &(struct run_want){.calls = &watch.watch, .messages = &watch.messages, .recorded = &recorded}, &program,
            error);
    if (result == 0)
        result = findings_collect_read(findings, pool, database, &program, &recorded, &watch, error);
    simulation_result_release(&recorded);
    findings_watch_release(&watch);
    return result;
}

void findings_release(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        free(findings->rows[i].evidence);
    free(findings->rows);
    *findings = (struct findings){0};
}
