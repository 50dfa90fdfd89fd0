/* A row's meaning depends on its variant and on what the comments said of the machine: all of that is checked where the
 * row is read, so that the error names its line. */
#include "calibrate/samples/memory_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/samples.h"
#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/memory.h"
#include "share/base/number.h"
#include "share/base/one_of.h"
#include "share/base/statistics.h"
#include "share/base/order.h"

const char *const memory_variant_name[MEMORY_VARIANT_COUNT] = {"computation_alone", "message_alone", "computation",
                                                               "message"};

enum {
    MEMORY_COLUMN_BENCHMARK,
    MEMORY_COLUMN_VARIANT,
    MEMORY_COLUMN_LEVEL,
    MEMORY_COLUMN_BYTES,
    MEMORY_COLUMN_N,
    MEMORY_COLUMN_SECONDS,
    MEMORY_COLUMN_LAUNCH,
    COLUMN_COMPUTING_NUMA,
    COLUMN_MESSAGE_NUMA,
    MEMORY_N_COLUMNS,
};

/* Plausible range of memory bandwidth, B/s. */
#define SLOWEST 1.0
#define FASTEST 1e15

enum { METHOD_UNKNOWN = 0, METHOD_NIC, METHOD_CPU_COPY };

struct memory_reading {
    struct memory_samples samples;
    int method;
};

/* Reads the index of a NUMA node, or nothing where the variant has no such data. */
static int read_numa(const struct memory_reading *reading, const char *column, const char *text, const char *variant,
                     bool has, uint32_t *numa, struct error *error)
{
    uint64_t index;
    *numa = MEMORY_NO_DATA;
    if (!has)
        return text[0] == '\0'
                   ? 0
                   : error_set(error, "%s '%.40s', expected nothing: %s has no such data", column, text, variant);
    const char *wrong = number_u64(text, &index);
    if (wrong != NULL)
        return error_set(error, "%s '%.40s' %s", column, text, wrong);
    if (index >= reading->samples.numa_all)
        return error_set(error, "%s %llu, expected 0 to %u: `# memory numa_all %u`", column, (unsigned long long)index,
                         reading->samples.numa_all - 1, reading->samples.numa_all);
    *numa = (uint32_t)index;
    return 0;
}

static int read_n(const struct memory_reading *reading, enum memory_variant variant, uint64_t n, uint32_t *found,
                  struct error *error)
{
    uint32_t cores = reading->samples.cores;
    if (variant == MEMORY_MESSAGE_ALONE && n != 0)
        return error_set(error, "n %llu, expected 0: message_alone has no computing cores", (unsigned long long)n);
    if (variant != MEMORY_MESSAGE_ALONE && (n < 1 || n > cores))
        return error_set(error, "n %llu, expected 1 to %u computing cores: `# memory cores %u`", (unsigned long long)n,
                         cores, cores);
    *found = (uint32_t)n;
    return 0;
}

static int read_place(const struct memory_reading *reading, const union csv_value *values, struct memory_place *place,
                      struct error *error)
{
    const char *text = values[MEMORY_COLUMN_VARIANT].text;
    int found = place_in_names(text, memory_variant_name, MEMORY_VARIANT_COUNT);
    if (found < 0)
        return error_set(error, "variant '%.40s', expected computation_alone, message_alone, computation or message",
                         text);
    place->variant = (enum memory_variant)found;
    if (read_n(reading, place->variant, values[MEMORY_COLUMN_N].u64, &place->n, error) != 0)
        return -1;
    bool computes = place->variant != MEMORY_MESSAGE_ALONE, receives = place->variant != MEMORY_COMPUTATION_ALONE;
    const char *variant = memory_variant_name[place->variant];
    if (read_numa(reading, "computing_numa", values[COLUMN_COMPUTING_NUMA].text, variant, computes,
                  &place->computing_numa, error) != 0)
        return -1;
    return read_numa(reading, "message_numa", values[COLUMN_MESSAGE_NUMA].text, variant, receives, &place->message_numa,
                     error);
}

