/* A place of counted_bits() is (iteration, rank, thread, attempt, use), so that times have nothing to do with
 * each other. A time below 0 is drawn again, as is one above ARRIVALS_MOST_S: what is left is the distribution cut at
 * these. */
#include "calibrate/finegrain/arrivals/thread_arrivals.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/statistics.h"
#include "share/base/array.h"
#include "share/base/number.h"
#include "share/base/text_file.h"
#include "share/base/nearest.h"
#include "share/base/order.h"
#include "share/base/one_of.h"

/* Reads the files of times that `kde:FILE` and `fixed:FILE` name: a row RANK,THREAD,SECONDS a time, or one time a
 * line.
 *
 * People write such files by hand or out of a spreadsheet, so a header, comments, blanks, CRLF and a byte order mark
 * are accepted. Anything else that is not a time is an error. */

struct arrival_row {
    uint32_t rank;
    uint32_t thread;
    uint32_t line; /* of the file */
    double seconds;
};

struct arrival_rows {
    struct arrival_row *rows; /* in the order of the file */
    size_t n;
    bool named; /* rows have rank and thread; else one time is a line, and the n-th is thread n of rank 0 */
};

enum { MAX_LINE_BYTES = 1024, MAX_ROWS = 1 << 24, FIELDS = 3 };

struct reading {
    struct arrival_rows *rows;
    uint32_t line;
    bool begun; /* a row or a header was there */
};

/* Cuts blanks off both ends of text, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

/* Splits a line at its commas, in place. Returns the number of fields; FIELDS + 1 stands for more. */
static size_t split(char *line, char *fields[FIELDS])
{
    size_t n = 0;
    for (char *next = line; next != NULL; n++) {
        if (n == FIELDS)
            return FIELDS + 1;
        char *field = strsep(&next, ",");
        fields[n] = trim(field);
    }
    return n;
}

static int take_number(const char *name, const char *text, uint32_t *value, struct error *error)
{
    uint64_t number;
    const char *wrong = number_u64(text, &number);
    if (wrong == NULL && number >= UINT32_MAX)
        wrong = "is too large";
    if (wrong != NULL)
        return error_set(error, "%s '%.40s' %s; expected RANK,THREAD,SECONDS", name, text, wrong);
    *value = (uint32_t)number;
    return 0;
}

static int take_seconds(const char *text, double *seconds, struct error *error)
{
    double value = 0;
    const char *wrong = number_real(text, &value);
    if (wrong != NULL)
        return error_set(error, "time '%.40s' %s; expected seconds from 0 to %g", text, wrong, ARRIVALS_MOST_S);
    if (!(value >= 0 && value <= ARRIVALS_MOST_S))
        return error_set(error, "time '%.40s' is %s; expected seconds from 0 to %g", text,
                         value < 0 ? "negative" : "too long", ARRIVALS_MOST_S);
    *seconds = value + 0.0; /* -0 becomes 0 */
    return 0;
}

static bool is_header(char *const fields[FIELDS], size_t n)
{
    return (n == 1 && strcmp(fields[0], "seconds") == 0) ||
           (n == FIELDS && strcmp(fields[0], "rank") == 0 && strcmp(fields[1], "thread") == 0 &&
            strcmp(fields[2], "seconds") == 0);
}

