/* Reads the table partition beside the messages, both in the order of the messages' ids. */
#include "predictor/run_read/reading.h"

#include <stdlib.h>

#include "share/base/array.h"

enum { COL_MESSAGE, COL_EACH, COL_PARTITIONS = 4, COL_FUNCTION, COL_CALLSITE, COL_COUNT };
static const char partitions_sql[] =
    "SELECT message_id, partition IS NOT NULL AS each, first_ns, max(last_ns) AS last_ns, max(partitions), function, "
    "callsite,"
    " count(DISTINCT partition) FROM partition WHERE direction = 'send' AND message_id IS NOT NULL"
    " GROUP BY message_id, each, first_ns, function, callsite ORDER BY message_id, each, first_ns";

int partitions_open(struct partition_reader *reader, struct reading *reading)
{
    *reader = (struct partition_reader){.reading = reading, .unknown_site = NO_OBJECT};
    cursor_open(&reader->rows, reading->database, reading->path, partitions_sql, reading->error);
    reader->has_row = cursor_next(&reader->rows);
    return reader->rows.result;
}

static void add_piece(struct partition_reader *reader, int64_t ready_ns, uint64_t partitions, uint32_t site)
{
    ARRAY_ADD(reader->pieces, reader->n_pieces, (struct piece){ready_ns, partitions, site});
}

/* Returns the site of the call in the row; one that is not known is of MPI_Pready. */
static uint32_t site_of_row(struct partition_reader *reader)
{
    struct reading *reading = reader->reading;
    struct cursor *rows = &reader->rows;
    struct pool names = {0};
    bool unknown = sqlite3_column_type(rows->statement, COL_CALLSITE) == SQLITE_NULL;
    const char *name = cursor_text(rows, COL_FUNCTION, &names);
    uint32_t function = function_by_name(reading, name != NULL && name[0] != '\0' ? name : "MPI_Pready");
    pool_release(&names);
    return site_by(reading, function, unknown ? -1 : cursor_integer(rows, COL_CALLSITE));
}

/* Takes the pieces of the first and the last time. */
static void add_partition_ends(struct partition_reader *reader, int64_t first_ns, int64_t last_ns)
{
    if (reader->unknown_site == NO_OBJECT)
        reader->unknown_site = site_by(reader->reading, function_by_name(reader->reading, "MPI_Pready"), -1);
    if (first_ns == NO_TIME || last_ns == NO_TIME)
        return;
    bool apart = reader->partitions > 1 && first_ns < last_ns;
    if (apart)
        add_piece(reader, first_ns, 1, reader->unknown_site);
    add_piece(reader, last_ns, reader->partitions - apart, reader->unknown_site);
}

/* Takes a row: of all partitions into ends_ns, the first and the last time, or of single ones into the pieces. */
static int take_row(struct partition_reader *reader, int64_t ends_ns[2])
{
    struct reading *reading = reader->reading;
    struct cursor *rows = &reader->rows;
    int64_t first_ns, last_ns, partitions = cursor_integer(rows, COL_PARTITIONS), n = cursor_integer(rows, COL_COUNT);
    if (row_read(reading, rows, "partition", "..tt", &first_ns, &last_ns) != 0)
        return -1;
    if (partitions < 1 || partitions > INT32_MAX)
        return error_set(reading->error, "%s: partition.partitions: %lld of message %lld; expected 1 or more",
                         reading->path, (long long)partitions, (long long)cursor_integer(rows, COL_MESSAGE));
    reader->partitions = (uint64_t)partitions;
    if (cursor_integer(rows, COL_EACH) == 0) {
        ends_ns[0] = first_ns;
        ends_ns[1] = last_ns;
        return 0;
    }
    uint32_t site = site_of_row(reader);
    if (first_ns != NO_TIME)
        add_piece(reader, first_ns, (uint64_t)n, site);
    return 0;
}

int partitions_of(struct partition_reader *reader, int64_t message, int64_t from_ns, int64_t before_ns)
{
    int64_t ends_ns[2] = {NO_TIME, NO_TIME};
    uint64_t n = 0;
    reader->n_pieces = 0;
    reader->partitions = 0;
    for (; reader->has_row && cursor_integer(&reader->rows, COL_MESSAGE) <= message;
         reader->has_row = cursor_next(&reader->rows))
        if (cursor_integer(&reader->rows, COL_MESSAGE) == message && take_row(reader, ends_ns) != 0) {
            reader->rows.result = -1;
            return -1;
        }
    if (reader->partitions == 0)
        return reader->rows.result;
    for (size_t i = 0; i < reader->n_pieces; i++)
        n += reader->pieces[i].partitions;
    if (n != reader->partitions) {
        reader->n_pieces = 0;
        add_partition_ends(reader, ends_ns[0], ends_ns[1]);
    }
    for (size_t i = 0; i < reader->n_pieces; i++)
        if (reader->pieces[i].ready_ns < from_ns || (before_ns != NO_TIME && reader->pieces[i].ready_ns >= before_ns))
            reader->n_pieces = 0;
    return reader->rows.result;
}

int partitions_close(struct partition_reader *reader)
{
    free(reader->pieces);
    reader->pieces = NULL;
    return cursor_close(&reader->rows);
}

uint64_t partitions_bytes(uint64_t bytes, uint64_t partitions, uint64_t n)
{
    uint64_t larger = bytes % partitions;
    return bytes / partitions * n + (n < larger ? n : larger);
}
