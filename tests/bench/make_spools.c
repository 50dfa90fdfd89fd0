/* Makes spools of a job without MPI, as many and as long as wanted, in a moment: a ring in which each rank of a node
 * exchanges with its two neighbours, by four nonblocking operations and one MPI_Waitall a step. Nodes have clocks that
 * are apart.
 *
 * usage: make_spools FOLDER RANKS RANKS_A_NODE STEPS [sums]
 *
 * sums: as recorded by `mpistair run --sums`, of a job that exchanges with 26 neighbours and reduces: totals and a full
 * course alone. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/spool/area.h"
#include "interpose/spool/event.h"
#include "interpose/functions.h"

enum {
    STEP_NS = 4000,
    START_NS = 1000000,
    CHUNK_RECORDS_BYTES = SPOOL_CHUNK_BYTES - sizeof(struct spool_chunk),
    NEIGHBOURS = 26,
    SUMS_STEP_NS = 3600 * 1000, /* an hour by 1e6 steps */
    STEP_BYTES = 4 * sizeof(struct spool_operation) + sizeof(struct spool_call)
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void write_all(int file, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        ssize_t written = write(file, at, bytes);
        if (written <= 0)
            fail("write");
        at += written;
        bytes -= (size_t)written;
    }
}

static union {
    struct spool_header header;
    char bytes[SPOOL_CHUNKS_BEGIN];
} room;

/* Fills the header. end_ns: of the run. */
static void make_header(int rank, int ranks, int ranks_a_node, uint64_t end_ns, uint32_t chunks)
{
    memset(&room, 0, sizeof room);
    int leader = rank / ranks_a_node * ranks_a_node;
    room.header = (struct spool_header){
        .magic = SPOOL_MAGIC,
        .version = SPOOL_VERSION,
        .chunk_bytes = SPOOL_CHUNK_BYTES,
        .chunks = chunks,
        .clock_source = SPOOL_CLOCK_MONOTONIC,
        .family = SPOOL_FAMILY_MPICH,
        .end = SPOOL_END_FINALIZE,
        .rank = rank,
        .world_size = ranks,
        .node_leader = leader,
        .pid = (uint32_t)(1000 + rank),
        .n_functions = FN_COUNT,
        .table_hash = MPISTAIR_TABLE_HASH,
        .started_unix_ns = UINT64_C(1700000000000000000),
        .started_by = FN_Init,
        .start = {START_NS, START_NS},
        .finish = {end_ns, end_ns},
        .link_init = {.at_ns = leader == 0 ? 0 : START_NS, .rtt_ns = 2000, .parent_rank = leader == 0 ? -1 : 0},
        .link_finalize = {.at_ns = leader == 0 ? 0 : end_ns, .rtt_ns = 2000, .parent_rank = leader == 0 ? -1 : 0},
        .run_key = "bench",
        .library = "bench",
        .command = "bench",
    };
    snprintf(room.header.host, sizeof room.header.host, "node%d", rank / ranks_a_node);
}

/* Adds the calls of a function in all steps, one behind the other in each, to totals and course. */
static void add_calls(struct totals *totals, struct spool_total one, enum spool_window_family family, uint64_t steps,
                      uint64_t ticks)
{
    one.calls = steps;
    one.bytes *= steps;
    one.ticks = steps * ticks;
    one.longest_ticks = 3 * ticks;
    one.bin = total_bin(one.bytes / steps);
    totals_add(totals, &one);
    for (uint64_t i = 0; i < TOTALS_WINDOWS; i++) /* as much in each part of the run */
        totals_pass(totals, family, START_NS + i * steps * SUMS_STEP_NS / TOTALS_WINDOWS, one.ticks / TOTALS_WINDOWS,
                    steps / TOTALS_WINDOWS, one.flags & TOTAL_RECEIVE ? 0 : one.bytes / TOTALS_WINDOWS);
}

