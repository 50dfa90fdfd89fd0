/* The values of slots change here, and the queues behind shared handles. Several threads may complete, free and post
 * under one handle at once, so each change is one exchange of a pointer with tags. A queue has one producer and many
 * takers, and a ring that grows while others read it. See request_table.h. */
#include "interpose/backend/table/request_table.h"

#include "interpose/backend/table/pending.h"

#define FIRST_CELLS 64U

/* While a thread goes through all queues, others put into one that was just seen empty, and take out of the next. Yet
 * there is something for it, as every taker's operation was put before. */
#define PASSES 8

/* Both MPIs hand out one request, complete from the start, for every small send that is done at once and for operations
 * with MPI_PROC_NULL. All operations behind such a handle are done, and any of them may be reported first. The newest
 * is taken: if one thread posts several and waits for them together, that makes no difference. An operation whose
 * request the program never waits for stays behind for good, instead of taking the completion of the next one, and so
 * on.
 *
 * So every thread has a queue for each such handle, into which it alone puts and from whose end it takes. A thread
 * whose own queue is empty takes from the others', the oldest first (the queue of Chase and Lev, SPAA 2005). Queues
 * grow by rings of twice the size; smaller rings are kept, since another thread may still be reading. Queues of a
 * thread that ended, with what is in them, go to the next new thread. */
struct ring {
    struct ring *smaller;
    uint64_t mask; /* cells - 1 */
    void *cells[];
};

/* Entries [head, tail), each at its number modulo the cells of the ring. */
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

static struct shared_queues *all_queues;

