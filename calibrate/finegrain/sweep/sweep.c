/* A combination of values is a number whose digits are places of values. Combinations whose rows of results would say
 * the same are one configuration: they have one key, as p2p with either epoch of rma has.
 *
 * Configurations are measured in random order, so that what changes on the machine meanwhile falls on all values alike.
 * The seed alone gives the order: a sweep that goes on takes the order that it had. A row ends with its line, so that a
 * kill leaves whole rows and at most one without an end, which is cut off when the sweep goes on. */
#include "calibrate/finegrain/sweep/sweep.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "calibrate/finegrain/finegrain_row.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/monotonic.h"
#include "share/base/nearest.h"
#include "share/base/progress.h"
#include "share/base/random.h"
#include "share/base/text_file.h"
#include "share/base/csv.h"
#include "share/base/number.h"
#include "calibrate/plot/chart.h"
#include "share/base/statistics.h"
#include "share/base/order.h"

enum { MAX_LINE_BYTES = 1 << 16, MAX_COMBINATIONS = 100000 };
static const char BLANKS[] = " \t\r";

/* The sweep file while it is read. */
struct reading {
    struct sweep *sweep;
    const struct finegrain_config *base;
    size_t line;
};

static int set_option(struct finegrain_config *config, size_t row, const char *value, struct error *error)
{
    struct option_row rows[FINEGRAIN_ROWS];
    finegrain_config_rows(config, rows);
    return option_set(&rows[row], value, error);
}

/* Finds the option of a line, which no earlier line has. Returns 0, or -1 with what was expected. */
static int find_option(const struct sweep *sweep, const struct option_row *rows, size_t n, const char *word,
                       size_t *found, struct error *error)
{
    struct nearest nearest = nearest_to(word);
    for (size_t i = 0; i < n; i++) {
        char option[64];
        snprintf(option, sizeof option, "--%s", rows[i].name);
        nearest_add(&nearest, option);
        if (strcmp(option, word) != 0)
            continue;
        if (strcmp(rows[i].name, "seed") == 0)
            return error_set(error, "--seed: not in a sweep; it is an option of the command, for all configurations");
        for (size_t list = 0; list < sweep->n_lists; list++)
            if (sweep->lists[list].row == i)
                return error_set(error, "%s: is in an earlier line, too; expected all its values in one line", option);
        *found = i;
        return 0;
    }
    return error_set(error, "'%.40s': expected an option of mpistair finegrain, as --bytes%s", word,
                     nearest_hint(&nearest));
}

/* Opens the arrivals once, so that a file that is missing or wrong is reported before anything is measured. */
static int check_arrivals(const struct finegrain_config *base, const char *text, struct error *error)
{
    struct arrivals_request request;
    struct arrivals *arrivals;
    if (arrivals_parse(text, &request, error) != 0)
        return -1;
    request.width_s = base->width_s;
    if (arrivals_trace_open(&request, base->compute_s, &arrivals, error) != 0)
        return -1;
    arrivals_close(arrivals);
    return 0;
}

/* Checks a value by the row of its option, so that an error names the line of the sweep file. */
static int add_value(const struct finegrain_config *base, struct sweep_list *list, const struct option_row *row,
                     char *value, struct error *error)
{
    struct finegrain_config scratch = *base;
    if (row->argument == NULL && value != NULL)
        return error_set(error, "--%s %.40s: takes no value", row->name, value);
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->values[i], value) == 0)
            return error_set(error, "--%s %.40s: is given twice in the line", row->name, value);
    if (set_option(&scratch, list->row, value, error) != 0 ||
        (row->text != NULL && check_arrivals(base, value, error) != 0))
        return -1;
    ARRAY_ADD(list->values, list->n, value);
    return 0;
}

