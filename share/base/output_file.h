/* Output that replaces what was there only once it is complete: written beside, then renamed. */
#ifndef MPISTAIR_BASE_OUTPUT_FILE_H
#define MPISTAIR_BASE_OUTPUT_FILE_H

#include <stdio.h>

#include "share/base/error.h"

struct output_file {
    FILE *stream;
    char *path;      /* the final one; NULL: standard output */
    char *temporary; /* beside it, where the stream writes; NULL: path is no file, and written to itself */
};

/* Opens a temporary file beside path; path NULL or "-" is standard output, a device or pipe is opened itself. 0, or -1
 * with the reason. */
int output_file_open(struct output_file *file, const char *path, struct error *error);
/* Flushes, syncs to the file system, renames. 0, or -1 with the reason (disk full, ...), the temporary file gone and
 * whatever stood at path unchanged. The file is released either way. */
int output_file_commit(struct output_file *file, struct error *error);
/* Throws the temporary file away. */
void output_file_discard(struct output_file *file);

#endif
