/* Keeps the raw samples of a calibration while they are measured: in FILE.part beside FILE, which it replaces once
 * complete.
 *
 * It is CSV with comment lines, and a calibration can go on with it after any end:
 *
 *   # mpistair calibrate 1
 *   # asked launcher mpiexec -n 8           what identifies the calibration (calibration.h):
 *   # asked seconds 57                      it is continued only by the same
 *   # begin curves 1 19.5                   program, launch, seconds that it got
 *   # ranks 8                               a note (notes.h)
 *   benchmark,variant,level,...             header, once
 *   pingpong,,intra_socket,...              samples
 *   # probe curves 1 1.1 1.2e-07 ...        what the machine was like since the last probe (probing.h)
 *   # done curves 1 17.2                    program, launch, seconds that it took
 *
 * Lines are appended as they come and flushed by raw_file_flush(); a line that was cut off is removed when a later
 * calibration continues. The file is locked (flock) as long as it is open. */
#ifndef MPISTAIR_CALIBRATE_RAW_FILE_H
#define MPISTAIR_CALIBRATE_RAW_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "share/base/error.h"
#include "calibrate/samples/notes.h"

/* One program of one launch. */
struct stage {
    char program[24];
    unsigned launch;
    double seconds; /* the time that it was given */
    double spent_s; /* the time that it has taken, in all its runs; while it is not done, the largest at_s of its
                     * samples */
    size_t n_samples;
    bool done;
};

struct raw_file {
    char path[PATH_MAX];
    char part[PATH_MAX + 8];
    FILE *stream;
    char *header; /* header of the samples; NULL: not known yet */
    struct text_list asked;
    struct notes notes;
    struct stage *stages; /* [n_stages]; the last one that was begun is the one written to */
    size_t n_stages;
    size_t current;
    size_t n_samples;
    bool continued; /* there were samples already */
};

/* Opens PATH.part, continues it where it holds samples and was asked the same, else begins it. Returns 0, or -1 with
 * the reason in error: not writable, locked by another calibration, asked something else (restart: begin anew instead),
 * not what a calibration leaves. */
int raw_file_open(struct raw_file *raw, const char *path, const struct text_list *asked, bool restart,
                  struct error *error);

/* Returns the stage, NULL if it was never begun. */
const struct stage *raw_file_stage(const struct raw_file *raw, const char *program, unsigned launch);
/* Begins a stage, or goes on with it: what comes now belongs to it. This and the next functions return 0, or -1 with
 * the reason. */
int raw_file_begin(struct raw_file *raw, const char *program, unsigned launch, double seconds, struct error *error);
int raw_file_done(struct raw_file *raw, double spent_s, struct error *error);
/* Takes a line of a program's CSV, header or sample. Returns 1 if it is kept; 0 if it is none of the current stage, or
 * cut off. */
int raw_file_line(struct raw_file *raw, const char *line, struct error *error);
int raw_file_note(struct raw_file *raw, const char *text, struct error *error);
int raw_file_flush(struct raw_file *raw, struct error *error);

/* Renames it to its final name and closes it. */
int raw_file_commit(struct raw_file *raw, struct error *error);
/* Renames it to FILE.disturbed, which is path from then on: it is not continued, and FILE stays. */
int raw_file_set_aside(struct raw_file *raw, struct error *error);
/* Closes it and leaves it for the next time, or removes it where it holds no samples. Returns true if it is there to be
 * continued. Does nothing where it is not open. */
bool raw_file_leave(struct raw_file *raw);
void raw_file_release(struct raw_file *raw);

#endif
