/* Sums over messages and rounds, formed while their rows are written, so that no command goes through the rows again:
 * the tables message_sum and kind_sum of share/sql/schema.sql. */
#ifndef MPISTAIR_TRACE_TOTALS_H
#define MPISTAIR_TRACE_TOTALS_H

#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

enum late_cause { LATE_SENDER, LATE_RECEIVER, LATE_COUNT };

/* A side of a message that waited for the other one to post; late_ns 0: neither did. */
struct late {
    int64_t begin_ns, late_ns;
    enum late_cause cause;
};

/* One rank in a round. */
struct round_member {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t begin_in_mpi_ns;
    int64_t end_in_mpi_ns;
    uint32_t rank;
};

struct totals {
    const struct trace *trace;
    struct sink *sink;
    int64_t eager_bytes[2]; /* inside a node, between nodes; TRACE_NO_TIME: not known */
    struct map pair_numbers;
    struct pair_total *pairs; /* [n_pairs] by source, destination and form */
    size_t n_pairs;
    struct map member_numbers;
    struct member_total *members; /* [n_members] by kind and rank */
    size_t n_members;
    struct late_span *spans; /* [n_spans] waits in the round that is added next */
    size_t n_spans;
    size_t spans_capacity;
};

void totals_begin(struct totals *totals, const struct trace *trace, struct sink *sink);
void totals_release(struct totals *totals);

/* Finds who waited in a message: a receive posted before its send waits for the late sender; a send that needs its
 * receive (synchronous, or larger than the eager limit) and was posted before it waits for the late receiver. */
struct late totals_late(const struct totals *totals, const struct trace_operation *send,
                        const struct trace_operation *receive);
/* Adds a message, whose form has that id in the table form. */
void totals_add_message(struct totals *totals, const struct trace_operation *send,
                        const struct trace_operation *receive, int64_t form, struct late late);

/* Notes a wait of the round that totals_add_round adds next. */
void totals_note_late(struct totals *totals, uint32_t rank, struct late late);
/* Adds a round of a kind with its ranks in ascending order, members[n_members]. */
void totals_add_round(struct totals *totals, uint32_t kind, const struct round_member *members, size_t n_members);

/* Hands the sums so far to the sink and begins anew. */
void totals_flush(struct totals *totals);

#endif
