/* Growing an array without overflow of its size is needed everywhere and easy to get wrong, so it is written once. */
#include "share/base/array.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "share/base/memory.h"

static void resize(void *array, size_t n, size_t element_bytes)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = xreallocarray(old, n, element_bytes);
    memcpy(array, &grown, sizeof grown);
}

void array_grow(void *array, size_t n, size_t element_bytes)
{
    if ((n & (n - 1)) == 0)
        resize(array, n == 0 ? 1 : n > SIZE_MAX / 2 ? SIZE_MAX : 2 * n, element_bytes);
}

void array_reserve(void *array, size_t *capacity, size_t n, size_t element_bytes)
{
    if (n <= *capacity)
        return;
    size_t wanted = *capacity < 8 ? 16 : *capacity > SIZE_MAX / 2 ? SIZE_MAX : 2 * *capacity;
    if (wanted < n)
        wanted = n;
    resize(array, wanted, element_bytes);
    *capacity = wanted;
}

void array_reserve_zeroed(void *array, size_t *capacity, size_t n, size_t element_bytes)
{
    size_t old = *capacity;
    array_reserve(array, capacity, n, element_bytes);
    char *elements;
    memcpy(&elements, array, sizeof elements);
    memset(elements + old * element_bytes, 0, (*capacity - old) * element_bytes);
}

void array_sort_by_key(const void *rows, size_t row_bytes, size_t key_at, size_t n, size_t n_keys, uint32_t *first,
                       uint32_t *order)
{
    const char *keys = n > 0 ? (const char *)rows + key_at : NULL;
    memset(first, 0, (n_keys + 1) * sizeof *first);
    for (size_t i = 0; i < n; i++)
        first[*(const uint32_t *)(const void *)(keys + i * row_bytes) + 1]++;
    for (size_t key = 0; key < n_keys; key++)
        first[key + 1] += first[key];
    for (size_t i = n; i-- > 0;) /* the end of each key becomes its begin */
        order[--first[*(const uint32_t *)(const void *)(keys + i * row_bytes) + 1]] = (uint32_t)i;
    memmove(first, first + 1, n_keys * sizeof *first);
    first[n_keys] = (uint32_t)n;
}
