/* The spool, what one process leaves behind of its MPI calls, byte by byte.
 *
 * A spool file belongs to one process. It is a shared mapping that the recorder only stores into, so that the
 * kernel keeps everything up to the last store when the process is killed. It holds
 *
 *     offset 0                   struct spool_header, padded to SPOOL_HEADER_BYTES
 *     SPOOL_COUNTERS_OFFSET      in there struct spool_counters (counters.h)
 *     SPOOL_HEADER_BYTES         struct spool_area (area.h), padded to SPOOL_TOTALS_BYTES: what was added up of records
 *     SPOOL_CHUNKS_BEGIN + k*C   chunk k, C = header.chunk_bytes: struct spool_chunk, then records
 *
 * A lane is the sequence of chunks of one thread. Records lie behind each other in a chunk; each begins with
 * its type, is a multiple of 32 bytes, and counts only once its type is set (stored last, release), so a
 * reader walks a chunk until type 0 or its end. Chunks are handed out zeroed. Records are in the order of the
 * calls of their thread. An operation is completed in place: complete_ticks stays 0 until a call reported it.
 * What defines other records (communicators, names, persistent requests, stacks, marks) lies in a lane of its own,
 * SPOOL_DEFINITIONS_LANE, whatever the thread.
 *
 * Where room gets short chunks are folded: their records are added to the area, and the chunk is used again, with
 * another lane or sequence. So sequences of a lane may be missing. Which chunks stay is decided on the common clock, so
 * that all processes keep the same parts of the run: burst b is the time from b to b + 1 times SPOOL_BURST_NS on the
 * node's CLOCK_MONOTONIC + header.burst_offset_ns. At level L those stay whose number divides by 2^L; with a cut of m
 * only their first SPOOL_BURST_NS / 2^m counts. Level and cut only grow. Each chunk that overlaps what stays, with a
 * margin of SPOOL_BURST_MARGIN_NS or as long as that part itself if that is shorter, is there, unless it is lost for
 * another reason. A reader may take most of the margin for a part of the burst.
 *
 * Times are ticks: of the TSC, or nanoseconds of the process's CLOCK_MONOTONIC (header.clock_source). Clock pairs
 * (header, every chunk, end) map them to CLOCK_MONOTONIC of the node, from which that of a process in a time namespace
 * differs by a constant; clock links map nodes onto that of rank 0.
 * All integers are little endian, of the machine that wrote them.
 *
 * A site is the return address of a call in its lower SPOOL_SITE_BITS, and above these the number of the region in
 * which the thread was: so each sum by site is one by region, too, in a thinned run as well.
 */
#ifndef MPISTAIR_SPOOL_EVENT_H
#define MPISTAIR_SPOOL_EVENT_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAGIC        UINT64_C(0x31304c4f4f50534d) /* "MSPOOL01" */
#define SPOOL_CHUNK_MAGIC  UINT32_C(0x4b4e4843)         /* "CHNK" */
#define SPOOL_VERSION      11U
#define SPOOL_HEADER_BYTES 65536U
#define SPOOL_TOTALS_BYTES (2U << 20)
#define SPOOL_CHUNKS_BEGIN (SPOOL_HEADER_BYTES + SPOOL_TOTALS_BYTES)
#define SPOOL_CHUNK_BYTES  (1U << 18)
#define SPOOL_SUFFIX       ".mpispool"
#define SPOOL_CLAIM_FILE   "run.lock" /* in a folder of `mpistair run`, while that lives */

#define SPOOL_ANY             (-2) /* peer or tag as posted: MPI_ANY_SOURCE, MPI_ANY_TAG */
#define SPOOL_PROC_NULL       (-1) /* peer: MPI_PROC_NULL */
#define SPOOL_UNKNOWN         (-3) /* source not reported (the status was an error, or the call failed) */
#define SPOOL_NOT_KNOWN       UINT64_MAX
#define SPOOL_NO_COMMUNICATOR UINT32_MAX /* a communicator's index: none, or not known */

#define SPOOL_SITE_BITS 48    /* of an address in a process of x86-64 or aarch64 that asks for no more */
#define SPOOL_REGIONS   2048U /* numbers of regions in a process; 0: no region */
#define SPOOL_OTHER     1U    /* the region of those that had no number left */