static int take_line(void *context, char *line, struct error *error)
{
    struct reading *reading = context;
    struct arrival_rows *rows = reading->rows;
    reading->line++;
    if (reading->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    line = trim(line);
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    char *fields[FIELDS];
    size_t n = split(line, fields);
    if (n != 1 && n != FIELDS)
        return error_set(error, "%s fields; expected RANK,THREAD,SECONDS or one time a line",
                         n == 2 ? "two" : "more than three");
    bool named = n == FIELDS, first = !reading->begun;
    if (!first && named != rows->named)
        return error_set(error, "%s, where lines before have %s; expected the same on all",
                         named ? "a rank and a thread" : "a time alone", named ? "a time alone" : "rank and thread");
    reading->begun = true;
    rows->named = named;
    if (first && is_header(fields, n))
        return 0;
    struct arrival_row row = {.thread = (uint32_t)rows->n, .line = reading->line};
    if (named && (take_number("rank", fields[0], &row.rank, error) != 0 ||
                  take_number("thread", fields[1], &row.thread, error) != 0))
        return -1;
    if (take_seconds(fields[n - 1], &row.seconds, error) != 0)
        return -1;
    if (rows->n == MAX_ROWS)
        return error_set(error, "more than %d times; expected a file of fewer", MAX_ROWS);
    ARRAY_ADD(rows->rows, rows->n, row);
    return 0;
}

static void arrival_rows_release(struct arrival_rows *rows)
{
    free(rows->rows);
    *rows = (struct arrival_rows){0};
}

/* Reads the file at path. A first line `rank,thread,seconds` or `seconds`, empty lines and lines that begin with # are
 * passed over. Returns 0, and *rows is for arrival_rows_release; or -1 with file:line and what was expected. */
static int arrival_rows_read(const char *path, struct arrival_rows *rows, struct error *error)
{
    *rows = (struct arrival_rows){0};
    struct reading reading = {.rows = rows};
    int result = text_file_lines(path, MAX_LINE_BYTES, take_line, &reading, error);
    if (result == 0 && rows->n == 0)
        result = error_set(error, "%s: no times; expected a row RANK,THREAD,SECONDS each, or one time a line", path);
    if (result != 0)
        arrival_rows_release(rows);
    return result;
}

/* Finds the times of fixed:FILE by rank, thread and iteration.
 *
 * Rows come in any order, as threads write them; they are sorted once, so that a draw is a search among ranks. */

/* The times of one rank: thread t takes seconds[t * turns] to seconds[t * turns + turns - 1] in turn. */
struct fixed_rank {
    uint32_t rank;
    size_t n_threads;
    size_t turns;
    const double *seconds; /* [n_threads * turns] */
};

struct fixed_times {
    struct fixed_rank *ranks; /* in order of rank */
    size_t n_ranks;
    double *seconds;
    bool named; /* else one rank stands for all */
};

static int compare_rows(const void *first, const void *second)
{
    const struct arrival_row *a = first, *b = second;
    return ORDER(a->rank, b->rank) ?: ORDER(a->thread, b->thread) ?: ORDER(a->line, b->line);
}

/* Takes the threads of the rank of row `begin`. Returns the row behind them, or 0 with the reason. */
static size_t take_rank(const char *path, const struct arrival_rows *rows, size_t begin, struct fixed_rank *taken,
                        struct error *error)
{
    const struct arrival_row *row = rows->rows;
    uint32_t rank = row[begin].rank, thread = 0;
    size_t turns = 0, end = begin;
    while (end < rows->n && row[end].rank == rank) {
        size_t first = end;
        if (row[end].thread != thread) {
            error_set(error, "%s:%u: rank %u has thread %u, but no thread %u; expected threads from 0 on", path,
                      row[end].line, rank, row[end].thread, thread);
            return 0;
        }
        while (end < rows->n && row[end].rank == rank && row[end].thread == thread)
            end++;
        if (thread > 0 && end - first != turns) {
            error_set(error, "%s:%u: rank %u thread %u has %zu times, thread 0 has %zu; expected as many for each",
                      path, row[end - 1].line, rank, thread, end - first, turns);
            return 0;
        }
        turns = end - first;
        thread++;
    }
    *taken = (struct fixed_rank){.rank = rank, .n_threads = thread, .turns = turns};
    return end;
}

static void fixed_times_release(struct fixed_times *times)
{
    free(times->ranks);
    free(times->seconds);
    *times = (struct fixed_times){0};
}

/* Puts rows in the order of ranks and threads; those of one rank and thread keep the order of the file. Refuses a
 * rank whose threads are not numbered from 0, or do not all have as many times; path is for messages. Returns 0, and
 * *times is for fixed_times_release; or -1 with the reason. */
static int fixed_times_make(const char *path, struct arrival_rows *rows, struct fixed_times *times, struct error *error)
{
    *times = (struct fixed_times){.named = rows->named, .seconds = xcalloc(rows->n, sizeof *times->seconds)};
    qsort(rows->rows, rows->n, sizeof *rows->rows, compare_rows);
    for (size_t i = 0; i < rows->n; i++)
        times->seconds[i] = rows->rows[i].seconds;
    for (size_t begin = 0, end; begin < rows->n; begin = end) {
        struct fixed_rank taken;
        end = take_rank(path, rows, begin, &taken, error);
        if (end == 0) {
            fixed_times_release(times);
            return -1;
        }
        taken.seconds = times->seconds + begin;
        ARRAY_ADD(times->ranks, times->n_ranks, taken);
    }
    return 0;
}

static int compare_rank(const void *rank, const void *of)
{
    return ORDER(*(const uint32_t *)rank, ((const struct fixed_rank *)of)->rank);
}

/* Returns the times of a rank, NULL where there are none. */
static const struct fixed_rank *fixed_times_of(const struct fixed_times *times, uint32_t rank)
{
    if (!times->named)
        return times->n_ranks > 0 ? &times->ranks[0] : NULL;
    return times->n_ranks > 0 ? bsearch(&rank, times->ranks, times->n_ranks, sizeof *times->ranks, compare_rank) : NULL;
}

/* Means and widths lie within the bounds, so that a third of the attempts succeed at least. */
enum { MAX_ATTEMPTS = 64 };

struct arrivals {
    enum arrival_kind kind;
    double compute_s;
    double late_s;            /* laggard: when it is done */
    double sd_s;              /* normal; kde: of the kernel */
    double *samples;          /* kde, in increasing order */
    size_t n_samples;         /* of these */
    struct fixed_times fixed; /* fixed */
};

double silverman_width(const double *samples, size_t n)
{
    if (samples[0] == samples[n - 1])
        return 0;
    double spread = sqrt(variance_of(samples, n));
    double range = sorted_quantile(samples, n, 0.75) - sorted_quantile(samples, n, 0.25);
    if (range > 0)
        spread = fmin(spread, range / 1.34);
    return 0.9 * spread * pow((double)n, -0.2);
}

/* Takes the times of rows as samples, and the width of the kernel. */
static int open_kde(const struct arrivals_request *request, const struct arrival_rows *rows, struct arrivals *arrivals,
                    struct error *error)
{
    if (!(request->width_s >= 0 && request->width_s <= ARRIVALS_MOST_S))
        return error_set(error, "width %g s: expected seconds above 0, at most %g", request->width_s, ARRIVALS_MOST_S);
    if (rows->n < 2)
        return error_set(error, "%s: one time only; expected at least two to estimate a density, or laggard:PERCENT",
                         request->path);
    arrivals->samples = xcalloc(rows->n, sizeof *arrivals->samples);
    for (size_t i = 0; i < rows->n; i++)
        arrivals->samples[i] = rows->rows[i].seconds;
    arrivals->n_samples = rows->n;
    sort_doubles(arrivals->samples, rows->n);
    arrivals->sd_s = request->width_s > 0 ? request->width_s : silverman_width(arrivals->samples, rows->n);
    if (!(arrivals->sd_s > 0))
        return error_set(error, "%s: all times are %g s, a density of them has no width; give one, or fixed:FILE",
                         request->path, arrivals->samples[0]);
    return 0;
}

static int open_file(const struct arrivals_request *request, struct arrivals *arrivals, struct error *error)
{
    struct arrival_rows rows;
    if (arrival_rows_read(request->path, &rows, error) != 0)
        return -1;
    int result = request->kind == ARRIVAL_KDE ? open_kde(request, &rows, arrivals, error)
                                              : fixed_times_make(request->path, &rows, &arrivals->fixed, error);
    arrival_rows_release(&rows);
    return result;
}

int arrivals_open(const struct arrivals_request *request, double compute_s, struct arrivals **arrivals,
                  struct error *error)
{
    if (request->kind == ARRIVAL_TRACE)
        return error_set(error, "%s: expected a file of times (fixed:FILE), not a trace", request->path);
    if (!(compute_s >= 0 && compute_s <= ARRIVALS_MOST_S))
        return error_set(error, "compute time %g s: expected seconds from 0 to %g", compute_s, ARRIVALS_MOST_S);
    struct arrivals *opened = xcalloc(1, sizeof *opened);
    *opened = (struct arrivals){.kind = request->kind, .compute_s = compute_s, .late_s = compute_s};
    int result = 0;
    if (request->kind == ARRIVAL_LAGGARD) {
        opened->late_s = compute_s * (1 + request->amount / 100);
        if (opened->late_s > ARRIVALS_MOST_S)
            result = error_set(error, "the laggard is done after %g s; expected at most %g", opened->late_s,
                               ARRIVALS_MOST_S);
    }
    if (request->kind == ARRIVAL_NORMAL)
        opened->sd_s = request->amount;
    if (request->path != NULL)
        result = open_file(request, opened, error);
    if (result == 0)
        *arrivals = opened;
    else
        arrivals_close(opened);
    return result;
}

void arrivals_close(struct arrivals *arrivals)
{
    if (arrivals == NULL)
        return;
    fixed_times_release(&arrivals->fixed);
    free(arrivals->samples);
    free(arrivals);
}

int arrivals_check(const struct arrivals *arrivals, uint32_t n_ranks, size_t n_threads, struct error *error)
{
    if (arrivals->kind != ARRIVAL_FIXED)
        return 0;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct fixed_rank *fixed = fixed_times_of(&arrivals->fixed, rank);
        if (fixed == NULL)
            return error_set(error,
                             "fixed arrivals: no times of rank %" PRIu32 "; expected some of ranks 0 to %" PRIu32, rank,
                             n_ranks - 1);
        if (fixed->n_threads != n_threads && arrivals->fixed.named)
            return error_set(error, "fixed arrivals: times of %zu threads of rank %" PRIu32 "; expected %zu",
                             fixed->n_threads, rank, n_threads);
        if (fixed->n_threads != n_threads)
            return error_set(error, "fixed arrivals: %zu times; expected %zu, one a thread", fixed->n_threads,
                             n_threads);
    }
    return 0;
}

