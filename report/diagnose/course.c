/* Finds, in the course of the run, the stretch in which one rank computes much longer than otherwise while the others
 * are inside MPI. The course is of all calls, so this needs no single ones: it is for runs known by bursts, which such
 * a stretch may miss, and by totals alone. */
#include "report/diagnose/course.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

/* Parts of the run that are looked at; a course has as many windows at most. */
enum { COURSE_PARTS = 512 };

/* Share of each moment by which the rank computes longer than usual, on the average of the stretch. */
#define COURSE_SLOW 0.25
/* Least loss, as a share of the run; and longest stretch: what lasts longer is not one. */
#define COURSE_LEAST_LOSS 0.02
#define COURSE_LONGEST    0.5
/* How often the loss must exceed its standard error, and that of the worst stretch of any other rank: other load takes
 * processors for a while now from one rank, now from another. */
#define COURSE_ERRORS 5.0
#define COURSE_ALONE  2.0

/* Rows of a course by rank: rank, begin and end of a window in s, the time in it outside MPI in s. */
static const char course_sql[] =
    "SELECT rank, begin_ns * 1e-9, end_ns * 1e-9, 1e-9 * max(end_ns - begin_ns - (point_to_point_ns + wait_ns + "
    "idle_ns + "
    "collective_ns + one_sided_ns + file_ns + other_ns), 0) FROM course WHERE end_ns > begin_ns AND rank >= 0 ORDER BY "
    "rank";

struct course {
    double from_s, run_s, part_s;    /* from_s: where it begins */
    double computed_s[COURSE_PARTS]; /* of all ranks */
    uint32_t ranks;
};

struct course_stretch {
    int64_t rank;
    size_t first, end;
    double loss_s, share, share_otherwise; /* shares of the rank's time outside MPI */
    double next_s;                         /* loss of the rank that loses most besides */
    bool stands_out;
};

static void course_add_window(const struct course *course, double *computed_s, struct cursor *row)
{
    double begin_s = fmax(cursor_real(row, 1) - course->from_s, 0);
    double end_s = fmin(cursor_real(row, 2) - course->from_s, course->run_s);
    double share = cursor_real(row, 3) / (cursor_real(row, 2) - cursor_real(row, 1));
    if (!(begin_s < end_s && share >= 0 && share <= 1)) /* a damaged trace */
        return;
    for (size_t i = (size_t)(begin_s / course->part_s); i < COURSE_PARTS; i++) {
        double from_s = fmax(begin_s, (double)i * course->part_s);
        double to_s = fmin(end_s, (double)(i + 1) * course->part_s);
        if (to_s <= from_s)
            return;
        computed_s[i] += share * (to_s - from_s);
    }
}

/* Returns the mean share of a rank's time outside MPI in the parts first to end, or outside of them. */
static double course_share(const struct course *course, const double *computed_s, size_t first, size_t end,
                           bool outside)
{
    double sum_s = 0;
    for (size_t i = 0; i < COURSE_PARTS; i++)
        sum_s += (i >= first && i < end) != outside ? computed_s[i] : 0;
    return sum_s / (course->part_s * (double)(outside ? COURSE_PARTS - (end - first) : end - first));
}

/* Finds the stretch in which a rank loses most: in which it computes more than the mean of the others, less the usual.
 * Replaces *worst where that is more. */
static void course_judge(const struct course *course, int64_t rank, const double *computed_s,
                         struct course_stretch *worst)
{
    double more_s[COURSE_PARTS], copy[COURSE_PARTS], best_s = 0, run_s = 0, others = course->ranks - 1;
    struct course_stretch found = {.rank = rank};
    for (size_t i = 0; i < COURSE_PARTS; i++)
        copy[i] = more_s[i] = computed_s[i] - (course->computed_s[i] - computed_s[i]) / others;
    double usual_s = unsorted_median(copy, COURSE_PARTS);
    for (size_t i = 0; i < COURSE_PARTS; i++)
        copy[i] = fabs(more_s[i] - usual_s);
    double error_s = 1.4826 * unsorted_median(copy, COURSE_PARTS); /* of normal ones */
    for (size_t i = 0, first = 0; i < COURSE_PARTS; i++) {
        run_s += more_s[i] - usual_s - COURSE_SLOW * course->part_s;
        if (run_s > best_s) {
            best_s = run_s;
            found.first = first;
            found.end = i + 1;
        } else if (run_s < 0) {
            run_s = 0;
            first = i + 1;
        }
    }
    size_t n = found.end - found.first;
    double inside_s = 0;
    for (size_t i = found.first; i < found.end; i++) {
        found.loss_s += more_s[i] - usual_s;
        inside_s += course->part_s - (course->computed_s[i] - computed_s[i]) / others;
    }
    if (n == 0 || found.loss_s <= worst->loss_s) {
        worst->next_s = fmax(worst->next_s, found.loss_s);
        return;
    }
    found.next_s = worst->loss_s;
    found.stands_out = n >= 2 && (double)n <= COURSE_LONGEST * COURSE_PARTS &&
                       found.loss_s >= COURSE_LEAST_LOSS * course->run_s &&
                       found.loss_s >= COURSE_ERRORS * error_s * sqrt((double)n) && inside_s >= found.loss_s;
    found.share = course_share(course, computed_s, found.first, found.end, false);
    found.share_otherwise = course_share(course, computed_s, found.first, found.end, true);
    *worst = found;
}

