/* Output files that replace an older file only when complete: written beside it, then renamed. */
#ifndef MPISTAIR_BASE_OUTPUT_FILE_H
#define MPISTAIR_BASE_OUTPUT_FILE_H

#include <signal.h>
#include <stdio.h>

#include "share/base/error.h"

/* How a command writes; few know HTML. FORMAT_NOT_GIVEN is for the user to say. */
enum output_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_NOT_GIVEN };

struct output_file {
    FILE *stream;
    char *path;      /* the final path; NULL: standard output */
    char *temporary; /* path beside it, where the stream writes; NULL: path is no regular file, and written directly */
};

/* Opens a temporary file beside path; path NULL or "-" is standard output, a device or pipe is opened itself. Returns
 * 0, or -1 with the reason. */
int output_file_open(struct output_file *file, const char *path, struct error *error);
/* The same with the temporary file in a folder of the same file system, as OUTPUT_UNFINISHED and six letters: where a
 * SIGKILL leaves it, it can be told from other files. folder NULL: beside path. */
int output_file_open_in(struct output_file *file, const char *path, const char *folder, struct error *error);
#define OUTPUT_UNFINISHED "unfinished-"
/* Returns 0, or -1 with the reason if something written so far failed; then the file is only to be discarded. */
int output_file_check(struct output_file *file, struct error *error);
/* Flushes, syncs to the file system, renames. Returns 0, or -1 with the reason (disk full, ...); then the temporary
 * file is removed and whatever stood at path is unchanged. The file is released either way. */
int output_file_commit(struct output_file *file, struct error *error);
/* Sets the reason why a stream could not be written. errno may belong to another call by then, so the stream gets one
 * more space, and the reason is why that fails. name: what the stream's reader knows it by. The stream is emptied and
 * its error cleared, so that the failure is reported once. Returns -1. */
int output_failed(FILE *stream, const char *name, struct error *error);
/* Throws the temporary file away. */
void output_file_discard(struct output_file *file);
/* Ends a file that work wrote: commits it if result is 0, else discards it. Returns 0, or -1 with the reason, which is
 * the work's own where that failed. */
int output_file_end(struct output_file *file, int result, struct error *error);

/* Opens PREFIX with each of suffixes[n]: all files, or none. Returns 0, or -1 with the reason. */
int output_files_open(struct output_file *files, const char *prefix, const char *const *suffixes, size_t n,
                      struct error *error);
/* Ends each as output_file_end, with the first of their results. */
int output_files_end(struct output_file *files, size_t n, int result, struct error *error);

/* Has a signal that ends the process remove a file that is complete, while what it belongs to is not, until
 * output_file_keep. The path must stay as it is; there need not be a file yet. */
void output_file_remove_by_signal(const char *path);
void output_file_keep(const char *path);
/* Holds these signals back, until held is given to output_file_let_signals. */
void output_file_hold_signals(sigset_t *held);
void output_file_let_signals(const sigset_t *held);

/* Removes all temporary files there are. Only for handlers of signals that end the process: SIGINT, SIGTERM and SIGHUP
 * have one of their own while an output file is open, unless the program handles or ignores them. */
void output_file_remove_all(void);

#endif
