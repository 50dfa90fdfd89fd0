/* What a call reads or writes is known from its arguments; a read at the end of a file may give less. See file.h. */
#include "interpose/backend/family/file.h"

#include "interpose/backend/table/datatype.h"

static struct object_sort files = {.live = LIVE_TABLE_INITIALIZER, .sort = ACCESS_FILE};

void file_begin(struct access_call *file, enum mpistair_function function, uint64_t site,
                const struct file_arguments *arguments)
{
    if (access_begin(file, &files, function, site, HANDLE_KEY(arguments->file)))
        access_publish(file, -1, elements_bytes(arguments->count, arguments->datatype),
                       arguments->offset >= 0 ? arguments->offset : -1);
}

void file_end(struct access_call *file, int result)
{
    access_end(file, result);
}

void file_request_end(struct access_call *file, int result, const MPI_Request *request)
{
    access_request_end(file, result, request);
}

void file_open_begin(struct access_call *file, enum mpistair_function function, uint64_t site, MPI_Comm comm)
{
    access_create_begin(file, &files, function, site, comm);
}

void file_open_end(struct access_call *file, int result, const MPI_File *opened)
{
    access_create_end(file, &files, result, result == MPI_SUCCESS ? HANDLE_KEY(*opened) : 0);
}

void file_close_begin(struct access_call *file, enum mpistair_function function, uint64_t site, const MPI_File *closed)
{
    access_free_begin(file, &files, function, site, closed ? HANDLE_KEY(*closed) : 0);
}

void file_close_end(struct access_call *file, int result)
{
    access_free_end(file, &files, result);
}
