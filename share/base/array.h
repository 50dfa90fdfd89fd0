/* Growing arrays. Each function takes the address of the array's pointer, of any type, and ends the program when memory
 * runs out (share/base/memory.h). */
#ifndef MPISTAIR_BASE_ARRAY_H
#define MPISTAIR_BASE_ARRAY_H

#include <stddef.h>

/* Makes room for element n of the array at *(T **)array, of which n are in use. Its capacity doubles at the powers of
 * two, so that it needs no field. */
void array_grow(void *array, size_t n, size_t element_bytes);

/* Adds a value to the array, of which n are in use: ARRAY_ADD(list->items, list->n, (struct item){1, 2}). */
#define ARRAY_ADD(array, n, ...) (array_grow(&(array), (n), sizeof *(array)), (void)((array)[(n)++] = (__VA_ARGS__)))

/* Makes room for n elements of the array at *(T **)array with room for *capacity, which at least doubles. */
void array_reserve(void *array, size_t *capacity, size_t n, size_t element_bytes);
/* As array_reserve; new elements are zero. */
void array_reserve_zeroed(void *array, size_t *capacity, size_t n, size_t element_bytes);

#endif
