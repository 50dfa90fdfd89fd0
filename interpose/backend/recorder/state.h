/* The state of the recorder in one process and in each of its threads, on which all else here stands.
 *
 * MPI functions are never called by name, as MPICH's backend must not be linked to any MPI. NEXT(Send) is the MPI_Send
 * behind us, PMPI(Send) the MPI's own. */
#ifndef MPISTAIR_BACKEND_RECORDER_H
#define MPISTAIR_BACKEND_RECORDER_H

#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#if __has_include(<sys/rseq.h>) && __has_builtin(__builtin_thread_pointer)
#include <sys/rseq.h> /* glibc 2.35 */
#endif

#include "interpose/spool/clock.h"
#include "interpose/functions.h"
#include "interpose/preload/bind.h"
#include "interpose/spool/writer.h"

/* What runs in every message belongs into its wrapper. */
#define IN_WRAPPER static inline __attribute__((always_inline))

#define NEXT(name) ((__typeof__(&MPI_##name))recorder.host->next[FN_##name])
#define PMPI(name) ((__typeof__(&MPI_##name))recorder.host->pnext[FN_##name])

/* Turns a handle of any type into an integer: MPICH has int handles, Open MPI pointers. */
#define HANDLE_KEY(handle) (handle_key(&(handle), sizeof(handle)))
static inline uint64_t handle_key(const void *handle, size_t bytes)
{
    uint64_t key = 0;
    memcpy(&key, handle, bytes);
    return key;
}

/* Memory for the arrays of one completion call; the thread keeps it between calls. */
struct scratch {
    void *memory;
    size_t bytes;
    int busy; /* an outer call of this thread uses it */
};

/* Calls from so many places make up rows of tests without a result at once; the last row takes what comes from further
 * ones. */
enum { IDLE_ROWS = 8 };

/* A place from which a row of such tests is added to the totals (total.h). */
struct idle_place {
    uint64_t site;
    enum mpistair_function function;
    uint32_t untimed;          /* counted since the last one that was timed */
    struct spool_total *entry; /* of all but the first; NULL: none yet, or several threads add to it */
};

struct recorder_thread {
    struct spool_lane *lane;
    struct spool_idle *idle; /* [n_idle] rows of unsuccessful tests, the last that the lane holds */
    unsigned n_idle;
    uint32_t idle_sequence; /* the lane's sequence at that time */
    uint8_t *idle_end;      /* where these rows end; NULL: there are none */
    uint32_t untimed_left;  /* tests until the next one whose time is taken */
    uint64_t random;        /* not 0 */
    unsigned n_places;      /* of the row that goes on, 0: none */
    struct idle_place places[IDLE_ROWS];
    struct idle_place *counted_place; /* the last of them that was timed, if it has an entry; NULL: none */
    uint32_t communicator_epoch;      /* the cached communicator is right while recorder.communicator_epoch is this */
    uint64_t communicator_key;        /* the last communicator looked up */
    uint32_t communicator_index;
    const struct predefined_datatype *datatype; /* of the last message; NULL: none yet */
    struct scratch scratch;
    struct mpistair_fortran_note *fortran_note; /* that of this thread; never NULL */
    uint64_t region;                            /* above SPOOL_SITE_BITS the number of the region that it is in */
    struct region_stack *regions;               /* region/region.c; NULL: none yet */
    void (*end_regions)(struct recorder_thread *thread); /* to be called as the thread ends; NULL: nothing is */
    uint16_t stack;                                      /* spool_stack.number of the call in progress, 0: none */
    struct shared_queues *queues;                        /* request_table.c; NULL: none yet */
    struct known_allocation { /* buffer_memory.h: the last that it met, by the end of their number */
        uint64_t number;      /* the driver's; 0: none */
        unsigned memory;
    } allocations[16];
};

/* How calls are recorded. */
enum recording_kind {
    RECORDING_NOTHING = 0,
    RECORDING_PLAINLY = 1, /* one thread at a time calls MPI, ticks are those of the TSC, no stacks are noted */
    RECORDING_THREADS = 2, /* the same under MPI_THREAD_MULTIPLE */
    RECORDING_OTHERWISE = 3,
};

/* Of recorder.off, above all flags of records: no call has a record, whether recording is off or not. */
#define RECORDER_SUMS 0x10000U

