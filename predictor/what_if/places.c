/* Both what-ifs, of rounds and of runs, ask for places in the same words. See places.h. */
#include "predictor/what_if/places.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "predictor/replay/replay_place.h"
#include "predictor/what_if/arrange.h"
#include "share/base/nearest.h"

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
        if (sockets > 0)
            fprintf(stderr,
                    "mpistair: note: the socket of %zu ranks is not known and was taken as socket 0 of their node; "
                    "--placement L.csv says it\n",
                    sockets);
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