static int take_line(void *context, char *line, struct error *error)
{
    struct reading *reading = context;
    struct sweep *sweep = reading->sweep;
    struct finegrain_config scratch = *reading->base;
    struct option_row rows[FINEGRAIN_ROWS];
    size_t n_rows = finegrain_config_rows(&scratch, rows);
    if (reading->line++ == 0 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, BLANKS);
    if (line[0] == '\0')
        return 0;
    struct sweep_list added = {.text = xstrdup(line)};
    char *rest = NULL, *option = strtok_r(added.text, BLANKS, &rest);
    int result = find_option(sweep, rows, n_rows, option, &added.row, error);
    array_grow(&sweep->lists, sweep->n_lists, sizeof added);
    struct sweep_list *list = &sweep->lists[sweep->n_lists++];
    *list = added;
    if (result != 0)
        return -1;
    const struct option_row *row = &rows[list->row];
    for (char *word; result == 0 && (word = strtok_r(NULL, BLANKS, &rest)) != NULL;)
        result = add_value(reading->base, list, row, word, error);
    if (result == 0 && row->argument == NULL)
        result = add_value(reading->base, list, row, NULL, error);
    if (result == 0 && list->n == 0)
        return error_set(error, "--%s: a value is missing; expected one or several, with blanks between", row->name);
    if (result == 0 && list->n > 1 && strcmp(row->name, "width") == 0)
        return error_set(error, "--width: one value at most, since a row of results does not have it");
    return result;
}

/* Returns what a row of results says of a configuration; it has nine digits of compute_s. */
static char *key_of(const struct finegrain_config *config)
{
    return xasprintf("%d,%d,%llu,%llu,%llu,%llu,%.9g,%llu,%llu,%llu,%s", config->interface,
                     config->interface == FINEGRAIN_RMA ? config->rma : 0, (unsigned long long)config->peers,
                     (unsigned long long)config->bytes, (unsigned long long)config->threads,
                     (unsigned long long)config->parts, config->compute_s, (unsigned long long)config->seed,
                     (unsigned long long)config->trials, (unsigned long long)config->iterations, config->arrivals);
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(((const struct sweep_config *)left)->key, ((const struct sweep_config *)right)->key);
}

/* Adds a combination, unless its values do not fit each other or an equal one is there. Returns 0, or -1 with the
 * reason. */
static int add_combination(struct sweep *sweep, const struct finegrain_config *base, size_t number, struct error *error)
{
    struct sweep_config *added = &sweep->configs[sweep->n];
    struct finegrain_config *config = &added->config;
    struct error reason;
    *config = *base;
    for (size_t i = sweep->n_lists; i-- > 0; number /= sweep->lists[i].n)
        if (set_option(config, sweep->lists[i].row, sweep->lists[i].values[number % sweep->lists[i].n], error) != 0)
            return -1;
    /* An option without a meaning beside the other values is no error here. */
    config->rma_given = config->rma_given && config->interface == FINEGRAIN_RMA;
    config->width_given = config->width_given && strncmp(config->arrivals, "kde:", 4) == 0;
    if (finegrain_config_check(config, &reason) != 0) {
        if (sweep->n_unfit++ == 0)
            sweep->unfit = reason;
        return 0;
    }
    added->key = key_of(config);
    if (*(struct sweep_config **)or_no_memory(tsearch(added, &sweep->by_key, compare_keys)) == added)
        sweep->n++;
    else
        free(added->key);
    return 0;
}

static int combine(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error)
{
    size_t n = 1;
    for (size_t i = 0; i < sweep->n_lists; i++) {
        if (sweep->lists[i].n > MAX_COMBINATIONS / n)
            return error_set(error, "%s: more than %d combinations of values; expected fewer", path, MAX_COMBINATIONS);
        n *= sweep->lists[i].n;
    }
    sweep->configs = xcalloc(n, sizeof *sweep->configs);
    for (size_t i = 0; i < n; i++)
        if (add_combination(sweep, base, i, error) != 0)
            return -1;
    return sweep->n > 0 ? 0
                        : error_set(error, "%s: none of %zu combinations of values is valid: %.600s", path, n,
                                    sweep->unfit.text);
}