#define SPOOL_DEFINITIONS_LANE 0U
#define SPOOL_BURST_NS         INT64_C(100000000)
#define SPOOL_BURST_MARGIN_NS  INT64_C(1000000)
#define SPOOL_NO_BURSTS        30U /* header.burst_level: no burst stays, as the room is too small for the shortest */

enum spool_clock_source { SPOOL_CLOCK_MONOTONIC = 0, SPOOL_CLOCK_TSC = 1 };

enum spool_family { SPOOL_FAMILY_UNKNOWN = 0, SPOOL_FAMILY_MPICH = 1, SPOOL_FAMILY_OPENMPI = 2 };

/* Which clock header.burst_offset_ns leads to. */
enum spool_burst_clock {
    SPOOL_BURST_OWN = 0,      /* the node's CLOCK_MONOTONIC; nothing is agreed */
    SPOOL_BURST_RANK_0 = 1,   /* of rank 0's node; it shows -SPOOL_BURST_NS when the run begins */
    SPOOL_BURST_REALTIME = 2, /* CLOCK_REALTIME at the start of the process */
};

/* How the process ended; the last one stored wins. */
enum spool_end {
    SPOOL_END_NONE = 0,     /* killed, or still running */
    SPOOL_END_FINALIZE = 1, /* MPI_Finalize was reached */
    SPOOL_END_ABORT = 2,    /* MPI_Abort was called */
    SPOOL_END_EXIT = 3,     /* exit without MPI_Finalize */
};

enum spool_loss {
    SPOOL_LOSS_DISK = 0,          /* the file system had no room for a chunk: ENOSPC */
    SPOOL_LOSS_LIMIT = 1,         /* MPISTAIR_SPOOL_LIMIT was reached */
    SPOOL_LOSS_MEMORY = 2,        /* no memory for the recorder's own tables */
    SPOOL_LOSS_CLOSED = 3,        /* the program closed the spool's descriptor */
    SPOOL_LOSS_FILE_SIZE = 4,     /* RLIMIT_FSIZE was reached */
    SPOOL_LOSS_ADDRESS_SPACE = 5, /* RLIMIT_AS was reached, but for some room left to the program */
    SPOOL_LOSS_REFUSED = 6,       /* the system refused room for another reason, header.refused_error */
    SPOOL_LOSS_COUNT = 8,
};

struct spool_clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns; /* the node's CLOCK_MONOTONIC at the same moment */
};

/* The clock of this node beside that of its parent in the tree of node leaders:
 * parent CLOCK_MONOTONIC = own CLOCK_MONOTONIC + offset_ns, at own time at_ns, uncertain by rtt_ns / 2.
 */
struct spool_clock_link {
    uint64_t at_ns;
    int64_t offset_ns;
    uint64_t rtt_ns;
    int32_t parent_rank; /* world rank of the parent node's leader; -1: this is the root, or not measured */
    uint32_t pad;
};

/* What a process had of the processors of its node up to a moment. */
struct spool_processor_use {
    uint64_t at_ns;   /* CLOCK_MONOTONIC; 0: not reached, or not known */
    uint64_t run_ns;  /* user and system time of all threads */
    uint64_t wait_ns; /* time that the main thread was ready to run while others had its processor; SPOOL_NOT_KNOWN */
    uint64_t involuntary_switches; /* switches of all threads */
};

/* What may be wrong with regions. */
enum spool_region_fault {
    SPOOL_REGION_NO_BEGIN = 0,  /* ends without a begin, which were ignored */
    SPOOL_REGION_NO_END = 1,    /* regions that ended with one around them, or with their thread */
    SPOOL_REGION_NO_NUMBER = 2, /* occurrences that count as SPOOL_OTHER */
    SPOOL_REGION_NO_ROOM = 3,   /* begins that were ignored: nested too deeply, no memory, or of a thread whose sums
                                 * cannot be added up with MPISTAIR_DETAIL=none */
    SPOOL_REGION_FAULTS = 4,
};

