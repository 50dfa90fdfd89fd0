/* Reads RAW.csv row by row and keeps the samples with which every fit starts: their order, what was disturbed, as the
 * probes between the rows say, and one time for each size.
 *
 * A minute on a busy machine has quiet moments: with the samples from there alone a table is as good as one from a
 * quiet machine, as long as every point has some. */
#include "calibrate/samples/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"
#include "share/base/csv.h"
#include "share/base/number.h"
#include "share/base/one_of.h"
#include "share/base/order.h"

#define NAME(name, text) text,
const char *const benchmark_name[BENCHMARK_COUNT] = {BENCHMARKS(NAME)}, *const variant_name[VARIANT_COUNT] = {
                                                                            VARIANTS(NAME)};

void samples_append(struct samples *samples, const struct sample *sample)
{
    ARRAY_ADD(samples->samples, samples->n_samples, *sample);
}

void samples_release(struct samples *samples)
{
    free(samples->samples);
    probings_release(&samples->probings);
    *samples = (struct samples){0};
}

/* Orders the curves: level, n, benchmark, variant. */
static int compare_curves(const struct sample *a, const struct sample *b)
{
    return ORDER(a->level, b->level) ?: ORDER(a->n, b->n) ?: ORDER(a->benchmark, b->benchmark) ?: ORDER(a->variant, b->variant);
}

/* Compares as their order does, but for the seconds: 0 where both measure the same. */
static int samples_compare_points(const struct sample *a, const struct sample *b)
{
    return compare_curves(a, b) ?: ORDER(a->bytes, b->bytes) ?: ORDER(a->count, b->count) ?: ORDER(a->domain, b->domain);
}

/* Returns the samples from first on that measure the same; n is 0 behind the last one. */
static struct sample_set samples_set(const struct samples *samples, size_t first)
{
    struct sample_set set = {.first = first};
    while (first + set.n < samples->n_samples &&
           samples_compare_points(&samples->samples[first], &samples->samples[first + set.n]) == 0)
        set.n++;
    return set;
}

bool samples_next(const struct samples *samples, enum benchmark benchmark, enum level level, struct sample_set *set)
{
    do {
        *set = samples_set(samples, set->first + set->n);
    } while (set->n > 0 &&
             (samples->samples[set->first].benchmark != benchmark || samples->samples[set->first].level != level));
    return set->n > 0;
}

double set_seconds(const struct samples *samples, struct sample_set set, enum samples_statistic statistic)
{
    const struct sample *sorted = &samples->samples[set.first];
    if (statistic == STATISTIC_MIN)
        return sorted[0].seconds;
    return set.n % 2 == 1 ? sorted[set.n / 2].seconds : (sorted[set.n / 2 - 1].seconds + sorted[set.n / 2].seconds) / 2;
}

static int samples_compare_samples(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    return samples_compare_points(a, b) ?: ORDER(a->seconds, b->seconds);
}

void samples_sort(struct samples *samples)
{
    if (samples->n_samples > 0)
        qsort(samples->samples, samples->n_samples, sizeof *samples->samples, samples_compare_samples);
}

double samples_reduce(double *values, size_t n_values, enum samples_statistic statistic)
{
    double least = values[0];
    for (size_t i = 1; i < n_values && statistic == STATISTIC_MIN; i++)
        least = values[i] < least ? values[i] : least;
    return statistic == STATISTIC_MIN ? least : unsorted_median(values, n_values);
}

double samples_combine(const double seconds[DOMAIN_COUNT], const double n_pairs[DOMAIN_COUNT])
{
    double value[DOMAIN_COUNT], weight[DOMAIN_COUNT], all = 0, sum = 0;
    size_t n = 0;
    for (int domain = 0; domain < DOMAIN_COUNT; domain++) {
        if (!(seconds[domain] > 0))
            continue;
        size_t i = n++;
        double own = n_pairs[domain] > 0 ? n_pairs[domain] : 1;
        for (; i > 0 && value[i - 1] > seconds[domain]; i--) {
            value[i] = value[i - 1];
            weight[i] = weight[i - 1];
        }
        value[i] = seconds[domain];
        weight[i] = own;
        all += own;
    }
    for (size_t i = 0; i < n; i++) {
        sum += weight[i];
        if (2 * sum > all)
            return value[i];
        if (2 * sum >= all) /* exactly half of the pairs are faster */
            return (value[i] + value[i + 1]) / 2;
    }
    return 0;
}