int sweep_read(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error)
{
    *sweep = (struct sweep){0};
    struct reading reading = {.sweep = sweep, .base = base};
    int result = text_file_lines(path, MAX_LINE_BYTES, take_line, &reading, error);
    if (result == 0 && sweep->n_lists == 0)
        result = error_set(error, "%s: no option in it; expected lines as '--bytes 4096 65536'", path);
    if (result == 0)
        result = combine(path, base, sweep, error);
    if (result != 0)
        sweep_release(sweep);
    return result;
}

static void keep(void *config)
{
    (void)config; /* is in an array */
}

void sweep_release(struct sweep *sweep)
{
    tdestroy(sweep->by_key, keep);
    for (size_t i = 0; i < sweep->n; i++)
        free(sweep->configs[i].key);
    free(sweep->configs);
    for (size_t i = 0; i < sweep->n_lists; i++) {
        free(sweep->lists[i].values);
        free(sweep->lists[i].text);
    }
    free(sweep->lists);
    *sweep = (struct sweep){0};
}

/* The file that gets the rows. It is locked (flock) while a sweep writes it. */
struct results {
    const char *path;
    FILE *stream;
    uint64_t ranks; /* of all rows; 0: there is none yet */
    size_t n_measured, n_void;
};

static int write_error(const struct results *results, struct error *error)
{
    return error_set(error, "%s: cannot be written: %s", results->path, strerror(errno));
}

/* Notes which configuration a row is of. */
static int sweep_take_row(struct results *results, struct sweep *sweep, const char *mpi, const struct sweep_row *row,
                          struct error *error)
{
    struct sweep_config wanted = {.key = key_of(&row->config)};
    struct sweep_config **found = tfind(&wanted, &sweep->by_key, compare_keys);
    free(wanted.key);
    if (found == NULL)
        return error_set(error,
                         "%s:%zu: this row is of no configuration of the sweep: sweep file, seed or options differ; "
                         "give another file by -o, or remove the row",
                         results->path, row->line);
    if ((*found)->line != 0)
        return error_set(error, "%s:%zu: this row is of the same configuration as line %zu; remove one of them",
                         results->path, row->line, (*found)->line);
    if (strcmp(row->mpi, mpi) != 0)
        return error_set(error, "%s:%zu: this row is of %.40s, and the launcher is one of %s; give another file by -o",
                         results->path, row->line, row->mpi, mpi);
    if (results->ranks != 0 && results->ranks != row->ranks)
        return error_set(error, "%s:%zu: this row is of %llu ranks, those before of %llu; give another file by -o",
                         results->path, row->line, (unsigned long long)row->ranks, (unsigned long long)results->ranks);
    results->ranks = row->ranks;
    (*found)->line = row->line;
    results->n_measured++;
    results->n_void += row->is_void;
    return 0;
}

static int take_rows(struct results *results, struct sweep *sweep, const char *mpi, struct error *error)
{
    struct sweep_rows rows;
    if (sweep_rows_read(results->path, &rows, error) != 0)
        return -1;
    int result = 0;
    for (size_t i = 0; result == 0 && i < rows.n; i++)
        result = sweep_take_row(results, sweep, mpi, &rows.rows[i], error);
    sweep_rows_release(&rows);
    return result;
}

/* Cuts off a line without an end and takes the rows there are; a file that is refused stays as it was. Begins a file
 * without any row, or a device or pipe, which have none. */
