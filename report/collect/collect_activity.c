/* Collects what the ranks did with their time, from the recorded run as `mpistair replay` reads it, and from the calls
 * of which only sums are kept; and finds the ranks that are not like the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/trace/state/trace.h"
#include "predictor/run/run_efficiency.h"
#include "predictor/run_read/run_read.h"
#include "report/collect/activity_sums.h"
#include "report/collect/kept_findings.h"
#include "report/collect/report.h"
#include "report/diagnose/causes.h"
#include "report/diagnose/course.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/statistics.h"

const char *const report_activity_name[SPENT_COUNT] = {
    "computation", "point_to_point", "collectives", "one_sided", "files", "other", "between_polls", "not_recorded"};

/* Sets of families of functions, all of which are among the first 64. */
#define FAMILY(name) (UINT64_C(1) << FAMILY_##name)
static const uint64_t collective_families = FAMILY(COLLECTIVE) | FAMILY(COLLECTIVE_INIT) | FAMILY(ICOLLECTIVE);
static const uint64_t one_sided_families =
    FAMILY(RMA) | FAMILY(RMA_REQUEST) | FAMILY(WIN_CREATE) | FAMILY(WIN_FREE) | FAMILY(WIN_TEST);
static const uint64_t message_families =
    FAMILY(CANCEL) | FAMILY(IMPROBE) | FAMILY(IMRECV) | FAMILY(IPROBE) | FAMILY(IRECV) | FAMILY(ISEND) |
    FAMILY(ISENDRECV) | FAMILY(MPROBE) | FAMILY(MRECV) | FAMILY(PARRIVED) | FAMILY(PARTITIONED_INIT) |
    FAMILY(PERSISTENT_INIT) | FAMILY(PREADY) | FAMILY(PREADY_LIST) | FAMILY(PREADY_RANGE) | FAMILY(PROBE) |
    FAMILY(RECV) | FAMILY(REQUEST_FREE) | FAMILY(REQUEST_GET_STATUS) | FAMILY(SEND) | FAMILY(SENDRECV) | FAMILY(START) |
    FAMILY(STARTALL) | FAMILY(TEST) | FAMILY(TESTALL) | FAMILY(TESTANY) | FAMILY(TESTSOME) | FAMILY(WAIT) |
    FAMILY(WAITALL) | FAMILY(WAITANY) | FAMILY(WAITSOME);

_Static_assert(FAMILY_WIN_TEST < 64 && FAMILY_WAITSOME < 64, "sets of families have 64 bits");

enum report_activity_kind activity_kind(const char *function)
{
    if (strncmp(function, "MPI_File_", strlen("MPI_File_")) == 0)
        return SPENT_FILES;
    uint16_t number = 0;
    while (number < FN_COUNT && strcmp(function_name(number), function) != 0)
        number++;
    unsigned at = number < FN_COUNT ? function_family(number) : 64;
    uint64_t family = at < 64 ? UINT64_C(1) << at : 0; /* the last ones are of files */
    return (family & collective_families) != 0  ? SPENT_COLLECTIVES
           : (family & one_sided_families) != 0 ? SPENT_ONE_SIDED
           : (family & message_families) != 0   ? SPENT_MESSAGES
                                                : SPENT_OTHER;
}

/* Adds what was measured at a place. A call that polls for something counts as waiting all the while; what of it lies
 * between the polls, between_s, is not inside MPI, and moved_s (below zero) is that of polls at other places, where it
 * comes in addition (above zero). */