/* Makes a curve of the samples [begin, begin + n_samples). values[n_samples] gives room for their times. */
static struct curve curve_make(const struct samples *all, size_t begin, size_t n_samples,
                               enum samples_statistic statistic, double *values)
{
    const struct sample *samples = &all->samples[begin];
    struct curve curve = {
        .level = (enum level)samples[0].level,
        .benchmark = (enum benchmark)samples[0].benchmark,
        .n = samples[0].n,
        .bytes = xcalloc(n_samples, sizeof *curve.bytes),
        .seconds = xcalloc(n_samples, sizeof *curve.seconds),
        .n_samples = xcalloc(n_samples, sizeof *curve.n_samples),
        .first = xcalloc(n_samples, sizeof *curve.first),
    };
    for (size_t first = 0, end; first < n_samples; first = end) {
        for (end = first + 1; end < n_samples && samples[end].bytes == samples[first].bytes;)
            end++;
        double seconds[DOMAIN_COUNT] = {0};
        for (size_t i = first, n; i < end; i += n) {
            for (n = 0; i + n < end && samples[i + n].domain == samples[i].domain; n++)
                values[n] = samples[i + n].seconds;
            seconds[samples[i].domain] = samples_reduce(values, n, statistic);
        }
        size_t point = curve.n_points++;
        curve.bytes[point] = (double)samples[first].bytes;
        curve.seconds[point] = samples_combine(seconds, all->domain_pairs);
        curve.first[point] = begin + first;
        curve.n_samples[point] = end - first;
    }
    return curve;
}

struct curves curves_make(const struct samples *samples, enum samples_statistic statistic)
{
    struct curves curves = {0};
    const struct sample *sample = samples->samples;
    double *values = xcalloc(samples->n_samples, sizeof *values);
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        for (end = first + 1; end < samples->n_samples && compare_curves(&sample[first], &sample[end]) == 0;)
            end++;
        if (sample[first].benchmark != BENCHMARK_PINGPONG && sample[first].benchmark != BENCHMARK_ALGORITHM1)
            continue;
        ARRAY_ADD(curves.curves, curves.n_curves, curve_make(samples, first, end - first, statistic, values));
    }
    free(values);
    return curves;
}

void curves_release(struct curves *curves)
{
    for (size_t i = 0; i < curves->n_curves; i++) {
        free(curves->curves[i].bytes);
        free(curves->curves[i].seconds);
        free(curves->curves[i].n_samples);
        free(curves->curves[i].first);
    }
    free(curves->curves);
    *curves = (struct curves){0};
}

void curve_range(const struct curve *curve, double begin_bytes, double end_bytes, size_t *first, size_t *end)
{
    for (*first = 0; *first < curve->n_points && curve->bytes[*first] < begin_bytes;)
        ++*first;
    for (*end = *first; *end < curve->n_points && curve->bytes[*end] < end_bytes;)
        ++*end;
}

static bool is_timed(const struct sample *sample)
{
    return sample->benchmark != BENCHMARK_EAGER && sample->benchmark != BENCHMARK_BUFFER;
}

static size_t count_disturbed(const struct sample *samples, size_t n)
{
    size_t disturbed = 0;
    for (size_t i = 0; i < n; i++)
        disturbed += samples[i].disturbed ? 1 : 0;
    return disturbed;
}

/* Returns whether a point has disturbed samples only, and each is known to be so by itself, not by what its second was
 * like. */
static bool never_quiet(const struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!samples[i].disturbed || isnan(samples[i].waited))
            return false;
    return true;
}

static void count(struct samples *samples)
{
    memset(samples->disturbance, 0, sizeof samples->disturbance);
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        const struct sample *point = &samples->samples[first];
        end = first + samples_set(samples, first).n;
        if (!is_timed(point))
            continue;
        struct disturbance *own = &samples->disturbance[point->benchmark];
        own->n_points++;
        own->n_never_quiet += never_quiet(point, end - first) ? 1 : 0;
        own->n_samples += end - first;
        own->n_disturbed += count_disturbed(point, end - first);
    }
}

struct disturbance disturbed_sum(const struct samples *samples)
{
    struct disturbance sum = {0};
    for (int i = 0; i < BENCHMARK_COUNT; i++) {
        const struct disturbance *own = &samples->disturbance[i];
        sum.n_samples += own->n_samples;
        sum.n_disturbed += own->n_disturbed;
        sum.n_points += own->n_points;
        sum.n_never_quiet += own->n_never_quiet;
    }
    return sum;
}

bool disturbed_are_taken(void)
{
    const char *given = getenv("MPISTAIR_DISTURBED");
    return given != NULL && strcmp(given, "1") == 0;
}