static int resume(struct results *results, struct sweep *sweep, const char *mpi, struct error *error)
{
    static const char header[] = FINEGRAIN_ROW_HEADER "\n";
    struct stat status;
    if (fstat(fileno(results->stream), &status) != 0)
        return write_error(results, error);
    size_t size = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
    char *text = xmalloc(size);
    int result = 0;
    if (pread(fileno(results->stream), text, size, 0) != (ssize_t)size)
        result = error_set(error, "%s: cannot be read: %s", results->path, strerror(errno));
    else if (memcmp(text, header, size < sizeof header - 1 ? size : sizeof header - 1) != 0)
        result = error_set(error, "%s:1: expected the header of results of mpistair finegrain; give another file by -o",
                           results->path);
    const char *end = result == 0 ? memrchr(text, '\n', size) : NULL;
    size_t whole = end != NULL ? (size_t)(end - text) + 1 : 0;
    if (result == 0 && whole < size && ftruncate(fileno(results->stream), (off_t)whole) != 0)
        result = write_error(results, error);
    if (result == 0 && whole > 0 && take_rows(results, sweep, mpi, error) != 0) {
        fwrite(text + whole, 1, size - whole, results->stream);
        result = -1;
    }
    if (result == 0 && whole == 0 && (fputs(header, results->stream) < 0 || fflush(results->stream) != 0))
        result = write_error(results, error);
    free(text);
    return result;
}

