/* What `mpistair diff` compares of one run: the time of each call site on each rank, of all calls and span by span.
 *
 * A *cell* is a call site on a rank. Its calls, in their order, fall into PROFILE_SPANS spans of as many calls each. Of
 * a span the *undisturbed* time counts: the mean of the fastest quarter of its calls, times their number. Other load on
 * the machine makes calls slower, never faster; what the program does differently moves all of them. */
#ifndef MPISTAIR_COMPARE_PROFILE_H
#define MPISTAIR_COMPARE_PROFILE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/database/cursor.h"
#include "interpose/sums/whole.h"

enum {
    PROFILE_SPANS = 16,
    PROFILE_FEW_CALLS = 8, /* a cell of fewer calls shows nothing of its own variation */
};

/* Kinds of calls, by what they do. */
enum profile_kind {
    PROFILE_POINT_TO_POINT,
    PROFILE_COLLECTIVE,
    PROFILE_ONE_SIDED,
    PROFILE_FILE,
    PROFILE_OTHER,
    PROFILE_KINDS
};
extern const char *const profile_kind_name[PROFILE_KINDS]; /* point-to-point, collectives ... */
/* Returns the kind of a function, "MPI_Isend". Completions (MPI_Wait...) are point-to-point. */
enum profile_kind profile_kind_of(const char *function);

/* Where a call was made, so that the same site can be found in another run's trace. Empty and 0: not known. */
struct profile_site {
    const char *function; /* MPI_Isend; "end" is what comes behind the last call */
    const char *symbol, *file, *module;
    const char *name, *callers; /* as the view site has them: "exchange", "job+0x1a2b"; " in step :17" */
    int64_t line, offset;
    uint64_t bytes;   /* handed to its calls, of messages what was sent */
    int64_t callsite; /* the trace's own id, which means nothing in another one; -1: not known */
    enum profile_kind kind;
};

/* Parts of time: computation before a call, the call itself, and within it waiting for others. */
enum profile_part { PROFILE_COMPUTATION, PROFILE_CALL, PROFILE_WAIT, PROFILE_PARTS };

struct profile_cell {
    uint32_t rank, site;
    uint64_t calls;
    double total_s[PROFILE_PARTS];             /* of all calls, disturbed or not */
    float span_s[PROFILE_WAIT][PROFILE_SPANS]; /* undisturbed */
};

enum { PROFILE_LEVELS = 5 }; /* enum level without a level: not known */

/* The messages of a level, from when both sides had posted to when the receive was complete. */
struct profile_level {
    uint64_t messages, bytes;
    double total_s;
    double span_s[PROFILE_SPANS]; /* undisturbed, as of a cell */
};

struct profile {
    const char *path, *command, *mpi; /* in pool */
    struct whole whole;
    int64_t started_ns;
    const char *run_key;
    uint32_t n_ranks;
    double duration_s;
    double processor_wait; /* share of the ranks' time that they waited for a processor, 0 where not known */
    struct profile_site *sites;
    size_t n_sites;
    struct profile_cell *cells; /* by rank */
    size_t n_cells;
    struct profile_level levels[PROFILE_LEVELS];
    double run_span_s[PROFILE_SPANS]; /* all time of all ranks, disturbed or not, span by span of each cell */
    struct pool pool;
};

/* Reads a profile from the trace of that path. Returns 0, or -1 with the reason; profile_release in either case. */
int profile_read(struct profile *profile, sqlite3 *database, const char *path, struct error *error);
void profile_release(struct profile *profile);

/* Writes the undisturbed time of each span of n calls, whose values[n] it sorts. */
void profile_spans(double *values, size_t n, double span_s[PROFILE_SPANS]);

#endif
