/* Collects what the ranks did with their time, from the recorded run as `mpistair replay` reads it, and from the calls
 * of which only sums are kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run/run_presence.h"
#include "predictor/run_read/run_read.h"
#include "report/collect/activity_sums.h"
#include "share/base/array.h"

/* Adds what was measured at a place. A call that polls for something counts as waiting all the while; what of it lies
 * between the polls, between_s, is not inside MPI, and moved_s (below zero) is that of polls at other places, where it
 * comes in addition (above zero). */
static void add_parts(struct activity_rank *rank, struct report_call_site *site, const struct run_parts *parts,
                      double between_s, double moved_s)
{
    double part_s[RUN_PART_COUNT], all_s = 0;
    for (int i = RUN_COMPUTATION + 1; i < RUN_PART_COUNT; i++)
        all_s += parts->part_s[i];
    between_s = fmin(between_s, all_s);
    double elsewhere_s = fmin(between_s + fmax(-moved_s, 0), all_s);
    for (int i = 0; i < RUN_PART_COUNT; i++)
        part_s[i] = parts->part_s[i] * (i != RUN_COMPUTATION && all_s > 0 ? 1 - elsewhere_s / all_s : 1);
    part_s[RUN_OTHER] += fmax(moved_s, 0);
    rank->time_s[SPENT_POLLING] += between_s;
    site->between_s += between_s;
    double transfer_s = 0, waits_s = 0;
    for (int i = RUN_LATENCY; i <= RUN_PROGRESS; i++)
        transfer_s += part_s[i];
    double messages_s = part_s[RUN_LATE_SENDER] + part_s[RUN_LATE_RECEIVER] + transfer_s;
    double joint_s = part_s[RUN_COLLECTIVE_WAIT] + part_s[RUN_COLLECTIVE_TRANSFER];
    waits_s = messages_s + joint_s + part_s[RUN_OTHER];
    enum report_activity_kind kind = site->kind;
    rank->time_s[SPENT_COMPUTATION] += part_s[RUN_COMPUTATION];
    if (kind == SPENT_ONE_SIDED || kind == SPENT_FILES) {
        rank->time_s[kind] += waits_s;
    } else {
        rank->time_s[SPENT_MESSAGES] += messages_s;
        rank->time_s[SPENT_COLLECTIVES] += joint_s;
        rank->time_s[kind] += part_s[RUN_OTHER];
    }
    site->time_s += waits_s;
    site->waiting_s[WAITING_SENDER] += part_s[RUN_LATE_SENDER];
    site->waiting_s[WAITING_RECEIVER] += part_s[RUN_LATE_RECEIVER];
    site->waiting_s[WAITING_LAST] += part_s[RUN_COLLECTIVE_WAIT];
    site->waiting_s[WAITING_TRANSFER] += transfer_s + part_s[RUN_COLLECTIVE_TRANSFER];
}

/* Returns 0, or -1 without memory. */
static int add_program(struct report *report, struct activity_sums *sums, const struct run_program *program)
{
    sums->n_ranks = program->n_ranks;
    sums->ranks = calloc(program->n_ranks + 1, sizeof *sums->ranks);
    sums->sites = calloc(program->n_sites + 1, sizeof *sums->sites);
    sums->n_sites = program->n_sites;
    if (sums->ranks == NULL || sums->sites == NULL)
        return -1;
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        sums->ranks[rank].absent_share = program->ranks[rank].absent_share;
    for (size_t i = 0; i < program->n_sites; i++) {
        const char *name = program->sites[i].function;
        sums->sites[i] = (struct report_call_site){.function = pool_clean(&report->pool, name, strlen(name)),
                                                   .callsite = program->sites[i].callsite,
                                                   .awaited_rank = -1};
        if (sums->sites[i].function == NULL)
            return -1;
        sums->sites[i].kind = activity_kind(name);
    }
    for (size_t i = 0; i < program->n_places; i++)
        add_parts(&sums->ranks[program->places[i].rank], &sums->sites[program->places[i].site], &program->measured[i],
                  program->between_polls_s[i], program->moved_polls_s[i]);
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        sums->ranks[rank].time_s[SPENT_NOT_RECORDED] = program->ranks[rank].lost_s;
    report->activities.run_s = program->measured_run_s;
    return 0;
}

