/* Helps a program that calls every point-to-point operation of MPI and says what it did, so that a trace can be held
 * against it: each call with its line (CALL), each message with its sender (matrix_sent).
 *
 * There are two ranks; rank 0 sends, rank 1 receives, where nothing else is said. Every payload is checked at the
 * receiver and goes into a sum that rank 0 prints, which must be the same with and without a recorder. */
#ifndef MPISTAIR_TESTS_MATRIX_H
#define MPISTAIR_TESTS_MATRIX_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Calls MPI_NAME and notes it with file and line; each on one line of the source. */
#define CALL(name, arguments) (matrix_did(#name, __FILE__, __LINE__), MPI_##name arguments)

/* Does the same only where the program says that it must be in the trace: tests and probes that find nothing are not.
 */
#define TRY(name, arguments) (matrix_tried(#name, __FILE__, __LINE__), MPI_##name arguments)

#define MATRIX_MAX 256 /* elements of a buffer */

void matrix_did(const char *function, const char *file, int line);
void matrix_tried(const char *function, const char *file, int line);
/* The last call noted by TRY did report something. */
void matrix_found(void);

/* Notes a message that this rank sends: destination is in MPI_COMM_WORLD. */
void matrix_sent(int destination, int tag, size_t bytes);

extern int matrix_rank, matrix_other;

/* Fills values[n] with contents that depend on seed. */
void matrix_fill(int *values, int n, int seed);
/* Ends the program unless values[n] are those of the seed; adds them to the sum. */
void matrix_check(const int *values, int n, int seed, const char *what);
/* Ends the program unless ok. */
void matrix_must(int ok, const char *what);

void matrix_blocking(void);
void matrix_nonblocking(void);
void matrix_completion(void);
void matrix_persistent(void);
void matrix_probe(void);
void matrix_cancel(void);
void matrix_large(void);
void matrix_partitioned(void);

#endif