static int results_open(struct results *results, const char *path, struct sweep *sweep, const char *mpi,
                        struct error *error)
{
    *results = (struct results){.path = path, .stream = fopen(path, "a+e")};
    if (results->stream == NULL)
        return write_error(results, error);
    int result = flock(fileno(results->stream), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
                     ? error_set(error, "%s: another sweep writes it; wait for it, or give another file by -o", path)
                     : resume(results, sweep, mpi, error);
    if (result != 0)
        fclose(results->stream);
    return result;
}

/* Adds a row, which is on the disk then. Returns 0, or -1 with the reason. */
static int results_add(struct results *results, const struct finegrain_row *row, struct error *error)
{
    if (results->ranks != 0 && results->ranks != (uint64_t)row->ranks)
        return error_set(error, "%s: its rows are of %llu ranks, and the launcher starts %d; give another file by -o",
                         results->path, (unsigned long long)results->ranks, row->ranks);
    finegrain_row_write_csv(results->stream, row);
    /* Pipes and devices cannot be synchronised. */
    if (fflush(results->stream) != 0 || (fdatasync(fileno(results->stream)) != 0 && errno != EINVAL && errno != EROFS))
        return write_error(results, error);
    results->ranks = (uint64_t)row->ranks;
    results->n_measured++;
    results->n_void += row->void_reason[0] != '\0';
    return 0;
}

static int measure(const struct launcher *launcher, const struct finegrain_config *config, struct results *results,
                   size_t n, int *code, struct error *error)
{
    struct finegrain_samples samples = {0};
    struct finegrain_row row;
    int result = finegrain_job_run(launcher, config, &samples, code, error);
    if (result == 0)
        result = finegrain_row_make(config, launcher->mpi, &samples, &row, error);
    if (result == 0)
        result = results_add(results, &row, error);
    finegrain_samples_release(&samples);
    if (result == 0)
        return 0;
    struct error reason = *error;
    return error_set(error,
                     "--interface %s --peers %llu --bytes %llu --threads %llu --parts %llu --arrivals %.80s: %.600s "
                     "(%zu of %zu rows are in %.100s; run the same command again to continue)",
                     finegrain_interface_word[config->interface], (unsigned long long)config->peers,
                     (unsigned long long)config->bytes, (unsigned long long)config->threads,
                     (unsigned long long)config->parts, config->arrivals, reason.text, results->n_measured, n,
                     results->path);
}

/* Returns the time of a configuration without its start and its messages. */
static double planned_s(const struct finegrain_config *config)
{
    return 2 * (double)config->trials * (double)config->iterations * config->compute_s;
}

/* What is known of the time that the sweep takes. */
struct estimate {
    double planned_left_s, excess_s; /* excess: above what was planned, of all that were measured */
    size_t n_left, n_measured;
};

/* Shows how much is left. text is borrowed by what shows it. */
static void show_left(const struct estimate *estimate, size_t n, char text[96])
{
    double left_s = estimate->planned_left_s;
    if (estimate->n_measured > 0)
        left_s += estimate->excess_s / (double)estimate->n_measured * (double)estimate->n_left;
    const char *unit = left_s < 120 ? "s" : left_s < 7200 ? "min" : "h";
    double scale = left_s < 120 ? 1 : left_s < 7200 ? 60 : 3600;
    snprintf(text, 96, "finegrain: %zu of %zu configurations, %s%.0f %s left", n - estimate->n_left, n,
             estimate->n_measured > 0 ? "about " : "more than ", left_s / scale, unit);
    progress_show(text);
}

/* Measures all configurations without a row, in the order of the seed. */
static int measure_all(const struct sweep *sweep, uint64_t seed, const struct launcher *launcher,
                       struct results *results, int *code, struct error *error)
{
    struct estimate estimate = {.n_left = sweep->n - results->n_measured};
    struct twister random;
    size_t *order = xcalloc(sweep->n, sizeof *order);
    char text[96];
    int result = 0;
    for (size_t i = 0; i < sweep->n; i++) {
        order[i] = i;
        estimate.planned_left_s += sweep->configs[i].line != 0 ? 0 : planned_s(&sweep->configs[i].config);
    }
    twister_seed(&random, seed);
    twister_shuffle(&random, order, sweep->n);
    for (size_t i = 0; result == 0 && i < sweep->n; i++) {
        const struct sweep_config *next = &sweep->configs[order[i]];
        if (next->line != 0)
            continue;
        show_left(&estimate, sweep->n, text);
        double begin_s = clock_now_s();
        result = measure(launcher, &next->config, results, sweep->n, code, error);
        estimate.excess_s += clock_now_s() - begin_s - planned_s(&next->config);
        estimate.planned_left_s -= planned_s(&next->config);
        estimate.n_measured++;
        estimate.n_left--;
    }
    progress_show(NULL);
    free(order);
    return result;
}

int sweep_run(const char *sweep_file, const struct finegrain_config *base, struct launcher *launcher, const char *path)
{
    struct sweep sweep;
    struct results results;
    struct error error;
    int code = EXIT_WORK_FAILED;
    if (sweep_read(sweep_file, base, &sweep, &error) != 0) {
        error_report(&error);
        return EXIT_WRONG_USAGE;
    }
    if (sweep.n_unfit > 0)
        inform("%s: %zu combinations are left out, as their values do not fit each other: %s", sweep_file,
               sweep.n_unfit, sweep.unfit.text);
    int result = launcher_identify(launcher, &error);
    if (result == 0)
        result = results_open(&results, path, &sweep, launcher->mpi, &error);
    if (result == 0) {
        size_t before = results.n_measured;
        result = measure_all(&sweep, base->seed, launcher, &results, &code, &error);
        if (result == 0)
            inform("%s: %zu configurations, %zu of them measured before, %zu void", path, sweep.n, before,
                   results.n_void);
        fclose(results.stream);
    }
    sweep_release(&sweep);
    if (result == 0)
        return EXIT_DONE;
    error_report(&error);
    return code;
}

/* The rows may come from anybody, so each value is held to the range that its option has. */

enum {
    INTERFACE,
    RMA,
    MPI,
    RANKS,
    PEERS,
    BYTES,
    THREADS,
    PARTS,
    COMPUTE,
    ARRIVALS,
    SEED,
    TRIALS,
    ITERATIONS,
    SPEEDUP,
    LOW,
    HIGH,
    VOID,
    N_COLUMNS
};

static const char *const column_name[N_COLUMNS] = {"interface",
                                                   "rma",
                                                   "mpi",
                                                   "ranks",
                                                   "peers",
                                                   "bytes",
                                                   "threads",
                                                   "parts",
                                                   "compute_s",
                                                   "arrivals",
                                                   "seed",
                                                   "trials",
                                                   "iterations",
                                                   "speedup_percent",
                                                   "speedup_low_percent",
                                                   "speedup_high_percent",
                                                   "void"};

/* Sets the options whose columns have their names. */
static int take_options(const union csv_value *values, struct finegrain_config *config, struct error *error)
{
    struct option_row rows[FINEGRAIN_ROWS];
    size_t n = finegrain_config_rows(config, rows);
    for (int column = 0; column <= ITERATIONS; column++) {
        const char *name = column == COMPUTE ? "compute" : column_name[column];
        if (column == RMA && values[RMA].text[0] == '\0')
            continue;
        for (size_t row = 0; row < n; row++)
            if (strcmp(rows[row].name, name) == 0 && option_set(&rows[row], values[column].text, error) != 0)
                return -1;
    }
    if (config->interface == FINEGRAIN_RMA && !config->rma_given)
        return error_set(error, "rma is empty; expected fence or passive with interface rma");
    return finegrain_config_check(config, error);
}

static int take_percent(const union csv_value *values, int column, double *percent, struct error *error)
{
    const char *text = values[column].text;
    *percent = NAN;
    const char *wrong = text[0] != '\0' ? number_real(text, percent) : NULL;
    return wrong == NULL ? 0 : error_set(error, "%s '%.40s' %s", column_name[column], text, wrong);
}

static int rows_take_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    struct sweep_rows *rows = context;
    struct sweep_row row = {.line = line, .ranks = values[RANKS].u64, .is_void = values[VOID].text[0] != '\0'};
    finegrain_config_init(&row.config);
    if (take_options(values, &row.config, error) != 0 ||
        take_percent(values, SPEEDUP, &row.speedup_percent, error) != 0 ||
        take_percent(values, LOW, &row.low_percent, error) != 0 ||
        take_percent(values, HIGH, &row.high_percent, error) != 0)
        return -1;
    if (values[ARRIVALS].text[0] == '\0' || values[MPI].text[0] == '\0')
        return error_set(error, "%s is empty", column_name[values[ARRIVALS].text[0] == '\0' ? ARRIVALS : MPI]);
    if (row.ranks == 0)
        return error_set(error, "ranks 0, expected 1 or more");
    row.arrivals = xstrdup(values[ARRIVALS].text);
    row.mpi = xstrdup(values[MPI].text);
    row.config.arrivals = row.arrivals;
    ARRAY_ADD(rows->rows, rows->n, row);
    return 0;
}