/* Takes disturbed samples out of the sorted ones, after counting them. Those of points that have quiet ones go, since
 * one quiet sample is better than the median of many that waited. Points that were never measured quietly go too,
 * unless these are DISTURBED_MAX or more, or the user takes them. A point of ranks that wait for each other by nature
 * keeps what it has, as do searches (eager, buffer): what was taken or refused is no time. */
static void disturbed_leave_out(struct samples *samples)
{
    struct sample *all = samples->samples;
    size_t kept = 0;
    count(samples);
    struct disturbance sum = disturbed_sum(samples);
    bool few = !disturbed_are_taken() && (double)sum.n_never_quiet < DISTURBED_MAX * (double)sum.n_points;
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        end = first + samples_set(samples, first).n;
        bool repeated = count_disturbed(&all[first], end - first) < end - first;
        bool none = few && never_quiet(&all[first], end - first);
        for (size_t i = first; i < end; i++)
            if (!is_timed(&all[i]) || !(all[i].disturbed && (repeated || none)))
                all[kept++] = all[i];
    }
    samples->n_samples = kept;
}

enum {
    SAMPLES_COLUMN_LEVEL,
    SAMPLES_COLUMN_BYTES,
    SAMPLES_COLUMN_SECONDS,
    SAMPLES_COLUMN_N,
    COLUMN_COUNT,
    SAMPLES_COLUMN_BENCHMARK,
    SAMPLES_COLUMN_VARIANT,
    SAMPLES_COLUMN_LAUNCH,
    COLUMN_DOMAIN,
    COLUMN_WAITED,
    SAMPLES_N_COLUMNS,
};

/* Returns the index of a name; 0 where there is none, or no such. */
static int name_find(const char *name, const char *const *names, size_t n_names)
{
    int found = name != NULL ? place_in_names(name, names, n_names) : 0;
    return found > 0 ? found : 0;
}

struct samples_reading {
    struct samples samples;
    const struct csv_column *columns;
    size_t epoch; /* the first sample since the last probe of the machine */
};

/* Reads the share; it is empty where it is not known. */
static int read_waited(const char *text, double *waited, struct error *error)
{
    double value;
    *waited = NAN;
    if (text == NULL || text[0] == '\0')
        return 0;
    const char *wrong = number_real(text, &value);
    if (wrong != NULL)
        return error_set(error, "waited '%.40s' %s", text, wrong);
    if (!(value >= 0 && value <= 1))
        return error_set(error, "waited %.40s: expected a share from 0 to 1, or nothing", text);
    *waited = value;
    return 0;
}

static int samples_read_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    (void)line;
    struct samples_reading *reading = context;
    struct sample sample = {
        .bytes = values[SAMPLES_COLUMN_BYTES].u64,
        .seconds = values[SAMPLES_COLUMN_SECONDS].real,
        .n = reading->columns[SAMPLES_COLUMN_N].present ? values[SAMPLES_COLUMN_N].u64 : 1,
    };
    if (values[SAMPLES_COLUMN_BENCHMARK].text != NULL &&
        strcmp(values[SAMPLES_COLUMN_BENCHMARK].text, MEMORY_BENCHMARK) == 0)
        return error_set(error, "a sample of memory contention: 'mpistair machine fit --memory' makes a table of such "
                                "samples");
    if (values[SAMPLES_COLUMN_VARIANT].text != NULL &&
        strncmp(values[SAMPLES_COLUMN_VARIANT].text, MACHINE_MOCK, sizeof MACHINE_MOCK - 1) == 0)
        return error_set(error,
                         "variant '%.40s': a sample of a mock of a driver, not of a machine; calibrate on the "
                         "machine itself, or remove such samples",
                         values[SAMPLES_COLUMN_VARIANT].text);
    enum level of_sample;
    if (level_parse(values[SAMPLES_COLUMN_LEVEL].text, &of_sample) != 0 || of_sample == LEVEL_COUNT)
        return error_set(error, "level '%.40s' is not one of self, intra_socket, inter_socket, inter_node",
                         values[SAMPLES_COLUMN_LEVEL].text);
    sample.level = (uint8_t)of_sample;
    if (!(sample.seconds > 0))
        return error_set(error, "seconds %g: expected a time above 0", sample.seconds);
    if (sample.n < 1)
        return error_set(error, "n 0: expected the number of processes that share the bandwidth, 1 or more");
    if (sample.n == MACHINE_NO_N)
        return error_set(error, "n %llu is too large", (unsigned long long)sample.n);
    sample.benchmark = (uint8_t)name_find(values[SAMPLES_COLUMN_BENCHMARK].text, benchmark_name, BENCHMARK_COUNT);
    sample.variant = (uint8_t)name_find(values[SAMPLES_COLUMN_VARIANT].text, variant_name, VARIANT_COUNT);
    sample.domain = (uint8_t)name_find(values[COLUMN_DOMAIN].text, domain_name, DOMAIN_COUNT);
    if (values[COLUMN_COUNT].u64 > UINT32_MAX || values[SAMPLES_COLUMN_LAUNCH].u64 > UINT32_MAX)
        return error_set(error, "count %llu, launch %llu: too large", (unsigned long long)values[COLUMN_COUNT].u64,
                         (unsigned long long)values[SAMPLES_COLUMN_LAUNCH].u64);
    sample.count = reading->columns[COLUMN_COUNT].present ? (uint32_t)values[COLUMN_COUNT].u64 : 1;
    sample.launch = (uint32_t)values[SAMPLES_COLUMN_LAUNCH].u64;
    if (read_waited(values[COLUMN_WAITED].text, &sample.waited, error) != 0)
        return -1;
    sample.disturbed = probing_disturbs(PROBING_QUIET, sample.waited);
    samples_append(&reading->samples, &sample);
    return 0;
}

