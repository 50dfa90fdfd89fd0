/* A run of ranks stays open until one comes that does not follow. See ranges.h. */
#include "share/base/ranges.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static void end_range(struct ranges *ranges)
{
    if (ranges->n > RANGES_NAMED + 1 || ranges->used >= sizeof ranges->text)
        return;
    const char *comma = ranges->n > 1 ? ", " : "";
    char *end = ranges->text + ranges->used;
    size_t room = sizeof ranges->text - ranges->used;
    int written = 0;
    if (ranges->n > RANGES_NAMED)
        written = snprintf(end, room, ", ...");
    else if (ranges->first == ranges->last)
        written = snprintf(end, room, "%s%" PRId64, comma, ranges->first);
    else
        written = snprintf(end, room, "%s%" PRId64 "-%" PRId64, comma, ranges->first, ranges->last);
    ranges->used += written > 0 ? (size_t)written : 0;
}

void ranges_add_all(struct ranges *ranges, int64_t first, int64_t last)
{
    bool follows = ranges->n > 0 && ranges->last < INT64_MAX && first == ranges->last + 1;
    if (!follows && ranges->n > 0)
        end_range(ranges);
    if (!follows) {
        ranges->n++;
        ranges->first = first;
    }
    ranges->last = last;
}

void ranges_add(struct ranges *ranges, int64_t rank)
{
    ranges_add_all(ranges, rank, rank);
}

const char *ranges_text(struct ranges *ranges)
{
    if (ranges->n > 0)
        end_range(ranges);
    return ranges->text;
}
