/* Forms the sums over all messages in one pass. */
#ifndef MPISTAIR_SUMS_MESSAGE_SUMS_H
#define MPISTAIR_SUMS_MESSAGE_SUMS_H

#include <sqlite3.h>

#include "share/base/error.h"
#include "interpose/sums/round_sums.h"

/* Limits the kinds of round that a report shows. It is a macro, since it stands in the text of a query. */
#define HEAVIEST_KINDS 10

/* Fills temp.incoming and temp.outgoing, and the traffic of temp.heaviest_kind, whose kinds must be there. Notes in
 * rounds and in temp.late_form who waited for whom. Returns 0, or -1 with the reason. */
int message_sums_make(sqlite3 *database, const char *path, struct round_sums *rounds, struct error *error);

#endif