struct spool_header {
    uint64_t magic; /* stored (release) once it is known which process of which run this is; 0: it ended before */
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
    uint32_t n_functions;               /* entries of calls[]; function numbers are those of this build's mpi.tbl */
    uint64_t table_hash;                /* hash of mpi.tbl: a reader of another table must refuse */
    uint64_t started_unix_ns;           /* CLOCK_REALTIME at start */
    uint64_t eager_limit_bytes;         /* MPI_T's, of the transport inside a node; 0: not known */
    uint64_t eager_limit_network_bytes; /* limit of the transport between nodes; 0: not known, or no other node */
    uint64_t own_cost_ps; /* what recording adds to a nonblocking call, measured at start; 0: not measured */
    uint32_t started_by;  /* function that initialised MPI first: MPI_Init ..., MPI_Session_init */
    int32_t parents;      /* processes that spawned this world together, 0: it was not spawned */
    struct spool_clock_pair start;
    struct spool_clock_pair finish; /* ticks 0: not reached */
    struct spool_clock_link link_init;
    struct spool_clock_link link_finalize;
    uint64_t lost[SPOOL_LOSS_COUNT]; /* records not written, by cause */
    char run_key[64];                /* differs between jobs, is the same in all processes of a job */
    char host[256];
    char library[512];     /* MPI_Get_library_version, cut */
    char command[1024];    /* the process's command line, blanks between, cut */
    char topology[512];    /* end of the path of the node's hwloc XML, written by the node leader; empty: none */
    char maps[512];        /* end of the path of the history of the process's modules; empty: none */
    char launch[64];       /* the launcher's name for what it started, the same in all worlds of a job; empty: none */
    uint64_t calls[1024];  /* passed-through calls by function number, families untracked and counted */
    char world[64];        /* the launcher's name for this MPI_COMM_WORLD; empty: none */
    char parent_world[64]; /* name of the world that spawned it; empty: not known, or not spawned */
    int32_t parent_root;   /* rank of the spawn's root in parent_world, where that is known */
    uint32_t connected;    /* 1: it has communicators SPOOL_BY_TIME */
    uint64_t lost_ticks;   /* time before the first record that was lost; 0: none was */
    int32_t launched;      /* processes that the launcher says it started together, whatever their MPI; 0: not known */
    uint32_t apart;        /* 1: it went on without processes that did not join the recording */
    struct spool_processor_use use_init; /* once MPI was initialised, and at the end */
    struct spool_processor_use use_finalize;
    uint64_t kernel_key;     /* of the running kernel, which containers share; 0: not known */
    uint32_t refused_error;  /* errno of the first call that was refused room for a chunk; 0: none was, or not known */
    uint32_t totals_bytes;   /* SPOOL_TOTALS_BYTES; 0: there was no room for the area, and nothing is folded */
    uint32_t totals_cause;   /* then enum spool_loss */
    uint32_t burst_level;    /* L; with burst_cut 0 and folded_chunks 0 all that is not lost is there */
    uint32_t burst_cut;      /* m */
    uint32_t burst_clock;    /* enum spool_burst_clock */
    int64_t burst_offset_ns; /* to be added to the node's CLOCK_MONOTONIC */
    uint64_t folded_chunks;  /* how often a chunk was folded */
    uint32_t ghosts_full;    /* 1: what was dropped is no longer counted for matching (area.h) */
    uint32_t only_totals;    /* 1: MPISTAIR_DETAIL=none: no call has a record, all are in the totals */
    uint32_t processor;      /* 1 + where the thread was that initialised MPI, then; 0: not known */
    uint32_t pad;
    uint64_t regions[SPOOL_REGION_FAULTS]; /* borders of regions that went wrong, by enum spool_region_fault */
    char address[512];   /* the node in the network: switches from the top one down, then the node, '.' between, as
                         * Slurm's SLURM_TOPOLOGY_ADDR; empty: not known, or longer */
    uint32_t n_switches; /* how many of its components, from the first on, are switches */
    uint32_t pad_address;
};

struct spool_chunk {
    uint32_t magic;    /* 0: it holds nothing */
    uint32_t lane;     /* number of the thread's lane in this process */
    uint32_t sequence; /* 0, 1, ... within the lane */
    uint32_t folded;   /* records before this position in the chunk are in the totals already; 0: none */
    struct spool_clock_pair clock;
    uint8_t reserve[32];
};

