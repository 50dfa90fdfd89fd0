/* A binary heap of numbered keys, the smallest first: what happens next, of many things that go on. */
#ifndef MPISTAIR_PREDICTOR_HEAP_H
#define MPISTAIR_PREDICTOR_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_entry {
    double key;
    uint32_t id;
};

/* The arrays are the caller's. */
struct heap {
    struct heap_entry *entries; /* room for all ids that are in it at a time; entries[0] has the smallest key */
    size_t n;
    size_t *place; /* [ids] of an id in entries; NULL where heap_change is not needed */
};

void heap_push(struct heap *heap, double key, uint32_t id);
/* n > 0. */
struct heap_entry heap_pop(struct heap *heap);
/* Of an id in the heap. Needs place. */
void heap_change(struct heap *heap, double key, uint32_t id);

#endif