int sweep_rows_read(const char *path, struct sweep_rows *rows, struct error *error)
{
    struct csv_column columns[N_COLUMNS];
    for (int i = 0; i < N_COLUMNS; i++)
        columns[i] = (struct csv_column){.name = column_name[i], .kind = i == RANKS ? CSV_U64 : CSV_TEXT};
    *rows = (struct sweep_rows){0};
    if (csv_read(path, columns, N_COLUMNS, CSV_WHOLE, rows_take_row, NULL, rows, error) == 0)
        return 0;
    sweep_rows_release(rows);
    return -1;
}

void sweep_rows_release(struct sweep_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free(rows->rows[i].arrivals);
        free(rows->rows[i].mpi);
    }
    free(rows->rows);
    *rows = (struct sweep_rows){0};
}

/* A line has the colour of its interface and the mark of its number of parts. Rows are sorted so that those of a
 * chart, and in it those of a line, are neighbours. */

/* Compares the charts of two rows. */
static int compare_charts(const struct sweep_row *a, const struct sweep_row *b)
{
    return strcmp(a->mpi, b->mpi) ?: ORDER(a->ranks, b->ranks) ?: ORDER(a->config.peers, b->config.peers) ?: ORDER(a->config.threads, b->config.threads) ?: ORDER(a->config.compute_s, b->config.compute_s) ?: strcmp(a->arrivals, b->arrivals);
}