enum spool_record_type {
    SPOOL_NONE = 0,
    SPOOL_OPERATION = 1,
    SPOOL_CALL = 2,
    SPOOL_COLLECTIVE = 3,
    SPOOL_COMMUNICATOR = 4,
    SPOOL_PERSISTENT = 5,
    SPOOL_PARTITIONS = 6,
    SPOOL_PARTITION = 7,
    SPOOL_ACCESS = 8,
    SPOOL_MARK = 9,
    SPOOL_NAME = 10,
    SPOOL_STACK = 11,
    SPOOL_IDLE = 12,
    SPOOL_REGION = 13,
    SPOOL_REGION_NAME = 14,
};

enum spool_direction { SPOOL_SEND = 0, SPOOL_RECEIVE = 1 };

/* The memory in which a buffer lies, as NVIDIA's driver tells it. Bits 0 and 1 hold the kind, those above the GPU. */
enum spool_memory {
    SPOOL_MEMORY_HOST = 0,    /* the driver does not know it, or there is none */
    SPOOL_MEMORY_PINNED = 1,  /* of the host, known to the driver */
    SPOOL_MEMORY_DEVICE = 2,  /* of the GPU */
    SPOOL_MEMORY_MANAGED = 3, /* moves between host and GPUs; the GPU is that of the allocation */
    SPOOL_MEMORY_KIND = 3,
    SPOOL_MEMORY_ALL = 127,
};
#define SPOOL_MEMORY_GPU_SHIFT 2
#define SPOOL_MEMORY_LAST_GPU  31 /* stands for itself and all above */

/* Flags describe operations; collectives and calls on windows and files use the same flags where they make sense. */
enum spool_operation_flag {
    SPOOL_BLOCKING = 1U << 0,   /* Send, Recv, Sendrecv: post and completion in one call */
    SPOOL_ANY_SOURCE = 1U << 1, /* posted with MPI_ANY_SOURCE; peer becomes the source at completion */
    SPOOL_ANY_TAG = 1U << 2,    /* posted with MPI_ANY_TAG; tag becomes the message's at completion */
    SPOOL_SHARED_HANDLE =
        1U << 3,            /* its request handle was also that of other live operations: the newest completes first */
    SPOOL_FAILED = 1U << 4, /* the call that posted or completed it returned an error */
    SPOOL_CANCELLED = 1U << 5,       /* its status says that it was cancelled */
    SPOOL_UNCERTAIN_ORDER = 1U << 6, /* several threads posted on its envelope at once */
    SPOOL_SAME_CALL = 1U << 7,       /* second operation of one call (the receive of Sendrecv), stored right behind the
                                     * first */
    SPOOL_STARTED = 1U << 8,         /* posted by Start or Startall; `persistent` names the request */
    SPOOL_PARTITIONED = 1U << 9,     /* from MPI_Psend_init or MPI_Precv_init: a SPOOL_PARTITIONS record lies right
                                     * behind */
    SPOOL_MATCHED_PROBE = 1U << 10,  /* a receive that Mprobe or Improbe posted and matched; Mrecv or Imrecv took it */
    SPOOL_OFF = 1U << 11,            /* recording was off (MPI_Pcontrol): the record only keeps its place in matching */
    SPOOL_FREED = 1U << 12,          /* MPI_Request_free was called: no call will report its completion */
    SPOOL_BY_WINDOW = 1U << 14,      /* marks: the recording window (MPISTAIR_WINDOW) made it, not a call of the program
                                     */
    SPOOL_NONBLOCKING =
        1U << 13,          /* collectives, calls on windows and files: they end when the completing call reports them */
    SPOOL_HELD = 1U << 14, /* MPI_Request_get_status reported it, and its request still exists */
    SPOOL_TOOK = 1U << 13, /* receives, with SPOOL_FAILED: it took a message all the same, which was cut off */
    SPOOL_CANCELLING = 1U << 15, /* MPI_Cancel was called on it, and it is unknown whether that cancelled it */
};

/* One posted point-to-point operation in one cache line. At completion peer and tag of a wildcard are resolved
 * first, and complete_ticks is stored last. Operations match in the order of these records in their lane. Partitioned
 * ones match in the order of their SPOOL_PERSISTENT records, then of their starts. A matched probe stores its record
 * when Mprobe returns, with post_ticks and site of Mprobe; the bytes follow at Mrecv. */
