/* Keeps what live handles of one kind (messages, windows) stand for: a number that is not 0, or a pointer.
 *
 * Looking up, adding and taking out need no lock. Only where a handle stands for several things at once, as
 * MPI_MESSAGE_NO_PROC does, those after the first wait in a list under a lock, first in, first out. */
#ifndef MPISTAIR_BACKEND_LIVE_TABLE_H
#define MPISTAIR_BACKEND_LIVE_TABLE_H

#include <pthread.h>

#include "interpose/backend/table/handle_table.h"

struct live_handle {
    uint64_t key;
    void *value;
};

struct live_table {
    struct handle_table first;
    struct live_handle *more; /* values of handles that had a value already */
    size_t n_more, room;
    pthread_mutex_t lock; /* guards more */
};

#define LIVE_TABLE_INITIALIZER                                                                                         \
    {                                                                                                                  \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                                              \
    }

/* Adds a value (not NULL) of the handle. Returns 0, or -1 (no memory). */
int live_table_put(struct live_table *table, uint64_t key, void *value);

/* Return a value of the handle, which stays or is taken out; NULL if there is none. */
void *live_table_get(struct live_table *table, uint64_t key);
void *live_table_take(struct live_table *table, uint64_t key);

#endif
