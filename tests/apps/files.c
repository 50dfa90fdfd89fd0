/* files writes and reads a file in every way that MPI has, and notes what it did.
 *
 *     files FOLDER
 *
 * A rank leaves FOLDER/calls-RANK.csv: of each call its function, the bytes that it asked for, whether it failed, and
 * between which two lengths it took, from its begin until it, or the call that reported its request, had returned. */
#include "tests/apps/app.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ELEMENTS = 3000, PAUSE_MS = 5 };

static FILE *notes;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void note(const char *function, size_t bytes, int result, double least_s, double begin_s)
{
    fprintf(notes, "%s,%zu,%d,%.9f,%.9f\n", function, bytes, result != MPI_SUCCESS, least_s, now_s() - begin_s);
}

/* Makes a call and notes it. */
#define CALL(name, bytes, arguments)                                                                                   \
    do {                                                                                                               \
        double call_begin_s = now_s();                                                                                 \
        int call_result = MPI_##name arguments;                                                                        \
        note("MPI_" #name, bytes, call_result, 0, call_begin_s);                                                       \
    } while (0)

/* Does the same with one whose request is waited for after a pause. */
#define REQUEST(name, bytes, arguments)                                                                                \
    do {                                                                                                               \
        double call_begin_s = now_s();                                                                                 \
        int call_result = MPI_##name arguments;                                                                        \
        finish("MPI_" #name, bytes, call_result, call_begin_s, &request);                                              \
    } while (0)

static void finish(const char *function, size_t bytes, int result, double begin_s, MPI_Request *request)
{
    static int n;
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    int done = 0;
    if (result != MPI_SUCCESS || *request == MPI_REQUEST_NULL) {
        note(function, bytes, result, 0, begin_s);
        return;
    }
    nanosleep(&pause, NULL);
    if (n++ % 2 == 0)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    else
        while (!done)
            MPI_Testall(1, request, &done, MPI_STATUSES_IGNORE);
    note(function, bytes, result, 1e-3 * PAUSE_MS, begin_s);
}

static void open_file(const char *folder, const char *name, MPI_Comm comm, int mode, MPI_File *file)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CALL(File_open, 0, (comm, path, mode, MPI_INFO_NULL, file));
}

static void write_and_read(MPI_File file, int *data, int rank)
{
    const size_t bytes = ELEMENTS * sizeof *data;
    const MPI_Offset own = (MPI_Offset)rank * ELEMENTS;
    MPI_Request request;
    CALL(File_set_view, 0, (file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CALL(File_write_at, bytes, (file, own, data, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE));
    CALL(File_write_at_all, bytes, (file, own, data, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE));
    CALL(File_seek, 0, (file, own, MPI_SEEK_SET));
    CALL(File_write, bytes, (file, data, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE));
    CALL(File_seek, 0, (file, own, MPI_SEEK_SET));
    CALL(File_write_all, 0, (file, data, 0, MPI_INT, MPI_STATUS_IGNORE));
    REQUEST(File_iwrite_at, bytes, (file, own, data, ELEMENTS, MPI_INT, &request));
    REQUEST(File_iread_at, sizeof *data, (file, own, data, 1, MPI_INT, &request));
    REQUEST(File_iwrite_at_all, bytes, (file, own, data, ELEMENTS, MPI_INT, &request));
    REQUEST(File_iread_at_all, bytes, (file, own, data, ELEMENTS, MPI_INT, &request));
    CALL(File_write_at_all_begin, bytes, (file, own, data, ELEMENTS, MPI_INT));
    CALL(File_write_at_all_end, 0, (file, data, MPI_STATUS_IGNORE));
    CALL(File_read_at_all_begin, bytes, (file, own, data, ELEMENTS, MPI_INT));
    CALL(File_read_at_all_end, 0, (file, data, MPI_STATUS_IGNORE));
    CALL(File_sync, 0, (file));
    CALL(File_read_at, 2 * sizeof *data, (file, own, data, 2, MPI_INT, MPI_STATUS_IGNORE));
}

static void note_all(const char *folder, int rank)
{
    char path[PATH_MAX];
    MPI_File file = MPI_FILE_NULL;
    MPI_Comm comm;
    int *data = app_allocate(ELEMENTS, sizeof *data);
    snprintf(path, sizeof path, "%s/calls-%d.csv", folder, rank);
    notes = fopen(path, "w");
    if (!notes)
        app_fail("%s: cannot be written", path);
    open_file(folder, "missing/file", MPI_COMM_WORLD, MPI_MODE_RDONLY, &file);
    CALL(File_read, sizeof *data, (MPI_FILE_NULL, data, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    open_file(folder, "shared", comm, MPI_MODE_CREATE | MPI_MODE_RDWR, &file);
    MPI_Comm_free(&comm);
    write_and_read(file, data, rank);
    CALL(File_close, 0, (&file));
    snprintf(path, sizeof path, "own-%d", rank);
    open_file(folder, path, MPI_COMM_SELF, MPI_MODE_CREATE | MPI_MODE_WRONLY, &file);
    CALL(File_write, sizeof *data, (file, data, 1, MPI_INT, MPI_STATUS_IGNORE));
    CALL(File_close, 0, (&file));
    fclose(notes);
    free(data);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 2)
        app_fail("usage: files FOLDER");
    note_all(argv[1], app_rank());
    MPI_Finalize();
    return 0;
}