static int compare_rows(const void *left, const void *right)
{
    const struct sweep_row *a = left, *b = right;
    return compare_charts(a, b) ?: ORDER(a->config.interface, b->config.interface) ?: ORDER(a->config.rma, b->config.rma) ?: ORDER(a->config.parts, b->config.parts) ?: ORDER(a->config.bytes, b->config.bytes) ?: ORDER(a->line, b->line);
}

/* Returns the numbers of parts of all rows, each once and in ascending order, for free(). */
static uint64_t *parts_find(const struct sweep_rows *rows, size_t *n)
{
    uint64_t *parts = xcalloc(rows->n, sizeof *parts);
    for (size_t i = 0; i < rows->n; i++)
        parts[i] = rows->rows[i].config.parts;
    qsort(parts, rows->n, sizeof *parts, compare_u64);
    *n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (i == 0 || parts[i] != parts[*n - 1])
            parts[(*n)++] = parts[i];
    return parts;
}

static void chart_begin(struct charts *charts, const struct sweep_row *row)
{
    struct chart_panel panel = {.caption = "A line an interface and number of parts.",
                                .x = {"bytes of a buffer", "B", true},
                                .y = {"speed-up against BSP, %", "%", false}};
    char *title = xasprintf(
        "%llu peers, %s, %llu threads, %.4g ms, %s on %llu ranks", (unsigned long long)row->config.peers, row->arrivals,
        (unsigned long long)row->config.threads, 1e3 * row->config.compute_s, row->mpi, (unsigned long long)row->ranks);
    panel.title = title;
    chart_panel(charts, &panel);
    free(title);
}

static void add_row(struct charts *charts, const struct sweep_row *row, int shape)
{
    bool rma = row->config.interface == FINEGRAIN_RMA;
    double bytes = (double)row->config.bytes;
    const struct chart_style style = {
        .colour = 1 + ((int)row->config.interface + (rma ? 4 * (int)row->config.rma : 0)) % CHART_COLOURS,
        .shape = shape,
        .points = true,
        .line = true};
    if (isnan(row->speedup_percent))
        return;
    chart_series(charts, &style, "%s%s%s (%llu)", finegrain_interface_word[row->config.interface], rma ? " " : "",
                 rma ? finegrain_rma_word[row->config.rma] : "", (unsigned long long)row->config.parts);
    chart_point(charts, bytes, row->speedup_percent);
    if (!row->is_void)
        return;
    chart_series(charts, &(struct chart_style){.colour = CHART_FAINT, .shape = 6, .points = true}, "void");
    chart_point(charts, bytes, row->speedup_percent);
}

int sweep_plot(const char *rows_path, const char *path, struct error *error)
{
    struct charts charts = {.common = true};
    struct sweep_rows rows;
    size_t n_parts;
    if (sweep_rows_read(rows_path, &rows, error) != 0)
        return -1;
    uint64_t *parts = parts_find(&rows, &n_parts);
    if (rows.n > 0)
        qsort(rows.rows, rows.n, sizeof *rows.rows, compare_rows);
    for (size_t i = 0; i < rows.n; i++) {
        int shape = 1;
        if (i == 0 || compare_charts(&rows.rows[i - 1], &rows.rows[i]) != 0)
            chart_begin(&charts, &rows.rows[i]);
        while (shape < CHART_SHAPES && parts[shape - 1] != rows.rows[i].config.parts)
            shape++;
        add_row(&charts, &rows.rows[i], shape);
    }
    char *nothing = xasprintf("%s: no row of it has a speed-up: there is nothing to draw", rows_path);
    int result = charts_write(&charts, "Parts sent early, against BSP", rows_path, nothing, path, error);
    free(nothing);
    free(parts);
    sweep_rows_release(&rows);
    return result;
}
