/* The spool: what one process leaves behind of its MPI calls, byte by byte.
 *
 * A spool file belongs to one process. It is a shared mapping that the recorder only stores into, so that the
 * kernel keeps everything up to the last store when the process is killed. It holds
 *
 *     offset 0                   struct spool_header, padded to SPOOL_HEADER_BYTES
 *     SPOOL_HEADER_BYTES + k*C   chunk k, C = header.chunk_bytes (1 MiB): struct spool_chunk, then records
 *
 * A lane is the sequence of chunks of one thread. Records lie behind each other in a chunk; each begins with
 * its type, is a multiple of 32 bytes, and counts only once its type is set (stored last, release), so a
 * reader walks a chunk until type 0 or its end. Chunks are handed out zeroed. Records are in the order of the
 * calls of their thread. An operation is completed in place: complete_ticks stays 0 until a call reported it.
 *
 * Times are ticks: of the TSC, or nanoseconds of CLOCK_MONOTONIC (header.clock_source). Clock pairs (header,
 * every chunk, end) map them to CLOCK_MONOTONIC of the node, clock links map nodes onto that of rank 0.
 * All integers are little endian, of the machine that wrote them.
 */
#ifndef MPISTAIR_SPOOL_EVENT_H
#define MPISTAIR_SPOOL_EVENT_H

#include <stdint.h>

#define SPOOL_MAGIC        UINT64_C(0x31304c4f4f50534d) /* "MSPOOL01" */
#define SPOOL_CHUNK_MAGIC  UINT32_C(0x4b4e4843)         /* "CHNK" */
#define SPOOL_VERSION      1U
#define SPOOL_HEADER_BYTES 65536U
#define SPOOL_CHUNK_BYTES  (1U << 20)
#define SPOOL_SUFFIX       ".mpispool"

#define SPOOL_ANY       (-2) /* peer or tag as posted: MPI_ANY_SOURCE, MPI_ANY_TAG */
#define SPOOL_PROC_NULL (-1) /* peer: MPI_PROC_NULL */
#define SPOOL_UNKNOWN   (-3) /* source not reported (the status was an error, or the call failed) */

enum spool_clock_source { SPOOL_CLOCK_MONOTONIC = 0, SPOOL_CLOCK_TSC = 1 };

enum spool_family { SPOOL_FAMILY_UNKNOWN = 0, SPOOL_FAMILY_MPICH = 1, SPOOL_FAMILY_OPENMPI = 2 };

/* How the process ended; the last one stored wins. */
enum spool_end {
    SPOOL_END_NONE = 0,     /* killed, or still running */
    SPOOL_END_FINALIZE = 1, /* MPI_Finalize was reached */
    SPOOL_END_ABORT = 2,    /* MPI_Abort was called */
    SPOOL_END_EXIT = 3,     /* exit without MPI_Finalize */
};

enum spool_loss {
    SPOOL_LOSS_DISK = 0,   /* the file system had no room for a chunk */
    SPOOL_LOSS_LIMIT = 1,  /* MPISTAIR_SPOOL_LIMIT was reached */
    SPOOL_LOSS_MEMORY = 2, /* no memory for the recorder's own tables */
    SPOOL_LOSS_COUNT = 8,
};

struct spool_clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC at the same moment */
};

/* The clock of this node against its parent in the tree of node leaders:
 * parent CLOCK_MONOTONIC = own CLOCK_MONOTONIC + offset_ns, at own time at_ns, uncertain by rtt_ns / 2. */
struct spool_clock_link {
    uint64_t at_ns;
    int64_t offset_ns;
    uint64_t rtt_ns;
    int32_t parent_rank; /* world rank of the parent node's leader; -1: this is the root, or not measured */
    uint32_t pad;
};

struct spool_header {
    uint64_t magic;
    uint32_t version;
    uint32_t chunk_bytes;
    uint32_t chunks; /* chunks handed out so far; a file may end earlier */
    uint32_t clock_source;
    uint32_t family;
    uint32_t end;
    int32_t rank; /* in MPI_COMM_WORLD; -1 before it is known */
    int32_t world_size;
    int32_t node_leader;  /* world rank of the lowest rank on this host */
    int32_t thread_level; /* 0 MPI_THREAD_SINGLE .. 3 MPI_THREAD_MULTIPLE */
    uint32_t pid;
    uint32_t n_functions;       /* entries of calls[]; function numbers are those of this build's mpi.tbl */
    uint64_t table_hash;        /* of mpi.tbl: a reader of another table must refuse */
    uint64_t started_unix_ns;   /* CLOCK_REALTIME at start */
    uint64_t eager_limit_bytes; /* 0: not known */
    struct spool_clock_pair start;
    struct spool_clock_pair finish; /* ticks 0: not reached */
    struct spool_clock_link link_init;
    struct spool_clock_link link_finalize;
    uint64_t lost[SPOOL_LOSS_COUNT]; /* records not written, by cause */
    char run_key[64];                /* the same in all processes of a job, differs between jobs */
    char host[256];
    char library[512];    /* MPI_Get_library_version, cut */
    char command[1024];   /* the process's command line, blanks between, cut */
    char topology[512];   /* path of the node's hwloc XML, written by the node leader; empty: none */
    char maps[512];       /* path of a copy of /proc/self/maps made at the end; empty: none */
    uint64_t calls[1024]; /* passed-through calls by function number, families untracked and counted */
};