/* Draws around mean_s, or a sample where there are some. */
static double draw_spread(const struct arrivals *arrivals, uint64_t seed, uint64_t iteration, uint32_t rank,
                          size_t thread)
{
    for (uint64_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const uint64_t of_sample[] = {iteration, rank, thread, attempt, 0};
        const uint64_t of_noise[] = {iteration, rank, thread, attempt, 1};
        double mean_s = arrivals->compute_s;
        if (arrivals->n_samples > 0)
            mean_s = arrivals->samples[counted_below(arrivals->n_samples, seed, of_sample, 5)];
        double time_s = mean_s + arrivals->sd_s * counted_normal(seed, of_noise, 5);
        if (time_s >= 0 && time_s <= ARRIVALS_MOST_S)
            return time_s;
    }
    return 0;
}

int arrivals_draw(const struct arrivals *arrivals, uint64_t seed, uint64_t iteration, uint32_t rank, size_t n_threads,
                  double *seconds)
{
    const uint64_t place[] = {iteration, rank};
    const struct fixed_rank *fixed = NULL;
    size_t laggard = n_threads;
    if (arrivals->kind == ARRIVAL_FIXED) {
        fixed = fixed_times_of(&arrivals->fixed, rank);
        if (fixed == NULL || fixed->n_threads != n_threads)
            return -1;
    } else if (arrivals->kind == ARRIVAL_LAGGARD && n_threads > 0) {
        laggard = counted_below(n_threads, seed, place, 2);
    }
    for (size_t t = 0; t < n_threads; t++) {
        if (fixed != NULL)
            seconds[t] = fixed->seconds[t * fixed->turns + iteration % fixed->turns];
        else if (arrivals->kind == ARRIVAL_LAGGARD)
            seconds[t] = t == laggard ? arrivals->late_s : arrivals->compute_s;
        else
            seconds[t] = draw_spread(arrivals, seed, iteration, rank, t);
    }
    return 0;
}

