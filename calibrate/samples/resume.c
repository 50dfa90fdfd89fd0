/* The rows of an ended calibration come back as if they had just been measured; a row that a probe judged disturbed
 * does not, so that it is measured again. */
#include "calibrate/samples/resume.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/number.h"
#include "calibrate/samples/probing.h"

enum column {
    BENCHMARK,
    VARIANT,
    LEVEL,
    BYTES,
    N,
    COUNT,
    SECONDS,
    LAUNCH,
    RANKS,
    DOMAIN,
    AT_S,
    WAITED,
    RESUME_N_COLUMNS
};
enum { FIELDS_MAX = 64 };

static const char *const column_name[RESUME_N_COLUMNS] = {"benchmark", "variant", "level", "bytes",  "n",    "count",
                                                          "seconds",   "launch",  "ranks", "domain", "at_s", "waited"};

struct resume_reading {
    const char *path;
    size_t line;
    size_t n_fields;                 /* fields of the header; 0: none was read */
    size_t column[RESUME_N_COLUMNS]; /* where each stands; n_fields: it is absent, as waited was in earlier versions */
    size_t epoch;                    /* the first row since the last probe of the machine */
};

/* Splits a line at its commas in place; returns the number of fields, FIELDS_MAX at most. */
static size_t split(char *line, char *fields[FIELDS_MAX])
{
    size_t n = 0;
    for (char *rest = line; rest != NULL && n < FIELDS_MAX;)
        fields[n++] = strsep(&rest, ",");
    return n;
}

static int read_header(struct resume_reading *reading, char *line, struct error *error)
{
    char *fields[FIELDS_MAX];
    size_t n = split(line, fields);
    for (int column = 0; column < RESUME_N_COLUMNS; column++) {
        size_t found = 0;
        while (found < n && strcmp(fields[found], column_name[column]) != 0)
            found++;
        if (found == n && column != WAITED)
            return error_set(error, "%s:%zu: no column '%s'; expected a header line as the calibration programs write",
                             reading->path, reading->line, column_name[column]);
        reading->column[column] = found;
    }
    reading->n_fields = n;
    return 0;
}

static int wrong(const struct resume_reading *reading, enum column column, const char *text, struct error *error)
{
    return error_set(error, "%s:%zu: column '%s': '%.40s' is not what a calibration program writes", reading->path,
                     reading->line, column_name[column], text);
}

static int whole(const struct resume_reading *reading, char *const *fields, enum column column, uint64_t *value,
                 struct error *error)
{
    const char *text = fields[reading->column[column]];
    return number_u64(text, value) == NULL ? 0 : wrong(reading, column, text, error);
}

static int resume_real(const struct resume_reading *reading, char *const *fields, enum column column, double *value,
                       struct error *error)
{
    const char *text = fields[reading->column[column]];
    return number_real(text, value) == NULL && *value >= 0 ? 0 : wrong(reading, column, text, error);
}

/* Reads the share; it is empty where it is not known. */
static int waited_of(const struct resume_reading *reading, char *const *fields, double *waited, struct error *error)
{
    *waited = NAN;
    if (reading->column[WAITED] == reading->n_fields || fields[reading->column[WAITED]][0] == '\0')
        return 0;
    return resume_real(reading, fields, WAITED, waited, error);
}

static int text_of(const struct resume_reading *reading, char *const *fields, enum column column, char *text,
                   size_t size, struct error *error)
{
    const char *field = fields[reading->column[column]];
    if (strlen(field) >= size)
        return wrong(reading, column, field, error);
    strcpy(text, field);
    return 0;
}

static int resume_level_of(const struct resume_reading *reading, char *const *fields, enum level *level,
                           struct error *error)
{
    const char *text = fields[reading->column[LEVEL]];
    return level_parse(text, level) == 0 && *level != LEVEL_COUNT ? 0 : wrong(reading, LEVEL, text, error);
}

/* What is read: benchmarks and launch. */
struct wanted {
    const char *const *names;
    size_t n_names;
    unsigned launch;
};

static bool is_wanted(const struct wanted *wanted, const char *benchmark)
{
    for (size_t i = 0; i < wanted->n_names; i++)
        if (strcmp(benchmark, wanted->names[i]) == 0)
            return true;
    return false;
}

