/* A row is written by one write() and ends with its line, so what a kill leaves is whole rows and at most one
 * without an end. That is cut off before anything is read. */
#include "calibrate/finegrain/sweep/sweep_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate/finegrain/sweep/sweep_rows.h"

static const char header[] = FINEGRAIN_ROW_HEADER "\n";

static int write_error(const struct sweep_output *output, struct error *error)
{
    return error_set(error, "%s: cannot be written: %s", output->path, strerror(errno));
}

static int write_all(const struct sweep_output *output, const char *text, size_t length, struct error *error)
{
    while (length > 0) {
        ssize_t written = write(output->descriptor, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return write_error(output, error);
        text += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Returns the bytes up to the end of the last whole line of a file of that size, or -1. */
static off_t whole_lines(int descriptor, off_t size)
{
    char part[4096];
    while (size > 0) {
        size_t length = size < (off_t)sizeof part ? (size_t)size : sizeof part;
        if (pread(descriptor, part, length, size - (off_t)length) != (ssize_t)length)
            return -1;
        const char *end = memrchr(part, '\n', length);
        if (end != NULL)
            return size - (off_t)length + (end - part) + 1;
        size -= (off_t)length;
    }
    return 0;
}

struct known {
    const struct finegrain_config *config;
    size_t number, line; /* line of its row, 0: none */
};

static int compare_known(const void *left, const void *right)
{
    return sweep_compare(((const struct known *)left)->config, ((const struct known *)right)->config);
}

/* Notes which configuration a row is of. known: [n] sorted. */
static int take_row(struct sweep_output *output, const struct sweep_row *row, struct known *known, size_t n,
                    const char *mpi, struct error *error)
{
    const struct known wanted = {&row->config, 0, 0};
    struct known *found = bsearch(&wanted, known, n, sizeof *known, compare_known);
    if (found == NULL)
        return error_set(error,
                         "%s:%zu: this row is of no configuration of the sweep, but of another sweep file, seed or "
                         "option; give another file by -o, or remove the row",
                         output->path, row->line);
    if (found->line != 0)
        return error_set(error, "%s:%zu: this row is of the same configuration as line %zu; remove one of them",
                         output->path, row->line, found->line);
    if (strcmp(row->mpi, mpi) != 0)
        return error_set(error, "%s:%zu: this row is of %.40s, and the launcher is one of %s; give another file by -o",
                         output->path, row->line, row->mpi, mpi);
    if (output->ranks != 0 && output->ranks != row->ranks)
        return error_set(error, "%s:%zu: this row is of %llu ranks, those before of %llu; give another file by -o",
                         output->path, row->line, (unsigned long long)row->ranks, (unsigned long long)output->ranks);
    output->ranks = row->ranks;
    found->line = row->line;
    output->done[found->number] = true;
    output->n_done++;
    output->n_void += row->is_void;
    return 0;
}

static int take_rows(struct sweep_output *output, const struct sweep *sweep, const char *mpi, struct error *error)
{
    struct sweep_rows rows;
    if (sweep_rows_read(output->path, &rows, error) != 0)
        return -1;
    struct known *known = malloc((sweep->n + 1) * sizeof *known);
    int result = known == NULL ? error_set(error, "no memory for %zu configurations", sweep->n) : 0;
    for (size_t i = 0; known != NULL && i < sweep->n; i++)
        known[i] = (struct known){&sweep->configs[i], i, 0};
    if (known != NULL)
        qsort(known, sweep->n, sizeof *known, compare_known);
    for (size_t i = 0; result == 0 && i < rows.n; i++)
        result = take_row(output, &rows.rows[i], known, sweep->n, mpi, error);
    free(known);
    sweep_rows_release(&rows);
    return result;
}

/* Says whether the file begins with the header of results, or with as much of it as there is. */
static bool has_header(int descriptor, off_t size)
{
    char first[sizeof header];
    size_t length = size < (off_t)sizeof header - 1 ? (size_t)size : sizeof header - 1;
    return pread(descriptor, first, length, 0) == (ssize_t)length && memcmp(first, header, length) == 0;
}

/* Cuts off a line without an end and takes the rows. A file that is refused stays as it was. */
static int take_whole_rows(struct sweep_output *output, const struct sweep *sweep, const char *mpi, off_t whole,
                           off_t size, struct error *error)
{
    size_t length = (size_t)(size - whole);
    char *cut = malloc(length + 1);
    if (cut == NULL || pread(output->descriptor, cut, length, whole) != (ssize_t)length) {
        free(cut);
        return error_set(error, "%s: no memory for its last line, or it cannot be read", output->path);
    }
    int result = length > 0 && ftruncate(output->descriptor, whole) != 0 ? write_error(output, error) : 0;
    if (result == 0 && whole > 0 && take_rows(output, sweep, mpi, error) != 0) {
        struct error ignored;
        write_all(output, cut, length, &ignored);
        result = -1;
    }
    free(cut);
    return result;
}

/* Takes the rows there are, or begins the file. A device or pipe has none. */
static int begin(struct sweep_output *output, const struct sweep *sweep, const char *mpi, struct error *error)
{
    struct stat status;
    off_t whole = 0;
    if (fstat(output->descriptor, &status) != 0)
        return write_error(output, error);
    if (S_ISREG(status.st_mode)) {
        if (!has_header(output->descriptor, status.st_size))
            return error_set(error,
                             "%s:1: expected the header of results of mpistair finegrain; give another file by -o",
                             output->path);
        whole = whole_lines(output->descriptor, status.st_size);
        if (whole < 0)
            return error_set(error, "%s: cannot be read: %s", output->path, strerror(errno));
        if (take_whole_rows(output, sweep, mpi, whole, status.st_size, error) != 0)
            return -1;
    }
    return whole > 0 ? 0 : write_all(output, header, sizeof header - 1, error);
}

int sweep_output_open(struct sweep_output *output, const char *path, const struct sweep *sweep, const char *mpi,
                      struct error *error)
{
    *output = (struct sweep_output){.path = path};
    output->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
    if (output->descriptor < 0)
        return write_error(output, error);
    int result = 0;
    if (flock(output->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        result = error_set(error, "%s: another sweep writes it; wait for it, or give another file by -o", path);
    output->done = result == 0 ? calloc(sweep->n + 1, sizeof *output->done) : NULL;
    if (result == 0 && output->done == NULL)
        result = error_set(error, "no memory for %zu configurations", sweep->n);
    if (result == 0)
        result = begin(output, sweep, mpi, error);
    if (result != 0)
        sweep_output_close(output);
    return result;
}

int sweep_output_add(struct sweep_output *output, size_t config, const struct finegrain_row *row, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    if (output->ranks != 0 && output->ranks != (uint64_t)row->ranks)
        return error_set(error, "%s: its rows are of %llu ranks, and the launcher starts %d; give another file by -o",
                         output->path, (unsigned long long)output->ranks, row->ranks);
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return error_set(error, "no memory");
    finegrain_row_write_csv(stream, row);
    int result = fclose(stream) != 0 ? error_set(error, "no memory") : write_all(output, text, size, error);
    free(text);
    /* Pipes and devices cannot be synchronised. */
    if (result == 0 && fdatasync(output->descriptor) != 0 && errno != EINVAL && errno != EROFS)
        result = write_error(output, error);
    if (result != 0)
        return -1;
    output->ranks = (uint64_t)row->ranks;
    output->done[config] = true;
    output->n_done++;
    output->n_void += row->void_reason[0] != '\0';
    return 0;
}

void sweep_output_close(struct sweep_output *output)
{
    if (output->descriptor >= 0)
        close(output->descriptor);
    output->descriptor = -1;
    free(output->done);
    output->done = NULL;
}
