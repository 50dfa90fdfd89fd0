/* Reads what a calibration leaves: samples, from which tables are fitted, and unfinished ones, which are continued; the
 * times of threads that a benchmark takes; its sweeps and their results. */
#include <math.h>
#include <string.h>

#include "report/command/commands.h"
#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "calibrate/samples/raw_file.h"
#include "calibrate/finegrain/sweep/sweep.h"
#include "tests/fuzz/fuzz_readers.h"
#include "calibrate/samples/resume.h"

void read_samples(const uint8_t *data, size_t size)
{
    const char *path = scratch_file("RAW.csv", data, size);
    const char *fitted = scratch_path("fitted.tbl");
    command(cmd_machine, "fit", path, "--name", "n", "--method", "ols", "--statistic", "min", "-o", fitted, NULL);
    if (command(cmd_machine, "fit", path, "--name", "n", "-o", fitted, NULL) == 0 &&
        command(cmd_machine, "check", fitted, "--raw", path, NULL) != 0)
        __builtin_trap(); /* a table of ours that we do not read */
}

void read_memory_samples(const uint8_t *data, size_t size)
{
    const char *path = scratch_file("MEMORY.csv", data, size);
    const char *fitted = scratch_path("memory.tbl");
    if (command(cmd_machine, "fit", path, "--memory", "--name", "n", "-o", fitted, NULL) == 0 &&
        (command(cmd_machine, "check", fitted, NULL) != 0 || command(cmd_machine, "show", fitted, NULL) != 0))
        __builtin_trap(); /* a table of ours that we do not read */
}

void read_raw_file(const uint8_t *data, size_t size)
{
    struct raw_file raw;
    struct error error;
    struct text_list asked = {0};
    scratch_file("raw.csv.part", data, size);
    if (raw_file_open(&raw, scratch_path("raw.csv"), &asked, false, &error) != 0)
        return;
    raw_file_stage(&raw, "curves", 1);
    if (raw_file_begin(&raw, "curves", 1, 1.5, &error) == 0 && raw_file_note(&raw, "note", &error) == 0)
        raw_file_flush(&raw, &error);
    raw_file_leave(&raw);
    raw_file_release(&raw);
}

void read_resume(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"pingpong", "algorithm1"};
    struct resume resume;
    struct error error;
    if (resume_read(scratch_file("resume.csv", data, size), names, 2, 1, &resume, &error) == 0)
        resume_release(&resume);
}

/* Draws times of a few threads: all of them are times that a thread can sleep. */
static void check_draws(const struct arrivals *arrivals, uint32_t n_ranks, size_t n_threads)
{
    double seconds[8];
    for (uint64_t iteration = 0; iteration < 3; iteration++)
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            if (arrivals_draw(arrivals, 1, iteration, rank, n_threads, seconds) != 0)
                __builtin_trap();
            for (size_t t = 0; t < n_threads; t++)
                if (!(seconds[t] >= 0 && isfinite(seconds[t])))
                    __builtin_trap();
        }
}

void read_arrivals(const uint8_t *data, size_t size)
{
    struct arrivals_request request = {.kind = ARRIVAL_KDE, .path = scratch_file("arrivals.csv", data, size)};
    struct arrivals *arrivals;
    struct error error;
    if (arrivals_open(&request, 0, &arrivals, &error) == 0) {
        check_draws(arrivals, 2, 8);
        arrivals_close(arrivals);
    }
    request.kind = ARRIVAL_FIXED;
    if (arrivals_open(&request, 0, &arrivals, &error) != 0)
        return;
    for (size_t n_threads = 1; n_threads <= 8; n_threads++)
        for (uint32_t n_ranks = 1; n_ranks <= 2; n_ranks++) {
            if (arrivals_check(arrivals, n_ranks, n_threads, &error) != 0)
                continue;
            check_draws(arrivals, n_ranks, n_threads);
            struct arrivals_request of_dump = {.kind = ARRIVAL_FIXED, .path = scratch_path("dumped.csv")};
            struct arrivals *again;
            if (arrivals_dump(arrivals, of_dump.path, 1, 2, n_ranks, n_threads, &error) != 0 ||
                arrivals_open(&of_dump, 0, &again, &error) != 0)
                __builtin_trap(); /* times of ours that we do not read */
            arrivals_close(again);
        }
    arrivals_close(arrivals);
}

void read_sweep(const uint8_t *data, size_t size)
{
    struct finegrain_config base;
    struct sweep sweep;
    struct error error;
    finegrain_config_init(&base);
    if (sweep_read(scratch_file("sweep.txt", data, size), &base, &sweep, &error) != 0)
        return;
    for (size_t i = 0; i < sweep.n; i++)
        if (finegrain_config_check(&sweep.configs[i].config, &error) != 0 ||
            (i > 0 && strcmp(sweep.configs[i - 1].key, sweep.configs[i].key) == 0))
            __builtin_trap();
    sweep_release(&sweep);
}

void read_sweep_rows(const uint8_t *data, size_t size)
{
    struct sweep_rows rows;
    struct error error;
    if (sweep_rows_read(scratch_file("rows.csv", data, size), &rows, &error) != 0)
        return;
    for (size_t i = 0; i < rows.n; i++)
        if (finegrain_config_check(&rows.rows[i].config, &error) != 0 || isinf(rows.rows[i].speedup_percent))
            __builtin_trap();
    sweep_rows_release(&rows);
}
