/* Binary heap of numbered keys, the smallest first: event-driven models take the next event from it. */
#ifndef MPISTAIR_BASE_HEAP_H
#define MPISTAIR_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_entry {
    double key;
    uint32_t id;
};

/* Begins with all 0; the caller frees the entries. */
struct heap {
    struct heap_entry *entries; /* [n] entries[0] has the smallest key */
    size_t n, room;
    size_t
        *place; /* the caller's: [ids] place of an id in entries, or HEAP_ABSENT; NULL where heap_set is not needed */
};
#define HEAP_ABSENT SIZE_MAX

void heap_push(struct heap *heap, double key, uint32_t id);
/* Takes out the smallest key. n > 0. */
struct heap_entry heap_pop(struct heap *heap);
/* Lets an id be in the heap with that key, or not be in it. Needs place. */
void heap_set(struct heap *heap, double key, uint32_t id, bool is_in);
/* Takes out the entry at a place of entries. */
void heap_remove_at(struct heap *heap, size_t at);

#endif
