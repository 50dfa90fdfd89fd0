/* Maps a key of three integers to a small number: ingest needs it for envelopes, communicators, call sites and kinds.
 * The table uses open addressing and grows by itself; nothing is ever removed. */
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

/* Returns a pointer to the number of key, which is MAP_ABSENT if the key is new. Valid until the next call. */
uint32_t *map_at(struct map *map, struct map_key key) __attribute__((returns_nonnull));
/* Returns the number of key; a new key gets the number n, that of the next element of the array which the map
 * numbers. */
uint32_t map_number(struct map *map, struct map_key key, size_t n);
/* Returns the number of key, or MAP_ABSENT. */
uint32_t map_find(const struct map *map, struct map_key key);
void map_release(struct map *map);
/* Empties it and keeps its room. */
void map_clear(struct map *map);

/* Returns a 64-bit hash in which every bit of the key counts. */
uint64_t map_hash(struct map_key key);

#endif
