/* A part that came early, late, twice or to another place must differ from the right one in some byte. */
#include "calibrate/finegrain/content.h"

/* Mixes all that a byte depends on; bytes that are 256 or 65536 apart differ as well. */
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

void content_fill(char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp)
{
    uint64_t key = key_of(rank, number, stamp);
    for (size_t at = range.begin; at < range.begin + range.bytes; at++)
        buffer[at] = byte_at(at, key);
}

size_t content_differs(const char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp)
{
    uint64_t key = key_of(rank, number, stamp);
    size_t at = range.begin;
    while (at < range.begin + range.bytes && buffer[at] == byte_at(at, key))
        at++;
    return at;
}
