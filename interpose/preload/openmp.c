/* Counts how long threads of OpenMP have nothing to do, where the runtime tells by OMPT, the interface for tools of
 * OpenMP 5: LLVM's libomp and its kin do, GNU's libgomp does not.
 *
 * A runtime that starts looks for ompt_start_tool, and takes the first answer. Ours comes only where no other tool is
 * there. Nothing is stored for an event: a parallel region has the sum of what its threads waited, which is added to
 * that of the process when the region ends. A wait costs a clock read when it begins and one when it ends. A thread
 * leaves its last barrier only when the next region needs it, so that this wait counts as over with its region; what
 * threads wait between regions does not count. A task that a thread runs while it waits is no wait.
 *
 * The types are those of OMPT as far as they are used here, since its header is not everywhere. */
#include "interpose/preload/openmp.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interpose/preload/recording.h"

union ompt_data {
    uint64_t value;
    void *ptr;
};
typedef void ompt_function(void);
typedef ompt_function *ompt_look_up(const char *name);
struct ompt_tool {
    int (*initialize)(ompt_look_up *find, int device, union ompt_data *tool);
    void (*finalize)(union ompt_data *tool);
    union ompt_data tool;
};
enum { OMPT_BEGIN = 1, OMPT_END = 2, OMPT_LEAGUE = 0x40000000 };
enum { OMPT_PARALLEL_BEGIN = 3, OMPT_PARALLEL_END = 4, OMPT_TASK_SCHEDULE = 6, OMPT_IMPLICIT_TASK = 7, OMPT_WAIT = 16 };

/* Kinds of waits that are barriers, as bits: explicit and implicit ones, those of the runtime itself, of a loop and of
 * a region's end. */
enum { OMPT_BARRIERS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 8 | 1 << 9 };

/* A parallel region that goes on. `balance` has in its upper bits how many threads wait, below that, signed, the sum of
 * when waits ended, less that of when they began, in ns since the region's begin: with a thread that begins or ends to
 * wait one addition changes both. */
enum { PARALLELS = 32, BALANCE_BITS = 52 };
#define BALANCE_ONE (UINT64_C(1) << BALANCE_BITS)
struct parallel {
    _Alignas(128) _Atomic uint64_t balance;
    uint64_t began_ns;
    _Atomic uint32_t number; /* of regions that have been here; a wait of an earlier one is over */
    _Atomic uint32_t threads;
    _Atomic bool taken, open;
};
static struct parallel parallels[PARALLELS]; /* what finds no place is not counted */

/* What the calling thread waits in. */
static _Thread_local struct {
    struct parallel *parallel; /* NULL: in no barrier */
    const union ompt_data *task;
    uint32_t number;
    bool waits; /* runs no task meanwhile */
} openmp_wait;

static _Atomic uint64_t openmp_sums[OPENMP_SUMS];
static _Atomic bool openmp_counting;

static uint64_t openmp_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Adds a region up to now. */
static void add_parallel(uint64_t sums[OPENMP_SUMS], const struct parallel *at, uint64_t now_ns)
{
    uint64_t balance = atomic_load(&at->balance), threads = atomic_load(&at->threads);
    uint64_t took_ns = now_ns > at->began_ns ? now_ns - at->began_ns : 0;
    int64_t ended_ns = (int64_t)(balance << (64 - BALANCE_BITS)) >> (64 - BALANCE_BITS);
    uint64_t waiting = (balance - (uint64_t)ended_ns) >> BALANCE_BITS;
    int64_t idle_ns = (int64_t)(waiting * took_ns) + ended_ns;
    sums[OPENMP_REGION_NS] += took_ns;
    sums[OPENMP_THREAD_NS] += threads * took_ns;
    if (idle_ns > 0)
        sums[OPENMP_IDLE_NS] += (uint64_t)idle_ns < threads * took_ns ? (uint64_t)idle_ns : threads * took_ns;
}

void openmp_count(bool on)
{
    atomic_store(&openmp_counting, on);
}

void openmp_read(uint64_t sums[OPENMP_SUMS])
{
    uint64_t now_ns = openmp_now_ns();
    for (int i = 0; i < OPENMP_SUMS; i++) /* first, so that a region that ends meanwhile does not count twice */
        sums[i] = atomic_load(&openmp_sums[i]);
    for (int i = 0; i < PARALLELS; i++)
        if (atomic_load(&parallels[i].open))
            add_parallel(sums, &parallels[i], now_ns);
}

static void on_parallel_begin(union ompt_data *task, const void *frame, union ompt_data *data, unsigned requested,
                              int flags, const void *code)
{
    (void)task, (void)frame, (void)requested, (void)code;
    data->ptr = NULL;
    if (!atomic_load_explicit(&openmp_counting, memory_order_relaxed) || (flags & OMPT_LEAGUE))
        return;
    for (struct parallel *at = parallels; at < parallels + PARALLELS; at++) {
        if (atomic_load_explicit(&at->taken, memory_order_relaxed) || atomic_exchange(&at->taken, true))
            continue;
        at->began_ns = openmp_now_ns();
        atomic_store(&at->balance, 0);
        atomic_store(&at->threads, 1);
        atomic_store(&at->open, true);
        data->ptr = at;
        return;
    }
}