static void activity_add_parts(struct activity_rank *rank, struct report_call_site *site, const struct run_parts *parts,
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

static struct report_call_site site_named(struct report *report, const char *function, int64_t callsite)
{
    return (struct report_call_site){.function = pool_clean(&report->pool, function, strlen(function)),
                                     .callsite = callsite,
                                     .kind = activity_kind(function),
                                     .awaited_rank = -1};
}

static void add_program(struct report *report, struct activity_sums *sums, const struct run_program *program)
{
    sums->n_ranks = program->n_ranks;
    sums->ranks = xcalloc(program->n_ranks, sizeof *sums->ranks);
    sums->sites = xcalloc(program->n_sites, sizeof *sums->sites);
    sums->n_sites = program->n_sites;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        sums->ranks[rank].absent_share = program->ranks[rank].absent_share;
        sums->ranks[rank].time_s[SPENT_NOT_RECORDED] = program->ranks[rank].lost_s;
    }
    for (size_t i = 0; i < program->n_sites; i++)
        sums->sites[i] = site_named(report, program->sites[i].function, program->sites[i].callsite);
    for (size_t i = 0; i < program->n_places; i++)
        activity_add_parts(&sums->ranks[program->places[i].rank], &sums->sites[program->places[i].site],
                           &program->measured[i], program->between_polls_s[i], program->moved_polls_s[i]);
    sums->run_s = program->measured_run_s;
}

enum { ACTIVITY_MOST_PAIRS = 1 << 24 };

/* Finds the rank that each site waited for longest. */
static void find_awaited(struct activity_sums *sums, const struct run_program *program,
                         const struct simulation_result *recorded)
{
    if (program->n_sites == 0 || program->n_ranks > ACTIVITY_MOST_PAIRS / program->n_sites)
        return;
    double *late_s = xcalloc(program->n_sites * program->n_ranks, sizeof *late_s);
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
}

/* Returns the site of that function and call site, added where there is none. near is where the last one
 * was. */
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
    sums->sites = xreallocarray(sums->sites, sums->n_sites + 1, sizeof *sums->sites);
    *near = sums->n_sites++;
    sums->sites[*near] = site_named(report, function, callsite);
    return &sums->sites[*near];
}

/* Adds the calls while recording was off. They are no part of the program, which takes their time for computation. */
static void activity_add_calls(struct report *report, struct activity_sums *sums)
{
    struct cursor rows;
    size_t near = 0;
    report_query(
        report, &rows,
        "SELECT function, coalesce(callsite, -1), rank, sum(1.0 * max(time_ns, 0)) * 1e-9 FROM "
        "(SELECT f.name AS function, callsite, rank, time_ns FROM total t JOIN function f ON f.id = t.function "
        " WHERE off) GROUP BY function, callsite, rank ORDER BY function, callsite");
    while (cursor_next(&rows)) {
        const char *function = cursor_text(&rows, 0, &report->pool);
        int64_t rank = cursor_integer(&rows, 2);
        double time_s = cursor_real(&rows, 3);
        if (rank < 0 || (size_t)rank >= sums->n_ranks || !isfinite(time_s))
            continue;
        struct report_call_site *site = site_of(report, sums, &near, function, cursor_integer(&rows, 1));
        double *own_s = sums->ranks[rank].time_s;
        own_s[site->kind] += time_s;
        own_s[SPENT_COMPUTATION] = fmax(own_s[SPENT_COMPUTATION] - time_s, 0);
        site->time_s += time_s;
    }
    report_query_end(report, &rows);
}

/* Gives the ranks their times out of the course of the run, which is of all calls. */
static void take_courses(struct report *report, struct activity_sums *sums)
{
    struct cursor rows;
    report_query(
        report, &rows,
        "SELECT p.rank, max(p.end_ns - p.begin_ns, 0) * 1e-9, "
        "total(c.point_to_point_ns + c.wait_ns + c.idle_ns) * 1e-9, total(c.collective_ns) * 1e-9, "
        "total(c.one_sided_ns) * 1e-9, total(c.file_ns) * 1e-9, total(c.other_ns) * 1e-9 "
        "FROM process p LEFT JOIN course c USING (rank) WHERE p.begin_ns IS NOT NULL GROUP BY p.rank ORDER BY p.rank");
    while (cursor_next(&rows)) {
        static const enum report_activity_kind kinds[] = {SPENT_MESSAGES, SPENT_COLLECTIVES, SPENT_ONE_SIDED,
                                                          SPENT_FILES, SPENT_OTHER};
        int64_t rank = cursor_integer(&rows, 0);
        if (rank < 0 || (size_t)rank >= sums->n_ranks)
            continue;
        struct activity_rank *own = &sums->ranks[rank];
        double outside_s = cursor_real(&rows, 1);
        memset(own->time_s, 0, sizeof own->time_s);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            own->time_s[kinds[i]] = fmax(cursor_real(&rows, 2 + (int)i), 0);
            outside_s -= own->time_s[kinds[i]];
        }
        own->time_s[SPENT_COMPUTATION] = fmax(outside_s, 0);
    }
    report_query_end(report, &rows);
}

