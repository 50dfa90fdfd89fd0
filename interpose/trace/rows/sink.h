/* Takes rows by the million into the database: they are gathered in batches, which a thread of its own inserts while
 * the next one is gathered. Where the trace has shards (interpose/database/shards.h), each has such a thread. Between
 * sink_begin and sink_end the connections belong to these threads. */
#ifndef MPISTAIR_TRACE_SINK_H
#define MPISTAIR_TRACE_SINK_H

#include <pthread.h>
#include <sqlite3.h>

#include "interpose/database/row.h"
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

/* Which rows go to which shard; n 0: all to one file. */
struct sink_shards {
    sqlite3 **databases; /* [n] with their tables */
    uint32_t *of_rank;   /* [world_size] */
    size_t n;
};

/* A database with its thread. */
struct sink_file {
    sqlite3 *database;
    bool is_shard;
    bool takes[SINK_TABLES];
    int64_t rows[SINK_TABLES]; /* that it got */
    int64_t idle_calls;
    int64_t begin_ns, end_ns; /* of its rows */
    struct row late_calls;
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

struct sink {
    sqlite3 *database;
    const struct sink_shards *shards;
    bool calls;         /* wanted */
    struct form *forms; /* [n_forms] what messages have in common; its id is the index plus one */
    size_t n_forms;
    struct map form_numbers;
    int64_t n_messages; /* ids given */
    int64_t n_unmatched;
    int64_t n_calls;
    struct sink_file *files; /* [n_files] trace.db, and its shards */
    size_t n_files;
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

/* Writes the table function, and starts the threads. Returns 0, an errno value without a thread, or -1: the database
 * says why. */
int sink_begin(struct sink *sink, sqlite3 *database, bool calls, const struct sink_shards *shards);
/* Hands over what was gathered. Returns 0, or -1: a database says why. */
int sink_flush(struct sink *sink);
/* Flushes, and waits for the last row. Returns 0 or -1 as sink_flush. */
int sink_end(struct sink *sink);
/* Of a sink that has begun, once it has ended. */
void sink_release(struct sink *sink);

/* Between these two, after sink_end, calls that were in memory are inserted at once. sink_late_calls_end returns 0 or
 * -1 as sink_flush. */
void sink_late_calls_begin(struct sink *sink);
int sink_late_calls_end(struct sink *sink);

/* True if the form of this index has the doubt, of enum trace_doubt. */
bool sink_form_has(const struct sink *sink, size_t index, uint8_t doubt);
/* Adds a form that is the one of this index with a doubt, for so many of its messages. Returns its id. */
int64_t sink_twin(struct sink *sink, size_t index, uint8_t doubt, int64_t messages, int64_t bytes);
/* Writes the table form, once no message changes any more. Returns 0, or -1: the database says why. */
int sink_write_forms(const struct sink *sink);
/* Writes the table form_sum, after sink_end. Returns 0, or -1: the database says why. */
int sink_write_form_sums(const struct sink *sink);

/* Adds a row of numbers, values[columns of the table], to a table that trace.db itself has. */
void sink_add(struct sink *sink, enum sink_table table, const int64_t *values);

/* Add a row each; sink_message and sink_unmatched return its id. *form: the id of the message's form. */
int64_t sink_message(struct sink *sink, const struct trace *trace, const struct trace_operation *send,
                     const struct trace_operation *receive, int64_t round, int64_t *form);
int64_t sink_unmatched(struct sink *sink, const struct trace_operation *operation);
void sink_call(struct sink *sink, struct call_row row);
void sink_late_call(struct sink *sink, struct call_row row);
/* Adds the call of an operation without a message. */
void sink_operation_call(struct sink *sink, const struct trace_operation *operation);
/* Rounds come in the order of their ids, 1, 2, ... */
void sink_round(struct sink *sink, uint32_t kind, int64_t begin_ns, int64_t end_ns, int64_t first_message);
void sink_member(struct sink *sink, int64_t round, uint32_t rank, int64_t begin_ns, int64_t end_ns, int64_t in_mpi_ns);

/* Returns a function's id in the database, in which 0 is no id. */
static inline int64_t function_id(uint16_t function)
{
    return (int64_t)function + 1;
}

#endif
