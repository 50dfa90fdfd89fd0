/* Holds what is known of a run while its program is made of the trace's rows.
 *
 * Rows become *items*: ends of messages, members of collectives, other calls. Items of a rank that begin together at
 * one call site are a call. All ranks' items are read first, since a message counts only where both of its ends do;
 * then each rank's calls, strands and steps are made, rank by rank. An item takes 32 bytes, a message 8 beside its
 * own. */
#ifndef MPISTAIR_PREDICTOR_READING_H
#define MPISTAIR_PREDICTOR_READING_H

#include <sqlite3.h>
#include <stdbool.h>

#include "interpose/database/cursor.h"
#include "predictor/run_read/run_read.h"
#include "share/base/map.h"

#define NO_TIME   INT64_MIN
#define NO_OBJECT UINT32_MAX

enum function_class {
    FUNCTION_OTHER,
    FUNCTION_TEST,          /* fails until what it asks for is there */
    FUNCTION_PROBE,         /* sees the message of a receive that follows */
    FUNCTION_MATCHED_PROBE, /* posts the receive itself */
};
/* Says when a send waits for its receive, as the view form_waits does. */
enum function_send {
    SEND_BY_SIZE, /* above the eager limit */
    SEND_BY_TIME, /* where it lasted beyond the post of the receive: MPI_Send, and what is synchronous */
    SEND_NO_WAIT, /* buffered or ready */
};

struct read_function {
    const char *name; /* in the pool */
    uint8_t class, send;
    uint8_t message_flags; /* enum run_message_flag of what it sends */
};

enum item_kind { ITEM_SEND, ITEM_RECEIVE, ITEM_ONE_SIDED, ITEM_COLLECTIVE, ITEM_CALL, ITEM_IDLE };
struct item {
    int64_t begin_ns, end_ns; /* of the call; ITEM_IDLE: end - begin is spent in all of them */
    int64_t done_ns;          /* return of the call that reported the operation complete; NO_TIME: none did */
    uint32_t object;          /* message, or read_member; ITEM_IDLE: how many; NO_OBJECT: does not count */
    uint32_t site;
    uint32_t completed; /* operations that the call reported */
    uint8_t kind;
    bool waits;         /* a send that waited for its receive */
    uint16_t processor; /* as of run_step */
};
/* The same as kept until all are read. */
struct read_item {
    int64_t begin_ns;
    uint32_t length, done; /* from the begin to end_ns, done_ns: read_item_end_ns(), read_item_done_ns() */
    uint32_t object, site, completed;
    uint8_t kind;
    bool waits;
    uint16_t processor;
};

/* Describes a rank's part in a collective, as recorded. */
struct read_member {
    int64_t begin_ns, end_ns; /* end NO_TIME: never reported complete */
    int64_t nth;              /* number among the calls of its rank that meet the same ones of others; 0: not known */
    double bytes;
    uint32_t burst;
    uint32_t instance, rank;
    uint32_t number;          /* in the communicator */
    uint32_t member;          /* in the program */
    int64_t awaited_ns;       /* its own arrival, or a later one that it depended on */
    bool nonblocking, counts; /* counts: it lies in the window */
};
struct read_instance {
    uint32_t function; /* in functions */
    uint32_t root;     /* rank, or NO_OBJECT */
    bool between;      /* of an intercommunicator */
};

/* A part of the run of which all is known. */
struct read_burst {
    int64_t begin_ns, end_ns; /* NO_TIME: the begin, the end of the run */
    int64_t shift_ns;         /* what its times have more than those of the program */
};
/* What a rank did in a burst. */
struct read_span {
    size_t first_item, n_items;
    int64_t from_ns, to_ns; /* of the burst, the window, and what the rank is there of them */
};

struct read_rank {
    struct read_item *items;
    size_t n_items;
    struct read_span *spans;  /* [n_bursts] */
    int64_t begin_ns, end_ns; /* NO_TIME: not known */
    int64_t stopped_ns;       /* when its recording stopped; NO_TIME: it did not */
    int64_t from_ns, to_ns;   /* of the window; NO_TIME: open */
    int64_t observed_ns;
    uint32_t world; /* below the number of ranks */
    bool sleeps;    /* between polls, which thus are a wait (polls.c) */
};
/* Polls with gaps up to this one on average are all that a program does meanwhile. */
enum { POLL_SHORT_GAP_NS = 2000 };

/* Describes a recorded computation on a processor that ranks shared. */
struct computing {
    int64_t begin_ns, end_ns;
    size_t of; /* the step that it comes before, or the strand that it ends */
    uint32_t machine, rank;
    uint16_t processor; /* as of run_step */
    bool is_tail;
};

struct reading {
    sqlite3 *database;
    const char *path;
    struct error *error;
    struct run_program *program;
    struct pool *pool;
    /* want.recorded keeps the waits of calls for other ranks. The step of a cause is what was waited for, until all
     * steps are there: a run_operation, a message's other end or a member's peers. */
    struct run_want want;
    int64_t origin_ns;         /* second 0 of the program of a whole run */
    struct read_burst *bursts; /* [n_bursts], one or more, ascending */
    size_t n_bursts;
    bool is_whole;           /* that one burst is all of the run */
    struct read_rank *ranks; /* [program->n_ranks] */
    struct read_function *functions;
    size_t n_functions;
    struct map function_of_name, function_of_id, site_of, groups, numbers, instance_of, nth;
    uint32_t *site_function; /* [program->n_sites] */
    int64_t *late_ns;        /* [program->n_messages] from the post of the send to that of the receive */
    int64_t *long_ns;        /* [n_long] times that a read_item has no room for */
    size_t n_long;
    struct read_member *members;
    size_t n_members;
    struct read_instance *instances;
    size_t n_instances;
    int64_t eager_limit, eager_limit_network; /* -1: not known */
    struct map ranks_on_machine;              /* how many ranks each machine has */
    struct computing *computings;
    size_t n_computings;
};

