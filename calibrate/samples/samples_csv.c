/* The raw file of a calibration is read row by row; what was disturbed is judged by the probes that lie between the
 * rows. */
#include "calibrate/samples/samples_csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/disturbed.h"
#include "calibrate/samples/memory_samples.h"
#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/number.h"

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
static int name_find(const char *name, const char *const *names, int n_names)
{
    for (int i = 0; name != NULL && i < n_names; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return 0;
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
        .level = LEVEL_COUNT,
    };
    if (values[SAMPLES_COLUMN_BENCHMARK].text != NULL &&
        strcmp(values[SAMPLES_COLUMN_BENCHMARK].text, MEMORY_BENCHMARK) == 0)
        return error_set(error, "a sample of memory contention: 'mpistair machine fit --memory' makes a table of such "
                                "samples");
    if (values[SAMPLES_COLUMN_VARIANT].text != NULL &&
        strncmp(values[SAMPLES_COLUMN_VARIANT].text, MACHINE_MOCK, sizeof MACHINE_MOCK - 1) == 0)
        return error_set(error,
                         "variant '%.40s': a sample of a mock of a driver, of which no table can be made; "
                         "calibrate on the machine itself, or take such samples out",
                         values[SAMPLES_COLUMN_VARIANT].text);
    for (int level = 0; level < LEVEL_COUNT; level++)
        if (strcmp(values[SAMPLES_COLUMN_LEVEL].text, level_name[level]) == 0)
            sample.level = (uint8_t)level;
    if (sample.level == LEVEL_COUNT)
        return error_set(error, "level '%.40s' is none of self, intra_socket, inter_socket, inter_node",
                         values[SAMPLES_COLUMN_LEVEL].text);
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
    double number;
    if (sscanf(text, "rendezvous %31s %lf", level, &number) == 2 && number >= 1 && number <= 1e15) {
        for (int i = 0; i < LEVEL_COUNT; i++)
            if (strcmp(level, level_name[i]) == 0 && !(samples->told_bytes[i] > 0))
                samples->told_bytes[i] = number;
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
        csv_read_comments(path, columns, SAMPLES_N_COLUMNS, samples_read_row, samples_read_comment, &reading, error);
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
