/* Keeps the notes of the matrix program and has its main: see matrix.h. Usage: matrix NOTES, a path; rank r writes
 * NOTES.r:
 *
 *     call FUNCTION FILE LINE N        it was called N times there, and that must show
 *     sent DESTINATION TAG BYTES N     so many messages
 */
#include "tests/mpi/matrix/matrix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX 2000

struct call_note {
    const char *function, *file;
    int line;
    long n;
};

struct message_note {
    int destination, tag;
    size_t bytes;
    long n;
};

int matrix_rank, matrix_other;
static struct call_note calls[NOTES_MAX], tried;
static struct message_note messages[NOTES_MAX];
static int n_calls, n_messages;
static int64_t sum;

void matrix_must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "matrix: rank %d: %s\n", matrix_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

void matrix_did(const char *function, const char *file, int line)
{
    for (int i = 0; i < n_calls; i++)
        if (calls[i].line == line && strcmp(calls[i].file, file) == 0 && strcmp(calls[i].function, function) == 0) {
            calls[i].n++;
            return;
        }
    matrix_must(n_calls < NOTES_MAX, "too many calls to note");
    calls[n_calls++] = (struct call_note){function, file, line, 1};
}

void matrix_tried(const char *function, const char *file, int line)
{
    tried = (struct call_note){function, file, line, 0};
}

void matrix_found(void)
{
    matrix_did(tried.function, tried.file, tried.line);
}

void matrix_sent(int destination, int tag, size_t bytes)
{
    for (int i = 0; i < n_messages; i++)
        if (messages[i].destination == destination && messages[i].tag == tag && messages[i].bytes == bytes) {
            messages[i].n++;
            return;
        }
    matrix_must(n_messages < NOTES_MAX, "too many messages to note");
    messages[n_messages++] = (struct message_note){destination, tag, bytes, 1};
}

void matrix_fill(int *values, int n, int seed)
{
    for (int i = 0; i < n; i++)
        values[i] = seed * 1000 + i;
}

void matrix_check(const int *values, int n, int seed, const char *what)
{
    for (int i = 0; i < n; i++) {
        matrix_must(values[i] == seed * 1000 + i, what);
        sum += (int64_t)values[i] * (i + 1);
    }
}

static void write_notes(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, matrix_rank);
    FILE *file = fopen(name, "w");
    matrix_must(file != NULL, "cannot write the notes");
    for (int i = 0; i < n_calls; i++) {
        const char *slash = strrchr(calls[i].file, '/');
        fprintf(file, "call MPI_%s %s %d %ld\n", calls[i].function, slash ? slash + 1 : calls[i].file, calls[i].line,
                calls[i].n);
    }
    for (int i = 0; i < n_messages; i++)
        fprintf(file, "sent %d %d %zu %ld\n", messages[i].destination, messages[i].tag, messages[i].bytes,
                messages[i].n);
    matrix_must(fclose(file) == 0, "cannot write the notes");
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &matrix_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    matrix_must(size == 2 && argc == 2, "usage: mpiexec -n 2 matrix NOTES");
    matrix_other = 1 - matrix_rank;
    matrix_blocking();
    matrix_nonblocking();
    matrix_completion();
    matrix_persistent();
    matrix_probe();
    matrix_cancel();
    matrix_large();
    matrix_partitioned();
    write_notes(argv[1]);
    int64_t total = 0;
    MPI_Reduce(&sum, &total, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (matrix_rank == 0)
        printf("sum %" PRId64 "\n", total);
    MPI_Finalize();
    return 0;
}
