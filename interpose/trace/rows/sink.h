/* Takes rows by the million into the database: they are gathered in batches, which a thread of its own inserts while
 * the next one is gathered. Between sink_begin and sink_end the connection belongs to that thread. */
#ifndef MPISTAIR_TRACE_SINK_H
#define MPISTAIR_TRACE_SINK_H

#include <pthread.h>
#include <sqlite3.h>

#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

/* Tables that are filled in batches. */
enum sink_table {
    SINK_MESSAGES,
    SINK_UNMATCHED,
    SINK_CALLS,
    SINK_ROUNDS,
    SINK_MEMBERS,
    SINK_MESSAGE_SUMS,
    SINK_KIND_SUMS,
    SINK_TABLES
};

struct sink_batch {
    int64_t *values; /* [n_values] row by row */
    size_t n_values;
    size_t capacity;
};

struct sink {
    sqlite3 *database;
    bool calls;         /* wanted */
    struct form *forms; /* [n_forms] what messages have in common; its id is the index plus one */
    size_t n_forms;
    struct map form_numbers;
    int64_t n_messages; /* ids given */
    int64_t n_unmatched;
    struct sink_batch batches[2][SINK_TABLES];
    unsigned filling; /* index of the batches that are filled */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The lock guards what follows. */
    bool full; /* the other batches wait or are being inserted */
    bool ended;
    bool failed; /* the database says why */
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

/* Writes the table function, and starts the thread. Returns 0, an errno value without a thread, or -1: the database
 * says why. */
int sink_begin(struct sink *sink, sqlite3 *database, bool calls);
/* Hands over what was gathered. Returns 0, or -1: the database says why. */
int sink_flush(struct sink *sink);
/* Flushes, waits for the last row, writes the forms. Returns 0 or -1 as sink_flush. */
int sink_end(struct sink *sink);

/* Adds a row of numbers, values[columns of the table]. */
void sink_add(struct sink *sink, enum sink_table table, const int64_t *values);

/* Add a row each; sink_message and sink_unmatched return its id. *form: the id of the message's form. */
int64_t sink_message(struct sink *sink, const struct trace *trace, uint32_t receive, int64_t round, int64_t *form);
int64_t sink_unmatched(struct sink *sink, const struct trace *trace, uint32_t operation);
void sink_call(struct sink *sink, struct call_row row);
/* Adds the call of an operation without a message. */
void sink_operation_call(struct sink *sink, const struct trace_operation *operation);
/* Rounds come in the order of their ids, 1, 2, ... */
void sink_round(struct sink *sink, uint32_t kind, int64_t begin_ns, int64_t end_ns);
void sink_member(struct sink *sink, int64_t round, uint32_t rank, int64_t begin_ns, int64_t end_ns, int64_t in_mpi_ns);

/* Returns a function's id in the database, in which 0 is no id. */
static inline int64_t function_id(uint16_t function)
{
    return (int64_t)function + 1;
}

#endif