/* All return 0 (or what they say), or -1 with the error set, unless they say otherwise. */
int reading_too_large(struct reading *reading);

/* names.c: functions and call sites. Return an index. */
uint32_t function_by_name(struct reading *reading, const char *name);
uint32_t site_by(struct reading *reading, uint32_t function, int64_t callsite);
const struct read_function *function_of_site(const struct reading *reading, uint32_t site);

/* processes.c: ranks, their nodes and times, eager limits, communicators. */
int processes_read(struct reading *reading);
/* Stands for both groups of an intercommunicator, under the smaller of their ids. */
struct communicator_group {
    int64_t id;
    bool between; /* of an intercommunicator */
};
struct communicator_group communicator_group(const struct reading *reading, int64_t comm);

/* rows.c, rows_messages.c, rows_collectives.c: read functions, make items of the rows. */
int names_read(struct reading *reading);
int item_add(struct reading *reading, uint32_t rank, const struct item *item);
/* Returns how a read_item keeps the time from its begin to another one, or NO_TIME. */
uint32_t item_pack(struct reading *reading, int64_t begin_ns, int64_t at_ns);
/* Takes the values of a row's columns, each of which has a letter and, but for '.', where its value goes:
 *     .   the column is left out
 *     r   uint32_t, a rank             R   the same, untouched where it is NULL
 *     t   int64_t, a time, NO_TIME for NULL
 *     l   int64_t, a length, as a time; a negative one, of which two clocks were read, is 0
 *     b   uint64_t, bytes
 *     c   uint32_t, a count
 *     i   int64_t
 *     s   int64_t, a call site, -1 for NULL
 *     f   uint32_t, a function by its id, MAP_ABSENT if there is none such
 *     F   uint32_t, a function by its name
 *     p   uint16_t, a processor as run_step has it
 * Errors name the table and the column. */
int row_read(struct reading *reading, struct cursor *rows, const char *table, const char *letters, ...);
/* Hands all rows of a query to a function, which returns 0, or -1 with the error set. */
int rows_read(struct reading *reading, const char *sql, int (*row)(void *context, struct cursor *rows), void *context);
int messages_read(struct reading *reading);
int calls_read(struct reading *reading);
int collectives_read(struct reading *reading);
int one_sided_read(struct reading *reading);

/* partitions.c: when which share of a partitioned message was ready to leave. What one call marked is a piece. */
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

/* presence.c: when ranks were there, and who spawned them; once the window is known. */
int presence_find(struct reading *reading);

/* computing.c: what of recorded computations was the rank's own. */
void computing_begin(struct reading *reading);
/* Says whether others may have computed on the rank's processor at the same time. */
bool computing_is_shared(const struct reading *reading, uint32_t rank);
/* Notes a computation of such a rank. Returns 0, or -1 beyond 2^31 of them. */
int computing_note(struct reading *reading, const struct computing *computing);
/* Leaves of each computation that was noted what was the rank's own, once all steps are made. */
void computing_divide(struct reading *reading);

/* members.c: finds the executions of collectives. */
/* Adds a rank's part in the next collective of that function and communicator, and its item. */
int member_add(struct reading *reading, struct read_member *member, int64_t comm, uint32_t function, uint32_t root,
               const struct item *item);
/* Makes the program's collectives of what counts. */
int collectives_make(struct reading *reading);

/* recorded.c: makes what a replay would keep of what was recorded, once the program is whole. */
void recorded_make(const struct reading *reading);

/* bursts.c: reads the bursts. */
int bursts_read(struct reading *reading);
/* Puts them one behind the other, once the spans of ranks are known. */
void bursts_join(struct reading *reading);

/* bounds.c: finds where the window begins and ends on each rank. */
int bounds_find(struct reading *reading);
/* window.c: sorts the items, drops what does not lie in the window, and messages of which an end does not. */
void window_apply(struct reading *reading);
/* polls.c: sets `sleeps` of the ranks, whose items are sorted. */
void polls_judge(const struct reading *reading);
/* Returns the end of the items from first on, at most n, that are one call; *end_ns is when that returns. */
size_t call_of_items(const struct reading *reading, const struct read_item *items, size_t n, size_t first,
                     int64_t *end_ns);

enum { READ_ITEM_SHORT_NS = INT32_MAX }; /* what is longer, or negative, is kept beside it */
#define READ_ITEM_NO_TIME UINT32_MAX

static inline int64_t read_item_at_ns(const struct reading *reading, const struct read_item *item, uint32_t packed)
{
    if (packed <= READ_ITEM_SHORT_NS)
        return item->begin_ns + packed;
    return packed == READ_ITEM_NO_TIME ? NO_TIME : item->begin_ns + reading->long_ns[packed - READ_ITEM_SHORT_NS - 1U];
}
static inline int64_t read_item_end_ns(const struct reading *reading, const struct read_item *item)
{
    return read_item_at_ns(reading, item, item->length);
}
static inline int64_t read_item_done_ns(const struct reading *reading, const struct read_item *item)
{
    return read_item_at_ns(reading, item, item->done);
}
/* Returns when the send of an item that is an end of a message was posted. */
static inline int64_t read_item_send_ns(const struct reading *reading, const struct read_item *item)
{
    return item->begin_ns - (item->kind == ITEM_RECEIVE ? reading->late_ns[item->object] : 0);
}

static inline double reading_seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

#endif
