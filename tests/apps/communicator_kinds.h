/* Makes communicators of every kind, each under a label, with an exchange on each that writes down what arrived. */
#ifndef MPISTAIR_APPS_COMMUNICATORS_H
#define MPISTAIR_APPS_COMMUNICATORS_H

#include <mpi.h>

/* Gives comm a name of its own, writes down who is in it, and lets all its members send to each other; in an
 * intercommunicator those of each group send to those of the other. Every label has messages of another size, and all
 * have one tag, so that messages of two communicators that were taken for one do not fit. known is 0 where the recorder
 * did not see it being made. MPI_COMM_NULL is ignored. */
void exchange_on(MPI_Comm comm, const char *label, int known);
/* Exchanges on the communicator as exchange_on does, and frees it. */
void exchange_and_free(MPI_Comm *comm, const char *label);

/* Lets threads create communicators at once, each on a parent of its own. */
void threads_create(int rank);

/* Aborts the job where the condition does not hold. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            required(__FILE__, __LINE__, #condition);                                                                  \
    } while (0)
void required(const char *file, int line, const char *condition);

#endif
