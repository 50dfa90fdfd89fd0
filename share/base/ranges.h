/* Names ranks in few words: "1, 3-5". */
#ifndef MPISTAIR_BASE_RANGES_H
#define MPISTAIR_BASE_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* Most ranges that are written out; ", ..." stands for the rest. */
enum { RANGES_NAMED = 8 };

/* Collects ranks in ascending order; begins zero-initialised. */
struct ranges {
    char text[512];
    size_t used;
    int n;
    int64_t first, last; /* ends of the open range */
};

void ranges_add(struct ranges *ranges, int64_t rank);

/* Adds all ranks from first to last. */
void ranges_add_all(struct ranges *ranges, int64_t first, int64_t last);

/* Returns the text, "" without ranks. It belongs to ranges, to which nothing may be added any more. */
const char *ranges_text(struct ranges *ranges);

#endif