static int read_level(struct memory_reading *reading, const char *text, struct error *error)
{
    enum level level;
    if (level_parse(text, &level) != 0 || level == LEVEL_COUNT || level == LEVEL_SELF)
        return error_set(error, "level '%.40s', expected intra_socket, inter_socket or inter_node", text);
    if (reading->method == METHOD_NIC && level != LEVEL_INTER_NODE)
        return error_set(error, "level %s, expected inter_node: `# memory method nic` is of messages between nodes",
                         text);
    if (reading->samples.n_samples > 0 && reading->samples.level != level)
        return error_set(error, "level %s, but %s in the rows before: their samples cannot be in one table", text,
                         level_text(reading->samples.level));
    reading->samples.level = level;
    return 0;
}

/* Checks that the comments before the rows say what the rows mean. */
static int check_told(const struct memory_reading *reading, struct error *error)
{
    const struct memory_samples *samples = &reading->samples;
    const char *lacks = samples->cores == 0                 ? "cores N"
                        : samples->numa_nodes == 0          ? "numa_nodes N"
                        : samples->numa_all == 0            ? "numa_all N"
                        : reading->method == METHOD_UNKNOWN ? "method nic|cpu-copy"
                                                            : NULL;
    if (lacks != NULL)
        return error_set(error, "a row, but no line `# memory %s` before it", lacks);
    if (samples->numa_all % samples->numa_nodes != 0)
        return error_set(error, "%u NUMA nodes of a socket, %u of the node: expected whole sockets",
                         samples->numa_nodes, samples->numa_all);
    return 0;
}

static int memory_read_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    (void)line;
    struct memory_reading *reading = context;
    struct memory_samples *samples = &reading->samples;
    struct memory_sample sample = {.bytes_per_s = 0};
    double seconds = values[MEMORY_COLUMN_SECONDS].real;
    const char *benchmark = values[MEMORY_COLUMN_BENCHMARK].text;
    if (strcmp(benchmark, MEMORY_BENCHMARK) != 0)
        return error_set(error, "benchmark '%.40s', expected " MEMORY_BENCHMARK, benchmark);
    if (check_told(reading, error) != 0 || read_level(reading, values[MEMORY_COLUMN_LEVEL].text, error) != 0 ||
        read_place(reading, values, &sample.place, error) != 0)
        return -1;
    if (!(seconds > 0))
        return error_set(error, "seconds %g, expected a time above 0", seconds);
    if (values[MEMORY_COLUMN_BYTES].u64 == 0)
        return error_set(error, "bytes 0, expected 1 or more");
    if (values[MEMORY_COLUMN_LAUNCH].u64 > UINT32_MAX)
        return error_set(error, "launch %llu is too large", (unsigned long long)values[MEMORY_COLUMN_LAUNCH].u64);
    sample.launch = (uint32_t)values[MEMORY_COLUMN_LAUNCH].u64;
    sample.bytes_per_s = (double)values[MEMORY_COLUMN_BYTES].u64 / seconds;
    if (!(sample.bytes_per_s >= SLOWEST && sample.bytes_per_s <= FASTEST))
        return error_set(error, "%llu bytes in %g s are %g B/s, expected %g to %g",
                         (unsigned long long)values[MEMORY_COLUMN_BYTES].u64, seconds, sample.bytes_per_s, SLOWEST,
                         FASTEST);
    ARRAY_ADD(samples->samples, samples->n_samples, sample);
    return 0;
}

static int take_count(const char *key, const char *text, uint32_t *count, struct error *error)
{
    uint64_t value = 0;
    const char *wrong = number_u64(text, &value);
    if (wrong != NULL)
        return error_set(error, "memory %s '%.40s' %s", key, text, wrong);
    if (value < 1 || value > MEMORY_SAMPLES_MOST)
        return error_set(error, "memory %s %llu, expected 1 to %d", key, (unsigned long long)value,
                         MEMORY_SAMPLES_MOST);
    if (*count != 0 && *count != value)
        return error_set(error, "memory %s %llu, but %u before: their samples cannot be in one table", key,
                         (unsigned long long)value, *count);
    *count = (uint32_t)value;
    return 0;
}