struct recorder {
    const struct mpistair_host *host; /* NULL: not started */
    int recording;                    /* enum recording_kind: wrappers record */
    int begun;                        /* MPI_Init was seen to return */
    int connected;                    /* met processes of another MPI_COMM_WORLD */
    int multiple;                     /* MPI_THREAD_MULTIPLE: tables change by atomic operations */
    int statuses_matter;              /* stays set: a wildcard was posted, or something cancelled */
    int cancelled;                    /* stays set: MPI_Cancel was called */
    int stack_frames;                 /* how many to keep of each operation's stack; 0: none, see stack.h */
    int serialized;                   /* MPI_THREAD_SERIALIZED or more: not always the same thread calls MPI */
    int sums;                         /* MPISTAIR_DETAIL=none: no call has a record */
    unsigned off; /* SPOOL_OFF while MPI_Pcontrol or the window has switched recording off, RECORDER_SUMS with sums */
    uint64_t
        window_ticks; /* when to look whether the recording window begins or ends; 0: now, as a module may be gone */
    enum spool_clock_source clock_source;
    const struct recorder_thread *first_thread; /* the one that opened the spool; NULL: it has no memory */
    uint64_t init_ticks;                        /* entry of the call that initialised MPI_COMM_WORLD */
    pid_t pid;
    struct spool_writer spool;
    uint32_t communicator_epoch;
};

extern struct recorder recorder;
/* The calling thread's state; NULL until its first recorded call. */
extern _Thread_local struct recorder_thread *recorder_thread __attribute__((tls_model("initial-exec")));

/* Returns memory for bytes: the thread's own, unless an outer call of it is in there; NULL without memory. The caller
 * returns it. */
void *scratch_borrow(struct scratch *scratch, size_t bytes);
void scratch_return(struct scratch *scratch, void *memory);

/* What a wrapper keeps of one call. */
struct recorded_call {
    struct recorder_thread *thread; /* NULL: not recorded */
    uint64_t begin_ticks;           /* 0: a test that goes on with a row, whose time is not taken */
    uint64_t site;
    enum mpistair_function function;
    union {
        struct spool_idle *row;   /* with begin_ticks 0 */
        struct idle_place *place; /* the same with sums */
    };
};

/* Returns the site of a call that the thread made and that returns there. */
static inline uint64_t site_of_call(const struct recorder_thread *thread, const void *return_address)
{
    return (uint64_t)(uintptr_t)return_address | thread->region;
}

static inline uint64_t now_ticks(void)
{
    return clock_ticks(recorder.clock_source);
}

static inline int is_recording(void)
{
    return __atomic_load_n(&recorder.recording, __ATOMIC_RELAXED);
}

static inline int is_recording_plainly(void)
{
    return __atomic_load_n(&recorder.recording, __ATOMIC_RELAXED) == RECORDING_PLAINLY;
}

/* Returns whether calls are recorded plainly, by one thread or by several. */
static inline int is_recording_quickly(void)
{
    return (unsigned)__atomic_load_n(&recorder.recording, __ATOMIC_RELAXED) - 1 < RECORDING_THREADS;
}

/* Returns whether they are and will be so at the next call: recording is on, and nothing is to be looked at. */
static inline int is_recording_steadily(void)
{
    return is_recording_quickly() && __atomic_load_n(&recorder.off, __ATOMIC_RELAXED) % RECORDER_SUMS == 0 &&
           __atomic_load_n(&recorder.window_ticks, __ATOMIC_RELAXED) != 0;
}

/* Returns the present time where calls are recorded quickly. */
static inline uint64_t quick_ticks(void)
{
    return clock_ticks(SPOOL_CLOCK_TSC);
}

void start_recording(void);

/* Returns whether MPI has to fill statuses that the caller ignores. */
static inline int statuses_matter(void)
{
    return __atomic_load_n(&recorder.statuses_matter, __ATOMIC_RELAXED);
}

/* From now on completion calls need statuses. */
static inline void need_statuses(void)
{
    if (!statuses_matter())
        __atomic_store_n(&recorder.statuses_matter, 1, __ATOMIC_RELAXED);
}

static inline uint32_t saturate_ticks(uint64_t ticks)
{
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/* Asks the C library for the processor on which the thread runs; -1 if it is not known. */
int16_t ask_processor(void);

/* Returns the same. The kernel keeps it in the thread's restartable sequence, where the C library has one. It is looked
 * up inline, as the recorder asks twice a message. */
static inline int16_t current_processor(void)
{
#ifdef RSEQ_SIG
    const char *own = (const char *)__builtin_thread_pointer() + __rseq_offset;
    uint32_t processor = __atomic_load_n(&((const struct rseq *)(const void *)own)->cpu_id, __ATOMIC_RELAXED);
    if (__builtin_expect(processor <= INT16_MAX, 1)) /* else the thread is not registered */
        return (int16_t)processor;
#endif
    return ask_processor();
}

/* Returns zeroed memory, and leaves errno as it is; NULL where there is none. */
void *recorder_allocate(size_t bytes);

/* Tells the user of a job something on stderr: prints "mpistair: " and a line. Names of files may have any bytes;
 * one with a control character must neither move the cursor nor look like a line of its own, so a terminal sees
 * harmless ones. */
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
