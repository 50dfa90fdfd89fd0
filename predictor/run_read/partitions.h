/* Says when which share of a partitioned message was ready to leave. What one call marked is a piece. */
#ifndef MPISTAIR_PREDICTOR_PARTITIONS_H
#define MPISTAIR_PREDICTOR_PARTITIONS_H

#include "predictor/run_read/reading.h"

struct piece {
    int64_t ready_ns;
    uint64_t partitions; /* of those of the message */
    uint32_t site;       /* of the call that marked them */
};

struct partition_reader {
    struct reading *reading;
    struct cursor rows;
    bool has_row;
    struct piece *pieces; /* [n_pieces] of the last message asked for, by time */
    size_t n_pieces;
    uint64_t partitions; /* of that message */
    uint32_t unknown_site;
};

/* Begins to read the partitions of messages that were sent. Returns 0, or -1 with the error set; partitions_close in
 * either case. */
int partitions_open(struct partition_reader *reader, struct reading *reading);
/* Fills the pieces of a message; ids ascend from call to call. There are none where it is not partitioned, or nothing
 * is known of its partitions. Where the trace has no row for each of them the first is ready at the first time, all
 * others at the last one: the latest that is possible. Times from before_ns on, and before from_ns, are not believed.
 * Returns 0, or -1 with the error set. */
int partitions_of(struct partition_reader *reader, int64_t message, int64_t from_ns, int64_t before_ns);
int partitions_close(struct partition_reader *reader);

/* Returns the bytes in the first n of all partitions, which are as equal as possible. */
uint64_t partitions_bytes(uint64_t bytes, uint64_t partitions, uint64_t n);

#endif