struct spool_operation {
    uint8_t type; /* SPOOL_OPERATION */
    uint8_t direction : 1;
    uint8_t memory : 7;      /* enum spool_memory of its buffer */
    uint16_t function;       /* number of the MPI function that posted it: MPI_Isend, MPI_Start, MPI_Mprobe ... */
    uint32_t communicator;   /* spool_communicator.index of this process; SPOOL_NO_COMMUNICATOR: MPI does not know it
                              * either */
    int32_t peer;            /* rank in the communicator, SPOOL_ANY, SPOOL_PROC_NULL */
    int32_t tag;             /* or SPOOL_ANY */
    uint64_t bytes;          /* count * size of the datatype, as posted; of all partitions */
    uint64_t post_ticks;     /* entry of the posting call */
    uint64_t complete_ticks; /* return of the call that reported completion; 0: none did */
    uint64_t site;           /* return address of the posting call; 0: not known */
    uint32_t call_ticks;     /* entry to return of the posting call, saturating */
    int16_t cpu_post;        /* processor at the post, -1: not known */
    int16_t cpu_complete;
    uint16_t flags;
    uint16_t stack;      /* spool_stack.number; 0: none */
    uint32_t persistent; /* spool_persistent.number; 0: none */
};

/* One completion call (Wait..., and Test... that completed something), or another call whose time counts:
 * probes, Mrecv, Cancel. Unsuccessful tests and probes are summed in spool_idle. */
struct spool_call {
    uint8_t type; /* SPOOL_CALL */
    uint8_t
        estimated; /* 1: a test with a result behind ones without: its entry is not known, and begin_ticks is as if it
                        * took as long as they did */
    uint16_t function;
    uint32_t completed; /* operations that it reported */
    uint64_t begin_ticks;
    uint64_t site;
    uint64_t call_ticks; /* entry to return */
};

/* A row of unsuccessful Test... and probes that a thread made of one function at one call site, while it stored no
 * record of another type, as such calls come by the million. All are counted; the time is taken of the first two, and
 * of about one in 64 of the others, which a random number chooses. The record is counted up in place. */
struct spool_idle {
    uint8_t type; /* SPOOL_IDLE */
    uint8_t pad;
    uint16_t function;
    uint32_t calls;
    uint64_t begin_ticks; /* entry of the first */
    uint64_t site;        /* 0: not known, or the calls of several sites */
    uint64_t first_ticks; /* entry to return of the first */
    uint64_t ticks;       /* of the others whose time was taken, added up */
    double square;        /* sum of the squares of these */
    uint32_t timed;       /* how many they are */
    uint32_t pad2;
    uint64_t pad3;
};

/* Returns the estimated time of all calls of the row, in ticks. */
static inline uint64_t spool_idle_ticks(const struct spool_idle *idle)
{
    double others = idle->calls > 1 ? (double)idle->calls - 1 : 0;
    double each = idle->timed > 0 ? (double)idle->ticks / idle->timed : (double)idle->first_ticks;
    double ticks = idle->timed >= others && idle->timed > 0 ? (double)idle->ticks : others * each;
    return idle->first_ticks + (ticks < 0x1p62 ? (uint64_t)ticks : UINT64_C(1) << 62);
}

/* One collective, or the creation of a communicator for the time that it took. */
struct spool_collective {
    uint8_t type; /* SPOOL_COLLECTIVE */
    uint8_t pad;
    uint16_t function;
    uint32_t communicator;
    uint64_t bytes; /* what this rank hands in (Bcast, Scatter: what it gets unless it is the root) */
    uint64_t begin_ticks;
    uint64_t end_ticks; /* its return; SPOOL_NONBLOCKING: return of the call that reported it; 0: none did */
    uint64_t site;
    int32_t root;        /* rank in the communicator, -1: none */
    uint32_t call_ticks; /* SPOOL_NONBLOCKING: entry to return of the starting call, saturating; else 0 */
    uint16_t flags;
    uint16_t stack;
    uint32_t persistent;
    uint64_t pad2;
};

