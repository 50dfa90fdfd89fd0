/* The rows of an ended calibration come back as if they had just been measured; a row that a probe judged disturbed
 * does not, so that it is measured again. */
#include "calibrate/samples/resume.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/number.h"
#include "share/base/one_of.h"
#include "calibrate/samples/probing.h"

enum { BENCHMARK, VARIANT, LEVEL, BYTES, N, COUNT, SECONDS, LAUNCH, RANKS, DOMAIN, AT_S, WAITED, RESUME_N_COLUMNS };

static const char *const column_name[RESUME_N_COLUMNS] = {"benchmark", "variant", "level", "bytes",  "n",    "count",
                                                          "seconds",   "launch",  "ranks", "domain", "at_s", "waited"};

struct resume_reading {
    struct resume resume;
    const char *const *names; /* [n_names] the benchmarks whose rows are taken */
    size_t n_names;
    unsigned launch;
    size_t epoch; /* the first row since the last probe of the machine */
};

static int wrong(const union csv_value *values, int column, struct error *error)
{
    return error_set(error, "column '%s': '%.40s' is not what a calibration program writes", column_name[column],
                     values[column].text);
}

static int whole(const union csv_value *values, int column, uint64_t *value, struct error *error)
{
    return number_u64(values[column].text, value) == NULL ? 0 : wrong(values, column, error);
}

static int resume_real(const union csv_value *values, int column, double *value, struct error *error)
{
    return number_real(values[column].text, value) == NULL && *value >= 0 ? 0 : wrong(values, column, error);
}

static int text_of(const union csv_value *values, int column, char *text, size_t size, struct error *error)
{
    if (strlen(values[column].text) >= size)
        return wrong(values, column, error);
    strcpy(text, values[column].text);
    return 0;
}

static int resume_read_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    (void)line;
    struct resume_reading *reading = context;
    struct resume *resume = &reading->resume;
    struct resume_row row = {.waited = NAN};
    uint64_t launch;
    double at_s;
    if (place_in_names(values[BENCHMARK].text, reading->names, reading->n_names) < 0)
        return 0; /* that of another program, or the header once more */
    if (whole(values, LAUNCH, &launch, error) != 0)
        return -1;
    if (launch != reading->launch)
        return 0;
    if (text_of(values, BENCHMARK, row.benchmark, sizeof row.benchmark, error) != 0 ||
        text_of(values, VARIANT, row.variant, sizeof row.variant, error) != 0 ||
        text_of(values, RANKS, row.ranks, sizeof row.ranks, error) != 0 ||
        text_of(values, DOMAIN, row.domain, sizeof row.domain, error) != 0 ||
        whole(values, BYTES, &row.bytes, error) != 0 || whole(values, N, &row.n, error) != 0 ||
        whole(values, COUNT, &row.count, error) != 0 || resume_real(values, SECONDS, &row.seconds, error) != 0 ||
        resume_real(values, AT_S, &at_s, error) != 0)
        return -1;
    if (level_parse(values[LEVEL].text, &row.level) != 0 || row.level == LEVEL_COUNT)
        return wrong(values, LEVEL, error);
    bool knows_waited = values[WAITED].text != NULL && values[WAITED].text[0] != '\0';
    if (knows_waited && resume_real(values, WAITED, &row.waited, error) != 0)
        return -1;
    row.disturbed = probing_disturbs(PROBING_QUIET, row.waited);
    resume->spent_s = fmax(resume->spent_s, at_s);
    ARRAY_ADD(resume->rows, resume->n_rows, row);
    return 0;
}

/* Reads a probe, which judges the rows since the last one, or since the program began. */
static int resume_read_comment(void *context, const char *text, struct error *error)
{
    struct resume_reading *reading = context;
    struct resume *resume = &reading->resume;
    struct probing probing;
    if (strncmp(text, "begin ", 6) == 0)
        reading->epoch = resume->n_rows;
    if (!probing_is_probe(text))
        return 0;
    if (probing_parse(text, &probing, error) != 0)
        return -1;
    for (; reading->epoch < resume->n_rows; reading->epoch++) {
        struct resume_row *row = &resume->rows[reading->epoch];
        row->disturbed = probing_disturbs(probing.verdict, row->waited);
    }
    return 0;
}

int resume_read(const char *path, const char *const *names, size_t n_names, unsigned launch, struct resume *resume,
                struct error *error)
{
    struct resume_reading reading = {.names = names, .n_names = n_names, .launch = launch};
    struct csv_column columns[RESUME_N_COLUMNS];
    struct error reason;
    for (int i = 0; i < RESUME_N_COLUMNS; i++) /* as text: rows of others need not hold what these do */
        columns[i] = (struct csv_column){.name = column_name[i], .kind = CSV_TEXT, .optional = i == WAITED};
    if (csv_read(path, columns, RESUME_N_COLUMNS, CSV_MAY_BE_CUT, resume_read_row, resume_read_comment, &reading,
                 &reason) != 0) {
        resume_release(&reading.resume);
        return error_set(error, "--resume %s", reason.text);
    }
    size_t kept = 0;
    for (size_t i = 0; i < reading.resume.n_rows; i++)
        if (!reading.resume.rows[i].disturbed)
            reading.resume.rows[kept++] = reading.resume.rows[i];
    reading.resume.n_rows = kept;
    *resume = reading.resume;
    return 0;
}

void resume_release(struct resume *resume)
{
    free(resume->rows);
    *resume = (struct resume){.rows = NULL};
}