/* Scales the sites of a part, of whose calls those of bursts alone are known, to the time that its windows have. */
static void scale_sites(struct activity_sums *sums)
{
    double inside_s = 0, sites_s = 0;
    for (size_t rank = 0; rank < sums->n_ranks; rank++)
        for (size_t kind = SPENT_COMPUTATION + 1; kind <= SPENT_OTHER; kind++)
            inside_s += sums->ranks[rank].time_s[kind];
    for (size_t i = 0; i < sums->n_sites; i++)
        sites_s += sums->sites[i].time_s;
    double scale = sites_s > 0 ? inside_s / sites_s : 0;
    for (size_t i = 0; i < sums->n_sites; i++) {
        struct report_call_site *site = &sums->sites[i];
        site->time_s *= scale;
        site->awaited_s *= scale;
        for (size_t k = 0; k < WAITING_COUNT; k++)
            site->waiting_s[k] *= scale;
    }
}

/* Gives the sites their times out of the totals. What a site waits for is known of the bursts: its shares are taken for
 * those of all its time. */
static void take_totals(struct report *report, struct activity_sums *sums)
{
    struct report_call_site *of_bursts = sums->sites;
    size_t n_of_bursts = sums->n_sites;
    struct cursor rows;
    sums->sites = NULL;
    sums->n_sites = 0;
    report_query(report, &rows,
                 "SELECT f.name, coalesce(t.callsite, -1), sum(1.0 * t.time_ns) * 1e-9 FROM total t "
                 "JOIN function f ON f.id = t.function GROUP BY 1, 2 ORDER BY 1, 2");
    while (cursor_next(&rows)) {
        const char *function = cursor_text(&rows, 0, &report->pool);
        struct report_call_site site = site_named(report, function, cursor_integer(&rows, 1));
        for (size_t i = 0; i < n_of_bursts; i++)
            if (of_bursts[i].callsite == site.callsite && strcmp(of_bursts[i].function, function) == 0)
                site = of_bursts[i];
        double time_s = cursor_real(&rows, 2), known_s = site.time_s + site.between_s;
        double scale = known_s > 0 ? time_s / known_s : 0;
        for (size_t i = 0; i < sizeof site.waiting_s / sizeof *site.waiting_s; i++)
            site.waiting_s[i] *= scale;
        site.awaited_s *= scale;
        site.between_s = 0;
        site.time_s = time_s;
        ARRAY_ADD(sums->sites, sums->n_sites, site);
    }
    report_query_end(report, &rows);
    free(of_bursts);
    take_courses(report, sums);
    if (report->part.is_part)
        scale_sites(sums);
    sums->run_s = report->run.duration_s;
}

/* What ranks computed is known only where no process and no record is missing. Without a program all ranks last as long
 * as the run. */
static void find_efficiencies(const struct report *report, struct activity_sums *sums,
                              const struct run_program *program)
{
    struct run_efficiencies found = RUN_EFFICIENCIES_UNKNOWN;
    double *computed_s = xcalloc(sums->n_ranks, sizeof *computed_s), sum_s = 0, most_s = 0, run_s = sums->run_s;
    for (size_t rank = 0; rank < sums->n_ranks; rank++) {
        computed_s[rank] = sums->ranks[rank].time_s[SPENT_COMPUTATION];
        sum_s += computed_s[rank];
        most_s = fmax(most_s, computed_s[rank]);
    }
    if (report->whole.times_known && program->n_ranks > 0) {
        found = run_efficiencies_of(program, computed_s, run_s, NAN);
    } else if (report->whole.times_known && most_s > 0 && run_s >= most_s) {
        found.share[EFFICIENCY_LOAD_BALANCE] = sum_s / (double)sums->n_ranks / most_s;
        found.share[EFFICIENCY_COMMUNICATION] = most_s / run_s;
        found.share[EFFICIENCY_PARALLEL] = sum_s / (double)sums->n_ranks / run_s;
    }
    sums->load_balance = found.share[EFFICIENCY_LOAD_BALANCE];
    sums->communication = found.share[EFFICIENCY_COMMUNICATION];
    sums->parallel = found.share[EFFICIENCY_PARALLEL];
    free(computed_s);
}

