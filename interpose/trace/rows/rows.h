/* Describes the rows that come by the million: what is kept of each until it is inserted, and how a batch of them goes
 * into its table (feed.h). */
#ifndef MPISTAIR_TRACE_ROWS_H
#define MPISTAIR_TRACE_ROWS_H

#include "interpose/trace/rows/feed.h"

struct message_row {
    int64_t id;
    int64_t round; /* 0: none */
    int64_t form;
    int64_t send_post_ns;
    int64_t send_ns;
    int64_t late_ns;
    int64_t recv_ns;
    int64_t send_call_ns;
    int64_t recv_call_ns;
    uint64_t bytes;
    int64_t room_bytes;
    uint32_t src;
    uint32_t dst;
    uint32_t communicator;
    int32_t tag;
    int16_t send_cpu;
    int16_t recv_cpu;
};

struct unmatched_row {
    int64_t id;
    int64_t post_ns;
    int64_t complete_ns;
    uint64_t bytes;
    uint32_t rank;
    int32_t peer_world;
    uint32_t communicator;
    int32_t tag;
    uint32_t callsite;
    uint16_t function;
    uint8_t direction;
    uint8_t reason;
};

struct round_row {
    int64_t id;
    int64_t begin_ns;
    int64_t end_ns;
    uint32_t kind;
};

struct member_row {
    int64_t round;
    int64_t begin_ns;
    int64_t end_ns;
    int64_t in_mpi_ns;
    uint32_t rank;
};

struct call_row {
    int64_t begin_ns;
    int64_t call_ns;
    uint32_t rank;
    uint32_t completed;
    uint32_t idle_calls;
    uint32_t callsite;
    uint16_t function;
};

/* Names the tables that are filled in batches. */
enum row_table { ROWS_MESSAGE, ROWS_CALL, ROWS_ROUND, ROWS_MEMBER, ROWS_UNMATCHED, ROWS_TABLES };

/* Sets up a feed for each table, feeds[ROWS_TABLES], for feed_begin. */
void rows_feeds(struct feed *feeds);

#endif
