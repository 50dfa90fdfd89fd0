/* Trusts no value: finegrain_row_write_csv wrote the rows, or somebody put them together, so each is held to the range
 * that its option has. */
#include "calibrate/finegrain/sweep/sweep_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/csv.h"
#include "share/base/number.h"

enum {
    COLUMN_INTERFACE,
    COLUMN_RMA,
    COLUMN_MPI,
    COLUMN_RANKS,
    COLUMN_PEERS,
    COLUMN_BYTES,
    COLUMN_THREADS,
    COLUMN_PARTS,
    COLUMN_COMPUTE,
    COLUMN_ARRIVALS,
    COLUMN_SEED,
    COLUMN_TRIALS,
    COLUMN_ITERATIONS,
    COLUMN_SPEEDUP,
    COLUMN_LOW,
    COLUMN_HIGH,
    COLUMN_VOID,
    N_COLUMNS,
};

/* Sets the options whose columns have their names. */
static int take_options(const union csv_value *values, struct finegrain_config *config, struct error *error)
{
    static const struct {
        const char *option;
        int column;
    } of[] = {{"interface", COLUMN_INTERFACE},  {"rma", COLUMN_RMA},         {"peers", COLUMN_PEERS},
              {"bytes", COLUMN_BYTES},          {"threads", COLUMN_THREADS}, {"parts", COLUMN_PARTS},
              {"compute", COLUMN_COMPUTE},      {"seed", COLUMN_SEED},       {"trials", COLUMN_TRIALS},
              {"iterations", COLUMN_ITERATIONS}};
    struct option_row rows[FINEGRAIN_ROWS];
    size_t n = finegrain_config_rows(config, rows);
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const char *text = values[of[i].column].text;
        if (of[i].column == COLUMN_RMA && text[0] == '\0')
            continue;
        for (size_t row = 0; row < n; row++)
            if (strcmp(rows[row].name, of[i].option) == 0 && option_set(&rows[row], text, error) != 0)
                return -1;
    }
    if (config->interface == FINEGRAIN_RMA && !config->rma_given)
        return error_set(error, "rma is empty; expected fence or passive with interface rma");
    return finegrain_config_check(config, error);
}

static int take_percent(const char *column, const char *text, double *percent, struct error *error)
{
    *percent = NAN;
    if (text[0] == '\0')
        return 0;
    const char *wrong = number_real(text, percent);
    return wrong == NULL ? 0 : error_set(error, "%s '%.40s' %s", column, text, wrong);
}

static int take_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    struct sweep_rows *rows = context;
    struct sweep_row row = {.line = line, .is_void = values[COLUMN_VOID].text[0] != '\0'};
    const char *arrivals = values[COLUMN_ARRIVALS].text, *mpi = values[COLUMN_MPI].text;
    finegrain_config_init(&row.config);
    row.config.arrivals = arrivals;
    row.ranks = values[COLUMN_RANKS].u64;
    if (take_options(values, &row.config, error) != 0 ||
        take_percent("speedup_percent", values[COLUMN_SPEEDUP].text, &row.speedup_percent, error) != 0 ||
        take_percent("speedup_low_percent", values[COLUMN_LOW].text, &row.low_percent, error) != 0 ||
        take_percent("speedup_high_percent", values[COLUMN_HIGH].text, &row.high_percent, error) != 0)
        return -1;
    if (arrivals[0] == '\0' || mpi[0] == '\0' || row.ranks == 0)
        return error_set(error, "%s",
                         arrivals[0] == '\0' ? "arrivals is empty"
                         : mpi[0] == '\0'    ? "mpi is empty"
                                             : "ranks 0, expected 1 or more");
    row.arrivals = strdup(arrivals);
    row.mpi = strdup(mpi);
    row.config.arrivals = row.arrivals;
    if (row.arrivals == NULL || row.mpi == NULL || array_grow(&rows->rows, rows->n, sizeof row) != 0) {
        free(row.arrivals);
        free(row.mpi);
        return error_set(error, "no memory for its rows");
    }
    rows->rows[rows->n++] = row;
    return 0;
}

int sweep_rows_read(const char *path, struct sweep_rows *rows, struct error *error)
{
    struct csv_column columns[N_COLUMNS] = {
        [COLUMN_INTERFACE] = {.name = "interface", .kind = CSV_TEXT},
        [COLUMN_RMA] = {.name = "rma", .kind = CSV_TEXT},
        [COLUMN_MPI] = {.name = "mpi", .kind = CSV_TEXT},
        [COLUMN_RANKS] = {.name = "ranks", .kind = CSV_U64},
        [COLUMN_PEERS] = {.name = "peers", .kind = CSV_TEXT},
        [COLUMN_BYTES] = {.name = "bytes", .kind = CSV_TEXT},
        [COLUMN_THREADS] = {.name = "threads", .kind = CSV_TEXT},
        [COLUMN_PARTS] = {.name = "parts", .kind = CSV_TEXT},
        [COLUMN_COMPUTE] = {.name = "compute_s", .kind = CSV_TEXT},
        [COLUMN_ARRIVALS] = {.name = "arrivals", .kind = CSV_TEXT},
        [COLUMN_SEED] = {.name = "seed", .kind = CSV_TEXT},
        [COLUMN_TRIALS] = {.name = "trials", .kind = CSV_TEXT},
        [COLUMN_ITERATIONS] = {.name = "iterations", .kind = CSV_TEXT},
        [COLUMN_SPEEDUP] = {.name = "speedup_percent", .kind = CSV_TEXT},
        [COLUMN_LOW] = {.name = "speedup_low_percent", .kind = CSV_TEXT},
        [COLUMN_HIGH] = {.name = "speedup_high_percent", .kind = CSV_TEXT},
        [COLUMN_VOID] = {.name = "void", .kind = CSV_TEXT},
    };
    *rows = (struct sweep_rows){0};
    if (csv_read(path, columns, N_COLUMNS, take_row, rows, error) == 0)
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
