/* Goes over the kinds of finding and puts what they find in order. */
#include <stdlib.h>

#include "predictor/run_read/run_read.h"
#include "report/diagnose/diagnosis.h"
#include "share/base/order.h"

const char *finding_name(enum finding_kind kind)
{
    static const char *const names[FINDING_KIND_COUNT] = {[FINDING_LATE_RANK] = "late-rank",
                                                          [FINDING_LATE_SITE] = "late-site",
                                                          [FINDING_SLOW_LINK] = "slow-link",
                                                          [FINDING_IMBALANCE] = "imbalance",
                                                          [FINDING_SMALL_MESSAGES] = "small-messages",
                                                          [FINDING_PLACEMENT] = "placement",
                                                          [FINDING_BUSY_PROCESSORS] = "busy-processors"};
    return names[kind];
}

static int compare_findings(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    return ORDER(b->cost_s, a->cost_s) ?: ORDER(a->kind, b->kind) ?: ORDER(a->rank, b->rank);
}

static int count_processes(sqlite3 *database, const char *path, int64_t *n, struct error *error)
{
    struct cursor rows;
    *n = 0;
    cursor_open(&rows, database, path, "SELECT count(*) FROM process", error);
    if (cursor_next(&rows))
        *n = cursor_integer(&rows, 0);
    return cursor_close(&rows);
}

static const char *path_of(sqlite3 *database)
{
    const char *path = sqlite3_db_filename(database, "main");
    return path == NULL || path[0] == '\0' ? "trace.db" : path;
}

int findings_collect_read(struct findings *findings, struct pool *pool, sqlite3 *database, struct run_program *program,
                          struct simulation_result *recorded, struct pair_sums *pairs, struct error *error)
{
    static int (*const kinds[])(struct diagnosis *) = {diagnose_late_ranks, diagnose_busy_processors,
                                                       diagnose_small_messages, diagnose_slow_links,
                                                       diagnose_placement};
    struct diagnosis diagnosis = {.database = database,
                                  .path = path_of(database),
                                  .pool = pool,
                                  .findings = findings,
                                  .error = error,
                                  .program = *program,
                                  .recorded = *recorded,
                                  .pairs = pairs};
    *program = (struct run_program){0};
    *recorded = (struct simulation_result){0};
    *findings = (struct findings){0};
    int result = 0;
    diagnosis_init(&diagnosis);
    for (size_t i = 0; result == 0 && diagnosis.all_s > 0 && i < sizeof kinds / sizeof *kinds; i++)
        result = kinds[i](&diagnosis);
    diagnosis_release(&diagnosis);
    if (result == 0 && findings->n > 0)
        qsort(findings->rows, findings->n, sizeof *findings->rows, compare_findings);
    return result;
}

int findings_collect(struct findings *findings, struct pool *pool, sqlite3 *database, struct error *error)
{
    struct run_program program = {0};
    struct simulation_result recorded = {0};
    struct pair_sums pairs = {0};
    const struct run_message_watch watch = pair_sums_watch(&pairs);
    const char *path = path_of(database);
    int64_t n;
    *findings = (struct findings){0};
    if (count_processes(database, path, &n, error) != 0)
        return -1;
    if (n == 0)
        return 0;
    int result = pair_sums_init(&pairs, database, path, error);
    if (result == 0)
        result = run_program_read_recorded(database, path, &watch, &program, &recorded, error);
    if (result == 0)
        result = findings_collect_read(findings, pool, database, &program, &recorded, &pairs, error);
    simulation_result_release(&recorded);
    pair_sums_release(&pairs);
    return result;
}

void findings_release(struct findings *findings)
{
    free(findings->rows);
    *findings = (struct findings){0};
}
