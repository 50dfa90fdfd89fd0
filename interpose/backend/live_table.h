/* What live handles of one kind (messages, windows) stand for: few at a time, searched from the newest. */
#ifndef MPISTAIR_BACKEND_LIVE_TABLE_H
#define MPISTAIR_BACKEND_LIVE_TABLE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct live_handle {
    uint64_t key;
    uint64_t value; /* not 0 */
};

struct live_table {
    struct live_handle *live;
    size_t n, room;
    pthread_mutex_t lock;
};

#define LIVE_TABLE_INITIALIZER                                                                                         \
    {                                                                                                                  \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                                              \
    }

/* Adds a handle, which may be there already: MPI_MESSAGE_NO_PROC. Returns 0, or -1 (no memory). */
int live_table_put(struct live_table *table, uint64_t key, uint64_t value);

/* The value of the handle, which stays or is taken out; the first that was put. 0: not known. */
uint64_t live_table_get(struct live_table *table, uint64_t key);
uint64_t live_table_take(struct live_table *table, uint64_t key);

#endif
