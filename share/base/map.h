/* From a key of three integers to a small number: the look-up that ingest needs for envelopes, communicators, call
 * sites and kinds. Open addressing, grows by itself, nothing is ever removed.
 */
#ifndef MPISTAIR_BASE_MAP_H
#define MPISTAIR_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_ABSENT UINT32_MAX

struct map_key {
    uint64_t a, b, c;
};

struct map {
    struct map_entry *entries; /* [capacity], a power of two */
    size_t capacity;
    size_t n_entries;
};

/* Where the number of key stands, MAP_ABSENT in it if the key is new; NULL: no memory. Good until the next call. */
uint32_t *map_at(struct map *map, struct map_key key);
/* The number of key, or MAP_ABSENT. */
uint32_t map_find(const struct map *map, struct map_key key);
void map_release(struct map *map);
/* Empties it and keeps its room. */
void map_clear(struct map *map);

/* A 64-bit value of a key in which every bit counts. */
uint64_t map_hash(struct map_key key);

#endif
