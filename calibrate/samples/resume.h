/* Reads back the samples of an interrupted calibration, so that it goes on instead of starting anew.
 *
 * The file is what the programs wrote (MEASURE_CSV_HEADER), this and other benchmarks, perhaps cut off in its last
 * line, with the remarks of `mpistair calibrate` between (`#`). Its columns are found by their names; fields are not
 * quoted. */
#ifndef MPISTAIR_CALIBRATE_RESUME_H
#define MPISTAIR_CALIBRATE_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "calibrate/machine/machine.h"

struct resume_row {
    char benchmark[16];
    char variant[32];
    char ranks[256];
    char domain[16];
    enum level level;
    uint64_t bytes;
    uint64_t n;
    uint64_t count;
    double seconds;
    double waited; /* NaN: not known */
    bool disturbed;
};

struct resume {
    struct resume_row *rows; /* [n_rows], in the order of the file */
    size_t n_rows;
    double spent_s; /* largest at_s */
};

/* Takes the rows of the benchmarks of these names[n_names] and of that launch, except those that were disturbed
 * (probing.h), which are to be measured again; their time is spent. A file without rows leaves an empty resume. Returns
 * 0 and *resume for resume_release; or -1 with file:line: not readable, no header before the rows, a column missing, a
 * row of these benchmarks that is none. */
int resume_read(const char *path, const char *const *names, size_t n_names, unsigned launch, struct resume *resume,
                struct error *error);
void resume_release(struct resume *resume);

#endif