static int resume_read_row(struct resume_reading *reading, char *line, const struct wanted *wanted,
                           struct resume *resume, struct error *error)
{
    if (reading->n_fields == 0)
        return read_header(reading, line, error);
    char *fields[FIELDS_MAX];
    size_t n = split(line, fields);
    if (strcmp(fields[0], column_name[BENCHMARK]) == 0)
        return 0; /* it is the header once more */
    if (n != reading->n_fields)
        return error_set(error, "%s:%zu: %zu fields, the header has %zu", reading->path, reading->line, n,
                         reading->n_fields);
    if (!is_wanted(wanted, fields[reading->column[BENCHMARK]]))
        return 0;
    struct resume_row row;
    uint64_t of_launch;
    double at_s;
    if (whole(reading, fields, LAUNCH, &of_launch, error) != 0)
        return -1;
    if (of_launch != wanted->launch)
        return 0;
    if (text_of(reading, fields, BENCHMARK, row.benchmark, sizeof row.benchmark, error) != 0 ||
        text_of(reading, fields, VARIANT, row.variant, sizeof row.variant, error) != 0 ||
        text_of(reading, fields, RANKS, row.ranks, sizeof row.ranks, error) != 0 ||
        text_of(reading, fields, DOMAIN, row.domain, sizeof row.domain, error) != 0 ||
        resume_level_of(reading, fields, &row.level, error) != 0 ||
        whole(reading, fields, BYTES, &row.bytes, error) != 0 || whole(reading, fields, N, &row.n, error) != 0 ||
        whole(reading, fields, COUNT, &row.count, error) != 0 ||
        resume_real(reading, fields, SECONDS, &row.seconds, error) != 0 ||
        resume_real(reading, fields, AT_S, &at_s, error) != 0 || waited_of(reading, fields, &row.waited, error) != 0)
        return -1;
    row.disturbed = probing_disturbs(PROBING_QUIET, row.waited);
    if (at_s > resume->spent_s)
        resume->spent_s = at_s;
    array_grow(&resume->rows, resume->n_rows, sizeof *resume->rows);
    resume->rows[resume->n_rows++] = row;
    return 0;
}

/* Reads a probe, which judges the rows since the last one, or since the program began. */
static int resume_read_comment(struct resume_reading *reading, const char *line, struct resume *resume,
                               struct error *error)
{
    struct probing probing;
    struct error reason;
    if (strncmp(line, "# begin ", 8) == 0)
        reading->epoch = resume->n_rows;
    if (strncmp(line, "# ", 2) != 0 || !probing_is_probe(line + 2))
        return 0;
    if (probing_parse(line + 2, &probing, &reason) != 0)
        return error_set(error, "%s:%zu: %s", reading->path, reading->line, reason.text);
    for (; reading->epoch < resume->n_rows; reading->epoch++) {
        struct resume_row *row = &resume->rows[reading->epoch];
        row->disturbed = probing_disturbs(probing.verdict, row->waited);
    }
    return 0;
}

static void drop_disturbed(struct resume *resume)
{
    size_t kept = 0;
    for (size_t i = 0; i < resume->n_rows; i++)
        if (!resume->rows[i].disturbed)
            resume->rows[kept++] = resume->rows[i];
    resume->n_rows = kept;
}

int resume_read(const char *path, const char *const *names, size_t n_names, unsigned launch, struct resume *resume,
                struct error *error)
{
    const struct wanted wanted = {names, n_names, launch};
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return error_set(error, "--resume %s: cannot be opened: %s", path, strerror(errno));
    struct resume_reading reading = {.path = path};
    struct resume found = {.rows = NULL};
    char *line = NULL;
    size_t size = 0;
    int result = 0;
    for (ssize_t length; result == 0 && (length = getline(&line, &size, file)) > 0;) {
        reading.line++;
        if (line[length - 1] != '\n')
            break; /* the line was cut off */
        line[--length] = '\0';
        if (length > 0 && line[length - 1] == '\r')
            line[--length] = '\0';
        if (strlen(line) != (size_t)length)
            result = error_set(error, "%s:%zu: zero byte; expected text", path, reading.line);
        else if (length > 0 && line[0] == '#')
            result = resume_read_comment(&reading, line, &found, error);
        else if (length > 0)
            result = resume_read_row(&reading, line, &wanted, &found, error);
    }
    if (result == 0 && ferror(file))
        result = error_set(error, "--resume %s: cannot be read: %s", path, strerror(errno));
    free(line);
    fclose(file);
    drop_disturbed(&found);
    if (result != 0)
        resume_release(&found);
    else
        *resume = found;
    return result;
}

void resume_release(struct resume *resume)
{
    free(resume->rows);
    *resume = (struct resume){.rows = NULL};
}