enum { MOST_PAIRS = 1 << 24 };

/* Finds the rank that each site waited for longest. Returns 0, or -1 without memory. */
static int find_awaited(struct activity_sums *sums, const struct run_program *program,
                        const struct simulation_result *recorded)
{
    if (program->n_sites == 0 || program->n_ranks > MOST_PAIRS / program->n_sites)
        return 0;
    double *late_s = calloc(program->n_sites * program->n_ranks + 1, sizeof *late_s);
    if (late_s == NULL)
        return -1;
    for (size_t i = 0; i < recorded->n_waits; i++) {
        const struct run_wait *wait = &recorded->waits[i];
        size_t site = program->places[program->steps[wait->begin.step].place].site;
        uint32_t rank = program->strands[wait->cause.strand].rank;
        double *own_s = &late_s[site * program->n_ranks + rank];
        *own_s += wait->late_s;
        if (*own_s > sums->sites[site].awaited_s) {
            sums->sites[site].awaited_s = *own_s;
            sums->sites[site].awaited_rank = rank;
        }
    }
    /* What lies inside MPI of a wait that polls counts; where several ranks poll differently, no more than there is. */
    for (size_t i = 0; i < sums->n_sites; i++) {
        struct report_call_site *site = &sums->sites[i];
        double waited_s =
            site->waiting_s[WAITING_SENDER] + site->waiting_s[WAITING_RECEIVER] + site->waiting_s[WAITING_LAST];
        if (site->between_s > 0)
            site->awaited_s = fmin(site->awaited_s * site->time_s / (site->time_s + site->between_s), waited_s);
    }
    free(late_s);
    return 0;
}

/* Returns the site of that function and call site, added where there is none; NULL without memory. near is where the
 * last one was. */
