/* Growing an array safely (overflow of its size, memory that runs out) is needed everywhere and easy to get wrong, so
 * it is written once. */
#include "share/base/array.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int resize(void *array, size_t n, size_t element_bytes)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = n <= PTRDIFF_MAX / element_bytes ? realloc(old, n * element_bytes) : NULL;
    if (grown == NULL)
        return -1;
    memcpy(array, &grown, sizeof grown);
    return 0;
}

int array_grow(void *array, size_t n, size_t element_bytes)
{
    if ((n & (n - 1)) != 0)
        return 0;
    return n > SIZE_MAX / 2 ? -1 : resize(array, n == 0 ? 1 : 2 * n, element_bytes);
}

int array_reserve(void *array, size_t *capacity, size_t n, size_t element_bytes)
{
    if (n <= *capacity)
        return 0;
    size_t wanted = *capacity < 8 ? 16 : *capacity > SIZE_MAX / 2 ? SIZE_MAX : 2 * *capacity;
    if (wanted < n)
        wanted = n;
    if (resize(array, wanted, element_bytes) != 0)
        return -1;
    *capacity = wanted;
    return 0;
}

int array_reserve_zeroed(void *array, size_t *capacity, size_t n, size_t element_bytes)
{
    size_t old = *capacity;
    if (array_reserve(array, capacity, n, element_bytes) != 0)
        return -1;
    char *elements;
    memcpy(&elements, array, sizeof elements);
    memset(elements + old * element_bytes, 0, (*capacity - old) * element_bytes);
    return 0;
}
