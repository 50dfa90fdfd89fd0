/* Holds an OTF2 archive while it is written. OTF2 names everything by numbers, which definitions explain: events come
 * first, and what they named is defined when all of them are there.
 *
 * A rank is a location group (a process), each lane of it a location (a thread): lane 0 of rank r is location r, lane k
 * is k * n_ranks + r. */
#ifndef MPISTAIR_EXPORT_OTF2_WRITER_H
#define MPISTAIR_EXPORT_OTF2_WRITER_H

#include <otf2/otf2.h>

#include "report/export/rank_timeline.h"

/* Is a function as called from one place. */
struct otf2_region {
    uint32_t function, site; /* site NAME_NONE: not known */
    OTF2_RegionRole role;
};

struct otf2_location {
    uint32_t rank, lane;
    uint64_t n_events;
};

struct otf2_window {
    OTF2_CommRef comm;
};

struct otf2 {
    struct export *export;
    struct export_names names;
    OTF2_Archive *archive;
    OTF2_CommRef *comm_refs; /* [names.n_comms] both groups of an intercommunicator have one */
    OTF2_CommRef n_comm_refs;
    uint32_t *comm_sizes;        /* [names.n_comms] members that the trace knows */
    struct map rank_in_comm;     /* by (id of communicator, rank of MPI_COMM_WORLD) */
    struct map window_of;        /* by (rank, number of the window in its process) */
    struct otf2_window *windows; /* [n_windows] the same one on all ranks */
    size_t n_windows;
    struct map region_of; /* by (function, site) */
    struct otf2_region *regions;
    size_t n_regions;
    struct otf2_location *locations;
    size_t n_locations;
    OTF2_EvtWriter **writers; /* [n_writers] of the lanes of the present rank */
    size_t n_writers;
    uint32_t rank;
    int64_t base_ns, last_ns; /* second 0 of the archive; last event */
    uint64_t n_unreceived;    /* messages whose receive was never reported complete */
    bool unknown_comm;        /* it is named somewhere */
    uint64_t n_foreign;       /* messages on communicators whose members the trace does not know */
    char reason[512];         /* the first error of libotf2 */
};

/* Returns -1 with the reason that libotf2 gave. */
int otf2_failure(struct otf2 *out);

/* otf2_comms.c: reads who is in which communicator and window, and defines them. */
int otf2_comms_read(struct otf2 *out);
int otf2_comms_define(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string);
/* Names the communicator of an operation and the rank there of a rank of MPI_COMM_WORLD. One whose members are not
 * known stands for all ranks. */
struct otf2_place {
    OTF2_CommRef comm;
    uint32_t rank;
    bool known;
};
struct otf2_place otf2_place(struct otf2 *out, int64_t comm, int64_t world_rank);

/* otf2_events.c: writes the events of all ranks. */
int otf2_events_write(struct otf2 *out);

/* otf2_definitions.c: writes what the numbers in the events mean. */
int otf2_definitions_write(struct otf2 *out);
/* Defines a text and returns its number in *string. */
bool otf2_string(OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string, const char *text, OTF2_StringRef *string);

#endif