/* How a communicator is recognised in other processes. */
enum spool_identity {
    SPOOL_BY_CREATION = 0, /* by its number among the creations on the parent: collective over an intracommunicator */
    SPOOL_BY_MEETING = 1,  /* met in a call, its creation was not seen; parent and creation say nothing */
    SPOOL_BY_MEMBERS = 2,  /* by the members of both groups, function and `creation`, then the order of creation:
                            * groups, sessions, intercommunicators and what is made of them */
    SPOOL_BY_TIME = 3, /* has members of another MPI_COMM_WORLD: made by spawn, accept, connect, join, or from such a
                        * communicator; also that of MPI_Comm_get_parent, which exists from the start (creation
                        * UINT32_MAX) */
};

/* A communicator as this process knows it. Index 0 is MPI_COMM_WORLD, 1 is MPI_COMM_SELF. The same
 * communicator in different processes has the same (parent, creation, leader, size), with the parents unified in the
 * same way. The two sides of MPI_Intercomm_create, accept and connect have different parents; communicators of sessions
 * have none. */
struct spool_communicator {
    uint8_t type;      /* SPOOL_COMMUNICATOR */
    uint8_t identity;  /* enum spool_identity */
    uint16_t function; /* function that made it */
    uint32_t index;    /* its number in this process */
    uint32_t parent;   /* index of the communicator that it was made from, or SPOOL_NO_COMMUNICATOR */
    uint32_t creation; /* 0, 1, ...: number of the creation on the parent, counting those without a result; the tag for
                        * MPI_Comm_create_group and MPI_Intercomm_create; for sessions a hash of the given text */
    int32_t leader;    /* world rank of rank 0 (intercommunicators: of the local group); -1: in another world */
    int32_t size;      /* size of the local group */
    int32_t rank;      /* own rank in it */
    int32_t remote_size;   /* intercommunicators; else 0 */
    uint64_t begin_ticks;  /* entry of the call that made it; SPOOL_BY_MEETING: of the call that met it; if it exists
                            * from the start: of the call that initialised MPI, during which parents still spawn */
    uint64_t end_ticks;    /* its return */
    uint64_t members_hash; /* FNV-1a over the world ranks of all members, the group with the smaller first rank first;
                            * SPOOL_BY_TIME: over their ranks in the parent where both are intracommunicators, else 0;
                            * SPOOL_BY_CREATION: 0 */
    uint64_t pad;
};

/* An inactive request made by MPI_..._init: what all its starts have in common. */
struct spool_persistent {
    uint8_t type;      /* SPOOL_PERSISTENT */
    uint8_t direction; /* of an operation; UINT8_MAX: it is a collective */
    uint16_t function; /* MPI_Ssend_init, MPI_Psend_init, MPI_Bcast_init ... */
    uint32_t communicator;
    int32_t peer;
    int32_t tag;
    uint64_t bytes; /* bytes of all partitions */
    uint64_t begin_ticks;
    uint64_t site;
    uint32_t call_ticks;
    uint32_t number;     /* 1, 2, ... in this process */
    uint32_t partitions; /* 0: not partitioned */
    uint32_t lane;       /* that of the thread that made it */
    uint64_t pad2;
};

/* The partitions of one started operation, whose record lies right before this one. A send counts MPI_Pready,
 * a receive counts MPI_Parrived that answered yes. Any thread may store into it. */
struct spool_partitions {
    uint8_t type; /* SPOOL_PARTITIONS */
    uint8_t pad[3];
    uint32_t number;      /* 1, 2, ... in this process */
    uint64_t first_ticks; /* entry of the first Pready, return of the first Parrived; 0: none */
    uint64_t last_ticks;
    uint32_t done;       /* partitions that were marked ready, or for which Parrived answered yes */
    uint32_t partitions; /* how many there are */
    uint64_t pad2[4];
};

/* One partition; stored only with MPISTAIR_PARTITIONS=1. */
struct spool_partition {
    uint8_t type; /* SPOOL_PARTITION */
    uint8_t pad;
    uint16_t function;
    uint32_t partition;
    uint64_t ticks;  /* as in spool_partitions */
    uint32_t number; /* number of the spool_partitions record */
    uint32_t pad2;
    uint64_t site;
};

/* One call on a window or on a file: a transfer with its bytes, or a synchronisation. Which of both follows
 * from the function. */
