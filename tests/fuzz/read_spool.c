/* Reads spools by way of `mpistair ingest`, and what a header names: the copy of the memory map, and the node's
 * topology.
 *
 * A whole spool is 64 KiB of mostly nothing. So the input is what differs from a plain one; numbers are little endian:
 *
 *     for each process, up to MAX_PROCESSES:
 *         1 byte   patches of the header, each: 2 bytes place, 1 byte length, so many bytes
 *         2 bytes  length of the chunks, 0xffff: as if the rest of a chunk followed; so many bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/trace/site/callsite.h"
#include "interpose/trace/site/symbols.h"
#include "predictor/predict_commands.h"
#include "report/command/commands.h"
#include "interpose/functions.h"
#include "interpose/trace/ingest.h"
#include "interpose/trace/gather/place.h"
#include "tests/fuzz/fuzz_readers.h"
#include "interpose/trace/gather/spools.h"

enum { MAX_PROCESSES = 4, CHUNK_BYTES = 4096, MAX_CHUNKS = 16 };

struct input {
    const uint8_t *at;
    size_t left;
};

static size_t take_number(struct input *input, int bytes)
{
    size_t number = 0;
    for (int i = 0; i < bytes && input->left > 0; i++, input->at++, input->left--)
        number |= (size_t)*input->at << (8 * i);
    return number;
}

static size_t take_bytes(struct input *input, void *to, size_t room, size_t bytes)
{
    bytes = bytes < input->left ? bytes : input->left;
    size_t copied = bytes < room ? bytes : room;
    memcpy(to, input->at, copied);
    input->at += bytes;
    input->left -= bytes;
    return copied;
}

static void plain_header(struct spool_header *header, int32_t rank)
{
    *header = (struct spool_header){
        .magic = SPOOL_MAGIC,
        .version = SPOOL_VERSION,
        .chunk_bytes = CHUNK_BYTES,
        .family = SPOOL_FAMILY_MPICH,
        .end = SPOOL_END_FINALIZE,
        .rank = rank,
        .world_size = 2,
        .pid = 4000,
        .n_functions = FN_COUNT,
        .table_hash = MPISTAIR_TABLE_HASH,
        .started_unix_ns = UINT64_C(1700000000001000000),
        .started_by = FN_Init,
        .start = {1000000, 1000000},
        .finish = {2000000, 2000000},
        .link_init = {.parent_rank = -1},
        .link_finalize = {.parent_rank = -1},
        .run_key = "run",
        .host = "node0",
        .library = "Test MPI 1.0",
        .command = "./app",
        .maps = "run-0.maps",
    };
}

static void write_spool(struct input *input, int32_t rank)
{
    static uint8_t file[SPOOL_CHUNKS_BEGIN + MAX_CHUNKS * CHUNK_BYTES];
    char name[32];
    struct spool_header header;
    memset(file, 0, sizeof file);
    plain_header(&header, rank);
    for (size_t n = take_number(input, 1); n > 0; n--) {
        size_t at = take_number(input, 2) % sizeof header, length = take_number(input, 1);
        take_bytes(input, (char *)&header + at, sizeof header - at, length);
    }
    size_t length = take_number(input, 2);
    bool whole = length == 0xffff;
    length = take_bytes(input, file + SPOOL_CHUNKS_BEGIN, MAX_CHUNKS * CHUNK_BYTES, length);
    size_t chunks = (length + CHUNK_BYTES - 1) / CHUNK_BYTES;
    if (header.chunks == 0)
        header.chunks = (uint32_t)chunks;
    memcpy(file, &header, sizeof header);
    snprintf(name, sizeof name, "run-%d" SPOOL_SUFFIX, rank);
    scratch_file(name, file, SPOOL_CHUNKS_BEGIN + (whole ? chunks * CHUNK_BYTES : length));
}

/* Hands what ingest wrote to another command, as the input's length says, since each costs as much as ingest. */
static void use_trace(const char *trace, size_t which)
{
    static const char *const queries[] = {
        "callsites", "kinds",       "level_volume", "message_sizes", "partners",         "rma",  "traffic",
        "waits",     "collectives", "stacks",       "late_senders",  "collective_sites", "files"};
    const char *query = queries[which / 4 % (sizeof queries / sizeof queries[0])];
    if (which % 4 == 0 && command(cmd_report, trace, "--format", "json", NULL) != 0)
        abort();
    if (which % 4 == 1 && command(cmd_query, trace, query, "--format", "csv", NULL) != 0)
        abort();
    /* No machine has every level. */
    if (which % 4 == 2)
        command(cmd_predict, trace, "--machine", "blue-waters", "--model", "postal,flow+queue", "--rounds", NULL);
    command(cmd_predict, trace, "--machine", "blue-waters", NULL);
}

void read_spool(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    char name[32], *spools = strdup(scratch_folder());
    const char *trace = scratch_path("trace.db");
    struct error error;
    int32_t n = 0;
    for (; n < MAX_PROCESSES && input.left > 0; n++)
        write_spool(&input, n);
    for (; n < MAX_PROCESSES; n++) {
        snprintf(name, sizeof name, "run-%d" SPOOL_SUFFIX, n);
        remove(scratch_path(name));
    }
    remove(trace);
    struct ingest_options options = {.folders = &spools, .n_folders = 1, .output = trace, .calls = true};
    if (ingest(&options, &error) == 0)
        use_trace(trace, size);
    free(spools);
}

void read_maps(const uint8_t *data, size_t size)
{
    struct spool spool = {.path = strdup(scratch_path("run-0" SPOOL_SUFFIX)), .header = {.maps = "run-0.maps"}};
    struct callsite_table callsites = {0};
    struct trace trace = {0};
    struct trace_process process = {.spool = &spool};
    scratch_file("run-0.maps", data, size);
    callsites_of_process(&callsites, &trace, &process);
    for (uint64_t address = 1; address != 0 && address < UINT64_MAX / 2; address = address * 2 + 0x1234)
        callsite_of(&callsites, &trace, address, address * 7);
    callsite_of(&callsites, &trace, UINT64_MAX, 150);
    callsites_resolve(&trace);
    callsites_release(&callsites);
    trace_release(&trace);
    free(process.regions);
    free(spool.path);
}

void read_node_topology(const uint8_t *data, size_t size)
{
    struct spool spool = {.path = strdup(scratch_path("run-0" SPOOL_SUFFIX)), .header = {.topology = "node.xml"}};
    struct trace trace = {.world_size = 1, .n_spools = 1, .n_nodes = 1};
    struct trace_posts *posts = malloc(sizeof *posts);
    struct error error;
    scratch_file("node.xml", data, size);
    trace.nodes = calloc(1, sizeof *trace.nodes);
    trace.processes = calloc(2, sizeof *trace.processes);
    if (posts == NULL || trace.nodes == NULL || trace.processes == NULL)
        abort();
    trace.nodes[0].host = "node0";
    *posts = (struct trace_posts){.cpu = 1, .posts = 1};
    trace.processes[0] = (struct trace_process){.spool = &spool, .posts = posts, .n_posts = 1};
    places_find(&trace, NULL, &error);
    trace_release(&trace);
    free(spool.path);
}
