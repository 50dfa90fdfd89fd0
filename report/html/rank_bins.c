/* A damaged trace may name any rank: what lies beyond MAX_RANK is left out of pictures. */
#include "report/html/rank_bins.h"

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"

struct rank_bins rank_bins_of(int64_t ranks, int64_t most)
{
    int64_t width = ranks > most ? (ranks + most - 1) / most : 1;
    return (struct rank_bins){.ranks = ranks, .width = width, .n = (ranks + width - 1) / width};
}

int rank_bins_count(int64_t *ranks, sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    *ranks = 0;
    cursor_open(
        &rows, database, path,
        "SELECT max(coalesce((SELECT max(rank) FROM process), -1) + 1, coalesce((SELECT world_size FROM run), 0))",
        error);
    if (cursor_next(&rows))
        *ranks = cursor_integer(&rows, 0);
    if (*ranks < 0)
        *ranks = 0;
    if (*ranks > MAX_RANK)
        *ranks = MAX_RANK;
    return cursor_close(&rows);
}

int64_t rank_bins_size(const struct rank_bins *bins, int64_t bin)
{
    int64_t rest = bins->ranks - bin * bins->width;
    return rest < bins->width ? rest : bins->width;
}
