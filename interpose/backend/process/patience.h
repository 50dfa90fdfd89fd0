/* Says why a job stands still at MPI_Init: the recorder's agreement on the run is collective, so a process that was
 * started without the preload library keeps all others waiting, and nobody would know. */
#ifndef MPISTAIR_BACKEND_PATIENCE_H
#define MPISTAIR_BACKEND_PATIENCE_H

#include <pthread.h>

struct patience {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done_changed;
    int done;
    int watched; /* a thread runs */
    int rank, size;
};

/* Prints a line on stderr if patience_end does not come within PATIENCE_S seconds from here on. */
#define PATIENCE_S 10
void patience_begin(struct patience *patience, int rank, int size);
void patience_end(struct patience *patience);

#endif