static struct report_call_site *site_of(struct report *report, struct activity_sums *sums, size_t *near,
                                        const char *function, int64_t callsite)
{
    for (size_t i = 0; i < sums->n_sites; i++) {
        size_t at = (*near + i) % sums->n_sites;
        if (sums->sites[at].callsite == callsite && strcmp(sums->sites[at].function, function) == 0) {
            *near = at;
            return &sums->sites[at];
        }
    }
    struct report_call_site *grown = realloc(sums->sites, (sums->n_sites + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    sums->sites = grown;
    *near = sums->n_sites++;
    const char *kept = pool_clean(&report->pool, function, strlen(function));
    sums->sites[*near] = (struct report_call_site){.function = kept != NULL ? kept : "",
                                                   .callsite = callsite,
                                                   .kind = activity_kind(function),
                                                   .awaited_rank = -1};
    return &sums->sites[*near];
}

/* Adds the calls of which there are sums alone. They are no part of the program, which takes their time for
 * computation. */
static int add_calls(struct report *report, struct activity_sums *sums, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    size_t near = 0;
    cursor_open(&rows, database, report->path,
                "SELECT function, coalesce(callsite, -1), rank, sum(1.0 * max(time_ns, 0)) * 1e-9 FROM call_sum "
                "GROUP BY function, callsite, rank ORDER BY function, callsite",
                error);
    while (cursor_next(&rows)) {
        const char *function = cursor_text(&rows, 0, &report->pool);
        int64_t rank = cursor_integer(&rows, 2);
        double time_s = cursor_real(&rows, 3);
        if (rank < 0 || (size_t)rank >= sums->n_ranks || !isfinite(time_s))
            continue;
        struct report_call_site *site = site_of(report, sums, &near, function, cursor_integer(&rows, 1));
        if (site == NULL) {
            cursor_no_memory(&rows);
            break;
        }
        double *own_s = sums->ranks[rank].time_s;
        own_s[site->kind] += time_s;
        own_s[SPENT_COMPUTATION] = fmax(own_s[SPENT_COMPUTATION] - time_s, 0);
        site->time_s += time_s;
    }
    return cursor_close(&rows);
}

/* What ranks computed is known only where no process and no record is missing. Returns 0, or -1 without memory. */
static int find_efficiencies(struct report *report, const struct activity_sums *sums, const struct run_program *program)
{
    struct report_activities *activities = &report->activities;
    double *computed_s = malloc(sums->n_ranks * sizeof *computed_s);
    if (computed_s == NULL)
        return -1;
    for (size_t rank = 0; rank < sums->n_ranks; rank++) /* several threads of a rank may compute at once */
        computed_s[rank] = fmin(sums->ranks[rank].time_s[SPENT_COMPUTATION], activities->run_s);
    const struct run_presence presence = run_presence_of(program, computed_s);
    bool known = report->whole.times_known && presence.most_s > 0 && activities->run_s > 0;
    activities->load_balance = known ? fmin(presence.mean_s / presence.most_s, 1) : NAN;
    activities->communication = known ? fmin(presence.most_s / activities->run_s, 1) : NAN;
    activities->parallel = known ? fmin(presence.mean_s / activities->run_s, 1) : NAN;
    free(computed_s);
    return 0;
}

/* Returns 0, or -1 without memory. */
static int sum_rows(struct report *report, const struct activity_sums *sums, const struct run_program *program)
{
    struct report_activities *activities = &report->activities;
    for (size_t kind = 0; kind < SPENT_COUNT; kind++) {
        struct report_activity *row = &activities->rows[kind];
        *row = (struct report_activity){.least_s = INFINITY, .most_s = -INFINITY, .most_rank = -1};
        for (size_t rank = 0; rank < sums->n_ranks; rank++) {
            double time_s = sums->ranks[rank].time_s[kind];
            row->time_s += time_s;
            row->least_s = fmin(row->least_s, time_s);
            if (time_s > row->most_s) {
                row->most_s = time_s;
                row->most_rank = (int64_t)rank;
            }
        }
        activities->ranks_s += row->time_s;
    }
    for (size_t kind = 0; kind < SPENT_COUNT; kind++)
        activities->rows[kind].share = activities->rows[kind].time_s / activities->ranks_s;
    return find_efficiencies(report, sums, program);
}

static int costlier(const void *left, const void *right)
{
    const struct report_call_site *a = left, *b = right;
    if (a->time_s < b->time_s || a->time_s > b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    int order = strcmp(a->function, b->function);
    return order != 0 ? order : (a->callsite > b->callsite) - (a->callsite < b->callsite);
}

/* Keeps the sites that cost most, and names their places. */
static int keep_sites(struct report *report, struct activity_sums *sums, sqlite3 *database, struct error *error)
{
    struct report_activities *activities = &report->activities;
    qsort(sums->sites, sums->n_sites, sizeof *sums->sites, costlier);
    for (size_t i = 0; i < sums->n_sites && sums->sites[i].time_s > 0; i++, activities->all_sites++) {
        if (activities->n_sites == REPORT_CALL_SITES)
            continue;
        struct report_call_site *site = &activities->sites[activities->n_sites++];
        struct cursor rows;
        *site = sums->sites[i];
        site->share = site->time_s / activities->ranks_s;
        site->place = "";
        site->parts = (struct report_place){"", "", "", 0};
        cursor_open(&rows, database, report->path, "SELECT place, name, file, callers, line FROM site WHERE id = ?1",
                    error);
        if (rows.result == 0)
            sqlite3_bind_int64(rows.statement, 1, site->callsite);
        if (cursor_next(&rows)) {
            site->place = cursor_text(&rows, 0, &report->pool);
            site->parts =
                (struct report_place){cursor_text(&rows, 1, &report->pool), cursor_text(&rows, 2, &report->pool),
                                      cursor_text(&rows, 3, &report->pool), cursor_integer(&rows, 4)};
        }
        if (cursor_close(&rows) != 0)
            return -1;
    }
    return 0;
}

/* Gives each rank of the report its times. */
static void note_ranks(struct report *report, const struct activity_sums *sums)
{
    for (size_t i = 0; i < report->n_ranks; i++) {
        struct report_rank *rank = &report->ranks[i];
        if (rank->rank >= 0 && (size_t)rank->rank < sums->n_ranks)
            memcpy(rank->activity_s, sums->ranks[rank->rank].time_s, sizeof rank->activity_s);
    }
}

/* Returns the reason without the name of the trace, as a text of the report; NULL without memory. */
static const char *reason_text(struct report *report, const struct error *reason)
{
    size_t named = strlen(report->path);
    const char *text = reason->text;
    if (strncmp(text, report->path, named) == 0 && text[named] == ':')
        text += named + 2;
    return pool_clean(&report->pool, text, strlen(text));
}

static int no_memory(const struct report *report, struct error *error)
{
    return error_set(error, "%s: no memory for the times of its ranks", report->path);
}

/* Sums a run that was read. */
static int sum_run(struct report *report, sqlite3 *database, const struct run_program *program,
                   const struct simulation_result *recorded, struct error *error)
{
    struct activity_sums sums = {0};
    int result = add_program(report, &sums, program) == 0 && find_awaited(&sums, program, recorded) == 0
                     ? add_calls(report, &sums, database, error)
                     : no_memory(report, error);
    if (result == 0 && sums.n_ranks > 0 && sum_rows(report, &sums, program) != 0)
        result = no_memory(report, error);
    if (result == 0 && sums.n_ranks > 0) {
        note_ranks(report, &sums);
        result = keep_sites(report, &sums, database, error);
    }
    if (result == 0 && activity_find_out_of_line(report, &sums) != 0)
        result = no_memory(report, error);
    if (result == 0 && !(report->activities.ranks_s > 0))
        report->activities.unknown = "no time of any rank is recorded";
    free(sums.ranks);
    free(sums.sites);
    return result;
}

/* Sums a run that was read, and looks for findings. */
static int judge_run(struct report *report, sqlite3 *database, struct run_program *program,
                     struct simulation_result *recorded, struct pair_sums *pairs, struct error *error)
{
    struct error reason;
    int result = sum_run(report, database, program, recorded, error);
    if (result == 0 && report->activities.unknown == NULL &&
        findings_collect_read(&report->findings, &report->pool, database, program, recorded, pairs, &reason) != 0) {
        findings_release(&report->findings);
        report->no_findings = reason_text(report, &reason);
        result = report->no_findings == NULL ? no_memory(report, error) : 0;
    }
    return result;
}

int report_collect_activity(struct report *report, sqlite3 *database, struct error *error)
{
    struct run_program program = {0};
    struct simulation_result recorded = {0};
    struct pair_sums pairs = {0};
    const struct run_message_watch watch = pair_sums_watch(&pairs);
    struct error reason;
    struct report_activities *activities = &report->activities;
    int result;
    *activities = (struct report_activities){.load_balance = NAN, .communication = NAN, .parallel = NAN};
    if (pair_sums_init(&pairs, database, report->path, &reason) == 0 &&
        run_program_read_recorded(database, report->path, &watch, &program, &recorded, &reason) == 0) {
        result = judge_run(report, database, &program, &recorded, &pairs, error);
    } else {
        activities->unknown = reason_text(report, &reason);
        result = activities->unknown == NULL ? no_memory(report, error) : 0;
    }
    simulation_result_release(&recorded);
    run_program_release(&program);
    pair_sums_release(&pairs);
    return result;
}
