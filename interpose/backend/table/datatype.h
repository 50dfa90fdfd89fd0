/* Turns a count of elements into bytes at the post: the datatype may be freed before the operation completes. */
#ifndef MPISTAIR_BACKEND_DATATYPE_H
#define MPISTAIR_BACKEND_DATATYPE_H

#include <mpi.h>

#include "interpose/backend/recorder/state.h"

#define PREDEFINED_SLOTS 256U

struct predefined_datatype {
    uint64_t key;
    uint64_t bytes;
    int taken;
};

/* By hash of the handle; filled by datatype_init, then only read. Predefined datatypes are never freed, so their sizes
 * can be kept, which saves a call into MPI for nearly every message. */
extern struct predefined_datatype predefined_datatypes[PREDEFINED_SLOTS];

static inline uint64_t datatype_slot(uint64_t key)
{
    return ((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % PREDEFINED_SLOTS;
}

/* Asks MPI for the sizes of the predefined datatypes. */
void datatype_init(void);

/* Returns the size of one element in bytes, by MPI; 0 for MPI_DATATYPE_NULL. */
uint64_t datatype_ask(MPI_Datatype datatype);

static inline uint64_t datatype_bytes(MPI_Datatype datatype)
{
    uint64_t key = HANDLE_KEY(datatype);
    const struct predefined_datatype *slot = &predefined_datatypes[datatype_slot(key)];
    if (slot->key == key && slot->taken)
        return slot->bytes;
    return datatype_ask(datatype);
}

/* Returns so many times as many bytes, saturating at INT64_MAX; 0 for a count that is not positive. */
static inline uint64_t count_bytes(int64_t count, uint64_t element_bytes)
{
    int64_t bytes;
    if (count <= 0)
        return 0;
    if (__builtin_mul_overflow(count, (int64_t)element_bytes, &bytes))
        return INT64_MAX;
    return (uint64_t)bytes;
}

/* Returns count elements in bytes. Without elements nothing need be a datatype. */
static inline uint64_t elements_bytes(int64_t count, MPI_Datatype datatype)
{
    return count > 0 ? count_bytes(count, datatype_bytes(datatype)) : 0;
}

/* Returns the same for the thread's messages, whose datatype is mostly that of the one before. */
IN_WRAPPER uint64_t message_bytes(struct recorder_thread *thread, int64_t count, MPI_Datatype datatype)
{
    uint64_t key = HANDLE_KEY(datatype);
    const struct predefined_datatype *last = thread->datatype;
    if (__builtin_expect(!last || last->key != key, 0)) {
        const struct predefined_datatype *slot = &predefined_datatypes[datatype_slot(key)];
        if (slot->key != key || !slot->taken)
            return elements_bytes(count, datatype);
        thread->datatype = last = slot;
    }
    return count_bytes(count, last->bytes);
}

/* Returns the sum of two numbers of bytes, saturating in the same way. */
static inline uint64_t add_bytes(uint64_t a, uint64_t b)
{
    int64_t bytes;
    return __builtin_add_overflow(a, b, &bytes) ? (uint64_t)INT64_MAX : (uint64_t)bytes;
}

#endif