/* Returns queues that no thread has, or new ones; NULL without memory. */
static struct shared_queues *acquire(void)
{
    struct shared_queues *queues = __atomic_load_n(&all_queues, __ATOMIC_ACQUIRE);
    for (; queues; queues = queues->next) {
        int in_use = 0;
        if (__atomic_compare_exchange_n(&queues->in_use, &in_use, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return queues;
    }
    queues = recorder_allocate(sizeof *queues);
    if (!queues)
        return NULL;
    queues->in_use = 1;
    queues->next = __atomic_load_n(&all_queues, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&all_queues, &queues->next, queues, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
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
    struct ring *ring = recorder_allocate(sizeof *ring + cells * sizeof *ring->cells);
    if (!ring)
        return NULL;
    ring->smaller = old;
    ring->mask = cells - 1;
    for (uint64_t i = head; i < tail; i++)
        ring->cells[i & ring->mask] = __atomic_load_n(&old->cells[i & old->mask], __ATOMIC_RELAXED);
    __atomic_store_n(&queue->ring, ring, __ATOMIC_RELEASE);
    return ring;
}

/* Puts what was posted behind the numbered handle into the thread's queue, flagged SPOOL_SHARED_HANDLE where others
 * live behind it. Returns 0, or -1 (no memory; not queued). */
static int shared_queue_put(struct recorder_thread *thread, unsigned number, void *pending)
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
static inline void *take_oldest(struct queue *queue)
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

/* Takes out the newest of the thread's queue, else the oldest of another's; returns NULL if all are empty. */
static void *shared_queue_take(struct recorder_thread *thread, unsigned number)
{
    void *pending = thread->queues ? take_own(&thread->queues->of[number]) : NULL;
    for (int pass = 0; !pending && pass < (recorder.multiple ? PASSES : 1); pass++)
        for (struct shared_queues *queues = __atomic_load_n(&all_queues, __ATOMIC_ACQUIRE); queues && !pending;
             queues = queues->next)
            pending = take_oldest(&queues->of[number]);
    return pending;
}

/* Returns the newest of the thread's own queue, and leaves it in; NULL if there is none. Not for
 * MPI_THREAD_MULTIPLE. */
static void *shared_queue_peek(struct recorder_thread *thread, unsigned number)
{
    struct queue *queue = thread->queues ? &thread->queues->of[number] : NULL;
    return queue && queue->head < queue->tail ? queue->ring->cells[(queue->tail - 1) & queue->ring->mask] : NULL;
}

struct handle_table request_table;
static uint32_t free_numbers = (1U << SHARED_HANDLES) - 1; /* numbers of shared handles: one bit each */
static uint8_t
    queued[SHARED_HANDLES]; /* the two operations by which the handle was known to be shared are in its queue */

int request_table_init(void)
{
    return handle_table_init(&request_table);
}

static void *shared_value(unsigned number)
{
    return (void *)(((uintptr_t)number << 2) | REQUEST_SHARED);
}

static inline int is_shared(const void *value)
{
    return ((uintptr_t)value & REQUEST_TAGS) == REQUEST_SHARED;
}

static inline unsigned shared_number(const void *value)
{
    return (unsigned)((uintptr_t)value >> 2);
}

/* Sets slot->value to `wanted` if it is *there. Returns whether it did; if not, *there becomes its value. */
static inline int replace(struct handle_slot *slot, void **there, void *wanted)
{
    if (recorder.multiple)
        return __atomic_compare_exchange_n(&slot->value, there, wanted, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (slot->value != *there) {
        *there = slot->value;
        return 0;
    }
    slot->value = wanted;
    return 1;
}

static void lose(void)
{
    spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
}

static void put(struct recorder_thread *thread, unsigned number, void *pending)
{
    if (shared_queue_put(thread, number, pending) != 0)
        lose();
}

static int request_is_complete(uint64_t handle)
{
    MPI_Request request;
    int complete = 1;
    memcpy(&request, &handle, sizeof request);
    if (PMPI(Request_get_status)(request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return 1;
    return complete;
}

/* Takes a number for one more shared handle; returns SHARED_HANDLES if there is none. A caller that does not need it
 * after all gives it back. */
static unsigned take_number(void)
{
    uint32_t numbers = __atomic_load_n(&free_numbers, __ATOMIC_RELAXED);
    while (numbers != 0 && !__atomic_compare_exchange_n(&free_numbers, &numbers, numbers & (numbers - 1), 0,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return numbers != 0 ? (unsigned)__builtin_ctz(numbers) : SHARED_HANDLES;
}

static void give_number_back(unsigned number)
{
    if (number < SHARED_HANDLES)
        __atomic_fetch_or(&free_numbers, 1U << number, __ATOMIC_RELAXED);
}

/* Abandons the older one, which was not seen to end. */
static void abandon(struct recorder_thread *thread, void *value)
{
    struct persistent *persistent = request_value_persistent(value);
    if (persistent)
        persistent_free(persistent, thread);
    else
        pending_abandon(value, thread, 0);
}

/* Adds where the slot is not empty and the handle not known to be shared. is_live says that the older one is a live
 * request, too. */
static __attribute__((noinline)) void add_again(struct recorder_thread *thread, struct handle_slot *slot,
                                                uint64_t handle, void *pending, int is_live)
{
    void *there = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
    int can_share = is_live || (!request_value_persistent(pending) && request_is_complete(handle));
    unsigned number = SHARED_HANDLES;
    for (;;) {
        if (is_shared(there) && !request_value_persistent(pending)) {
            give_number_back(number);
            put(thread, shared_number(there), pending);
            return;
        }
        if (can_share && there && !request_value_persistent(there) && number == SHARED_HANDLES)
            number = take_number();
        if (there && !request_value_persistent(there) && number < SHARED_HANDLES) {
            if (!replace(slot, &there, shared_value(number)))
                continue;
            put(thread, number, is_live ? pending : there);
            put(thread, number, is_live ? there : pending);
            __atomic_store_n(&queued[number], 1, __ATOMIC_RELEASE);
            return;
        }
        if (replace(slot, &there, pending)) {
            give_number_back(number);
            if (there && !is_shared(there))
                abandon(thread, there);
            return;
        }
    }
}

void request_table_insert(struct recorder_thread *thread, uint64_t handle, void *value)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    void *there = NULL;
    if (__builtin_expect(!slot, 0) && !(slot = handle_table_add(&request_table, handle)))
        lose();
    else if (replace(slot, &there, value))
        return;
    else if (is_shared(there) && !request_value_persistent(value))
        put(thread, shared_number(there), value);
    else
        add_again(thread, slot, handle, value, 0);
}

void *request_table_take_before(uint64_t handle)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    for (; slot; slot = handle_table_next(&request_table, slot, handle)) {
        void *value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
        while (value && !((uintptr_t)value & REQUEST_TAGS))
            if (__atomic_compare_exchange_n(&slot->value, &value, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                break;
        if (value)
            return value;
    }
    return NULL;
}

void request_table_put_back(struct recorder_thread *thread, uint64_t handle, void *value)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    void *there = NULL;
    if (!slot || ((uintptr_t)value & REQUEST_TAGS))
        return;
    if (!__atomic_compare_exchange_n(&slot->value, &there, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        add_again(thread, slot, handle, value, 1);
}

void *request_table_claim(struct recorder_thread *thread, void *value)
{
    struct persistent *persistent = request_value_persistent(value);
    if (is_shared(value)) {
        /* This happens once for each shared handle: the thread that finds out takes the older operation from here into
         * its queue, and that operation's own thread may be here before it is done. */
        while (!__atomic_load_n(&queued[shared_number(value)], __ATOMIC_ACQUIRE))
            sched_yield();
        return shared_queue_take(thread, shared_number(value));
    }
    if (!persistent)
        return value;
    void *active = persistent->active;
    persistent->active = NULL;
    return active;
}

/* Returns the value of the handle, which stays in. */
static void *look_up(uint64_t handle)
{
    void *value = NULL;
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    for (; slot && !value; slot = handle_table_next(&request_table, slot, handle))
        value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
    return value;
}

void *request_table_peek(struct recorder_thread *thread, uint64_t handle)
{
    void *value = look_up(handle);
    struct persistent *persistent = request_value_persistent(value);
    if (is_shared(value))
        return recorder.multiple ? NULL : shared_queue_peek(thread, shared_number(value));
    return persistent ? persistent->active : value;
}

void request_table_add_persistent(struct recorder_thread *thread, uint64_t handle, struct persistent *persistent)
{
    request_table_insert(thread, handle, (void *)((uintptr_t)persistent | REQUEST_PERSISTENT));
}

struct persistent *request_table_persistent(uint64_t handle)
{
    return request_value_persistent(look_up(handle));
}

struct persistent *request_table_take_persistent(uint64_t handle)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    for (; slot; slot = handle_table_next(&request_table, slot, handle)) {
        void *value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
        if (request_value_persistent(value)) {
            __atomic_store_n(&slot->value, NULL, __ATOMIC_RELEASE);
            return request_value_persistent(value);
        }
    }
    return NULL;
}
