/* Holds the state of the recorder in one process and in each of its threads, and what every wrapper does first and
 * last.
 *
 * A wrapper (generated from mpi.tbl) keeps a struct recorded_call on its stack. The begin function of its family fills
 * it and stores a record into the spool, the MPI's own function runs, and the end function completes the record.
 * call.thread is NULL where nothing is recorded (before MPI_Init, after MPI_Finalize, in forked children, without a
 * spool); then both functions do nothing. Each family has a file in the folder family.
 *
 * MPI functions are never called by name: MPICH's backend must not be linked to any MPI. NEXT(Send) is the MPI_Send
 * behind us, PMPI(Send) the MPI's own. */
#ifndef MPISTAIR_BACKEND_RECORDER_H
#define MPISTAIR_BACKEND_RECORDER_H

#include <mpi.h>
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

/* Holds memory for the arrays of one completion call; the thread keeps it between calls. */
struct scratch {
    void *memory;
    size_t bytes;
    int busy; /* an outer call of this thread uses it */
};

struct recorder_thread {
    struct spool_lane *lane;
    struct spool_idle *idle; /* [n_idle] sums of unsuccessful tests, the last that the lane holds */
    unsigned n_idle;
    uint32_t idle_sequence; /* the lane's sequence at that time */
    struct sums *sums;      /* sum.h; NULL: none yet */
    uint64_t
        n_calls; /* calls that completed nothing, and those on windows and files: they have records of their own until
                       * MPISTAIR_DETAIL */
    uint64_t n_accesses[2];      /* by enum access_sort */
    uint32_t communicator_epoch; /* the cached communicator is right while recorder.communicator_epoch is this */
    uint64_t communicator_key;   /* the last communicator looked up */
    uint32_t communicator_index;
    struct scratch scratch;
    struct mpistair_fortran_note *fortran_note; /* that of this thread; never NULL */
    uint16_t stack;                             /* spool_stack.number of the call in progress, 0: none */
    struct shared_queues *queues;               /* shared_queue.h; NULL: none yet */
    struct known_allocation {                   /* buffer_memory.h: the last that it met, by the end of their number */
        uint64_t number;                        /* the driver's; 0: none */
        unsigned memory;
    } allocations[16];
};

struct recorder {
    const struct mpistair_host *host; /* NULL: not started */
    int recording;                    /* wrappers record */
    int begun;                        /* MPI_Init was seen to return */
    int connected;                    /* met processes of another MPI_COMM_WORLD */
    int multiple;                     /* MPI_THREAD_MULTIPLE: tables change by atomic operations */
    int statuses_matter;              /* stays set: a wildcard was posted, or something cancelled */
    int cancelled;                    /* stays set: MPI_Cancel was called */
    int stack_frames;                 /* how many to keep of each operation's stack; 0: none, see stack.h */
    unsigned off;        /* SPOOL_OFF while MPI_Pcontrol or the window has switched recording off, else 0 */
    uint32_t sums_ended; /* how many times */
    uint64_t detail;     /* MPISTAIR_DETAIL: calls of a kind that have records of their own, further ones are summed */
    uint64_t
        window_ticks; /* when to look whether the recording window begins or ends; 0: now, as a module may be gone */
    enum spool_clock_source clock_source;
    uint64_t init_ticks; /* entry of the call that initialised MPI_COMM_WORLD */
    pid_t pid;
    struct spool_writer spool;
    uint32_t communicator_epoch;
};

extern struct recorder recorder;
/* Is the calling thread's state; NULL until its first recorded call. */
extern _Thread_local struct recorder_thread *recorder_thread __attribute__((tls_model("initial-exec")));

/* Returns memory for bytes: the thread's own, unless an outer call of it is in there; NULL without memory. The caller
 * returns it. */
void *scratch_borrow(struct scratch *scratch, size_t bytes);
void scratch_return(struct scratch *scratch, void *memory);

/* Gives the calling thread its lane; returns NULL without memory. See process/threads.c. */
struct recorder_thread *recorder_thread_begin(void);

/* Returns the application's call site from the return address of a wrapper, which lies in a Fortran layer where the
 * application is Fortran. C callers pay for one look at the thread's note, which is empty for them. */
uint64_t recorder_noted_site(const void *return_address);
static inline uint64_t recorder_site(const void *return_address)
{
    const struct recorder_thread *thread = recorder_thread;
    if (__builtin_expect(thread && !thread->fortran_note->site, 1))
        return (uint64_t)(uintptr_t)return_address;
    return recorder_noted_site(return_address);
}

/* Holds what a wrapper keeps of one call. */
struct recorded_call {
    struct recorder_thread *thread; /* NULL: not recorded */
    uint64_t begin_ticks;
    uint64_t site;
    enum mpistair_function function;
};

/* Finds the number of the call's stack, see stack.h. */
void stack_note(struct recorder_thread *thread, enum mpistair_function function, uint64_t site);

/* Switches at the window's ends, see window.h. */
void window_pass(struct recorded_call *call);

/* Comes first in every begin function. Returns whether the call is recorded. */
static inline int call_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    call->thread = NULL;
    if (__builtin_expect(!__atomic_load_n(&recorder.recording, __ATOMIC_RELAXED), 0))
        return 0;
    call->thread = recorder_thread ? recorder_thread : recorder_thread_begin();
    call->function = function;
    call->site = site;
    if (__builtin_expect(recorder.stack_frames != 0, 0) && call->thread)
        stack_note(call->thread, function, site);
    call->begin_ticks = clock_ticks(recorder.clock_source);
    if (__builtin_expect(call->begin_ticks >= __atomic_load_n(&recorder.window_ticks, __ATOMIC_RELAXED), 0))
        window_pass(call);
    return call->thread != NULL;
}

/* Says whether the end function has something to record: not where the recorder closed during the call. */
static inline int call_recorded(const struct recorded_call *call)
{
    return call->thread && __atomic_load_n(&recorder.recording, __ATOMIC_RELAXED);
}

/* Says whether MPI has to fill statuses that the caller ignores. */
static inline int statuses_matter(void)
{
    return __atomic_load_n(&recorder.statuses_matter, __ATOMIC_RELAXED);
}

/* Says for good that completion calls need statuses. */
static inline void need_statuses(void)
{
    if (!statuses_matter())
        __atomic_store_n(&recorder.statuses_matter, 1, __ATOMIC_RELAXED);
}

static inline uint32_t saturate_ticks(uint64_t ticks)
{
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/* Returns the processor on which the thread runs, -1 if it is not known. The kernel keeps it in the thread's
 * restartable sequence, where the C library has one. It is looked up inline, as the recorder asks twice a message. */
static inline int16_t current_processor(void)
{
#ifdef RSEQ_SIG
    const char *own = (const char *)__builtin_thread_pointer() + __rseq_offset;
    int processor = (int)__atomic_load_n(&((const struct rseq *)(const void *)own)->cpu_id, __ATOMIC_RELAXED);
    if (__builtin_expect(processor < 0, 0)) /* the thread is not registered */
        processor = sched_getcpu();
#else
    int processor = sched_getcpu();
#endif
    return processor >= 0 && processor <= INT16_MAX ? (int16_t)processor : (int16_t)-1;
}

/* Returns how often a function's calls have passed through so far. */
static inline uint64_t calls_of(enum mpistair_function function)
{
    return (*recorder.host->calls)[function];
}

#endif
