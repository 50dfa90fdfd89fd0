/* Tests calibrate/finegrain/arrivals: exact times, the distributions that draws follow, and files good and bad. */
#include "calibrate/finegrain/arrivals/thread_arrivals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <string.h>
#include <unistd.h>

#include "tests/unit/scratch.h"

enum { THREADS = 16, DRAWS = 20000, SAMPLES = 400 };

static struct arrivals *open_request(struct arrivals_request request, double compute_s)
{
    struct arrivals *arrivals = NULL;
    struct error error = {.text = ""};
    if (arrivals_open(&request, compute_s, &arrivals, &error) != 0)
        fail_msg("%s", error.text);
    return arrivals;
}

static struct arrivals *open_text(const char *text, double compute_s)
{
    struct arrivals_request request;
    struct error error = {.text = ""};
    if (arrivals_parse(text, &request, &error) != 0)
        fail_msg("%s", error.text);
    return open_request(request, compute_s);
}

static void test_laggard(void **state)
{
    (void)state;
    struct arrivals *arrivals = open_text("laggard:4", 4.194304e-3);
    double seconds[THREADS];
    size_t was_last[THREADS] = {0};
    for (uint64_t iteration = 0; iteration < 4000; iteration++) {
        assert_int_equal(arrivals_draw(arrivals, 7, iteration, 3, THREADS, seconds), 0);
        size_t late = 0;
        for (size_t t = 0; t < THREADS; t++) {
            late += seconds[t] == 4.194304e-3 * 1.04;
            was_last[t] += seconds[t] == 4.194304e-3 * 1.04;
            assert_true(seconds[t] == 4.194304e-3 || seconds[t] == 4.194304e-3 * 1.04);
        }
        assert_int_equal(late, 1);
    }
    for (size_t t = 0; t < THREADS; t++) /* 250 expected, with a standard deviation of 15 */
        assert_in_range(was_last[t], 175, 325);
    arrivals_close(arrivals);
    arrivals = open_text("laggard:10", 2);
    assert_int_equal(arrivals_draw(arrivals, 7, 0, 0, 1, seconds), 0);
    assert_true(seconds[0] == 2.2);
    arrivals_close(arrivals);
}

/* Draws a million times: mean and standard deviation within 1 % of what was asked for. */
static void test_normal(void **state)
{
    (void)state;
    struct arrivals *arrivals = open_text("normal:2e-5", 4e-3);
    double seconds[1000], sum = 0, squares = 0;
    for (uint64_t iteration = 0; iteration < 1000; iteration++) {
        assert_int_equal(arrivals_draw(arrivals, 1, iteration, 0, 1000, seconds), 0);
        for (size_t t = 0; t < 1000; t++) {
            sum += seconds[t] - 4e-3;
            squares += (seconds[t] - 4e-3) * (seconds[t] - 4e-3);
        }
    }
    double mean = 4e-3 + sum / 1e6, deviation = sqrt(squares / 1e6);
    print_message("normal: mean %.9g s of 4e-3, standard deviation %.6g s of 2e-5\n", mean, deviation);
    assert_true(fabs(sum / 1e6) < 0.01 * 2e-5); /* closer than 1 % of the mean */
    assert_true(fabs(deviation / 2e-5 - 1) < 0.01);
    arrivals_close(arrivals);
}

/* Half of the distribution lies below 0: what is left of it has the mean sqrt(2 / pi). */
static void test_cut_at_0(void **state)
{
    (void)state;
    struct arrivals *arrivals = open_text("normal:1s", 0);
    double seconds[1000], sum = 0;
    for (uint64_t iteration = 0; iteration < 100; iteration++) {
        assert_int_equal(arrivals_draw(arrivals, 1, iteration, 0, 1000, seconds), 0);
        for (size_t t = 0; t < 1000; t++) {
            assert_true(seconds[t] >= 0);
            sum += seconds[t];
        }
    }
    assert_true(fabs(sum / 1e5 / sqrt(2 / acos(-1)) - 1) < 0.01);
    arrivals_close(arrivals);
}

