/* The kernel counts the instructions of a window, in which a rank computes for c s and is inside MPI for m s, by the
 * course of the run; both count as far as it had a processor. Ranks that poll inside MPI have instructions there, too.
 * So the counts I of all windows are fitted by least squares, I = a c + b m, and the computation has a times the sum of
 * c. Where c and m are nearly the same share of all windows a cannot be told from b, unless hardly any of it is inside
 * MPI. The same for cycles. */
#include "report/diagnose/instructions.h"

#include <math.h>

#include "share/base/array.h"

/* Least part of the variation of c that m does not explain, and greatest share of m where none is needed. */
#define TOLD_APART 0.02
#define ALL_ALONE  0.05

struct least_squares {
    int64_t rank;
    double cc, cm, mm;                     /* sums of products */
    double instructions_c, instructions_m; /* of counts with them */
    double cycles_c, cycles_m;
    double c, m, instructions, cycles; /* sums */
};

/* Returns a times the sum of c for counts whose products with c and m are given, and their sum. */
static double of_computation(const struct least_squares *sums, double with_c, double with_m, double all)
{
    double determinant = sums->cc * sums->mm - sums->cm * sums->cm;
    if (sums->m <= ALL_ALONE * (sums->c + sums->m))
        return all * sums->c / (sums->c + sums->m);
    if (!(determinant >= TOLD_APART * sums->cc * sums->mm))
        return NAN;
    double rate = (with_c * sums->mm - with_m * sums->cm) / determinant;
    return rate > 0 ? rate * sums->c : NAN;
}

static void add_rank(struct rank_instructions **rows, size_t *n, const struct least_squares *sums)
{
    ARRAY_ADD(*rows, *n,
              (struct rank_instructions){
                  sums->rank, of_computation(sums, sums->instructions_c, sums->instructions_m, sums->instructions),
                  of_computation(sums, sums->cycles_c, sums->cycles_m, sums->cycles)});
}

/* A window of the course, of rank -1 behind the last one. */
struct course_window {
    int64_t rank;
    double begin_ns, end_ns, computed_ns;
};

static struct course_window next_window(struct cursor *course)
{
    if (!cursor_next(course))
        return (struct course_window){.rank = INT64_MAX};
    return (struct course_window){cursor_integer(course, 0), cursor_real(course, 1), cursor_real(course, 2),
                                  cursor_real(course, 3)};
}

/* Returns how long the rank computed in a window of counters. *at is the course's window that the next one begins in;
 * windows of both are in the order of rank and time. */
static double computed_in(struct cursor *course, struct course_window *at, int64_t rank, double begin_ns, double end_ns)
{
    double computed_ns = 0;
    while (at->rank < rank || (at->rank == rank && at->end_ns <= begin_ns))
        *at = next_window(course);
    while (at->rank == rank && at->begin_ns < end_ns) {
        double common_ns = fmin(at->end_ns, end_ns) - fmax(at->begin_ns, begin_ns);
        computed_ns += common_ns * at->computed_ns / (at->end_ns - at->begin_ns);
        if (at->end_ns > end_ns)
            break;
        *at = next_window(course);
    }
    return computed_ns;
}

int instructions_read(struct rank_instructions **rows, size_t *n, sqlite3 *database, const char *path, int64_t begin_ns,
                      int64_t end_ns, struct error *error)
{
    struct cursor counters, course;
    struct least_squares sums = {.rank = -1};
    cursor_open(
        &counters, database, path,
        "SELECT rank, begin_ns, end_ns, user_ns + system_ns, instructions, cycles FROM counter WHERE instructions "
        "IS NOT NULL AND cycles IS NOT NULL AND begin_ns >= ?1 AND end_ns <= ?2 AND end_ns > begin_ns ORDER BY "
        "rank, begin_ns",
        error);
    if (counters.result == 0)
        cursor_bind(&counters, "ii", begin_ns, end_ns);
    cursor_open(&course, database, path,
                "SELECT rank, begin_ns, end_ns, max(end_ns - begin_ns - (point_to_point_ns + wait_ns + idle_ns + "
                "collective_ns + one_sided_ns + file_ns + other_ns), 0) FROM course WHERE end_ns > begin_ns ORDER BY "
                "rank, begin_ns",
                error);
    struct course_window at = {.rank = -1};
    while (cursor_next(&counters)) {
        int64_t rank = cursor_integer(&counters, 0);
        double from_ns = cursor_real(&counters, 1), to_ns = cursor_real(&counters, 2), length_ns = to_ns - from_ns;
        if (sums.rank != rank && sums.rank >= 0)
            add_rank(rows, n, &sums);
        if (sums.rank != rank)
            sums = (struct least_squares){.rank = rank};
        double ran = cursor_real(&counters, 3) / length_ns,
               computed_ns = computed_in(&course, &at, rank, from_ns, to_ns);
        double c = 1e-9 * ran * computed_ns, m = 1e-9 * ran * fmax(length_ns - computed_ns, 0);
        double instructions = cursor_real(&counters, 4), cycles = cursor_real(&counters, 5);
        sums.cc += c * c;
        sums.cm += c * m;
        sums.mm += m * m;
        sums.instructions_c += instructions * c;
        sums.instructions_m += instructions * m;
        sums.cycles_c += cycles * c;
        sums.cycles_m += cycles * m;
        sums.c += c;
        sums.m += m;
        sums.instructions += instructions;
        sums.cycles += cycles;
    }
    if (sums.rank >= 0)
        add_rank(rows, n, &sums);
    int result = cursor_close(&counters), other = cursor_close(&course);
    return result != 0 ? result : other;
}
