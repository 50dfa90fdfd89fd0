/* Finds where ranks are: as given, as recorded, or by a rule. */
#ifndef MPISTAIR_PREDICTOR_PLACES_H
#define MPISTAIR_PREDICTOR_PLACES_H

#include <sqlite3.h>

#include "share/base/placement.h"

/* Reads the file `given`, which must have the ranks of the trace; NULL: the recorded places, which must be known. Says
 * on stderr how many sockets are not. Returns 0, or -1 with the reason. */
int places_read(const char *trace, sqlite3 *database, const char *given, struct placement *placement,
                struct error *error);

/* Fills `after`, of as many ranks as `before`, as told: the name of an arrangement, else a file. Returns 0, or -1 with
 * the reason. */
int places_as_told(const char *told, const struct placement *before, struct placement *after, struct error *error);

#endif
