/* Ingest looks up a few keys for every record, so the table is one array without pointers: a look-up mostly touches one
 * cache line. */
#include "share/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

struct map_entry {
    struct map_key key;
    uint32_t value;
    uint32_t used;
};

/* Mixes the bits as the finaliser of MurmurHash3 does. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

uint64_t map_hash(struct map_key key)
{
    return mix(key.a + mix(key.b + mix(key.c + UINT64_C(0x9e3779b97f4a7c15))));
}

/* Spreads the keys over the slots in a third of map_hash's time; keys may collide that map_hash tells apart. */
static uint64_t slot_hash(struct map_key key)
{
    return mix(key.a + key.b * UINT64_C(0x9e3779b97f4a7c15) + key.c * UINT64_C(0xc2b2ae3d27d4eb4f));
}

static struct map_entry *find_slot(const struct map *map, struct map_key key)
{
    size_t mask = map->capacity - 1;
    size_t slot = (size_t)slot_hash(key) & mask;
    for (;; slot = (slot + 1) & mask) {
        struct map_entry *entry = &map->entries[slot];
        if (!entry->used || (entry->key.a == key.a && entry->key.b == key.b && entry->key.c == key.c))
            return entry;
    }
}

static void grow(struct map *map)
{
    struct map larger = {.capacity = map->capacity == 0 ? 16 : 2 * map->capacity, .n_entries = map->n_entries};
    larger.entries = xcalloc(larger.capacity, sizeof *larger.entries);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].used)
            *find_slot(&larger, map->entries[i].key) = map->entries[i];
    free(map->entries);
    *map = larger;
}

uint32_t *map_at(struct map *map, struct map_key key)
{
    if (2 * (map->n_entries + 1) > map->capacity)
        grow(map);
    struct map_entry *entry = find_slot(map, key);
    if (!entry->used) {
        *entry = (struct map_entry){.key = key, .value = MAP_ABSENT, .used = 1};
        map->n_entries++;
    }
    return &entry->value;
}

uint32_t map_number(struct map *map, struct map_key key, size_t n)
{
    uint32_t *number = map_at(map, key);
    return *number == MAP_ABSENT ? *number = (uint32_t)n : *number;
}

uint32_t map_find(const struct map *map, struct map_key key)
{
    if (map->capacity == 0)
        return MAP_ABSENT;
    const struct map_entry *entry = find_slot(map, key);
    return entry->used ? entry->value : MAP_ABSENT;
}

void map_release(struct map *map)
{
    free(map->entries);
    *map = (struct map){0};
}

void map_clear(struct map *map)
{
    if (map->n_entries > 0)
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
    map->n_entries = 0;
}
