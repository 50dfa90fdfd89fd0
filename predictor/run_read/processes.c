/* Reads what a trace says of its ranks as a whole: where and how long they ran, and the members of communicators. */
#include <math.h>

#include "predictor/run_read/reading.h"
#include "share/base/memory.h"

enum { MAX_RANKS = 1 << 24 };

static double optional_seconds(struct cursor *rows, int column)
{
    double ns = cursor_real(rows, column);
    return ns >= 0 ? ns * 1e-9 : NAN;
}

static int read_process(struct reading *reading, struct cursor *rows, size_t rank)
{
    int64_t node = cursor_integer(rows, 1), world = cursor_integer(rows, 10);
    if (cursor_integer(rows, 0) != (int64_t)rank || node < 0 || node > UINT32_MAX - 1)
        return error_set(reading->error, "%s: process: rank %lld on node %lld in row %zu; expected the ranks from 0 on",
                         reading->path, (long long)cursor_integer(rows, 0), (long long)node, rank + 1);
    struct read_rank *r = &reading->ranks[rank];
    *r = (struct read_rank){.from_ns = NO_TIME,
                            .to_ns = NO_TIME,
                            .stopped_ns = NO_TIME,
                            .observed_ns = isnan(cursor_real(rows, 6)) ? NO_TIME : cursor_integer(rows, 6),
                            .world = world > 0 && (size_t)world < reading->program->n_ranks ? (uint32_t)world : 0};
    if (row_read(reading, rows, "process", "..tt", &r->begin_ns, &r->end_ns) != 0)
        return -1;
    uint32_t processors = (uint32_t)(cursor_integer(rows, 7) & INT32_MAX);
    int64_t machine = cursor_integer(rows, 8), processor = cursor_integer(rows, 9);
    reading->program->ranks[rank] =
        (struct run_rank){.node = (uint32_t)node,
                          .processors = processors,
                          .processor = processor >= 0 && processor < INT32_MAX ? (int32_t)processor : -1,
                          .machine = machine < 0 || machine > node ? (uint32_t)node : (uint32_t)machine,
                          .run_s = optional_seconds(rows, 4),
                          .wait_s = optional_seconds(rows, 5)};
    return 0;
}

static int read_ranks(struct reading *reading)
{
    struct cursor rows;
    int64_t n;
    if (cursor_numbers(reading->database, reading->path, "SELECT count(*) FROM process", &n, 1, reading->error) != 0)
        return -1;
    if (n == 0 || n > MAX_RANKS)
        return error_set(reading->error, "%s: process: %lld ranks; expected 1 to %d", reading->path, (long long)n,
                         MAX_RANKS);
    reading->ranks = xcalloc((size_t)n, sizeof *reading->ranks);
    run_program_ranks(reading->program, (size_t)n);
    cursor_open(&rows, reading->database, reading->path,
                "SELECT rank, node, begin_ns, end_ns, run_ns, wait_ns, observed_ns, coalesce(processors, cores), "
                "coalesce(machine, node), coalesce(processor, -1), world "
                "FROM process LEFT JOIN node ON node.id = process.node ORDER BY rank",
                reading->error);
    for (size_t rank = 0; rows.result == 0 && rank < (size_t)n && cursor_next(&rows); rank++)
        if (read_process(reading, &rows, rank) != 0)
            rows.result = -1;
    return cursor_close(&rows);
}

/* Notes when the recording of a rank stopped before it ended. */
static int read_stop(void *context, struct cursor *rows)
{
    struct reading *reading = context;
    uint32_t rank;
    int64_t begin_ns;
    if (row_read(reading, rows, "not_recorded", "rt", &rank, &begin_ns) != 0)
        return -1;
    reading->ranks[rank].stopped_ns = begin_ns;
    return 0;
}

static int read_limits(struct reading *reading)
{
    int64_t values[3];
    int result = cursor_numbers(reading->database, reading->path,
                                "SELECT coalesce((SELECT eager_limit_bytes FROM run), -1),"
                                " coalesce((SELECT eager_limit_network_bytes FROM run), -1),"
                                " (SELECT mpi_family = 'Open MPI' FROM run)",
                                values, 3, reading->error);
    reading->eager_limit = values[0];
    reading->eager_limit_network = values[1];
    reading->program->mpi_family = values[2] != 0 ? MPI_FAMILY_OPEN_MPI : MPI_FAMILY_MPICH;
    return result;
}

struct communicator_group communicator_group(const struct reading *reading, int64_t comm)
{
    uint32_t first = map_find(&reading->groups, (struct map_key){(uint64_t)comm, 0, 0});
    return (struct communicator_group){first == MAP_ABSENT ? comm : first, first != MAP_ABSENT};
}

static int read_groups(struct reading *reading)
{
    struct cursor rows;
    cursor_open(&rows, reading->database, reading->path,
                "SELECT id, min(id, remote) FROM communicator WHERE remote IS NOT NULL", reading->error);
    while (cursor_next(&rows)) {
        uint32_t *first = map_at(&reading->groups, (struct map_key){(uint64_t)cursor_integer(&rows, 0), 0, 0});
        *first = (uint32_t)cursor_integer(&rows, 1) & INT32_MAX;
    }
    return cursor_close(&rows);
}

/* Fills the numbers of ranks in communicators. The groups of an intercommunicator are one, that with the smaller id
 * first. */
static int read_numbers(struct reading *reading)
{
    struct cursor rows;
    cursor_open(
        &rows, reading->database, reading->path,
        "SELECT min(c.id, coalesce(c.remote, c.id)), m.world_rank,"
        " m.rank + CASE WHEN c.remote < c.id THEN (SELECT size FROM communicator r WHERE r.id = c.remote) ELSE 0 END"
        " FROM communicator_member m JOIN communicator c ON c.id = m.communicator",
        reading->error);
    while (cursor_next(&rows)) {
        int64_t number = cursor_integer(&rows, 2);
        uint32_t *place = map_at(&reading->numbers, (struct map_key){(uint64_t)cursor_integer(&rows, 0),
                                                                     (uint64_t)cursor_integer(&rows, 1), 0});
        *place = number < 0 || number >= MAX_RANKS ? MAX_RANKS : (uint32_t)number;
    }
    return cursor_close(&rows);
}

int processes_read(struct reading *reading)
{
    return read_ranks(reading) != 0 ||
                   rows_read(reading, "SELECT rank, begin_ns FROM not_recorded", read_stop, reading) != 0 ||
                   read_limits(reading) != 0 || read_groups(reading) != 0 || read_numbers(reading) != 0
               ? -1
               : 0;
}
