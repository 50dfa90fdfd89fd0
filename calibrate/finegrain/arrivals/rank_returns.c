/* Calls of all kinds count, but not MPI_Pready, which threads call while others still compute. */
#include "calibrate/finegrain/arrivals/rank_returns.h"

#include <stdlib.h>

#include "share/base/array.h"

/* A call whose length is not known stands at its post. */
static const char returns_sql[] =
    "SELECT rank, begin_ns + call_ns AS end_ns FROM call_row "
    "WHERE function NOT IN (SELECT id FROM function WHERE name GLOB 'MPI_Pready*') "
    "UNION ALL SELECT src, send_post_ns + coalesce(send_call_ns, 0) FROM message_row "
    "UNION ALL SELECT dst, send_post_ns + late_ns + coalesce(recv_call_ns, 0) FROM message_row "
    "UNION ALL SELECT rank, begin_ns FROM process WHERE begin_ns IS NOT NULL "
    "ORDER BY 1, 2";

void rank_returns_open(struct rank_returns *returns, sqlite3 *database, const char *path, struct error *error)
{
    *returns = (struct rank_returns){.rank = -1};
    cursor_open(&returns->rows, database, path, returns_sql, error);
    returns->more = cursor_next(&returns->rows);
}

int rank_returns_load(struct rank_returns *returns, int64_t rank)
{
    if (returns->rank == rank)
        return 0;
    returns->rank = rank;
    returns->n = 0;
    while (returns->more && cursor_integer(&returns->rows, 0) <= rank) {
        if (cursor_integer(&returns->rows, 0) == rank) {
            array_reserve(&returns->returned_ns, &returns->capacity, returns->n + 1, sizeof *returns->returned_ns);
            returns->returned_ns[returns->n++] = cursor_integer(&returns->rows, 1);
        }
        returns->more = cursor_next(&returns->rows);
    }
    return returns->rows.result;
}

int64_t rank_returns_last(const struct rank_returns *returns, int64_t at_ns)
{
    size_t low = 0, high = returns->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (returns->returned_ns[middle] <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? returns->returned_ns[low - 1] : at_ns;
}

int rank_returns_close(struct rank_returns *returns)
{
    free(returns->returned_ns);
    returns->returned_ns = NULL;
    return cursor_close(&returns->rows);
}
