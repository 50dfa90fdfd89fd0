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

/* Sums calls and computation by place, and by site. */
static void sum_places(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < program->n_steps; i++) {
        diagnosis->places[program->steps[i].place].calls += (program->steps[i].flags & STEP_ENTERS) != 0;
        if (program->steps[i].kind == STEP_COLLECTIVE || program->steps[i].kind == STEP_BEGIN)
            diagnosis->sites[program->places[program->steps[i].place].site].collective = true;
    }
    for (size_t i = 0; i < program->n_steps; i++) {
        struct diagnosis_place *place = &diagnosis->places[program->steps[i].place];
        if ((program->steps[i].flags & STEP_ENTERS) != 0)
            place->block_s[(uint64_t)place->seen++ * DIAGNOSIS_BLOCKS / place->calls] += program->steps[i].compute_s;
    }
    for (size_t i = 0; i < program->n_places; i++) {
        struct diagnosis_site *site = &diagnosis->sites[program->places[i].site];
        site->calls += diagnosis->places[i].calls;
        site->n_ranks++;
        for (int part = 0; program->measured != NULL && part < RUN_PART_COUNT; part++)
            site->measured.part_s[part] += program->measured[i].part_s[part];
    }
}

/* Finds the calls of each strand. Forgets the calls where they do not fit. */
static void divide_calls(struct diagnosis *diagnosis)
{
    struct run_program *program = &diagnosis->program;
    struct run_timed_calls *calls = diagnosis->calls;
    if (run_retime_begin(program, calls) != 0)
        calls->n = 0;
    for (size_t i = 0, call = 0; i < program->n_strands; i++) {
        const struct run_strand *strand = &program->strands[i];
        diagnosis->first_call[i] = call;
        while (call < calls->n && calls->rows[call].first_step < strand->first_step + strand->n_steps)
            call++;
        diagnosis->first_call[i + 1] = call;
    }
}

/* Returns the share of a rank's computation in which it waited for a processor. A trace has how long it waited, not
 * when; a rank that sleeps outside MPI is ready only when it awakes, and one that polls inside MPI all the time. So of
 * the time that it did not sleep, its computation has its part. */
static double busy_share(const struct run_rank *rank, double time_s, double computed_s)
{
    if (!(time_s > 0) || !(rank->wait_s > 0) || !(computed_s > 0))
        return 0;
    double slept_s = fmax(time_s - fmax(rank->run_s, 0) - rank->wait_s, 0);
    double awake_s = fmin(fmax(computed_s - slept_s, 0) / fmax(time_s - slept_s, 1e-9), 1);
    return fmin(rank->wait_s * awake_s / computed_s, 1);
}

static void sum_ranks(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    double *computed_s = xcalloc(program->n_ranks, sizeof *computed_s);
    for (size_t i = 0; program->measured != NULL && i < program->n_places; i++)
        computed_s[program->places[i].rank] += program->measured[i].part_s[RUN_COMPUTATION];
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        double time_s = diagnosis->recorded.rank_end_s[rank] - diagnosis->recorded.rank_begin_s[rank];
        diagnosis->rank_s[rank] = time_s;
        diagnosis->busy_share[rank] = busy_share(&program->ranks[rank], time_s, computed_s[rank]);
        diagnosis->all_s += time_s;
        diagnosis->queued_s += computed_s[rank] * diagnosis->busy_share[rank];
        diagnosis->all_queued_s += fmax(program->ranks[rank].wait_s, 0);
    }
    free(computed_s);
}

/* Sums what ranks compute by eighths of the run: each computation counts where it ends. */
static void sum_courses(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    double begin_s = diagnosis->recorded.begin_s, run_s = diagnosis->recorded.end_s - begin_s;
    for (uint32_t strand = 0; run_s > 0 && strand < program->n_strands; strand++)
        for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1]; i++) {
            double share = (diagnosis->calls->rows[i].begin_s - begin_s) / run_s;
            int block = (int)fmin(fmax(share * DIAGNOSIS_BLOCKS, 0), DIAGNOSIS_BLOCKS - 1);
            uint32_t rank = program->strands[strand].rank;
            diagnosis->courses[rank].block_s[block] +=
                diagnosis_before_s(diagnosis, strand, i) * (1 - diagnosis->busy_share[rank]);
        }
}