/* Goes through the course twice: adds up all ranks, then judges each. */
static int course_find(struct course *course, sqlite3 *database, const char *path, struct course_stretch *worst,
                       struct error *error)
{
    double own_s[COURSE_PARTS] = {0};
    struct cursor rows;
    int64_t rank = -1;
    for (int judging = 0; judging < 2; judging++) {
        cursor_open(&rows, database, path, course_sql, error);
        for (rank = -1; cursor_next(&rows); rank = cursor_integer(&rows, 0)) {
            if (judging && rank != cursor_integer(&rows, 0)) {
                if (rank >= 0)
                    course_judge(course, rank, own_s, worst);
                memset(own_s, 0, sizeof own_s);
            }
            course->ranks += !judging && rank != cursor_integer(&rows, 0);
            course_add_window(course, judging ? own_s : course->computed_s, &rows);
        }
        if (cursor_close(&rows) != 0)
            return -1;
        if (course->ranks < 2)
            return 0;
    }
    course_judge(course, rank, own_s, worst);
    if (!worst->stands_out || worst->loss_s < COURSE_ALONE * worst->next_s)
        worst->rank = -1;
    return 0;
}

/* Names the line at which the others spend most time: in the stretch, where single calls of it are known, else in the
 * whole run. */
static int course_name_line(sqlite3 *database, const char *path, struct pool *pool,
                            const struct course_stretch *stretch, struct finding *finding, struct error *error)
{
    static const char *const sqls[] = {"SELECT function, coalesce(callsite, -1), coalesce(s.place, '') FROM call c "
                                       "LEFT JOIN site s ON s.id = c.callsite "
                                       "WHERE rank <> ?1 AND begin_ns >= ?2 * 1e9 AND end_ns <= ?3 * 1e9 GROUP BY 1, 2 "
                                       "ORDER BY sum(end_ns - begin_ns) DESC "
                                       "LIMIT 1",
                                       "SELECT f.name, coalesce(t.callsite, -1), coalesce(s.place, '') FROM total t "
                                       "JOIN function f ON f.id = t.function "
                                       "LEFT JOIN site s ON s.id = t.callsite WHERE rank <> ?1 AND ?2 < ?3 GROUP BY 1, "
                                       "2 ORDER BY sum(time_ns) DESC LIMIT 1"};
    struct cursor rows;
    for (size_t i = 0; i < sizeof sqls / sizeof *sqls && finding->function[0] == '\0'; i++) {
        cursor_open(&rows, database, path, sqls[i], error);
        if (rows.result == 0) {
            sqlite3_bind_int64(rows.statement, 1, stretch->rank);
            sqlite3_bind_double(rows.statement, 2, finding->begin_s);
            sqlite3_bind_double(rows.statement, 3, finding->end_s);
        }
        if (cursor_next(&rows)) {
            finding->function = cursor_text(&rows, 0, pool);
            finding->callsite = cursor_integer(&rows, 1);
            finding->place = cursor_text(&rows, 2, pool);
        }
        if (cursor_close(&rows) != 0)
            return -1;
    }
    return 0;
}

/* Puts the finding where its gain belongs; those of the same rank and time are explained by it. */
static void course_insert(struct findings *findings, struct finding finding)
{
    size_t at = 0;
    array_grow(&findings->rows, findings->n, sizeof *findings->rows);
    while (at < findings->n && findings->rows[at].gain >= finding.gain)
        at++;
    while (at < findings->n && findings->rows[at].under >= 0)
        at++;
    memmove(&findings->rows[at + 1], &findings->rows[at], (findings->n - at) * sizeof *findings->rows);
    findings->rows[at] = finding;
    findings->n++;
    for (size_t i = 0; i < findings->n; i++) {
        struct finding *other = &findings->rows[i];
        other->under += other->under >= (int64_t)at;
        if (i != at && other->rank == finding.rank && other->begin_s >= finding.begin_s &&
            other->end_s <= finding.end_s)
            other->under = (int64_t)at;
    }
}

int course_collect(struct findings *findings, struct pool *pool, sqlite3 *database, const char *path, double from_s,
                   double run_s, struct error *error)
{
    struct course *course = xcalloc(1, sizeof *course);
    struct course_stretch worst = {.rank = -1};
    *course = (struct course){.from_s = from_s, .run_s = run_s, .part_s = run_s / COURSE_PARTS};
    int result = run_s > 0 ? course_find(course, database, path, &worst, error) : 0;
    struct finding finding = diagnosis_finding(FINDING_LATE_STRETCH, worst.loss_s * (course->ranks - 1.0));
    if (result == 0 && worst.rank >= 0) {
        finding.rank = worst.rank;
        finding.begin_s = from_s + (double)worst.first * course->part_s;
        finding.end_s = from_s + (double)worst.end * course->part_s;
        finding.gain_s = worst.loss_s;
        finding.gain = worst.loss_s / run_s;
        finding.share = finding.cost_s / (run_s * course->ranks);
        result = course_name_line(database, path, pool, &worst, &finding, error);
    }
    if (result == 0 && worst.rank >= 0) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "rank %" PRId64 " computes %.0f %% of the time from %.3g to %.3g s, %.0f %% otherwise; the others wait for "
            "it, most in %s%s%s%s",
            finding.rank, 100 * worst.share, finding.begin_s, finding.end_s, 100 * worst.share_otherwise,
            finding.function, finding.place[0] != '\0' ? " (" : "", finding.place, finding.place[0] != '\0' ? ")" : "");
        finding.sentence = pool_clean(pool, text, strlen(text));
        course_insert(findings, finding);
    }
    free(course);
    return result;
}
