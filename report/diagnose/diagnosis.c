/* Sums the recorded run, lets run_blame say who is to blame for its waiting, goes over the kinds of finding and puts
 * what they find in order. See diagnosis.h. */
#include "report/diagnose/diagnosis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Longest waits among which blame is handed on, where there are more. */
enum { MOST_WAITS = 200000 };

static int compare_late(const void *left, const void *right)
{
    const struct run_wait *a = *(const struct run_wait *const *)left, *b = *(const struct run_wait *const *)right;
    return ORDER(b->late_s, a->late_s);
}

/* Keeps the MOST_WAITS longest, in their order. */
static void keep_longest_waits(struct simulation_result *recorded)
{
    if (recorded->n_waits <= MOST_WAITS)
        return;
    const struct run_wait **order = xcalloc(recorded->n_waits, sizeof *order);
    for (size_t i = 0; i < recorded->n_waits; i++)
        order[i] = &recorded->waits[i];
    qsort(order, recorded->n_waits, sizeof *order, compare_late);
    double least_s = order[MOST_WAITS - 1]->late_s;
    size_t n = 0;
    for (size_t i = 0; i < recorded->n_waits; i++)
        if (recorded->waits[i].late_s >= least_s && n < MOST_WAITS)
            recorded->waits[n++] = recorded->waits[i];
    recorded->n_waits = n;
    free(order);
}

/* Sums calls and computation by place. */
static void sum_places(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < program->n_steps; i++) {
        const struct run_step *step = &program->steps[i];
        struct diagnosis_place *place = &diagnosis->places[step->place];
        if ((step->flags & STEP_ENTERS) != 0)
            place->half_s[place->calls++ % 2] += step->compute_s;
        if (step->kind == STEP_COLLECTIVE || step->kind == STEP_BEGIN)
            diagnosis->collective[program->places[step->place].site] = true;
    }
}

static void sum_ranks(struct diagnosis *diagnosis)
{
    for (size_t rank = 0; rank < diagnosis->program.n_ranks; rank++) {
        const struct run_rank *told = &diagnosis->program.ranks[rank];
        double time_s = diagnosis->recorded.rank_end_s[rank] - diagnosis->recorded.rank_begin_s[rank];
        diagnosis->rank_s[rank] = time_s;
        diagnosis->busy_share[rank] = time_s > 0 && told->wait_s > 0 ? fmin(told->wait_s / time_s, 1) : 0;
        diagnosis->all_s += time_s;
    }
}

static int compare_events(const void *left, const void *right)
{
    const struct diagnosis_event *a = left, *b = right;
    return ORDER(a->site, b->site) ?: ORDER(b->cost_s, a->cost_s) ?: ORDER(a->step, b->step);
}

static int compare_steps(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = ((const struct run_charge *)right)->step;
    return ORDER(a, b);
}

/* Notes of each event the longest wait for its step; events are in the order of charges yet, which is that of steps. */
static void note_waits(struct diagnosis *diagnosis)
{
    const struct run_charge *charges = diagnosis->blame.charges;
    for (size_t i = 0; i < diagnosis->recorded.n_waits; i++) {
        const struct run_wait *wait = &diagnosis->recorded.waits[i];
        const struct run_charge *charge =
            bsearch(&wait->cause.step, charges, diagnosis->n_events, sizeof *charges, compare_steps);
        if (charge == NULL)
            continue;
        while (charge > charges && charge[-1].step == wait->cause.step)
            charge--;
        for (size_t k = (size_t)(charge - charges); k < diagnosis->n_events && charges[k].step == wait->cause.step; k++)
            diagnosis->events[k].direct_s = fmax(diagnosis->events[k].direct_s, wait->late_s);
    }
}

