/* A few ranks at a time are taken off a counter, by the threads and by the caller that waits. There are two sets of
 * results: one is taken while the other one is filled. */
#include "interpose/trace/stream/ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "share/base/memory.h"

/* Ranks are taken in about so many portions a thread: threads end a window at about the same time. */
enum { READERS_MOST = 64, PORTIONS = 8 };

struct ahead {
    struct rank_reading *readings; /* [n_ranks] */
    size_t n_ranks;
    size_t portion;               /* ranks that are taken at a time */
    struct rank_window *found[2]; /* [n_ranks] each */
    unsigned filling;             /* index of the one that is filled, or was filled last */
    struct window window;
    atomic_size_t next; /* rank to be read next; not below n_ranks: none, then what stands above may change */
    pthread_t threads[READERS_MOST];
    size_t n_threads;
    pthread_mutex_t lock;
    pthread_cond_t begun, done;
    /* The lock guards what follows. */
    size_t n_windows; /* that were begun */
    size_t n_read;    /* ranks that are read of this one */
    bool ended;
};

/* Reads ranks of the window until all are taken. */
static void read_ranks(struct ahead *ahead)
{
    for (;;) {
        size_t first = atomic_fetch_add(&ahead->next, ahead->portion), end = first + ahead->portion;
        if (first >= ahead->n_ranks)
            return;
        end = end < ahead->n_ranks ? end : ahead->n_ranks;
        for (size_t rank = first; rank < end; rank++)
            reading_take(&ahead->readings[rank], &ahead->window, &ahead->found[ahead->filling][rank]);
        pthread_mutex_lock(&ahead->lock);
        ahead->n_read += end - first;
        if (ahead->n_read == ahead->n_ranks)
            pthread_cond_signal(&ahead->done);
        pthread_mutex_unlock(&ahead->lock);
    }
}

static void *go_on_reading(void *argument)
{
    struct ahead *ahead = argument;
    size_t n_seen = 0;
    for (;;) {
        pthread_mutex_lock(&ahead->lock);
        while (!ahead->ended && ahead->n_windows == n_seen)
            pthread_cond_wait(&ahead->begun, &ahead->lock);
        n_seen = ahead->n_windows;
        bool ended = ahead->ended;
        pthread_mutex_unlock(&ahead->lock);
        if (ended)
            return NULL;
        read_ranks(ahead);
    }
}

struct ahead *ahead_begin(struct rank_reading *readings, size_t n, size_t n_threads)
{
    struct ahead *ahead = xcalloc(1, sizeof *ahead);
    n_threads = n_threads < n ? n_threads : n;
    *ahead = (struct ahead){.readings = readings, .n_ranks = n, .portion = n / (PORTIONS * (n_threads + 1)) + 1};
    atomic_init(&ahead->next, n);
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->begun, NULL);
    pthread_cond_init(&ahead->done, NULL);
    for (int i = 0; i < 2; i++)
        ahead->found[i] = xcalloc(n, sizeof *ahead->found[i]);
    while (ahead->n_threads < n_threads && ahead->n_threads < READERS_MOST &&
           pthread_create(&ahead->threads[ahead->n_threads], NULL, go_on_reading, ahead) == 0)
        ahead->n_threads++;
    if (ahead->n_threads > 0)
        return ahead;
    ahead_end(ahead);
    return NULL;
}

void ahead_read(struct ahead *ahead, struct window window)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->filling = 1 - ahead->filling;
    ahead->window = window;
    ahead->n_read = 0;
    ahead->n_windows++;
    atomic_store(&ahead->next, 0);
    pthread_cond_broadcast(&ahead->begun);
    pthread_mutex_unlock(&ahead->lock);
}

const struct rank_window *ahead_wait(struct ahead *ahead)
{
    read_ranks(ahead);
    pthread_mutex_lock(&ahead->lock);
    while (ahead->n_read < ahead->n_ranks)
        pthread_cond_wait(&ahead->done, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return ahead->found[ahead->filling];
}

void ahead_end(struct ahead *ahead)
{
    if (ahead == NULL)
        return;
    if (ahead->n_windows > 0)
        ahead_wait(ahead);
    pthread_mutex_lock(&ahead->lock);
    ahead->ended = true;
    pthread_cond_broadcast(&ahead->begun);
    pthread_mutex_unlock(&ahead->lock);
    for (size_t i = 0; i < ahead->n_threads; i++)
        pthread_join(ahead->threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        for (size_t rank = 0; rank < ahead->n_ranks; rank++)
            rank_window_release(&ahead->found[i][rank]);
        free(ahead->found[i]);
    }
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->begun);
    pthread_cond_destroy(&ahead->done);
    free(ahead);
}