/* Reads a probe, which judges the samples since the last one, or since the program began. */
static int read_probing(struct samples_reading *reading, const char *text, struct error *error)
{
    struct samples *samples = &reading->samples;
    struct probing probing;
    if (probing_parse(text, &probing, error) != 0)
        return -1;
    for (; reading->epoch < samples->n_samples; reading->epoch++) {
        struct sample *sample = &samples->samples[reading->epoch];
        sample->disturbed = probing_disturbs(probing.verdict, sample->waited);
    }
    probings_append(&samples->probings, &probing);
    return 0;
}

/* Reads what the calibration was told besides samples; other comments are for other readers. */
static int samples_read_comment(void *context, const char *text, struct error *error)
{
    struct samples_reading *reading = context;
    struct samples *samples = &reading->samples;
    if (probing_is_probe(text))
        return read_probing(reading, text, error);
    if (strncmp(text, "begin ", 6) == 0)
        reading->epoch = samples->n_samples;
    char level[32], domain[32];
    enum level told;
    double number;
    if (sscanf(text, "rendezvous %31s %lf", level, &number) == 2 && number >= 1 && number <= 1e15) {
        if (level_parse(level, &told) == 0 && told != LEVEL_COUNT && !(samples->told_bytes[told] > 0))
            samples->told_bytes[told] = number;
    } else if (sscanf(text, "domain %31s %31s %lf", level, domain, &number) == 3 && number >= 1 && number <= 1e15 &&
               strcmp(level, level_name[LEVEL_INTRA_SOCKET]) == 0) {
        int found = name_find(domain, domain_name, DOMAIN_COUNT);
        if (found != DOMAIN_NONE && !(samples->domain_pairs[found] > 0))
            samples->domain_pairs[found] = number;
    }
    return 0;
}

int samples_read_csv(const char *path, struct samples *samples, struct error *error)
{
    struct csv_column columns[SAMPLES_N_COLUMNS] = {
        [SAMPLES_COLUMN_LEVEL] = {.name = "level", .kind = CSV_TEXT},
        [SAMPLES_COLUMN_BYTES] = {.name = "bytes", .kind = CSV_U64},
        [SAMPLES_COLUMN_SECONDS] = {.name = "seconds", .kind = CSV_REAL},
        [SAMPLES_COLUMN_N] = {.name = "n", .kind = CSV_U64, .optional = true},
        [COLUMN_COUNT] = {.name = "count", .kind = CSV_U64, .optional = true},
        [SAMPLES_COLUMN_BENCHMARK] = {.name = "benchmark", .kind = CSV_TEXT, .optional = true},
        [SAMPLES_COLUMN_VARIANT] = {.name = "variant", .kind = CSV_TEXT, .optional = true},
        [SAMPLES_COLUMN_LAUNCH] = {.name = "launch", .kind = CSV_U64, .optional = true},
        [COLUMN_DOMAIN] = {.name = "domain", .kind = CSV_TEXT, .optional = true},
        [COLUMN_WAITED] = {.name = "waited", .kind = CSV_TEXT, .optional = true},
    };
    struct samples_reading reading = {.columns = columns};
    int result =
        csv_read(path, columns, SAMPLES_N_COLUMNS, CSV_WHOLE, samples_read_row, samples_read_comment, &reading, error);
    if (result == 0 && reading.samples.n_samples == 0)
        result = error_set(error, "%s: holds no samples; expected rows below the header level,bytes,seconds", path);
    if (result != 0) {
        samples_release(&reading.samples);
        return -1;
    }
    samples_sort(&reading.samples);
    disturbed_leave_out(&reading.samples);
    *samples = reading.samples;
    return 0;
}
