/* Takes rows by the million into the database: they are gathered in batches, which a thread of its own inserts while
 * the next one is gathered. Between sink_begin and sink_end the connection belongs to that thread. */
#ifndef MPISTAIR_TRACE_SINK_H
#define MPISTAIR_TRACE_SINK_H

#include <pthread.h>
#include <sqlite3.h>

#include "interpose/trace/rows/form.h"
#include "interpose/trace/rows/rows.h"
#include "interpose/trace/state/trace.h"

struct sink_batch {
    struct message_row *messages;
    size_t n_messages;
    size_t messages_capacity;
    struct call_row *calls;
    size_t n_calls;
    size_t calls_capacity;
    struct round_row *rounds;
    size_t n_rounds;
    size_t rounds_capacity;
    struct member_row *members;
    size_t n_members;
    size_t members_capacity;
    struct unmatched_row *unmatched;
    size_t n_unmatched;
    size_t unmatched_capacity;
};

struct sink {
    sqlite3 *database;
    bool calls; /* wanted */
    struct form_table forms;
    int64_t n_messages; /* ids given */
    int64_t n_unmatched;
    struct sink_batch batches[2];
    unsigned filling; /* index of the batch that is filled */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running;
    /* The lock guards what follows. */
    bool full; /* the other batch waits or is being inserted */
    bool ended;
    bool failed; /* the database says why */
};

/* Starts the thread. Returns 0, or an errno value without a thread. */
int sink_begin(struct sink *sink, sqlite3 *database, bool calls);
/* Hands over what was gathered. Returns 0, or -1: the database says why. */
int sink_flush(struct sink *sink);
/* Flushes, waits for the last row, writes the forms. Returns 0 or -1 as sink_flush. May be called again; then it only
 * releases. */
int sink_end(struct sink *sink);

/* Add a row each; sink_message and sink_unmatched return its id. */
int64_t sink_message(struct sink *sink, struct trace *trace, uint32_t receive, int64_t round);
int64_t sink_unmatched(struct sink *sink, struct trace *trace, uint32_t operation);
void sink_call(struct sink *sink, struct call_row row);
/* Adds the call of an operation without a message. */
void sink_operation_call(struct sink *sink, const struct trace_operation *operation);
void sink_round(struct sink *sink, struct round_row row);
void sink_member(struct sink *sink, struct member_row row);

#endif
