/* Each queue has one producer and many takers, and a ring that grows while others read it. See shared_queue.h. */
#include "interpose/backend/table/shared_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "interpose/backend/table/pending.h"

#define FIRST_CELLS 64U

/* While a thread goes through all queues, others put into one that was just seen empty, and take out of the next. Yet
 * there is something for it, as every taker's operation was put before. */
#define PASSES 8

struct ring {
    struct ring *smaller;
    uint64_t mask; /* cells - 1 */
    void *cells[];
};

/* Holds entries [head, tail), each at its number modulo the cells of the ring. */
struct queue {
    uint64_t head; /* counted up by takers */
    uint64_t tail; /* stored by the owner alone, who takes there */
    struct ring *ring;
};

/* Belongs to one thread; never freed. */
struct shared_queues {
    struct shared_queues *next;
    int in_use;
    struct queue of[SHARED_HANDLES];
};

static struct shared_queues *all;

/* Returns queues that no thread has, or new ones; NULL without memory. */
static struct shared_queues *acquire(void)
{
    struct shared_queues *queues = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    for (; queues; queues = queues->next) {
        int in_use = 0;
        if (__atomic_compare_exchange_n(&queues->in_use, &in_use, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return queues;
    }
    int saved_errno = errno;
    queues = calloc(1, sizeof *queues);
    errno = saved_errno;
    if (!queues)
        return NULL;
    queues->in_use = 1;
    queues->next = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&all, &queues->next, queues, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return queues;
}

void shared_queue_release(struct recorder_thread *thread)
{
    if (thread->queues)
        __atomic_store_n(&thread->queues->in_use, 0, __ATOMIC_RELEASE);
    thread->queues = NULL;
}

/* Makes a ring of twice the size with the same entries. Returns NULL where there is no memory. */
static __attribute__((noinline)) struct ring *grow(struct queue *queue, uint64_t head, uint64_t tail)
{
    struct ring *old = queue->ring;
    uint64_t cells = old ? (old->mask + 1) * 2 : FIRST_CELLS;
    int saved_errno = errno;
    struct ring *ring = malloc(sizeof *ring + cells * sizeof *ring->cells);
    errno = saved_errno;
    if (!ring)
        return NULL;
    ring->smaller = old;
    ring->mask = cells - 1;
    for (uint64_t i = head; i < tail; i++)
        ring->cells[i & ring->mask] = __atomic_load_n(&old->cells[i & old->mask], __ATOMIC_RELAXED);
    __atomic_store_n(&queue->ring, ring, __ATOMIC_RELEASE);
    return ring;
}

int shared_queue_put(struct recorder_thread *thread, unsigned number, void *pending)
{
    if (__builtin_expect(!thread->queues, 0) && !(thread->queues = acquire()))
        return -1;
    struct queue *queue = &thread->queues->of[number];
    uint64_t tail = queue->tail, head = __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE);
    struct ring *ring = queue->ring;
    if (__builtin_expect(!ring || tail - head > ring->mask, 0) && !(ring = grow(queue, head, tail)))
        return -1;
    if (recorder.multiple || tail != head)
        pending_flag(pending, SPOOL_SHARED_HANDLE);
    if (!recorder.multiple && tail - head == 1)
        pending_flag(ring->cells[head & ring->mask], SPOOL_SHARED_HANDLE);
    __atomic_store_n(&ring->cells[tail & ring->mask], pending, __ATOMIC_RELAXED);
    __atomic_store_n(&queue->tail, tail + 1, __ATOMIC_RELEASE);
    return 0;
}

/* Takes the newest, for the owner. */
static inline void *take_own(struct queue *queue)
{
    uint64_t tail = queue->tail, head = __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE);
    if (head >= tail)
        return NULL;
    void *pending = queue->ring->cells[(tail - 1) & queue->ring->mask];
    if (!recorder.multiple) {
        queue->tail = tail - 1;
        return pending;
    }
    /* This is announced before looking who else is there: the head decides who gets the last entry. */
    __atomic_store_n(&queue->tail, tail - 1, __ATOMIC_SEQ_CST);
    head = __atomic_load_n(&queue->head, __ATOMIC_SEQ_CST);
    if (head < tail - 1)
        return pending;
    if (head > tail - 1 ||
        !__atomic_compare_exchange_n(&queue->head, &head, head + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
        pending = NULL;
    __atomic_store_n(&queue->tail, tail, __ATOMIC_RELEASE);
    return pending;
}

/* Takes the oldest entry of another thread. */
static inline void *take(struct queue *queue)
{
    uint64_t head = __atomic_load_n(&queue->head, __ATOMIC_SEQ_CST);
    while (head < __atomic_load_n(&queue->tail, __ATOMIC_SEQ_CST)) {
        struct ring *ring = __atomic_load_n(&queue->ring, __ATOMIC_ACQUIRE);
        void *pending = __atomic_load_n(&ring->cells[head & ring->mask], __ATOMIC_RELAXED);
        if (!recorder.multiple) {
            queue->head = head + 1;
            return pending;
        }
        if (__atomic_compare_exchange_n(&queue->head, &head, head + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return pending;
    }
    return NULL;
}

void *shared_queue_take(struct recorder_thread *thread, unsigned number)
{
    void *pending = thread->queues ? take_own(&thread->queues->of[number]) : NULL;
    for (int pass = 0; !pending && pass < (recorder.multiple ? PASSES : 1); pass++)
        for (struct shared_queues *queues = __atomic_load_n(&all, __ATOMIC_ACQUIRE); queues && !pending;
             queues = queues->next)
            pending = take(&queues->of[number]);
    return pending;
}

void *shared_queue_peek(struct recorder_thread *thread, unsigned number)
{
    struct queue *queue = thread->queues ? &thread->queues->of[number] : NULL;
    return queue && queue->head < queue->tail ? queue->ring->cells[(queue->tail - 1) & queue->ring->mask] : NULL;
}