static int compare(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

/* Returns the distribution function of the estimate at x, cut at 0. */
static double smoothed(const double *samples, size_t n, double width_s, double x)
{
    double below = 0, below_0 = 0;
    for (size_t i = 0; i < n; i++) {
        below += 0.5 * erfc((samples[i] - x) / width_s / sqrt(2)) / (double)n;
        below_0 += 0.5 * erfc(samples[i] / width_s / sqrt(2)) / (double)n;
    }
    return (below - below_0) / (1 - below_0);
}

/* Returns the largest distance between the steps of drawn[n] and of samples[n_samples], both in order. */
static double distance_to_samples(const double *drawn, size_t n, const double *samples, size_t n_samples)
{
    double largest = 0;
    for (size_t i = 0, j = 0; i < n && j < n_samples;) {
        double at = fmin(drawn[i], samples[j]);
        while (i < n && drawn[i] <= at)
            i++;
        while (j < n_samples && samples[j] <= at)
            j++;
        largest = fmax(largest, fabs((double)i / (double)n - (double)j / (double)n_samples));
    }
    return largest;
}

/* Draws from the samples' estimate and compares by the Kolmogorov-Smirnov distance: with the estimate's own
 * distribution at the level of 0.1 %, 1.95 / sqrt(n); with the samples it says how much the kernel blurs, at most
 * blur. */
static void check_density(const char *name, double *samples, size_t n, double width_s, double blur)
{
    char path[] = "/tmp/mpistair-arrivals-XXXXXX";
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%.17g\n", samples[i]);
    fclose(file);
    qsort(samples, n, sizeof *samples, compare);
    struct arrivals *arrivals =
        open_request((struct arrivals_request){.kind = ARRIVAL_KDE, .path = path, .width_s = width_s}, 0);
    remove(path);
    double *drawn = calloc(DRAWS, sizeof *drawn), own = 0;
    assert_non_null(drawn);
    for (uint64_t iteration = 0; iteration < DRAWS / THREADS; iteration++)
        assert_int_equal(arrivals_draw(arrivals, 5, iteration, 0, THREADS, drawn + iteration * THREADS), 0);
    qsort(drawn, DRAWS, sizeof *drawn, compare);
    double width = width_s > 0 ? width_s : silverman_width(samples, n);
    for (size_t i = 0; i < DRAWS; i++) {
        double at = smoothed(samples, n, width, drawn[i]);
        own = fmax(own, fmax(at - (double)i / DRAWS, (double)(i + 1) / DRAWS - at));
    }
    double to_samples = distance_to_samples(drawn, DRAWS, samples, n);
    print_message("kde, %s, width %.3g s: distance %.4f to its own distribution, %.4f to the samples\n", name, width,
                  own, to_samples);
    assert_true(own < 1.95 / sqrt(DRAWS));
    assert_true(to_samples < blur);
    assert_true(drawn[0] >= 0);
    free(drawn);
    arrivals_close(arrivals);
}

static void test_kde(void **state)
{
    (void)state;
    double samples[SAMPLES];
    for (uint64_t i = 0; i < SAMPLES; i++)
        samples[i] = 5e-3 + 1e-4 * counted_normal(1, &i, 1);
    check_density("unimodal", samples, SAMPLES, 0, 0.05);
    for (uint64_t i = 0; i < SAMPLES; i++) /* exponential, of mean 1 ms: reaches 0 */
        samples[i] = -1e-3 * log(((double)counted_below(1000000, 2, &i, 1) + 1) / 1000001);
    check_density("skewed", samples, SAMPLES, 0, 0.1);
    for (uint64_t i = 0; i < SAMPLES; i++)
        samples[i] = (i % 4 == 0 ? 8e-3 : 5e-3) + 1e-4 * counted_normal(3, &i, 1);
    check_density("bimodal", samples, SAMPLES, 0, 0.2); /* Silverman's width takes both modes for one */
    check_density("bimodal", samples, SAMPLES, 3e-5, 0.05);
}

/* Compares with values worked by hand: s = 1.5811, R = 2, 5^-0.2 = 0.72478. */
static void test_width(void **state)
{
    (void)state;
    const double even[] = {1, 2, 3, 4, 5}, ties[] = {2, 2, 2, 2, 2, 2, 2, 5}, same[] = {3, 3, 3};
    assert_true(fabs(silverman_width(even, 5) - 0.9 * 2 / 1.34 * 0.7247796637) < 1e-9);
    assert_true(fabs(silverman_width(ties, 8) - 0.9 * sqrt(9.0 / 8) * pow(8, -0.2)) < 1e-9);
    assert_true(silverman_width(same, 3) == 0);
}

/* Returns the file of dumped draws as a string for free(). */
static char *dumped(const char *text, uint64_t seed)
{
    struct error error = {.text = ""};
    struct arrivals *arrivals = open_text(text, 1e-3);
    const char *path = scratch_text("");
    if (arrivals_dump(arrivals, path, seed, 5, 3, 4, &error) != 0)
        fail_msg("%s", error.text);
    arrivals_close(arrivals);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *read = calloc(1, 65536);
    assert_non_null(read);
    assert_true(fread(read, 1, 65535, file) > 0);
    fclose(file);
    return read;
}

static void test_dump(void **state)
{
    (void)state;
    char *first = dumped("normal:20us", 9), *again = dumped("normal:20us", 9);
    assert_string_equal(first, again);
    free(again);
    again = dumped("normal:20us", 10);
    assert_string_not_equal(first, again);
    free(again);
    size_t lines = 0;
    for (const char *c = first; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 1 + 5 * 3 * 4);
    struct arrivals_request request = {.kind = ARRIVAL_FIXED, .path = scratch_text(first)};
    struct arrivals *fixed = open_request(request, 0), *drawn = open_text("normal:20us", 1e-3);
    struct error error;
    assert_int_equal(arrivals_check(fixed, 3, 4, &error), 0);
    for (uint64_t iteration = 0; iteration < 10; iteration++)
        for (uint32_t rank = 0; rank < 3; rank++) {
            double a[4], b[4];
            assert_int_equal(arrivals_draw(fixed, 1, iteration, rank, 4, a), 0);
            assert_int_equal(arrivals_draw(drawn, 9, iteration % 5, rank, 4, b), 0);
            assert_memory_equal(a, b, sizeof a);
        }
    arrivals_close(fixed);
    arrivals_close(drawn);
    free(first);
    drawn = open_text("laggard:4", 1);
    assert_int_equal(arrivals_dump(drawn, "/dev/full", 1, 10, 10, 100, &error), -1);
    assert_int_equal(arrivals_dump(drawn, "/nowhere/at/all", 1, 1, 1, 1, &error), -1);
    arrivals_close(drawn);
}

/* Compares one time with those of another seed, iteration, rank and thread. */
static void test_places(void **state)
{
    (void)state;
    struct arrivals *arrivals = open_text("normal:1e-5", 1e-3);
    double plain[2], more[2], other[2];
    assert_int_equal(arrivals_draw(arrivals, 1, 2, 3, 2, plain), 0);
    assert_int_equal(arrivals_draw(arrivals, 2, 2, 3, 2, other), 0);
    assert_true(plain[0] != other[0]);
    assert_int_equal(arrivals_draw(arrivals, 1, 3, 3, 2, other), 0);
    assert_true(plain[0] != other[0]);
    assert_int_equal(arrivals_draw(arrivals, 1, 2, 4, 2, other), 0);
    assert_true(plain[0] != other[0]);
    assert_true(plain[0] != plain[1]);
    assert_int_equal(arrivals_draw(arrivals, 1, 2, 3, 1, more), 0); /* says nothing of the number of threads */
    assert_true(plain[0] == more[0]);
    arrivals_close(arrivals);
}

static void test_fixed(void **state)
{
    (void)state;
    struct error error;
    double seconds[2];
    /* Has rows out of order, a header, a comment, CRLF, blanks and an empty line; two turns for rank 0. */
    struct arrivals_request request = {
        .kind = ARRIVAL_FIXED,
        .path =
            scratch_text("\xef\xbb\xbfrank,thread,seconds\r\n0,1,3e-3\r\n# measured\r\n\r\n0,0,1e-3\r\n2, 0, 0.5\r\n"
                         "0,1,4e-3\r\n0,0,2e-3\r\n2,1,0\r\n")};
    struct arrivals *fixed = open_request(request, 0);
    const double expected[3][2] = {{1e-3, 3e-3}, {2e-3, 4e-3}, {1e-3, 3e-3}};
    for (uint64_t iteration = 0; iteration < 3; iteration++) {
        assert_int_equal(arrivals_draw(fixed, 1, iteration, 0, 2, seconds), 0);
        assert_memory_equal(seconds, expected[iteration], sizeof seconds);
        assert_int_equal(arrivals_draw(fixed, 1, iteration, 2, 2, seconds), 0);
        assert_true(seconds[0] == 0.5 && seconds[1] == 0);
    }
    assert_int_equal(arrivals_check(fixed, 1, 2, &error), 0);
    assert_int_equal(arrivals_check(fixed, 3, 2, &error), -1);
    assert_string_equal(error.text, "fixed arrivals: no times of rank 1; expected some of ranks 0 to 2");
    assert_int_equal(arrivals_check(fixed, 1, 4, &error), -1);
    assert_string_equal(error.text, "fixed arrivals: times of 2 threads of rank 0; expected 4");
    assert_int_equal(arrivals_draw(fixed, 1, 0, 1, 2, seconds), -1);
    assert_int_equal(arrivals_draw(fixed, 1, 0, 0, 1, seconds), -1);
    arrivals_close(fixed);
    request.path = scratch_text("seconds\n1e-3\n2e-3");
    fixed = open_request(request, 0);
    assert_int_equal(arrivals_draw(fixed, 1, 17, 99, 2, seconds), 0);
    assert_true(seconds[0] == 1e-3 && seconds[1] == 2e-3);
    assert_int_equal(arrivals_check(fixed, 100, 2, &error), 0);
    assert_int_equal(arrivals_check(fixed, 1, 3, &error), -1);
    assert_string_equal(error.text, "fixed arrivals: 2 times; expected 3, one a thread");
    arrivals_close(fixed);
}

/* Opens a file of that text and compares what stands behind its path in the message. */
static void check_bad(enum arrival_kind kind, const char *text, const char *expected)
{
    const char *path = scratch_text(text);
    struct arrivals_request request = {.kind = kind, .path = path};
    struct arrivals *arrivals = NULL;
    struct error error = {.text = ""};
    assert_int_equal(arrivals_open(&request, 1e-3, &arrivals, &error), -1);
    assert_null(arrivals);
    assert_memory_equal(error.text, path, strlen(path));
    assert_string_equal(error.text + strlen(path), expected);
}

static void test_bad_files(void **state)
{
    (void)state;
    const char *no_times = ": no times; expected a row RANK,THREAD,SECONDS each, or one time a line";
    for (int i = 0; i < 2; i++) {
        enum arrival_kind kind = i == 0 ? ARRIVAL_KDE : ARRIVAL_FIXED;
        check_bad(kind, "", no_times);
        check_bad(kind, "# nothing\n\n", no_times);
        check_bad(kind, "rank,thread,seconds\r\n", no_times);
        check_bad(kind, "1e-3\nnan\n", ":2: time 'nan' is not a finite number; expected seconds from 0 to 86400");
        check_bad(kind, "1e-3\ninf\n", ":2: time 'inf' is not a finite number; expected seconds from 0 to 86400");
        check_bad(kind, "1e-3\n-1e-9\n", ":2: time '-1e-9' is negative; expected seconds from 0 to 86400");
        check_bad(kind, "1e-3\n1e999\n", ":2: time '1e999' is too large; expected seconds from 0 to 86400");
        check_bad(kind, "4194304\n", ":1: time '4194304' is too long; expected seconds from 0 to 86400");
        check_bad(kind, "1e-3\n2e-\n", ":2: time '2e-' is not a finite number; expected seconds from 0 to 86400");
        check_bad(kind, "0,0,\n", ":1: time '' is not a finite number; expected seconds from 0 to 86400");
        check_bad(kind, "0,1\n", ":1: two fields; expected RANK,THREAD,SECONDS or one time a line");
        check_bad(kind, "0,1,2,3,4\n", ":1: more than three fields; expected RANK,THREAD,SECONDS or one time a line");
        check_bad(kind, "0,0,1\n1\n",
                  ":2: a time alone, where lines before have rank and thread; expected the same on all");
        check_bad(kind, "1\n0,0,1\n",
                  ":2: a rank and a thread, where lines before have a time alone; expected the same on all");
        check_bad(kind, "-1,0,1\n", ":1: rank '-1' is not a whole number from 0 on; expected RANK,THREAD,SECONDS");
        check_bad(kind, "0,4294967295,1\n", ":1: thread '4294967295' is too large; expected RANK,THREAD,SECONDS");
        check_bad(kind, "0,99999999999999999999,1\n",
                  ":1: thread '99999999999999999999' is too large; expected "
                  "RANK,THREAD,SECONDS");
        check_bad(kind, ",0,1\n", ":1: rank '' is not a whole number from 0 on; expected RANK,THREAD,SECONDS");
        check_bad(kind, "1\nrank,thread,seconds\n",
                  ":2: a rank and a thread, where lines before have a time alone; "
                  "expected the same on all");
    }
    check_bad(ARRIVAL_KDE, "2e-3\n",
              ": one time only; expected at least two to estimate a density, or laggard:PERCENT");
    check_bad(ARRIVAL_KDE, "1\n1\n1\n", ": all times are 1 s, a density of them has no width; give one, or fixed:FILE");
    check_bad(ARRIVAL_FIXED, "0,0,1\n0,2,1\n", ":2: rank 0 has thread 2, but no thread 1; expected threads from 0 on");
    check_bad(ARRIVAL_FIXED, "3,1,1\n", ":1: rank 3 has thread 1, but no thread 0; expected threads from 0 on");
    check_bad(ARRIVAL_FIXED, "0,0,1\n0,1,1\n0,0,1\n",
              ":2: rank 0 thread 1 has 1 times, thread 0 has 2; expected as many for each");
    char longest[3000];
    memset(longest, '1', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    check_bad(ARRIVAL_KDE, longest, ":1: a line of more than 1024 bytes");
}

static void test_other_refusals(void **state)
{
    (void)state;
    struct arrivals *arrivals = NULL;
    struct error error;
    const struct arrivals_request requests[] = {
        {.kind = ARRIVAL_KDE, .path = scratch_write("1\0002\n", 4)},
        {.kind = ARRIVAL_FIXED, .path = "/"},
        {.kind = ARRIVAL_FIXED, .path = "/nowhere/at/all"},
        {.kind = ARRIVAL_TRACE, .path = "trace.db"},
        {.kind = ARRIVAL_LAGGARD, .amount = 1e6},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        assert_int_equal(arrivals_open(&requests[i], 10, &arrivals, &error), -1);
    const double widths[] = {-1, NAN, INFINITY, 1e9}, computes[] = {-1, NAN, INFINITY, 1e6};
    for (size_t i = 0; i < 4; i++) {
        struct arrivals_request kde = {.kind = ARRIVAL_KDE, .path = scratch_text("1\n2\n"), .width_s = widths[i]};
        assert_int_equal(arrivals_open(&kde, 1, &arrivals, &error), -1);
        struct arrivals_request laggard = {.kind = ARRIVAL_LAGGARD, .amount = 4};
        assert_int_equal(arrivals_open(&laggard, computes[i], &arrivals, &error), -1);
    }
    assert_null(arrivals);
}

static void test_parse(void **state)
{
    (void)state;
    struct arrivals_request request;
    struct error error;
    static const struct {
        const char *text;
        enum arrival_kind kind;
        double amount;
        const char *path;
    } good[] = {
        {"laggard:4", ARRIVAL_LAGGARD, 4, NULL},          {"laggard:0.5", ARRIVAL_LAGGARD, 0.5, NULL},
        {"normal:2e-6", ARRIVAL_NORMAL, 2e-6, NULL},      {"normal:1ms", ARRIVAL_NORMAL, 1e-3, NULL},
        {"normal:200ns", ARRIVAL_NORMAL, 200e-9, NULL},   {"normal:1.5s", ARRIVAL_NORMAL, 1.5, NULL},
        {"kde:a:b.csv", ARRIVAL_KDE, 0, "a:b.csv"},       {"fixed:f", ARRIVAL_FIXED, 0, "f"},
        {"trace:trace.db", ARRIVAL_TRACE, 0, "trace.db"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(arrivals_parse(good[i].text, &request, &error), 0);
        assert_int_equal(request.kind, good[i].kind);
        assert_true(fabs(request.amount - good[i].amount) <= 1e-12 * good[i].amount);
        assert_true(request.width_s == 0);
        if (good[i].path == NULL)
            assert_null(request.path);
        else
            assert_string_equal(request.path, good[i].path);
    }
    static const char *const bad[] = {"",           "laggard",     "laggard:",    "laggard:x",  "laggard:-1",
                                      "laggard:4%", "laggard:1e9", "normal:",     "normal:2h",  "normal:-1us",
                                      "normal:nan", "normal:us",   "normal:1e99", "kde:",       "kde",
                                      "uniform:3",  ":4",          "Laggard:4",   "normal:1e5s"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(arrivals_parse(bad[i], &request, &error), -1);
    assert_int_equal(arrivals_parse("lagard:4", &request, &error), -1);
    assert_non_null(strstr(error.text, "did you mean laggard?"));
    assert_int_equal(arrivals_parse("normal:2h", &request, &error), -1);
    assert_string_equal(
        error.text, "arrivals 'normal:2h': '2h' is not a finite number; expected normal:SD, in s or with a unit, as "
                    "normal:2us");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laggard), cmocka_unit_test(test_normal),         cmocka_unit_test(test_cut_at_0),
        cmocka_unit_test(test_kde),     cmocka_unit_test(test_width),          cmocka_unit_test(test_dump),
        cmocka_unit_test(test_places),  cmocka_unit_test(test_fixed),          cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_other_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, scratch_remove);
}