struct spool_access {
    uint8_t type; /* SPOOL_ACCESS */
    uint8_t pad;
    uint16_t function;
    uint32_t communicator; /* that of the window or file, or SPOOL_NO_COMMUNICATOR */
    int32_t target;        /* rank in it, -1: none */
    uint32_t object;       /* window or file: 1, 2, ... of its sort in this process, 0: not known */
    uint64_t bytes;        /* windows: bytes of the origin buffer, and of the results where the call fetches; files: as
                            * asked for */
    uint64_t begin_ticks;
    uint64_t end_ticks; /* as in spool_collective */
    uint64_t site;
    uint32_t call_ticks;
    uint16_t flags;
    uint16_t stack;
    int64_t offset; /* in the file's view, as given to the call; -1: none was */
};

/* MPI_Pcontrol(number): 0 off, 1 on, 2 flush, and any other number is a mark that the program set. Also
 * where the recording window begins (1) or ends (0). */
struct spool_mark {
    uint8_t type; /* SPOOL_MARK */
    uint8_t pad;
    uint16_t flags; /* SPOOL_OFF: recording is off from here on; SPOOL_BY_WINDOW */
    int32_t number;
    uint64_t ticks;
    uint64_t site;
    uint64_t pad2;
};

#define SPOOL_UNENDED 1U /* a region that only the end of the recording ended */

/* One time that a thread was in a region. It is stored at the begin, and lies before what the thread did within. */
struct spool_region {
    uint8_t type; /* SPOOL_REGION */
    uint8_t pad;
    uint16_t flags;  /* SPOOL_UNENDED */
    uint16_t region; /* spool_region_name.region */
    uint16_t pad2;
    uint64_t begin_ticks;
    uint64_t end_ticks;   /* 0: it had no end; equal to begin_ticks: a moment that the program marked */
    uint64_t inner_ticks; /* of that, in regions within it that have ended */
};

/* Who marks a region. */
enum spool_region_way {
    SPOOL_WAY_OWN = 0,      /* mpistair_region.h, also from Fortran and Python */
    SPOOL_WAY_PCONTROL = 1, /* MPI_Pcontrol */
    SPOOL_WAY_NVTX = 2,
    SPOOL_WAY_ITT = 3,
    SPOOL_WAY_KOKKOS = 4,
    SPOOL_WAY_CALIPER = 5,
    SPOOL_WAYS = 6,
};

/* A region as this process knows it: a name within another region. It is stored once, before the first record that has
 * it, and is 8 bytes and the name long, rounded up to a multiple of 32. */
#define SPOOL_REGION_NAME_BYTES 240U
struct spool_region_name {
    uint8_t type;    /* SPOOL_REGION_NAME */
    uint8_t way;     /* enum spool_region_way, of the first that had it */
    uint16_t region; /* SPOOL_OTHER + 1, ... in this process */
    uint16_t parent; /* region around it; 0: none */
    uint16_t bytes;  /* of the name, SPOOL_REGION_NAME_BYTES at most: longer ones are cut */
    char name[];     /* [bytes], without a 0 */
};

static inline size_t spool_region_name_bytes(uint32_t bytes)
{
    return (sizeof(struct spool_region_name) + bytes + 31) / 32 * 32;
}

static inline uint64_t spool_site_address(uint64_t site)
{
    return site & ((UINT64_C(1) << SPOOL_SITE_BITS) - 1);
}

static inline uint32_t spool_site_region(uint64_t site)
{
    return (uint32_t)(site >> SPOOL_SITE_BITS);
}

/* MPI_Comm_set_name. */
struct spool_name {
    uint8_t type; /* SPOOL_NAME */
    uint8_t pad[3];
    uint32_t index; /* index of the communicator */
    char name[152]; /* ended by 0; MPI allows at most 128 here */
};

/* A stack of return addresses (MPISTAIR_STACK=n). It is stored once, before the first record that has it, and is
 * 8 + 8 * frames bytes long, 8 more if it is timed, rounded up to a multiple of 32. */