static int take_method(struct memory_reading *reading, const char *text, struct error *error)
{
    int method = strcmp(text, "nic") == 0        ? METHOD_NIC
                 : strcmp(text, "cpu-copy") == 0 ? METHOD_CPU_COPY
                                                 : METHOD_UNKNOWN;
    if (method == METHOD_UNKNOWN)
        return error_set(error, "memory method '%.40s', expected nic or cpu-copy", text);
    if (reading->method != METHOD_UNKNOWN && reading->method != method)
        return error_set(error, "memory method %s, but another one before: their samples cannot be in one table", text);
    reading->method = method;
    reading->samples.cpu_copy = method == METHOD_CPU_COPY;
    return 0;
}

/* Reads what the benchmark says of the machine; other comments are for other readers. */
static int memory_read_comment(void *context, const char *text, struct error *error)
{
    struct memory_reading *reading = context;
    char key[32], value[64], more[2];
    if (strncmp(text, "memory ", 7) != 0)
        return 0;
    if (sscanf(text + 7, "%31s %63s %1s", key, value, more) != 2)
        return error_set(error, "expected `# memory KEY VALUE`");
    if (strcmp(key, "cores") == 0)
        return take_count(key, value, &reading->samples.cores, error);
    if (strcmp(key, "numa_nodes") == 0)
        return take_count(key, value, &reading->samples.numa_nodes, error);
    if (strcmp(key, "numa_all") == 0)
        return take_count(key, value, &reading->samples.numa_all, error);
    return strcmp(key, "method") == 0 ? take_method(reading, value, error) : 0;
}

static int compare_places(const struct memory_place *a, const struct memory_place *b)
{
    return ORDER(a->variant, b->variant) ?: ORDER(a->computing_numa, b->computing_numa) ?: ORDER(a->message_numa, b->message_numa) ?: ORDER(a->n, b->n);
}

static int memory_compare_samples(const void *left, const void *right)
{
    const struct memory_sample *a = left, *b = right;
    return compare_places(&a->place, &b->place) ?: ORDER(a->bytes_per_s, b->bytes_per_s);
}

/* Makes the point of the n_samples sorted samples from first on. values gives room for their bandwidths. */
static struct memory_point point_of(const struct memory_samples *samples, size_t first, size_t n_samples,
                                    double *values)
{
    struct memory_point point = {
        .place = samples->samples[first].place, .first = first, .n_samples = n_samples, .low = NAN, .high = NAN};
    for (size_t i = 0; i < n_samples; i++)
        values[i] = samples->samples[first + i].bytes_per_s;
    point.bytes_per_s = sorted_median(values, n_samples);
    sorted_median_interval(values, n_samples, &point.low, &point.high);
    return point;
}

static void make_points(struct memory_samples *samples)
{
    double *values = xcalloc(samples->n_samples, sizeof *values);
    qsort(samples->samples, samples->n_samples, sizeof *samples->samples, memory_compare_samples);
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        for (end = first + 1; end < samples->n_samples &&
                              compare_places(&samples->samples[first].place, &samples->samples[end].place) == 0;)
            end++;
        ARRAY_ADD(samples->points, samples->n_points, point_of(samples, first, end - first, values));
    }
    free(values);
}

enum { FIRST_BENCHMARK, FIRST_COMPUTING_NUMA, N_FIRST };

/* What the first row of a file is. */
struct first_row {
    struct csv_column columns[N_FIRST];
    size_t line; /* 0: there is none */
    bool is_memory;
    char benchmark[40];
};

