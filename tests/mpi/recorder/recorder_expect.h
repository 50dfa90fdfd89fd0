/* Writes down what a test program of the recorder says that it did: a line an operation, for the driver to hold against
 * its spool. */
#ifndef MPISTAIR_TESTS_RECORDER_EXPECT_H
#define MPISTAIR_TESTS_RECORDER_EXPECT_H

#include <mpi.h>

/* Repeats the flags of interpose/spool/event.h, so that a change there does not pass unseen. */
enum {
    BLOCKING = 1,
    WILD_SOURCE = 2,
    WILD_TAG = 4,
    FAILED = 16,
    CANCELLED = 32,
    SECOND = 128,
    STARTED = 256,
    OFF = 2048,
    FREED = 4096,
    TOOK = 8192,
    HELD = 16384
};

/* Opens the file of this rank in the folder RECORDER_EXPECT. */
void expect_open(int rank);
void expect_close(void);

/* Notes one operation in the order of posting; peer -1: MPI_PROC_NULL, -3: not known. */
void expect(const char *function, const char *direction, int comm, int peer, int tag, long long bytes, int complete,
            int flags);

/* Notes a number that does not depend on the recorder. */
void expect_number(const char *what, long long number);

/* Says that the case is not for this MPI. */
void expect_skip(const char *reason);

/* Stops the test with a message where a condition does not hold. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            expect_failed(__FILE__, __LINE__, #condition);                                                             \
    } while (0)
void expect_failed(const char *file, int line, const char *condition);

/* Run the cases. rank and size are of MPI_COMM_WORLD, size is 2. */
void case_handles(int rank);
void case_wildcards(int rank);
void case_null(int rank);
void case_communicators(int rank);
void case_many(int rank);
void case_errors(int rank);
void case_datatypes(int rank);
void case_cancel(int rank);
void case_threads(int rank);
void case_finalize(int rank);
void case_fork(int rank);
void case_exit(int rank);
void case_abort(int rank);
void case_kill(int rank);
void case_flood(int rank);
void case_collectives(int rank);
void case_probes(int rank);
void case_nonblocking(int rank);
void case_rma(int rank);
void case_internal(int rank);
void case_idup(int rank);
void case_started_collectives(int rank);
void case_partitioned(int rank);
void case_persistent(int rank);
void case_isendrecv(int rank);
void case_reported(int rank);
void case_control(int rank);
void case_untouched(int rank);

#endif
