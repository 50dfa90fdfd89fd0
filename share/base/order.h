/* Compares for qsort() and bsearch(): below 0, 0 or above. Of several keys the first that differs decides:
 * return ORDER(a->node, b->node) ?: ORDER(a->rank, b->rank); */
#ifndef MPISTAIR_BASE_ORDER_H
#define MPISTAIR_BASE_ORDER_H

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
