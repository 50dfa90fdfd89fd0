/* Growing arrays. Each function takes the address of the array's pointer, of any type, and ends the program when memory
 * runs out (share/base/memory.h). */
#ifndef MPISTAIR_BASE_ARRAY_H
#define MPISTAIR_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Makes room for element n of the array at *(T **)array, of which n are in use. Its capacity doubles at the powers of
 * two, so that it needs no field. */
void array_grow(void *array, size_t n, size_t element_bytes);

/* Adds a value to the array, of which n are in use: ARRAY_ADD(list->items, list->n, (struct item){1, 2}). */
#define ARRAY_ADD(array, n, ...) (array_grow(&(array), (n), sizeof *(array)), (void)((array)[(n)++] = (__VA_ARGS__)))

/* Makes room for n elements of the array at *(T **)array with room for *capacity, which at least doubles. */
void array_reserve(void *array, size_t *capacity, size_t n, size_t element_bytes);
/* As array_reserve; new elements are zero. */
void array_reserve_zeroed(void *array, size_t *capacity, size_t n, size_t element_bytes);

/* Sorts the numbers of n rows, below 2^32, by a uint32_t of each below n_keys, which is key_at bytes from the row's
 * begin; equal ones stay in their order. Those of key k are order[first[k]] to order[first[k + 1] - 1]: first has room
 * for n_keys + 1 numbers, order for n. */
void array_sort_by_key(const void *rows, size_t row_bytes, size_t key_at, size_t n, size_t n_keys, uint32_t *first,
                       uint32_t *order);

#endif