static int look_at_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    struct first_row *first = context;
    const char *benchmark = values[FIRST_BENCHMARK].text;
    first->line = line;
    first->is_memory = benchmark != NULL && strcmp(benchmark, MEMORY_BENCHMARK) == 0;
    snprintf(first->benchmark, sizeof first->benchmark, "%s", benchmark != NULL ? benchmark : "");
    return error_set(error, "one row is enough");
}

static void look(const char *path, struct first_row *first)
{
    struct error unused;
    *first = (struct first_row){
        .columns = {[FIRST_BENCHMARK] = {.name = "benchmark", .kind = CSV_TEXT, .optional = true},
                    [FIRST_COMPUTING_NUMA] = {.name = "computing_numa", .kind = CSV_TEXT, .optional = true}}};
    csv_read(path, first->columns, N_FIRST, CSV_WHOLE, look_at_row, NULL, first, &unused);
}

bool memory_samples_are_in(const char *path)
{
    struct first_row first;
    look(path, &first);
    return first.is_memory;
}

/* Refuses samples of other benchmarks, saying what they are. */
static int check_kind(const char *path, struct error *error)
{
    struct first_row first;
    look(path, &first);
    bool other = (first.line > 0 && !first.columns[FIRST_COMPUTING_NUMA].present) ||
                 place_in_names(first.benchmark, benchmark_name, BENCHMARK_COUNT) >= 0;
    if (!other || first.is_memory)
        return 0;
    return error_set(error,
                     "%s:%zu: a sample of %s, not of memory contention: 'mpistair machine fit' makes a table of such "
                     "samples without --memory",
                     path, first.line,
                     first.benchmark[0] != '\0' ? first.benchmark : benchmark_name[BENCHMARK_PINGPONG]);
}

int memory_samples_read_csv(const char *path, struct memory_samples *samples, struct error *error)
{
    struct csv_column columns[MEMORY_N_COLUMNS] = {
        [MEMORY_COLUMN_BENCHMARK] = {.name = "benchmark", .kind = CSV_TEXT},
        [MEMORY_COLUMN_VARIANT] = {.name = "variant", .kind = CSV_TEXT},
        [MEMORY_COLUMN_LEVEL] = {.name = "level", .kind = CSV_TEXT},
        [MEMORY_COLUMN_BYTES] = {.name = "bytes", .kind = CSV_U64},
        [MEMORY_COLUMN_N] = {.name = "n", .kind = CSV_U64},
        [MEMORY_COLUMN_SECONDS] = {.name = "seconds", .kind = CSV_REAL},
        [MEMORY_COLUMN_LAUNCH] = {.name = "launch", .kind = CSV_U64},
        [COLUMN_COMPUTING_NUMA] = {.name = "computing_numa", .kind = CSV_TEXT},
        [COLUMN_MESSAGE_NUMA] = {.name = "message_numa", .kind = CSV_TEXT},
    };
    struct memory_reading reading = {.method = METHOD_UNKNOWN};
    if (check_kind(path, error) != 0)
        return -1;
    int result =
        csv_read(path, columns, MEMORY_N_COLUMNS, CSV_WHOLE, memory_read_row, memory_read_comment, &reading, error);
    if (result == 0 && reading.samples.n_samples == 0)
        result = error_set(error, "%s: holds no samples; expected rows of the benchmark " MEMORY_BENCHMARK, path);
    if (result != 0) {
        memory_samples_release(&reading.samples);
        return -1;
    }
    make_points(&reading.samples);
    *samples = reading.samples;
    return 0;
}

static int compare_point(const void *place, const void *point)
{
    return compare_places(place, &((const struct memory_point *)point)->place);
}

const struct memory_point *memory_samples_find(const struct memory_samples *samples, const struct memory_place *place)
{
    return bsearch(place, samples->points, samples->n_points, sizeof *samples->points, compare_point);
}

void memory_samples_release(struct memory_samples *samples)
{
    free(samples->samples);
    free(samples->points);
    *samples = (struct memory_samples){0};
}