static void sum_rows(struct report *report, const struct activity_sums *sums)
{
    struct report_activities *activities = &report->activities;
    for (size_t kind = 0; kind < SPENT_COUNT; kind++) {
        struct report_activity *row = &activities->rows[kind];
        *row = (struct report_activity){
            .name = report_activity_name[kind], .least_s = INFINITY, .most_s = -INFINITY, .most_rank = -1};
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
    activities->load_balance = sums->load_balance;
    activities->communication = sums->communication;
    activities->parallel = sums->parallel;
}

static int costlier(const void *left, const void *right)
{
    const struct report_call_site *a = left, *b = right;
    return ORDER(b->time_s, a->time_s) ?: strcmp(a->function, b->function) ?: ORDER(a->callsite, b->callsite);
}

/* Keeps the sites that cost most, and names their places. */
static void keep_sites(struct report *report, struct activity_sums *sums)
{
    struct report_activities *activities = &report->activities;
    const struct fields site_fields = FIELDS(report_call_site, FIELD(report_call_site, place));
    const struct fields place_fields = FIELDS(report_place, FIELD(report_place, name), FIELD(report_place, file),
                                              FIELD(report_place, callers), FIELD(report_place, line));
    if (sums->n_sites > 0)
        qsort(sums->sites, sums->n_sites, sizeof *sums->sites, costlier);
    for (size_t i = 0; i < sums->n_sites && sums->sites[i].time_s > 0; i++, activities->all_sites++) {
        if (activities->n_sites == REPORT_CALL_SITES)
            continue;
        struct report_call_site *site = &activities->sites[activities->n_sites++];
        struct cursor rows;
        *site = sums->sites[i];
        site->share = site->time_s / activities->ranks_s;
        site->place = site->parts.name = site->parts.file = site->parts.callers = "";
        report_query(report, &rows, "SELECT place, name, file, callers, line FROM site WHERE id = ?1");
        cursor_bind(&rows, "i", site->callsite);
        if (cursor_next(&rows))
            fields_read(&place_fields, &site->parts, &rows, fields_read(&site_fields, site, &rows, 0, &report->pool),
                        &report->pool);
        report_query_end(report, &rows);
    }
}

/* Finds ranks that are not like the others, by median and median deviation: one rank far off moves neither. Ranks that
 * were spawned late, or whose world ended early, are not compared. */
enum { LEAST_RANKS = 4 };
/* Deviations (of a normal distribution), and share of a rank's time, beyond which a rank is out of line. */
static const double outlier_deviations = 5, outlier_part = 0.1;
#define MOST_ABSENT 0.1

static double time_of(const struct activity_rank *rank, bool in_mpi)
{
    double sum_s = 0;
    for (size_t kind = SPENT_COMPUTATION + 1; kind <= SPENT_OTHER; kind++)
        sum_s += rank->time_s[kind];
    return in_mpi ? sum_s : rank->time_s[SPENT_COMPUTATION];
}

/* Puts a rank into its place among those furthest off. */
static void keep(struct report_activities *activities, struct report_out_of_line found)
{
    size_t at = activities->n_out_of_line;
    struct report_out_of_line *rows = activities->out_of_line;
    activities->all_out_of_line++;
    while (at > 0 && fabs(found.time_s - found.median_s) > fabs(rows[at - 1].time_s - rows[at - 1].median_s))
        at--;
    if (at == REPORT_OUT_OF_LINE)
        return;
    if (activities->n_out_of_line < REPORT_OUT_OF_LINE)
        activities->n_out_of_line++;
    for (size_t i = activities->n_out_of_line - 1; i > at; i--)
        rows[i] = rows[i - 1];
    rows[at] = found;
}

/* Marks in seen the ranks that are out of line in one of the two. */
static void look(struct report *report, const struct activity_sums *sums, bool in_mpi, double *values, bool *seen)
{
    size_t n = 0;
    double ranks_s = 0;
    for (size_t i = 0; i < sums->n_ranks; i++)
        if (sums->ranks[i].absent_share < MOST_ABSENT) {
            values[n++] = time_of(&sums->ranks[i], in_mpi);
            ranks_s += time_of(&sums->ranks[i], true) + time_of(&sums->ranks[i], false);
        }
    if (n < LEAST_RANKS)
        return;
    double median_s = unsorted_median(values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - median_s);
    double limit_s = fmax(outlier_deviations * 1.4826 * unsorted_median(values, n), outlier_part * ranks_s / (double)n);
    for (size_t i = 0; i < sums->n_ranks; i++) {
        const struct report_rank *rank = report_find_rank(report, (int64_t)i);
        double time_s = time_of(&sums->ranks[i], in_mpi), off_s = fabs(time_s - median_s);
        if (sums->ranks[i].absent_share >= MOST_ABSENT || !(off_s > limit_s) || seen[i] ||
            (rank != NULL && rank->waited_s > off_s / 2))
            continue;
        seen[i] = true;
        keep(&report->activities, (struct report_out_of_line){(int64_t)i, in_mpi, time_s, median_s});
    }
}

/* A rank that waited for a processor for half of the difference is not out of line. */
static void find_out_of_line(struct report *report, const struct activity_sums *sums)
{
    double *values = xcalloc(sums->n_ranks, sizeof *values);
    bool *seen = xcalloc(sums->n_ranks, sizeof *seen);
    look(report, sums, false, values, seen);
    look(report, sums, true, values, seen);
    free(values);
    free(seen);
}

/* Fills the report from the sums. */
static void finish_activity(struct report *report, struct activity_sums *sums)
{
    report->activities.run_s = sums->run_s;
    if (sums->n_ranks > 0) {
        sum_rows(report, sums);
        keep_sites(report, sums);
    }
    for (size_t i = 0; i < report->n_ranks; i++) {
        struct report_rank *rank = &report->ranks[i];
        if (rank->rank >= 0 && (size_t)rank->rank < sums->n_ranks)
            memcpy(rank->activity_s, sums->ranks[rank->rank].time_s, sizeof rank->activity_s);
    }
    find_out_of_line(report, sums);
    if (!(report->activities.ranks_s > 0))
        report->activities.unknown = "no time of any rank is recorded";
}

/* Adds what the course of the run says where not all calls are known one by one. */
static void judge_course(struct report *report)
{
    struct error reason;
    if (report->result == 0 && course_collect(&report->findings, &report->pool, report->database, report->path,
                                              report->part.from_s, report->run.duration_s, &reason) != 0)
        report->no_findings = report_reason(report, &reason);
}

/* Says why ranks are late, where counters tell. */
static void find_causes(struct report *report)
{
    struct error reason;
    if (report->result == 0 &&
        causes_collect(&report->findings, &report->pool, report->database, report->path, &reason) != 0)
        report->no_findings = report_reason(report, &reason);
}

/* Steps of a run from which on it takes a second or so to find what it lost time to. */
enum { KEPT_FROM_STEPS = 100000 };

/* Sums a run that was read, and looks for findings. */
static void find_in_run(struct report *report, struct activity_sums *sums, struct run_program *program,
                        struct simulation_result *recorded, struct findings_watch *watch)
{
    struct error reason;
    add_program(report, sums, program);
    find_awaited(sums, program, recorded);
    if (report->whole.detail == WHOLE_ALL)
        activity_add_calls(report, sums);
    else
        take_totals(report, sums);
    find_efficiencies(report, sums, program);
    finish_activity(report, sums);
    if (report->result != 0 || report->activities.unknown != NULL)
        return;
    if (findings_collect_read(&report->findings, &report->pool, report->database, program, recorded, watch, &reason) !=
        0) {
        findings_release(&report->findings);
        report->no_findings = report_reason(report, &reason);
        return;
    }
    if (report->whole.detail != WHOLE_ALL)
        judge_course(report);
    if (report->no_findings == NULL && watch->n_steps >= KEPT_FROM_STEPS && !report->part.is_part &&
        !report->other_switches)
        kept_findings_store(&report->findings, sums, report->database);
}

static void judge_run(struct report *report, struct run_program *program, struct simulation_result *recorded,
                      struct findings_watch *watch)
{
    struct activity_sums sums = {0};
    find_in_run(report, &sums, program, recorded, watch);
    activity_sums_release(&sums);
    find_causes(report);
}

/* Takes what the first report on a long run has kept, so that its messages and calls are read no more. Returns whether
 * there is such. */
static bool take_kept(struct report *report)
{
    struct activity_sums sums = {0};
    if (report->part.is_part || report->other_switches ||
        !kept_findings_read(&report->findings, &sums, &report->pool, report->database, report->path))
        return false;
    for (size_t i = 0; i < sums.n_sites; i++)
        sums.sites[i].kind = activity_kind(sums.sites[i].function);
    finish_activity(report, &sums);
    activity_sums_release(&sums);
    find_causes(report);
    return true;
}

/* Bytes of memory that a side of a message or a call takes while the run is looked at as a whole. */
static const double bytes_of_a_row = 112;

static const char *too_many_for_page(struct report *report)
{
    char text[1024];
    int length = snprintf(text, sizeof text,
                          "late ranks and waits are not on this page yet, as they need the whole run in memory: "
                          "'mpistair report %s' finds them once, in about %.1f GB, and pages that follow have them; "
                          "--from 50%% --to 50.1%% shows those of a part",
                          report->path, (double)report->shards.page_rows * bytes_of_a_row * 1e-9);
    return pool_clean(&report->pool, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* Shows what totals alone say: who spent how long where. */
static void judge_totals(struct report *report)
{
    size_t n_ranks = (size_t)report->run.world_size;
    struct activity_sums sums = {.n_ranks = n_ranks, .ranks = xcalloc(n_ranks, sizeof *sums.ranks)};
    take_totals(report, &sums);
    find_efficiencies(report, &sums, &(struct run_program){0});
    finish_activity(report, &sums);
    activity_sums_release(&sums);
    if (report->shards.n_faults > 0)
        report->no_findings = "late ranks and waits need all shards, of which some cannot be read";
    else if (report->shards.by_sums)
        report->no_findings =
            "the run has too many calls and messages to look at each: late ranks and waits are found in "
            "a part of it, as by --from 50% --to 50.1%";
    else if (report->shards.page_rows > 0 && report->whole.detail != WHOLE_TOTALS)
        report->no_findings = too_many_for_page(report);
    else if (report->part.is_part)
        report->no_findings = "no single calls of this part have rows, which late ranks and waits need";
    else
        report->no_findings = "the trace has totals alone: late ranks and waits need single calls, which a recording "
                              "without --sums has";
    judge_course(report);
    find_causes(report);
}

/* Share of a part of the run by which a rank must compute longer than the mean of the others, that these wait for it,
 * and of how many ranks the course is looked at so. */
#define COURSE_LONGER 0.3
enum { COURSE_RANKS = 256, COURSE_IN_A_ROW = 3 };

struct course_part {
    double inside_s, all_s, rank_s[COURSE_RANKS]; /* rank_s: outside MPI */
};

/* Finds whom the others wait for in each part, if that is one of few ranks. */
static void find_course_ranks(struct report *report, const struct course_part *parts, double part_s)
{
    int64_t n_ranks = report->run.world_size, first = -1;
    size_t n = 0, n_parts = 0, in_a_row = 0, most_in_a_row = 0;
    bool several = false;
    for (size_t i = 0; i < REPORT_COURSE; i++) {
        double sum_s = parts[i].all_s - parts[i].inside_s;
        int64_t most = 0;
        report->course_rank[i] = -1;
        for (int64_t rank = 1; rank < n_ranks && n_ranks <= COURSE_RANKS; rank++)
            most = parts[i].rank_s[rank] > parts[i].rank_s[most] ? rank : most;
        n_parts += parts[i].all_s > 0;
        if (n_ranks < 2 || n_ranks > COURSE_RANKS ||
            !(parts[i].rank_s[most] - (sum_s - parts[i].rank_s[most]) / ((double)n_ranks - 1) > COURSE_LONGER * part_s))
            continue;
        report->course_rank[i] = most;
        in_a_row = i > 0 && report->course_rank[i - 1] == most ? in_a_row + 1 : 1;
        most_in_a_row = in_a_row > most_in_a_row ? in_a_row : most_in_a_row;
        several = several || (first >= 0 && most != first);
        first = first < 0 ? most : first;
        n++;
    }
    report->course_changes = most_in_a_row >= COURSE_IN_A_ROW && (several || 10 * n < 9 * n_parts);
}

/* Adds up the windows of all ranks by the parts of the run in which they lie. */
static void collect_course(struct report *report)
{
    struct course_part *parts = xcalloc(REPORT_COURSE, sizeof *parts);
    double part_s = report->run.duration_s / REPORT_COURSE;
    struct cursor rows;
    report_query(
        report, &rows,
        "SELECT begin_ns * 1e-9, end_ns * 1e-9, 1e-9 * (point_to_point_ns + wait_ns + idle_ns + collective_ns + "
        "one_sided_ns + file_ns + other_ns), rank FROM course WHERE end_ns > begin_ns");
    while (cursor_next(&rows)) {
        double begin_s = fmax(cursor_real(&rows, 0) - report->part.from_s, 0);
        double end_s = fmin(cursor_real(&rows, 1) - report->part.from_s, report->run.duration_s);
        double inside = fmin(cursor_real(&rows, 2) / (end_s - begin_s), 1);
        int64_t rank = cursor_integer(&rows, 3);
        for (size_t i = (size_t)(begin_s / part_s); end_s > begin_s && i < REPORT_COURSE && (double)i * part_s < end_s;
             i++) {
            double there_s = fmax(fmin(end_s, (double)(i + 1) * part_s) - fmax(begin_s, (double)i * part_s), 0);
            parts[i].inside_s += inside * there_s;
            parts[i].all_s += there_s;
            if (rank >= 0 && rank < COURSE_RANKS)
                parts[i].rank_s[rank] += (1 - inside) * there_s;
        }
    }
    report_query_end(report, &rows);
    for (size_t i = 0; i < REPORT_COURSE; i++) {
        report->course[i] = parts[i].all_s > 0 ? parts[i].inside_s / parts[i].all_s : NAN;
        report->has_course = report->has_course || (parts[i].all_s > 0 && report->run.duration_s >= REPORT_COURSE_S);
    }
    find_course_ranks(report, parts, part_s);
    free(parts);
}

void report_collect_activity(struct report *report)
{
    struct run_program program = {0};
    struct simulation_result recorded = {0};
    struct findings_watch watch;
    struct error reason;
    report->activities = (struct report_activities){.load_balance = NAN, .communication = NAN, .parallel = NAN};
    collect_course(report);
    if (report->whole.detail == WHOLE_TOTALS) {
        judge_totals(report);
        return;
    }
    if (take_kept(report))
        return;
    if (report->shards.by_sums || report->shards.page_rows > 0) {
        judge_totals(report);
        return;
    }
    if (findings_watch_init(&watch, report->database, report->path, &reason) == 0 &&
        run_program_read(report->database, report->path,
                         &(struct run_want){.calls = &watch.watch, .messages = &watch.messages, .recorded = &recorded},
                         &program, &reason) == 0)
        judge_run(report, &program, &recorded, &watch);
    else
        report->activities.unknown = report_reason(report, &reason);
    simulation_result_release(&recorded);
    run_program_release(&program);
    findings_watch_release(&watch);
}