/* Writes the spool of a process of whose calls there are totals alone. */
static void write_sums(int file, int rank, int ranks, int ranks_a_node, uint64_t steps)
{
    uint64_t end_ns = START_NS + SUMS_STEP_NS * (steps + 1);
    make_header(rank, ranks, ranks_a_node, end_ns, 0);
    room.header.totals_bytes = SPOOL_TOTALS_BYTES;
    room.header.only_totals = 1;
    struct spool_area *area = (void *)(room.bytes + SPOOL_HEADER_BYTES);
    struct totals totals = {
        .slots = area->slots, .n_slots = TOTALS_SLOTS, .course = &area->course, .start_ticks = START_NS};
    for (int i = 0; i < NEIGHBOURS; i++) {
        int peer = (rank + ranks + (i % 2 == 0 ? 1 : -1) * (1 + i / 2 * i / 2 % (ranks / 2))) % ranks;
        struct spool_total one = {.peer = peer, .site = 0x1000 + 16 * (uint64_t)(i % 6), .bytes = 100U << i % 6 * 2};
        one.function = FN_Isend;
        add_calls(&totals, one, WINDOW_POINT_TO_POINT, steps, 300);
        one.function = FN_Irecv;
        one.flags = TOTAL_RECEIVE;
        add_calls(&totals, one, WINDOW_POINT_TO_POINT, steps, 200);
    }
    const struct spool_total none = {.communicator = SPOOL_NO_COMMUNICATOR, .peer = TOTAL_NO_PEER, .site = 0x2000};
    struct spool_total wait = none, reduce = {.peer = TOTAL_NO_PEER, .site = 0x3000, .bytes = 8};
    wait.function = FN_Waitall;
    add_calls(&totals, wait, WINDOW_WAIT, steps, 400000 + (uint64_t)(rank % 17) * 10000);
    reduce.function = FN_Allreduce;
    add_calls(&totals, reduce, WINDOW_COLLECTIVE, steps, 100000 + (uint64_t)(rank % 13) * 5000);
    write_all(file, &room, sizeof room);
}

/* Writes the five records of one step. */
static char *put_step(char *at, uint64_t step, int rank, int ranks)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    uint64_t begin = START_NS + STEP_NS * step + (uint64_t)(rank % 64) * 10, end = begin + 2000;
    for (int i = 0; i < 4; i++) {
        bool receive = i < 2;
        struct spool_operation operation = {.type = SPOOL_OPERATION,
                                            .direction = receive ? SPOOL_RECEIVE : SPOOL_SEND,
                                            .function = receive ? FN_Irecv : FN_Isend,
                                            .peer = i == 0 || i == 3 ? left : right,
                                            .tag = i == 0 || i == 2 ? 0 : 1,
                                            .bytes = 1000,
                                            .post_ticks = begin + (uint64_t)i * 100,
                                            .complete_ticks = end,
                                            .call_ticks = 80,
                                            .cpu_post = (int16_t)(rank % 64),
                                            .cpu_complete = (int16_t)(rank % 64)};
        memcpy(at, &operation, sizeof operation);
        at += sizeof operation;
    }
    struct spool_call call = {.type = SPOOL_CALL,
                              .function = FN_Waitall,
                              .completed = 4,
                              .begin_ticks = begin + 400,
                              .call_ticks = end - begin - 400};
    memcpy(at, &call, sizeof call);
    return at + sizeof call;
}

static void write_spool(const char *folder, int rank, int ranks, int ranks_a_node, uint64_t steps, bool sums)
{
    char path[4096];
    static char chunk[SPOOL_CHUNK_BYTES];
    const uint64_t steps_a_chunk = CHUNK_RECORDS_BYTES / STEP_BYTES;
    uint32_t chunks = (uint32_t)((steps + steps_a_chunk - 1) / steps_a_chunk);
    snprintf(path, sizeof path, "%s/bench-%d%s", folder, rank, SPOOL_SUFFIX);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0)
        fail(path);
    if (sums) {
        write_sums(file, rank, ranks, ranks_a_node, steps);
        chunks = 0;
    } else {
        make_header(rank, ranks, ranks_a_node, START_NS + STEP_NS * (steps + 1), chunks);
        write_all(file, &room, sizeof room);
    }
    for (uint32_t i = 0; i < chunks; i++) {
        uint64_t first = i * steps_a_chunk, end = first + steps_a_chunk < steps ? first + steps_a_chunk : steps;
        uint64_t at_ns = START_NS + STEP_NS * first + 1;
        memset(chunk, 0, sizeof chunk);
        struct spool_chunk head = {
            .magic = SPOOL_CHUNK_MAGIC, .lane = SPOOL_DEFINITIONS_LANE + 1, .sequence = i, .clock = {at_ns, at_ns}};
        memcpy(chunk, &head, sizeof head);
        char *at = chunk + sizeof head;
        for (uint64_t step = first; step < end; step++)
            at = put_step(at, step, rank, ranks);
        /* Leaves the file as the recorder does: the last chunk is cut to what it holds. */
        write_all(file, chunk, i + 1 < chunks ? sizeof chunk : (size_t)(at - chunk));
    }
    if (close(file) != 0)
        fail(path);
}

int main(int argc, char **argv)
{
    bool sums = argc == 6 && strcmp(argv[5], "sums") == 0;
    if ((argc != 5 && !sums) || atoi(argv[2]) < 3 || atoi(argv[3]) < 1 || atoll(argv[4]) < 1) {
        fprintf(stderr, "usage: make_spools FOLDER RANKS RANKS_A_NODE STEPS [sums]\n");
        return 2;
    }
    for (int rank = 0; rank < atoi(argv[2]); rank++)
        write_spool(argv[1], rank, atoi(argv[2]), atoi(argv[3]), strtoull(argv[4], NULL, 10), sums);
    return 0;
}