static void make_events(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    diagnosis->events = xcalloc(diagnosis->blame.n_charges, sizeof *diagnosis->events);
    for (size_t i = 0; i < diagnosis->blame.n_charges; i++) {
        const struct run_charge *charge = &diagnosis->blame.charges[i];
        const struct run_place *place = &program->places[charge->place];
        diagnosis->events[diagnosis->n_events++] =
            (struct diagnosis_event){charge->step, place->site, place->rank, charge->cost_s, 0};
    }
    if (diagnosis->n_events == 0)
        return;
    note_waits(diagnosis);
    qsort(diagnosis->events, diagnosis->n_events, sizeof *diagnosis->events, compare_events);
}

/* Sums program and recorded, which are read. */
static void diagnosis_init(struct diagnosis *diagnosis)
{
    struct run_program *program = &diagnosis->program;
    const struct simulation_options options = {0};
    diagnosis->rank_s = xcalloc(program->n_ranks, sizeof *diagnosis->rank_s);
    diagnosis->busy_share = xcalloc(program->n_ranks, sizeof *diagnosis->busy_share);
    diagnosis->places = xcalloc(program->n_places, sizeof *diagnosis->places);
    diagnosis->collective = xcalloc(program->n_sites, sizeof *diagnosis->collective);
    keep_longest_waits(&diagnosis->recorded);
    sum_places(diagnosis);
    sum_ranks(diagnosis);
    if (run_blame(program, &options, &diagnosis->recorded, &diagnosis->blame) != 0)
        no_memory(0);
    make_events(diagnosis);
}

static void diagnosis_release(struct diagnosis *diagnosis)
{
    run_blame_release(&diagnosis->blame);
    simulation_result_release(&diagnosis->recorded);
    run_program_release(&diagnosis->program);
    free(diagnosis->rank_s);
    free(diagnosis->busy_share);
    free(diagnosis->places);
    free(diagnosis->collective);
    free(diagnosis->events);
}

int diagnosis_add(struct diagnosis *diagnosis, struct finding finding, const char *format, ...)
{
    struct findings *findings = diagnosis->findings;
    char text[1024];
    va_list arguments;
    finding.share = finding.cost_s / diagnosis->all_s;
    if (!(finding.share >= FINDING_LEAST_SHARE))
        return 0;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    finding.sentence = pool_clean(diagnosis->pool, text, strlen(text));
    array_grow(&findings->rows, findings->n, sizeof *findings->rows);
    findings->rows[findings->n++] = finding;
    return 0;
}

int diagnosis_name_site(struct diagnosis *diagnosis, uint32_t site, struct finding *finding, char *text)
{
    const char *function = diagnosis->program.sites[site].function;
    struct cursor rows;
    finding->function = pool_clean(diagnosis->pool, function, strlen(function));
    finding->place = "";
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT place FROM site "
                "WHERE id = ?1",
                diagnosis->error);
    if (rows.result == 0)
        sqlite3_bind_int64(rows.statement, 1, diagnosis->program.sites[site].callsite);
    if (cursor_next(&rows))
        finding->place = cursor_text(&rows, 0, diagnosis->pool);
    snprintf(text, DIAGNOSIS_TEXT, finding->place[0] == '\0' ? "%s" : "%s (%s)", finding->function, finding->place);
    return cursor_close(&rows);
}

const char *diagnosis_seconds(char *text, double seconds)
{
    const char *unit = seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us";
    double value = seconds >= 1 ? seconds : seconds >= 1e-3 ? seconds * 1e3 : seconds * 1e6;
    snprintf(text, DIAGNOSIS_TEXT, value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
    return text;
}

const char *diagnosis_bytes(char *text, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1000;
    snprintf(text, DIAGNOSIS_TEXT, bytes < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

double diagnosis_computed(const struct diagnosis *diagnosis, uint32_t place)
{
    const struct diagnosis_place *sums = &diagnosis->places[place];
    uint32_t rank = diagnosis->program.places[place].rank;
    return (sums->half_s[0] + sums->half_s[1]) * (1 - diagnosis->busy_share[rank]);
}

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
