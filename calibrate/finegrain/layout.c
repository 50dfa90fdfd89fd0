/* A part is a bin of neighbouring user partitions (Marts et al. 2024, section III-C), and peers are the nearest ranks
 * of a ring (section III-B). */
#include "calibrate/finegrain/layout.h"

/* Returns piece `which` of n pieces of a range: all alike, the last one longer by the rest. */
static struct byte_range layout_piece(struct byte_range whole, size_t n, size_t which)
{
    size_t each = whole.bytes / n;
    return (struct byte_range){.begin = whole.begin + which * each,
                               .bytes = which + 1 < n ? each : whole.bytes - which * each};
}

struct byte_range layout_part(size_t buffer_bytes, size_t n_parts, size_t part)
{
    return layout_piece((struct byte_range){.bytes = buffer_bytes}, n_parts, part);
}

struct byte_range layout_user(size_t buffer_bytes, size_t n_threads, size_t n_parts, size_t thread)
{
    size_t of_part = n_threads / n_parts;
    return layout_piece(layout_part(buffer_bytes, n_parts, thread / of_part), of_part, thread % of_part);
}

int layout_distance(size_t buffer, int ranks)
{
    int away = 1 + (int)(buffer / 2) % (ranks - 1);
    return buffer % 2 == 0 ? away : -away;
}

int layout_rank(int rank, int distance, int ranks)
{
    return ((rank + distance) % ranks + ranks) % ranks;
}

size_t layout_buffers_per_rank(size_t peers, int ranks)
{
    size_t most = 0;
    for (int other = 1; other < ranks; other++) {
        size_t n = 0;
        for (size_t buffer = 0; buffer < peers; buffer++)
            n += layout_rank(0, layout_distance(buffer, ranks), ranks) == other;
        most = n > most ? n : most;
    }
    return most;
}

int layout_check(size_t peers, int ranks, int fold, struct error *error)
{
    if (ranks < 2)
        return error_set(error, "the launcher starts %d rank: expected 2 or more", ranks);
    if (!fold && (size_t)ranks < peers + 1)
        return error_set(error,
                         "%d ranks: %zu peers need %zu; give the launcher more, or --fold, with which several buffers "
                         "go to the same rank",
                         ranks, peers, peers + 1);
    return 0;
}

/* Mixes all that a byte depends on, so that a part that came early, late, twice or to another place differs; bytes that
 * are 256 or 65536 apart differ as well. */
static char byte_at(size_t at, uint64_t key)
{
    uint64_t mixed = (at + 1) * UINT64_C(0x9e3779b97f4a7c15) + key;
    return (char)(mixed >> 56 ^ mixed >> 32);
}

static uint64_t key_of(int rank, size_t number, uint64_t stamp)
{
    return (uint64_t)rank * UINT64_C(0xbf58476d1ce4e5b9) + number * UINT64_C(0x94d049bb133111eb) +
           stamp * UINT64_C(0xd6e8feb86659fd93);
}

void layout_fill(char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp)
{
    uint64_t key = key_of(rank, number, stamp);
    for (size_t at = range.begin; at < range.begin + range.bytes; at++)
        buffer[at] = byte_at(at, key);
}

size_t layout_differs(const char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp)
{
    uint64_t key = key_of(rank, number, stamp);
    size_t at = range.begin;
    while (at < range.begin + range.bytes && buffer[at] == byte_at(at, key))
        at++;
    return at;
}
