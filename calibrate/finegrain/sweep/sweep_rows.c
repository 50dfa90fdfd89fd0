/* The rows may come from anybody, so each value is held to the range that its option has. */
#include "calibrate/finegrain/sweep/sweep_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/memory.h"
#include "share/base/number.h"

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
    array_grow(&rows->rows, rows->n, sizeof row);
    rows->rows[rows->n++] = row;
    return 0;
}

int sweep_rows_read(const char *path, struct sweep_rows *rows, struct error *error)
{
    struct csv_column columns[N_COLUMNS];
    for (int i = 0; i < N_COLUMNS; i++)
        columns[i] = (struct csv_column){.name = column_name[i], .kind = i == RANKS ? CSV_U64 : CSV_TEXT};
    *rows = (struct sweep_rows){0};
    if (csv_read(path, columns, N_COLUMNS, rows_take_row, rows, error) == 0)
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