/* Writes the rows; seconds[n_threads] is room for them. */
static void write_rows(const struct arrivals *arrivals, FILE *stream, uint64_t seed, uint64_t n_iterations,
                       uint32_t n_ranks, size_t n_threads, double *seconds)
{
    fprintf(stream, "rank,thread,seconds\n");
    for (uint64_t iteration = 0; iteration < n_iterations; iteration++)
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            (void)arrivals_draw(arrivals, seed, iteration, rank, n_threads, seconds); /* it has been checked */
            for (size_t t = 0; t < n_threads; t++)
                fprintf(stream, "%" PRIu32 ",%zu,%.17g\n", rank, t, seconds[t]);
        }
}

int arrivals_dump(const struct arrivals *arrivals, const char *path, uint64_t seed, uint64_t n_iterations,
                  uint32_t n_ranks, size_t n_threads, struct error *error)
{
    struct output_file file;
    if (arrivals_check(arrivals, n_ranks, n_threads, error) != 0)
        return -1;
    double *seconds = xcalloc(n_threads, sizeof *seconds);
    int result = output_file_open(&file, path, error);
    if (result == 0) {
        write_rows(arrivals, file.stream, seed, n_iterations, n_ranks, n_threads, seconds);
        result = output_file_commit(&file, error);
    }
    free(seconds);
    return result;
}

/* Mixes the numbers of a place one after the other with the finaliser of SplitMix64 (Steele, Lea and Flood, Fast
 * splittable pseudorandom number generators, 2014): a bijection of 64 bits in which every bit changes half of the
 * others. */

static uint64_t mix(uint64_t state, uint64_t word)
{
    uint64_t bits = (state ^ word) + 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
}

