/* Finds where ranks are: as given, as recorded, or by a rule; where they would exchange less, by the partitioner
 * Scotch; and writes it as files that launchers take. */
#ifndef MPISTAIR_PREDICTOR_PLACES_H
#define MPISTAIR_PREDICTOR_PLACES_H

#include <sqlite3.h>

#include "predictor/pattern/pattern.h"
#include "share/base/placement.h"

struct recorded_places {
    struct placement placement; /* places of all ranks of the world */
    bool *node_known;           /* [placement.n_ranks] */
    bool *socket_known;         /* socket 0 where not */
};

/* Reads them. Returns 0, or -1 with the reason. */
int recorded_places_read(sqlite3 *database, const char *path, struct recorded_places *places, struct error *error);
/* Takes them from a placement given by hand, which must have the ranks of the run. */
int recorded_places_given(sqlite3 *database, const char *path, const struct placement *given,
                          struct recorded_places *places, struct error *error);
/* Says on stderr of how many ranks the socket is not known. */
void places_note_sockets(size_t n);
void recorded_places_release(struct recorded_places *places);

/* Reads the file `given`, which must have the ranks of the trace; NULL: the recorded places, which must be known. Says
 * on stderr how many sockets are not. Returns 0, or -1 with the reason. */
int places_read(const char *trace, sqlite3 *database, const char *given, struct placement *placement,
                struct error *error);

/* Returns whether mpistair was built with Scotch. */
bool placement_map_is_built(void);
/* Bytes that two ranks exchange; a pair may come several times, in both orders. */
struct rank_bytes {
    uint32_t a, b;
    double bytes;
};
/* Fills mapped, a placement of slots->n_ranks from placement_init, with the places of slots, each as often as there:
 * ranks that exchange many bytes are close together. Returns 0, or -1 with the reason. */
int placement_map(const struct rank_bytes *pairs, size_t n_pairs, const struct placement *slots, uint64_t seed,
                  struct placement *mapped, struct error *error);

/* Writes PREFIX.rankfile (of Open MPI), PREFIX.hosts (of MPICH's hydra) and PREFIX.L.csv, each beside and then renamed:
 * all or (but for a failing rename) none. The nodes are named as in the trace that is open as database. What the user
 * should know of the files is a note. Returns 0, or -1 with the reason: a node without a name, a name with odd
 * characters, no such folder. */
int rank_file_write(const char *prefix, const struct placement *placement, sqlite3 *database, const char *trace,
                    struct error *error);

/* Fills `after`, of as many ranks as `before`, as told: the name of an arrangement, else a file. Returns 0, or -1 with
 * the reason. */
int places_as_told(const char *told, const struct placement *before, struct placement *after, struct error *error);

#endif