struct spool_chunk {
    uint32_t magic;
    uint32_t lane;     /* number of the thread's lane in this process */
    uint32_t sequence; /* 0, 1, ... within the lane */
    uint32_t pad;
    struct spool_clock_pair clock;
    uint8_t reserve[32];
};

enum spool_record_type {
    SPOOL_NONE = 0,
    SPOOL_OPERATION = 1,
    SPOOL_CALL = 2,
    SPOOL_COLLECTIVE = 3,
    SPOOL_COMMUNICATOR = 4,
};

enum spool_direction { SPOOL_SEND = 0, SPOOL_RECEIVE = 1 };

enum spool_operation_flag {
    SPOOL_BLOCKING = 1U << 0,        /* Send, Recv, Sendrecv: post and completion in one call */
    SPOOL_ANY_SOURCE = 1U << 1,      /* posted with MPI_ANY_SOURCE; peer becomes the source at completion */
    SPOOL_ANY_TAG = 1U << 2,         /* posted with MPI_ANY_TAG; tag becomes the message's at completion */
    SPOOL_SHARED_HANDLE = 1U << 3,   /* its request handle was that of another live operation: first in, first out */
    SPOOL_FAILED = 1U << 4,          /* the call that posted or completed it returned an error */
    SPOOL_CANCELLED = 1U << 5,       /* its status says so */
    SPOOL_UNCERTAIN_ORDER = 1U << 6, /* several threads posted on its envelope at once */
    SPOOL_SAME_CALL = 1U << 7,       /* second operation of one call (the receive of Sendrecv) */
};

/* One cache line a posted point-to-point operation. At completion peer and tag of a wildcard are resolved
 * first, complete_ticks is stored last. */
struct spool_operation {
    uint8_t type; /* SPOOL_OPERATION */
    uint8_t direction;
    uint16_t function;       /* number of the MPI function that posted it */
    uint32_t communicator;   /* spool_communicator.index of this process */
    int32_t peer;            /* rank in the communicator, SPOOL_ANY, SPOOL_PROC_NULL */
    int32_t tag;             /* or SPOOL_ANY */
    uint64_t bytes;          /* count * size of the datatype, as posted */
    uint64_t post_ticks;     /* entry of the posting call */
    uint64_t complete_ticks; /* return of the call that reported completion; 0: none did */
    uint64_t site;           /* return address of the posting call; 0: not known */
    uint32_t call_ticks;     /* entry to return of the posting call, saturating */
    int16_t cpu_post;        /* processor at the post, -1: not known */
    int16_t cpu_complete;
    uint16_t flags;
    uint8_t pad[6];
};

/* One completion call (Wait..., and Test... that completed something); unsuccessful tests only count. */
struct spool_call {
    uint8_t type; /* SPOOL_CALL */
    uint8_t pad;
    uint16_t function;
    uint32_t completed; /* operations that it reported */
    uint64_t begin_ticks;
    uint64_t site;
    uint32_t call_ticks; /* entry to return, saturating */
    uint32_t idle_calls; /* unsuccessful Test... of this thread since its last record of this type */
};

/* One blocking collective, and every creation of a communicator as the time that it took. */
struct spool_collective {
    uint8_t type; /* SPOOL_COLLECTIVE */
    uint8_t pad;
    uint16_t function;
    uint32_t communicator;
    uint64_t bytes; /* what this rank hands in (Bcast, Scatter: what it gets where it is not the root) */
    uint64_t begin_ticks;
    uint64_t end_ticks;
    uint64_t site;
    int32_t root; /* rank in the communicator, -1: none */
    int32_t pad2[3];
    uint64_t pad3;
};

/* A communicator as this process knows it. Index 0 is MPI_COMM_WORLD, 1 MPI_COMM_SELF. The same communicator
 * in different processes has the same (parent, creation, leader, size), parent unified the same way. */
struct spool_communicator {
    uint8_t type;        /* SPOOL_COMMUNICATOR */
    uint8_t found;       /* 1: met in a call without having seen its creation; parent and creation say nothing */
    uint16_t function;   /* that made it */
    uint32_t index;      /* in this process */
    uint32_t parent;     /* index of the communicator that it was made from */
    uint32_t creation;   /* 0, 1, ... : number of the creation on the parent, those without a result included */
    int32_t leader;      /* world rank of its rank 0; of an intercommunicator: of the local group's */
    int32_t size;        /* of the local group */
    int32_t rank;        /* own rank in it */
    int32_t remote_size; /* intercommunicators; else 0 */
    uint64_t begin_ticks;
    uint64_t members_hash; /* FNV-1a over the world ranks of all members where found is set, else 0 */
    char name[16];
};

_Static_assert(sizeof(struct spool_header) <= SPOOL_HEADER_BYTES, "the header must fit its room");
_Static_assert(sizeof(struct spool_chunk) == 64, "a chunk header is one cache line");
_Static_assert(sizeof(struct spool_operation) == 64, "an operation is one cache line");
_Static_assert(sizeof(struct spool_call) == 32, "a completion call is half a cache line");
_Static_assert(sizeof(struct spool_collective) == 64, "a collective is one cache line");
_Static_assert(sizeof(struct spool_communicator) == 64, "a communicator is one cache line");

#endif
