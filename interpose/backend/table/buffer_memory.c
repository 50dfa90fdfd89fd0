/* The driver is asked about every buffer, since the recorder does not see when memory is freed and its address reused.
 * One question gives the number of the allocation, which the driver never uses twice: what was learned of that number
 * stays true. See buffer_memory.h. */
#include "interpose/backend/table/buffer_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>

#include "share/base/cuda_functions.h"

#define DRIVER     "libcuda.so"        /* programs load it with and without a version behind */
#define LOOK_TICKS (UINT64_C(1) << 20) /* a millisecond, or less */
#define WAIT_TICKS (16 * LOOK_TICKS)

uint64_t buffer_memory_look_ticks = 1;

static struct {
    int looking;                 /* a thread does */
    unsigned long long n_loaded; /* libraries that had been loaded when it looked last */
    int has_context;             /* stays set: a thread had one; addresses are those of the whole process */
    CUDA_MEMORY_FUNCTIONS(CUDA_MEMBER)
} driver;

struct search {
    unsigned long long n_loaded;
    char path[4096]; /* of the driver; empty: it is not loaded */
};

/* Ends the search at once where no library has been loaded since the last one. */
static int is_driver(struct dl_phdr_info *object, size_t bytes, void *memory)
{
    struct search *search = memory;
    (void)bytes;
    search->n_loaded = object->dlpi_adds;
    if (search->n_loaded == driver.n_loaded)
        return 1;
    const char *name = strrchr(object->dlpi_name, '/');
    if (!name || strncmp(name + 1, DRIVER, sizeof DRIVER - 1) != 0 || strlen(object->dlpi_name) >= sizeof search->path)
        return 0;
    strcpy(search->path, object->dlpi_name);
    return 1;
}

/* Finds the functions and keeps the library, which then cannot go while they are called. Returns whether all are
 * there. */
static int find_functions(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return 0;
    int complete = 1;
    void *found;
#define FIND(name, type, ...)                                                                                          \
    found = dlsym(library, #name);                                                                                     \
    memcpy(&driver.name, &found, sizeof found);                                                                        \
    complete = complete && found;
    CUDA_MEMORY_FUNCTIONS(FIND)
#undef FIND
    if (!complete)
        dlclose(library);
    return complete;
}

/* Waits until another thread has looked: the buffer may be one of the driver that it finds. Not for ever, since that
 * thread may need the lock of a dlopen that this call is in. */
static void wait_for_look(const struct recorded_call *call)
{
    while (__atomic_load_n(&driver.looking, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&buffer_memory_look_ticks, __ATOMIC_ACQUIRE) != 0 &&
           now_ticks() - call->begin_ticks < WAIT_TICKS)
        sched_yield();
}

/* Looks whether the program has loaded the driver by now. */
static void look_for_driver(const struct recorded_call *call)
{
    if (__atomic_exchange_n(&driver.looking, 1, __ATOMIC_ACQUIRE)) {
        wait_for_look(call);
        return;
    }
    struct search search = {0, ""};
    dl_iterate_phdr(is_driver, &search);
    driver.n_loaded = search.n_loaded;
    uint64_t next = search.path[0] && find_functions(search.path) ? 0 : call->begin_ticks + LOOK_TICKS;
    __atomic_store_n(&buffer_memory_look_ticks, next, __ATOMIC_RELEASE);
    if (next)
        __atomic_store_n(&driver.looking, 0, __ATOMIC_RELEASE);
}

/* Asks for the values, each as eight bytes of which the driver fills the first. Returns 0, or the driver's error. */
static int ask_driver(const void *buffer, unsigned n, const int attributes[], uint64_t values[])
{
    void *places[2];
    for (unsigned i = 0; i < n; i++) {
        values[i] = 0;
        places[i] = &values[i];
    }
    return driver.cuPointerGetAttributes(n, attributes, places, (uint64_t)(uintptr_t)buffer);
}

/* Returns the memory of an allocation that is known to the driver. */
static unsigned memory_of(const void *buffer, uint64_t type)
{
    static const int attributes[] = {CUDA_POINTER_IS_MANAGED, CUDA_POINTER_GPU};
    uint64_t values[2];
    if (ask_driver(buffer, 2, attributes, values) != 0)
        return SPOOL_MEMORY_HOST;
    unsigned kind = values[0]                    ? SPOOL_MEMORY_MANAGED
                    : type == CUDA_MEMORY_DEVICE ? SPOOL_MEMORY_DEVICE
                                                 : SPOOL_MEMORY_PINNED;
    if (kind == SPOOL_MEMORY_PINNED)
        return kind;
    uint64_t gpu = values[1] < SPOOL_MEMORY_LAST_GPU ? values[1] : SPOOL_MEMORY_LAST_GPU;
    return kind | (unsigned)gpu << SPOOL_MEMORY_GPU_SHIFT;
}

/* Returns whether a thread of the process has, or had, a context. */
static int has_context(void)
{
    if (__atomic_load_n(&driver.has_context, __ATOMIC_RELAXED))
        return 1;
    void *context = NULL;
    if (driver.cuCtxGetCurrent(&context) != 0 || !context)
        return 0;
    __atomic_store_n(&driver.has_context, 1, __ATOMIC_RELAXED);
    return 1;
}

static unsigned known_memory(struct recorder_thread *thread, const void *buffer)
{
    static const int attributes[] = {CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_ALLOCATION};
    uint64_t values[2];
    if (!has_context() || ask_driver(buffer, 2, attributes, values) != 0 ||
        (values[0] != CUDA_MEMORY_HOST && values[0] != CUDA_MEMORY_DEVICE))
        return SPOOL_MEMORY_HOST;
    struct known_allocation *known =
        &thread->allocations[values[1] % (sizeof thread->allocations / sizeof thread->allocations[0])];
    if (values[1] == 0) /* registered memory of the host may have no number */
        return memory_of(buffer, values[0]);
    if (known->number != values[1])
        *known = (struct known_allocation){values[1], memory_of(buffer, values[0])};
    return known->memory;
}

unsigned buffer_memory_ask(const struct recorded_call *call, const void *buffer)
{
    int saved_errno = errno;
    if (__atomic_load_n(&buffer_memory_look_ticks, __ATOMIC_ACQUIRE) != 0)
        look_for_driver(call);
    unsigned memory = SPOOL_MEMORY_HOST;
    if (__atomic_load_n(&buffer_memory_look_ticks, __ATOMIC_ACQUIRE) == 0 && buffer)
        memory = known_memory(call->thread, buffer);
    errno = saved_errno;
    return memory;
}
