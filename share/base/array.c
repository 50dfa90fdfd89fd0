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