static void end_parallel(struct parallel *at)
{
    uint64_t sums[OPENMP_SUMS] = {0};
    atomic_store(&at->open, false);
    atomic_fetch_add(&at->number, 1);
    add_parallel(sums, at, openmp_now_ns());
    for (int i = 0; i < OPENMP_SUMS; i++)
        atomic_fetch_add(&openmp_sums[i], sums[i]);
    atomic_store(&at->taken, false);
}

static void on_parallel_end(union ompt_data *data, union ompt_data *task, int flags, const void *code)
{
    (void)task, (void)flags, (void)code;
    if (data != NULL && data->ptr != NULL)
        end_parallel(data->ptr);
}

/* The first thread of a region says how many there are. */
static void on_implicit_task(int end, union ompt_data *data, union ompt_data *task, unsigned threads, unsigned index,
                             int flags)
{
    (void)task, (void)flags;
    if (end == OMPT_BEGIN && index == 0 && data != NULL && data->ptr != NULL)
        atomic_store(&((struct parallel *)data->ptr)->threads, threads);
}

/* Counts the calling thread among those that wait, or no more. */
static void set_waits(bool waits)
{
    struct parallel *at = openmp_wait.parallel;
    if (openmp_wait.waits == waits)
        return;
    openmp_wait.waits = waits;
    if (atomic_load(&at->number) != openmp_wait.number) /* that region is over, and has counted this wait */
        return;
    uint64_t since_ns = openmp_now_ns() - at->began_ns;
    atomic_fetch_add(&at->balance, waits ? BALANCE_ONE - since_ns : since_ns - BALANCE_ONE);
}

static void on_wait(unsigned kind, int end, union ompt_data *data, union ompt_data *task, const void *code)
{
    (void)code;
    if (kind >= 32 || !(1U << kind & OMPT_BARRIERS))
        return;
    if (end == OMPT_BEGIN && data != NULL && data->ptr != NULL) {
        openmp_wait.parallel = data->ptr;
        openmp_wait.task = task;
        openmp_wait.number = atomic_load(&openmp_wait.parallel->number);
        openmp_wait.waits = false;
        set_waits(true);
    } else if (end == OMPT_END && openmp_wait.parallel != NULL) {
        set_waits(false);
        openmp_wait.parallel = NULL;
    }
}

/* A thread that waits in a barrier begins a task, or is back from it. */
static void on_task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
    (void)status;
    if (openmp_wait.parallel == NULL)
        return;
    if (next != NULL && next == openmp_wait.task)
        set_waits(true);
    else if (next != NULL && prior == openmp_wait.task)
        set_waits(false);
}

static int openmp_begin(ompt_look_up *find, int device, union ompt_data *tool)
{
    (void)device, (void)tool;
    static const struct {
        unsigned event;
        ompt_function *function;
    } events[] = {
        {OMPT_PARALLEL_BEGIN, (ompt_function *)on_parallel_begin},
        {OMPT_PARALLEL_END, (ompt_function *)on_parallel_end},
        {OMPT_IMPLICIT_TASK, (ompt_function *)on_implicit_task},
        {OMPT_TASK_SCHEDULE, (ompt_function *)on_task_schedule},
        {OMPT_WAIT, (ompt_function *)on_wait},
    };
    int (*set)(unsigned event, ompt_function *function) = (int (*)(unsigned, ompt_function *))find("ompt_set_callback");
    for (size_t i = 0; set != NULL && i < sizeof events / sizeof *events; i++)
        set(events[i].event, events[i].function);
    return set != NULL;
}

/* The runtime ends, or is unloaded, perhaps to be loaded again. */
static void openmp_end(union ompt_data *tool)
{
    (void)tool;
    for (int i = 0; i < PARALLELS; i++)
        if (atomic_load(&parallels[i].open))
            end_parallel(&parallels[i]);
}

/* Whether a tool will answer behind us: one of the variable that OpenMP has for tools, or Archer, which comes with the
 * runtime of ThreadSanitizer. */
static bool is_expected_elsewhere(void)
{
    const char *libraries = getenv("OMP_TOOL_LIBRARIES");
    return (libraries != NULL && libraries[0] != '\0') || dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

extern __attribute__((visibility("default"))) struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

struct ompt_tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct ompt_tool own = {openmp_begin, openmp_end, {0}};
    struct ompt_tool *(*next)(unsigned, const char *), *other;
    int error = errno;
    *(void **)&next = dlsym(RTLD_NEXT, "ompt_start_tool");
    other = next != NULL ? next(version, runtime) : NULL;
    bool is_ours = other == NULL && !is_expected_elsewhere() && !recording_is_disabled();
    errno = error;
    return is_ours ? &own : other;
}
