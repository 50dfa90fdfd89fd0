/* Families file_open, file_close, file, file_all, file_request, file_request_all record calls on files as timed calls,
 * with the bytes that they ask for.
 *
 * A file is numbered in this process and belongs to the communicator that opened it. Families with _all are collective
 * over it. The two halves of a split collective are a call each; the first has the bytes. */
#ifndef MPISTAIR_BACKEND_FILE_H
#define MPISTAIR_BACKEND_FILE_H

#include "interpose/backend/family/access.h"

struct file_arguments {
    MPI_File file;
    int64_t offset; /* -1: the call has none */
    int64_t count;
    MPI_Datatype datatype;
};

void file_begin(struct access_call *file, enum mpistair_function function, uint64_t site,
                const struct file_arguments *arguments);
void file_end(struct access_call *file, int result);
void file_request_end(struct access_call *file, int result, const MPI_Request *request);

void file_open_begin(struct access_call *file, enum mpistair_function function, uint64_t site, MPI_Comm comm);
void file_open_end(struct access_call *file, int result, const MPI_File *opened);

void file_close_begin(struct access_call *file, enum mpistair_function function, uint64_t site, const MPI_File *closed);
void file_close_end(struct access_call *file, int result);

#endif
