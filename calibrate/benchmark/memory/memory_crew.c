/* The stores pass the cache where the processor has such stores: what goes to a cache is no traffic of the memory
 * (Denis, Jeannot, Swartvagher 2022, section 2.3). Each core has the same amount of work, however many compute. */
#include "calibrate/benchmark/memory/memory_crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "share/base/array.h"
#include "share/base/monotonic.h"
#include "share/base/memory.h"

#define POLL_NS 200000

struct crew_worker {
    pthread_t thread;
    hwloc_topology_t topology;
    unsigned processor;
    char *block;
    size_t block_bytes;
    struct memory_iterations *iterations;
    atomic_size_t n_done; /* iterations, for others to see */
    atomic_bool stop;
    atomic_int failure; /* errno of what went wrong */
};

#ifdef __SSE2__
const char crew_stores[] = "non-temporal";
const bool crew_needs_large_blocks = false;

/* Writes whole cache lines; block_bytes is a multiple of 64. */
static void write_block(char *block, size_t block_bytes, char value)
{
    const __m128i filled = _mm_set1_epi8(value);
    for (size_t at = 0; at < block_bytes; at += 64) {
        __m128i *line = (__m128i *)(void *)(block + at);
        _mm_stream_si128(line, filled);
        _mm_stream_si128(line + 1, filled);
        _mm_stream_si128(line + 2, filled);
        _mm_stream_si128(line + 3, filled);
    }
    _mm_sfence();
}
#else
const char crew_stores[] = "memset";
const bool crew_needs_large_blocks = true;

static void write_block(char *block, size_t block_bytes, char value)
{
    memset(block, value, block_bytes);
    atomic_thread_fence(memory_order_seq_cst); /* keeps the compiler from leaving stores out */
}
#endif

int memory_crew_bind(hwloc_topology_t topology, unsigned processor)
{
    hwloc_bitmap_t set = or_no_memory(hwloc_bitmap_alloc());
    hwloc_bitmap_only(set, processor);
    int failure = hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0 ? 0 : errno;
    hwloc_bitmap_free(set);
    return failure;
}

static void *work(void *argument)
{
    struct crew_worker *worker = argument;
    struct memory_iterations *iterations = worker->iterations;
    atomic_store(&worker->failure, memory_crew_bind(worker->topology, worker->processor));
    bool is_last = false;
    while (!is_last && atomic_load(&worker->failure) == 0) {
        is_last = atomic_load(&worker->stop);
        write_block(worker->block, worker->block_bytes, (char)iterations->n);
        array_grow(&iterations->end_s, iterations->n, sizeof *iterations->end_s);
        iterations->end_s[iterations->n++] = clock_now_s();
        atomic_store(&worker->n_done, iterations->n);
    }
    return NULL;
}

static bool has_begun(const struct memory_crew *crew)
{
    for (size_t i = 0; i < crew->n; i++)
        if (atomic_load(&crew->workers[i].n_done) == 0 && atomic_load(&crew->workers[i].failure) == 0)
            return false;
    return true;
}

/* Returns the first failure of a thread, 0 if there is none. */
static int failure_of(const struct memory_crew *crew, size_t *which)
{
    for (*which = 0; *which < crew->n; ++*which)
        if (atomic_load(&crew->workers[*which].failure) != 0)
            return atomic_load(&crew->workers[*which].failure);
    return 0;
}

int memory_crew_start(struct memory_crew *crew, hwloc_topology_t topology, size_t n, const unsigned *threads,
                      void *const *blocks, size_t block_bytes, struct error *error)
{
    const struct timespec poll = {.tv_nsec = POLL_NS};
    int failure = 0;
    *crew = (struct memory_crew){.workers = xcalloc(n, sizeof *crew->workers),
                                 .iterations = xcalloc(n, sizeof *crew->iterations)};
    for (size_t i = 0; i < n && failure == 0; i++) {
        struct crew_worker *worker = &crew->workers[i];
        worker->topology = topology;
        worker->processor = threads[i];
        worker->block = blocks[i];
        worker->block_bytes = block_bytes;
        worker->iterations = &crew->iterations[i];
        failure = pthread_create(&worker->thread, NULL, work, worker);
        crew->n += failure == 0;
    }
    while (failure == 0 && !has_begun(crew))
        nanosleep(&poll, NULL);
    size_t which = crew->n;
    if (failure == 0)
        failure = failure_of(crew, &which);
    if (failure == 0)
        return 0;
    error_set(error, "computing thread %zu, for processor %u: %s", which, threads[which < n ? which : n - 1],
              strerror(failure));
    memory_crew_stop(crew);
    memory_crew_release(crew);
    return -1;
}

void memory_crew_stop(struct memory_crew *crew)
{
    for (size_t i = 0; i < crew->n; i++)
        atomic_store(&crew->workers[i].stop, true);
    for (size_t i = 0; i < crew->n; i++)
        pthread_join(crew->workers[i].thread, NULL);
}

void memory_crew_release(struct memory_crew *crew)
{
    for (size_t i = 0; i < crew->n; i++)
        free(crew->iterations[i].end_s);
    free(crew->iterations);
    free(crew->workers);
    *crew = (struct memory_crew){0};
}
