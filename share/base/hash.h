/* FNV-1a of 64 bits (Fowler, Noll, Vo), for keys of texts and of short arrays, the same on every machine. It allocates
 * nothing, so the recorder can use it. The first argument is the hash of what came before. */
#ifndef MPISTAIR_BASE_HASH_H
#define MPISTAIR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BASIS UINT64_C(0xcbf29ce484222325) /* of no bytes */

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Hashes a text without its terminating zero. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = hash_bytes(hash, text, 1);
    return hash;
}

#endif
