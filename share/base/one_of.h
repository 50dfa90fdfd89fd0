/* Says whether a small number, as that of an MPI function or of a family of them, is in a list:
 * IS_ONE_OF(function, FN_Send, FN_Ssend). Nothing is allocated, so that the recorder has it as well. */
#ifndef MPISTAIR_BASE_ONE_OF_H
#define MPISTAIR_BASE_ONE_OF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool is_one_of(uint32_t number, const uint16_t *list, size_t n)
{
    while (n > 0 && list[n - 1] != number)
        n--;
    return n > 0;
}

#define IS_ONE_OF(number, ...)                                                                                         \
    is_one_of(number, (const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

#endif