#define SPOOL_STACK_LIMIT 63
struct spool_stack {
    uint8_t type;    /* SPOOL_STACK */
    uint8_t timed;   /* 1: behind the sites stands when it was stored, in ticks; 0: it does not */
    uint16_t number; /* 1, 2, ... in this process */
    uint32_t frames;
    uint64_t sites[]; /* [frames] the posting call's own site first, then its callers' */
};

static inline size_t spool_stack_bytes(uint32_t frames, int timed)
{
    return (sizeof(struct spool_stack) + (frames + (timed ? 1U : 0U)) * sizeof(uint64_t) + 31) / 32 * 32;
}

/* Returns the length of the record of which the first `rest` bytes can be read; 0 if its type is unknown or it does not
 * fit. */
static inline size_t spool_record_bytes(const uint8_t *record, size_t rest)
{
    size_t bytes = 0;
    switch (*record) {
    case SPOOL_CALL:
    case SPOOL_PARTITION:
    case SPOOL_MARK:
    case SPOOL_REGION:
        bytes = 32;
        break;
    case SPOOL_OPERATION:
    case SPOOL_COLLECTIVE:
    case SPOOL_COMMUNICATOR:
    case SPOOL_PERSISTENT:
    case SPOOL_PARTITIONS:
    case SPOOL_ACCESS:
    case SPOOL_IDLE:
        bytes = 64;
        break;
    case SPOOL_NAME:
        bytes = sizeof(struct spool_name);
        break;
    case SPOOL_STACK: {
        const struct spool_stack *stack = (const void *)record;
        bytes = stack->frames <= SPOOL_STACK_LIMIT ? spool_stack_bytes(stack->frames, stack->timed) : 0;
        break;
    }
    case SPOOL_REGION_NAME: {
        const struct spool_region_name *name = (const void *)record;
        bytes = name->bytes <= SPOOL_REGION_NAME_BYTES ? spool_region_name_bytes(name->bytes) : 0;
        break;
    }
    default:
        break;
    }
    return bytes <= rest ? bytes : 0;
}

/* Returns where a record has the time of its end, which is stored last, and sets *flags to its flags; NULL for one that
 * needs no end. */
static inline uint64_t *spool_record_end(void *record, uint16_t **flags)
{
    struct spool_operation *operation = record;
    struct spool_collective *collective = record;
    struct spool_access *access = record;
    struct spool_region *region = record;
    switch (__atomic_load_n((uint8_t *)record, __ATOMIC_ACQUIRE)) {
    case SPOOL_OPERATION:
        *flags = &operation->flags;
        return &operation->complete_ticks;
    case SPOOL_COLLECTIVE:
        *flags = &collective->flags;
        return &collective->end_ticks;
    case SPOOL_ACCESS:
        *flags = &access->flags;
        return &access->end_ticks;
    case SPOOL_REGION:
        *flags = &region->flags;
        return &region->end_ticks;
    default:
        return NULL;
    }
}

_Static_assert(sizeof(struct spool_header) <= SPOOL_HEADER_BYTES, "the header must fit its room");
_Static_assert(sizeof(struct spool_chunk) == 64, "a chunk header is one cache line");
_Static_assert(sizeof(struct spool_operation) == 64, "an operation is one cache line");
_Static_assert(sizeof(struct spool_call) == 32, "a completion call is half a cache line");
_Static_assert(sizeof(struct spool_idle) == 64, "unsuccessful tests are one cache line");
_Static_assert(sizeof(struct spool_collective) == 64, "a collective is one cache line");
_Static_assert(sizeof(struct spool_communicator) == 64, "a communicator is one cache line");
_Static_assert(sizeof(struct spool_persistent) == 64, "a persistent request is one cache line");
_Static_assert(sizeof(struct spool_partitions) == 64, "partitions are one cache line");
_Static_assert(sizeof(struct spool_partition) == 32, "a partition is half a cache line");
_Static_assert(sizeof(struct spool_access) == 64, "a call on a window or file is one cache line");
_Static_assert(sizeof(struct spool_mark) == 32, "a mark is half a cache line");
_Static_assert(sizeof(struct spool_region) == 32, "a region is half a cache line");
_Static_assert(sizeof(struct spool_region_name) == 8, "the name of a region follows its head");
_Static_assert(sizeof(struct spool_name) == 160, "a name is a multiple of 32 bytes");

#endif