static int compare_events(const void *left, const void *right)
{
    const struct diagnosis_event *a = left, *b = right;
    return ORDER(a->site, b->site) ?: ORDER(b->cost_s, a->cost_s) ?: ORDER(a->step, b->step);
}

static int compare_steps(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = ((const struct run_charge *)right)->step;
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

/* Puts computation as recorded in the place of what was the ranks' own, where it is known how long they waited for
 * processors: whoever sleeps shares its processor with nobody. */
static void take_recorded(struct run_program *program)
{
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        if (isnan(program->ranks[rank].wait_s))
            return;
    run_program_swap_shared(program);
}

void diagnosis_init(struct diagnosis *diagnosis, struct run_program *read, struct simulation_result *recorded)
{
    struct run_program *program = &diagnosis->program;
    diagnosis->program = *read;
    diagnosis->recorded = *recorded;
    *read = (struct run_program){0};
    *recorded = (struct simulation_result){0};
    const struct simulation_options options = {0};
    diagnosis->rank_s = xcalloc(program->n_ranks, sizeof *diagnosis->rank_s);
    diagnosis->busy_share = xcalloc(program->n_ranks, sizeof *diagnosis->busy_share);
    diagnosis->places = xcalloc(program->n_places, sizeof *diagnosis->places);
    diagnosis->courses = xcalloc(program->n_ranks, sizeof *diagnosis->courses);
    diagnosis->sites = xcalloc(program->n_sites, sizeof *diagnosis->sites);
    diagnosis->first_call = xcalloc(program->n_strands + 1, sizeof *diagnosis->first_call);
    take_recorded(program);
    keep_longest_waits(&diagnosis->recorded);
    sum_places(diagnosis);
    sum_ranks(diagnosis);
    divide_calls(diagnosis);
    sum_courses(diagnosis);
    run_blame(program, &options, &diagnosis->recorded, &diagnosis->blame);
    make_events(diagnosis);
}

void diagnosis_release(struct diagnosis *diagnosis)
{
    run_blame_release(&diagnosis->blame);
    simulation_result_release(&diagnosis->recorded);
    run_program_release(&diagnosis->program);
    free(diagnosis->rank_s);
    free(diagnosis->busy_share);
    free(diagnosis->places);
    free(diagnosis->sites);
    free(diagnosis->courses);
    free(diagnosis->first_call);
    free(diagnosis->events);
}

int diagnosis_add(struct diagnosis *diagnosis, struct finding finding, const char *format, ...)
{
    struct findings *findings = diagnosis->findings;
    char text[1024];
    va_list arguments;
    finding.cost_s = fmin(finding.cost_s, diagnosis->all_s);
    finding.share = finding.cost_s / diagnosis->all_s;
    if (!(finding.share >= FINDING_LEAST_SHARE)) {
        mend_release(finding.mend);
        return 0;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    finding.sentence = pool_clean(diagnosis->pool, text, strlen(text));
    array_grow(&findings->rows, findings->n, sizeof *findings->rows);
    findings->rows[findings->n++] = finding;
    return 0;
}

struct finding diagnosis_finding(enum finding_number kind, double cost_s)
{
    return (struct finding){.kind = kind,
                            .rank = -1,
                            .partner = -1,
                            .callsite = -1,
                            .under = -1,
                            .cost_s = cost_s,
                            .gain_s = NAN,
                            .gain_low = NAN,
                            .gain_high = NAN,
                            .rest_low = NAN,
                            .rest_high = NAN,
                            .gain = NAN,
                            .begin_s = NAN,
                            .end_s = NAN,
                            .function = "",
                            .place = ""};
}

int diagnosis_name_site(struct diagnosis *diagnosis, uint32_t site, struct finding *finding, char *text)
{
    const char *function = diagnosis->program.sites[site].function;
    struct cursor rows;
    finding->function = pool_clean(diagnosis->pool, function, strlen(function));
    finding->place = "";
    finding->callsite = diagnosis->program.sites[site].callsite;
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
    double sum_s = 0;
    for (size_t i = 0; i < DIAGNOSIS_BLOCKS; i++)
        sum_s += diagnosis->places[place].block_s[i];
    return sum_s * (1 - diagnosis->busy_share[diagnosis->program.places[place].rank]);
}

uint32_t diagnosis_site_of(const struct diagnosis *diagnosis, const char *function, int64_t callsite)
{
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < program->n_sites; i++)
        if (program->sites[i].callsite == callsite && strcmp(program->sites[i].function, function) == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

uint32_t diagnosis_place_of(const struct diagnosis *diagnosis, uint32_t rank, uint32_t site)
{
    const struct run_program *program = &diagnosis->program;
    for (size_t i = 0; i < program->n_places; i++)
        if (program->places[i].rank == rank && program->places[i].site == site)
            return (uint32_t)i;
    return UINT32_MAX;
}

void diagnosis_find_receives(const struct diagnosis *diagnosis, uint32_t site, bool *is_place)
{
    const struct run_program *program = &diagnosis->program;
    bool *is_sent = xcalloc(program->n_messages, sizeof *is_sent);
    for (size_t i = 0; i < program->n_places; i++)
        is_place[i] = false;
    for (size_t i = 0; i < program->n_steps; i++)
        if (program->steps[i].kind == STEP_SEND && diagnosis_site_of_step(diagnosis, i) == site)
            is_sent[program->steps[i].object] = true;
    for (size_t i = 0; i < program->n_steps; i++) {
        const struct run_step *step = &program->steps[i];
        if (step->kind == STEP_RECEIVE && is_sent[step->object])
            is_place[step->place] = true;
        for (uint32_t k = 0; step->kind == STEP_WAIT && !is_place[step->place] && k < step->count; k++) {
            uint32_t operation = program->waits[step->object + k];
            is_place[step->place] =
                run_operation_kind(operation) == OPERATION_RECEIVE && is_sent[run_operation_object(operation)];
        }
    }
    free(is_sent);
}

double diagnosis_when_s(const struct diagnosis *diagnosis, double at_s)
{
    const struct run_program *program = &diagnosis->program;
    struct cursor rows;
    struct error error = {0};
    int64_t burst = 0;
    double when_s = at_s - diagnosis->recorded.begin_s;
    /* Of a part of the run its times are those of the run. */
    if (sqlite3_table_column_metadata(diagnosis->database, "temp", "run_part", NULL, NULL, NULL, NULL, NULL, NULL) ==
        SQLITE_OK)
        when_s = at_s;
    if (program->n_bursts == 0)
        return when_s;
    while ((size_t)burst + 1 < program->n_bursts && program->burst_s[burst + 1] <= at_s)
        burst++;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT begin_ns * 1e-9 FROM burst ORDER BY begin_ns LIMIT 1 OFFSET ?1", &error);
    if (rows.result == 0)
        sqlite3_bind_int64(rows.statement, 1, burst);
    if (cursor_next(&rows))
        when_s = cursor_real(&rows, 0) + at_s - program->burst_s[burst];
    cursor_close(&rows);
    return when_s;
}

double diagnosis_site_s(const struct diagnosis *diagnosis, uint32_t site)
{
    double sum_s = 0;
    for (int part = RUN_COMPUTATION + 1; part < RUN_PART_COUNT; part++)
        sum_s += diagnosis->sites[site].measured.part_s[part];
    return sum_s;
}
