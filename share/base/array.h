/* Growing arrays. Each function takes the address of the array's pointer, of any type, and ends the program when memory
 * runs out (share/base/memory.h). */
#ifndef MPISTAIR_BASE_ARRAY_H
#define MPISTAIR_BASE_ARRAY_H

#include <stddef.h>

/* Makes room for element n of the array at *(T **)array, of which n are in use. Its capacity doubles at the powers of
 * two, so that it needs no field. */
void array_grow(void *array, size_t n, size_t element_bytes);

/* Makes room for n elements of the array at *(T **)array with room for *capacity, which at least doubles. */
void array_reserve(void *array, size_t *capacity, size_t n, size_t element_bytes);
/* As array_reserve; new elements are zero. */
void array_reserve_zeroed(void *array, size_t *capacity, size_t n, size_t element_bytes);

#endif
