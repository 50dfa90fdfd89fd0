/* Reads what a calibration leaves: samples, from which tables are fitted, and unfinished ones, which are continued. */
#include "share/base/command.h"
#include "calibrate/job/raw_file.h"
#include "tests/fuzz/fuzz_readers.h"
#include "calibrate/measure/resume.h"

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
