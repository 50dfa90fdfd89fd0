/* Says whether a trace has all of its run. Where it has not, shares are of what was recorded alone: each bears the mark
 * of whole_mark wherever it is shown, with the reason. */
#ifndef MPISTAIR_SUMS_WHOLE_H
#define MPISTAIR_SUMS_WHOLE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "share/base/error.h"

/* Of which calls a trace has rows; totals are of all calls. */
enum whole_detail { WHOLE_ALL, WHOLE_BURSTS, WHOLE_TOTALS };

struct whole {
    bool is_whole;    /* nothing is missing */
    bool times_known; /* no process and no record is missing: what ranks spent outside MPI they computed */
    enum whole_detail detail;
    char of_bursts[64]; /* "31 bursts, 4 % of the run"; "" without bursts */
    char reason[512];   /* the verdict of the view completeness; "" where it is whole */
};

/* Returns 0, or -1 with the reason. */
int whole_read(struct whole *whole, sqlite3 *database, const char *path, struct error *error);

/* Turns each "84 %" of the text into "84%?". */
void whole_mark(char *text);
/* Explains the mark; printf takes it with the reason. */
#define WHOLE_LEGEND "%%? is a share of a recording that is not whole: %s"

#endif
