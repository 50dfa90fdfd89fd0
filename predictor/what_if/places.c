/* Reads the table process into arrays by rank; a rank without a spool has no node, one that no topology placed has no
 * socket. */
#include "predictor/what_if/places.h"

#include <string.h>
#include <unistd.h>

#include "interpose/database/cursor.h"
#include "predictor/what_if/arrange.h"
#include "share/base/memory.h"
#include "share/base/nearest.h"

static int places_init(sqlite3 *database, const char *path, struct recorded_places *places, struct error *error)
{
    int64_t n;
    *places = (struct recorded_places){0};
    if (cursor_numbers(database, path, "SELECT world_size FROM run", &n, 1, error) != 0)
        return -1;
    if (n < 1 || n > INT32_MAX)
        return error_set(error, "%s: run.world_size is %lld, expected 1 to %d", path, (long long)n, INT32_MAX);
    places->node_known = xcalloc((size_t)n, sizeof *places->node_known);
    places->socket_known = xcalloc((size_t)n, sizeof *places->socket_known);
    placement_init(&places->placement, (size_t)n);
    return 0;
}

static int read_place(struct cursor *rows, const char *path, struct recorded_places *places, struct error *error)
{
    int64_t rank = cursor_integer(rows, 0), node = cursor_integer(rows, 1), socket = cursor_integer(rows, 2);
    if (rank < 0 || (size_t)rank >= places->placement.n_ranks)
        return error_set(error, "%s: process: rank %lld is not in the world of %zu ranks", path, (long long)rank,
                         places->placement.n_ranks);
    if (node < 0 || node > UINT32_MAX || socket < 0 || socket > UINT32_MAX)
        return error_set(error, "%s: process: rank %lld is on node %lld, socket %lld", path, (long long)rank,
                         (long long)node, (long long)socket);
    places->placement.node[rank] = (uint32_t)node;
    places->placement.socket[rank] = (uint32_t)socket;
    places->node_known[rank] = sqlite3_column_type(rows->statement, 1) != SQLITE_NULL;
    places->socket_known[rank] = sqlite3_column_type(rows->statement, 2) != SQLITE_NULL;
    return 0;
}

int recorded_places_read(sqlite3 *database, const char *path, struct recorded_places *places, struct error *error)
{
    if (places_init(database, path, places, error) != 0)
        return -1;
    struct cursor rows;
    int result = 0;
    cursor_open(&rows, database, path, "SELECT rank, node, socket FROM process", error);
    while (result == 0 && cursor_next(&rows))
        result = read_place(&rows, path, places, error);
    if (cursor_close(&rows) != 0)
        result = -1;
    if (result != 0)
        recorded_places_release(places);
    return result;
}

int recorded_places_given(sqlite3 *database, const char *path, const struct placement *given,
                          struct recorded_places *places, struct error *error)
{
    if (places_init(database, path, places, error) != 0)
        return -1;
    size_t n_ranks = places->placement.n_ranks;
    if (given->n_ranks != n_ranks) {
        recorded_places_release(places);
        return error_set(error, "the placement has %zu ranks, %s has %zu", given->n_ranks, path, n_ranks);
    }
    placement_copy(&places->placement, given);
    for (size_t rank = 0; rank < n_ranks; rank++)
        places->node_known[rank] = places->socket_known[rank] = true;
    return 0;
}

void recorded_places_release(struct recorded_places *places)
{
    placement_release(&places->placement);
    FREE_ALL(places->node_known, places->socket_known);
    *places = (struct recorded_places){0};
}

void places_note_sockets(size_t n)
{
    if (n > 0)
        inform("note: the socket of %zu ranks is not known and was taken as socket 0 of their node; --placement L.csv "
               "says it",
               n);
}

/* Reads where the ranks of a trace were: all of them must be known. */
static int read_recorded_places(const char *path, sqlite3 *database, struct placement *placement, struct error *error)
{
    struct recorded_places places;
    if (recorded_places_read(database, path, &places, error) != 0)
        return -1;
    size_t n_ranks = places.placement.n_ranks, sockets = 0;
    int result = 0;
    placement_init(placement, n_ranks);
    for (size_t rank = 0; result == 0 && rank < n_ranks; rank++) {
        if (!places.node_known[rank])
            result = error_set(error, "%s: it is not known where rank %zu ran: give a placement with --placement L.csv",
                               path, rank);
        sockets += !places.socket_known[rank];
    }
    if (result == 0) {
        placement_copy(placement, &places.placement);
        places_note_sockets(sockets);
    }
    recorded_places_release(&places);
    return result;
}

int places_read(const char *trace, sqlite3 *database, const char *given, struct placement *placement,
                struct error *error)
{
    struct recorded_places checked;
    if (given == NULL)
        return read_recorded_places(trace, database, placement, error);
    if (placement_read_csv(given, placement, error) != 0)
        return -1;
    if (recorded_places_given(database, trace, placement, &checked, error) != 0)
        return -1;
    recorded_places_release(&checked);
    return 0;
}

int places_as_told(const char *told, const struct placement *before, struct placement *after, struct error *error)
{
    struct placement given = {0};
    for (enum arrangement rule = 0; rule < ARRANGE_COUNT; rule++)
        if (strcmp(told, arrangement_name[rule]) == 0) {
            placement_arrange(before, rule, after);
            return 0;
        }
    struct nearest nearest = nearest_to(told);
    for (enum arrangement rule = 0; rule < ARRANGE_COUNT; rule++)
        nearest_add(&nearest, arrangement_name[rule]);
    if (nearest_hint(&nearest)[0] != '\0' && access(told, F_OK) != 0)
        return error_set(error, "--to-placement %.40s: neither a rule nor a file%s", told, nearest_hint(&nearest));
    if (placement_read_csv(told, &given, error) != 0)
        return -1;
    int result = 0;
    if (given.n_ranks != before->n_ranks)
        result = error_set(error, "%s: %zu ranks, expected %zu", told, given.n_ranks, before->n_ranks);
    else
        placement_copy(after, &given);
    placement_release(&given);
    return result;
}