/* Returns 64 random bits of place[n_place]. */
static uint64_t counted_bits(uint64_t seed, const uint64_t *place, size_t n_place)
{
    uint64_t state = mix(0, seed);
    for (size_t i = 0; i < n_place; i++)
        state = mix(state, place[i]);
    return state;
}

uint64_t counted_below(uint64_t n, uint64_t seed, const uint64_t *place, size_t n_place)
{
    return (uint64_t)(((unsigned __int128)counted_bits(seed, place, n_place) * n) >> 64);
}

/* Takes the 53 bits that a double holds: a number above 0, at most 1. */
static double share_of(uint64_t bits)
{
    return (double)((bits >> 11) + 1) * 0x1p-53;
}

/* Uses the method of Box and Muller (A note on the generation of random normal deviates, 1958). */
double counted_normal(uint64_t seed, const uint64_t *place, size_t n_place)
{
    uint64_t bits = counted_bits(seed, place, n_place);
    return sqrt(-2 * log(share_of(mix(bits, 1)))) * cos(2 * acos(-1) * share_of(mix(bits, 2)));
}

/* Options and rows of results name arrivals by one word: "laggard:4". */

static const struct {
    const char *name;
    enum arrival_kind kind;
    const char *of; /* as a message shows it */
} kinds[] = {
    {"laggard", ARRIVAL_LAGGARD, "PERCENT"}, {"normal", ARRIVAL_NORMAL, "SD"},     {"kde", ARRIVAL_KDE, "FILE"},
    {"fixed", ARRIVAL_FIXED, "FILE"},        {"trace", ARRIVAL_TRACE, "TRACE.db"},
};

static const struct {
    const char *name;
    double seconds;
} units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}};

/* Reads a time in seconds, or in the unit behind it. Returns as number_real. */
static const char *time_of(const char *text, double *seconds)
{
    char number[64];
    size_t length = strlen(text);
    double unit_s = 1;
    if (length >= sizeof number)
        return "is not a finite number";
    memcpy(number, text, length + 1);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t without = ends_with(number, units[i].name);
        if (without > 0) {
            number[without] = '\0';
            unit_s = units[i].seconds;
            break;
        }
    }
    const char *wrong = number_real(number, seconds);
    if (wrong == NULL)
        *seconds *= unit_s;
    return wrong;
}

static int take_amount(const char *text, const char *amount, struct arrivals_request *request, struct error *error)
{
    bool laggard = request->kind == ARRIVAL_LAGGARD;
    const char *expected = laggard ? "laggard:PERCENT, of the compute time, as laggard:4"
                                   : "normal:SD, in s or with a unit, as normal:2us";
    const char *wrong = laggard ? number_real(amount, &request->amount) : time_of(amount, &request->amount);
    double most = laggard ? 1e6 : ARRIVALS_MOST_S;
    if (wrong == NULL && !(request->amount >= 0 && request->amount <= most))
        wrong = request->amount < 0 ? "is negative" : "is too large";
    return wrong == NULL ? 0
                         : error_set(error, "arrivals '%.80s': '%.40s' %s; expected %s", text, amount, wrong, expected);
}

static int no_such(const char *text, size_t length, struct error *error)
{
    char name[48];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        nearest_add(&nearest, kinds[i].name);
    return error_set(error,
                     "arrivals '%.80s': expected laggard:PERCENT, normal:SD, kde:FILE, fixed:FILE or trace:TRACE.db%s",
                     text, nearest_hint(&nearest));
}

int arrivals_parse(const char *text, struct arrivals_request *request, struct error *error)
{
    size_t length = strcspn(text, ":"), i = 0, n = sizeof kinds / sizeof kinds[0];
    while (i < n && (strlen(kinds[i].name) != length || strncmp(kinds[i].name, text, length) != 0))
        i++;
    if (i == n)
        return no_such(text, length, error);
    if (text[length] == '\0' || text[length + 1] == '\0')
        return error_set(error, "arrivals '%.80s': the value is missing; expected %s:%s", text, kinds[i].name,
                         kinds[i].of);
    struct arrivals_request parsed = {.kind = kinds[i].kind};
    if (parsed.kind == ARRIVAL_LAGGARD || parsed.kind == ARRIVAL_NORMAL) {
        if (take_amount(text, text + length + 1, &parsed, error) != 0)
            return -1;
    } else {
        parsed.path = text + length + 1;
    }
    *request = parsed;
    return 0;
}
