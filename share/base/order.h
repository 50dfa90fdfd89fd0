/* Compares for qsort() and bsearch(): below 0, 0 or above. Of several keys the first that differs decides:
 * return ORDER(a->node, b->node) ?: ORDER(a->rank, b->rank); */
#ifndef MPISTAIR_BASE_ORDER_H
#define MPISTAIR_BASE_ORDER_H

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Sets `at`, a size_t from which on to search, to the first number up to `end` for which the condition, which names
 * `at`, no longer holds: FIRST_BEYOND(at, n, array[at] < wanted). */
#define FIRST_BEYOND(at, end, ...)                                                                                     \
    for (size_t low_ = (at), high_ = (end); (at) = low_ + (high_ - low_) / 2, low_ < high_;)                           \
        if (__VA_ARGS__)                                                                                               \
            low_ = (at) + 1;                                                                                           \
        else                                                                                                           \
            high_ = (at)

#endif
