/* Binary heap of numbered keys, the smallest first: event-driven models take the next event from it. */
#ifndef MPISTAIR_BASE_HEAP_H
#define MPISTAIR_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_entry {
    double key;
    uint32_t id;
};

/* A heap in arrays that the caller owns. */
struct heap {
    struct heap_entry *entries; /* room for all ids that are in it at a time; entries[0] has the smallest key */
    size_t n;
    size_t *place; /* [ids] place of an id in entries; NULL where heap_change is not needed */
};

void heap_push(struct heap *heap, double key, uint32_t id);
/* Takes out the smallest key. n > 0. */
struct heap_entry heap_pop(struct heap *heap);
/* Gives an id in the heap another key. Needs place. */
void heap_change(struct heap *heap, double key, uint32_t id);
/* Takes out the entry at a place of entries. */
void heap_remove_at(struct heap *heap, size_t at);

#endif
