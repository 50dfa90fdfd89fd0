/* mpistair_region.h has no library to link: its functions look here, at functions that libmpistair.so exports.
 *
 * A program may be in regions before it calls MPI_Init, and the recording begins there. So those that one thread has
 * open, the first that opens any, are remembered by name, and handed over; they begin with the recording. */
#include "interpose/preload/regions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "interpose/spool/event.h"

enum { EARLY_DEPTH = 16, EARLY_BYTES = 128 };

/* Of ids that are given before the backend gives its own, which count up from 1. */
#define EARLY_ID (UINT64_C(1) << 63)

static struct {
    pthread_t thread;
    unsigned depth; /* beyond EARLY_DEPTH regions are only counted */
    struct {
        unsigned way;
        bool is_set;
        uint64_t id;     /* 0: none */
        uint64_t new_id; /* the backend's, once it has one */
        char name[EARLY_BYTES];
    } regions[EARLY_DEPTH];
} early;
static atomic_flag early_is_taken = ATOMIC_FLAG_INIT;
static _Atomic bool early_has_thread;
static uint64_t early_ids;

/* True in the thread whose regions are remembered. */
static bool is_early_thread(void)
{
    if (!atomic_flag_test_and_set(&early_is_taken)) {
        early.thread = pthread_self();
        atomic_store(&early_has_thread, true);
    }
    return atomic_load(&early_has_thread) && pthread_equal(early.thread, pthread_self());
}

static void early_enter(const char *name, unsigned way, bool is_set, uint64_t id)
{
    if (early.depth < EARLY_DEPTH) {
        early.regions[early.depth].way = way;
        early.regions[early.depth].is_set = is_set;
        early.regions[early.depth].id = id;
        snprintf(early.regions[early.depth].name, EARLY_BYTES, "%s", name != NULL ? name : "");
    }
    early.depth++;
}

static void early_begin(const char *name, unsigned way)
{
    if (is_early_thread())
        early_enter(name, way, false, 0);
}

static void early_end(const char *name)
{
    if (!is_early_thread() || early.depth == 0)
        return;
    unsigned at = early.depth - 1;
    while (name != NULL && at > 0 && (at >= EARLY_DEPTH || strncmp(early.regions[at].name, name, EARLY_BYTES - 1) != 0))
        at--;
    early.depth = at;
}

static void early_set(const char *name, unsigned way)
{
    if (!is_early_thread())
        return;
    if (early.depth > 0 && early.depth <= EARLY_DEPTH && early.regions[early.depth - 1].is_set)
        early.depth--;
    if (name != NULL)
        early_enter(name, way, true, 0);
}

static void early_mark(const char *name, unsigned way)
{
    (void)name, (void)way;
}

static uint64_t early_start(const char *name, unsigned way)
{
    if (!is_early_thread())
        return 0;
    early_enter(name, way, false, EARLY_ID | ++early_ids);
    return EARLY_ID | early_ids;
}

static void early_stop(uint64_t id)
{
    if (id == 0 || !is_early_thread())
        return;
    for (unsigned i = 0; i < early.depth && i < EARLY_DEPTH; i++)
        if (early.regions[i].id == id)
            early.depth = i;
}

static const struct mpistair_region_calls early_calls = {early_begin, early_end,   early_set,
                                                         early_mark,  early_start, early_stop};
static const struct mpistair_region_calls *_Atomic calls_now = &early_calls;

const struct mpistair_region_calls *regions_now(void)
{
    return atomic_load_explicit(&calls_now, memory_order_acquire);
}

void regions_begin(const struct mpistair_region_calls *calls)
{
    bool has_open = atomic_load(&early_has_thread) && pthread_equal(early.thread, pthread_self());
    for (unsigned i = 0; has_open && i < early.depth && i < EARLY_DEPTH; i++) {
        if (early.regions[i].is_set)
            calls->set(early.regions[i].name, early.regions[i].way);
        else if (early.regions[i].id != 0)
            early.regions[i].new_id = calls->start(early.regions[i].name, early.regions[i].way);
        else
            calls->begin(early.regions[i].name, early.regions[i].way);
    }
    atomic_store_explicit(&calls_now, calls, memory_order_release);
}

uint64_t regions_start(const char *name, unsigned way)
{
    return regions_now()->start(name, way);
}

void regions_stop(uint64_t id)
{
    const struct mpistair_region_calls *calls = regions_now();
    if (calls != &early_calls && (id & EARLY_ID))
        for (unsigned i = 0; i < EARLY_DEPTH; i++)
            if (early.regions[i].id == id) {
                early.regions[i].id = 0;
                id = early.regions[i].new_id;
                break;
            }
    calls->stop(id);
}

#define EXPORTED __attribute__((visibility("default")))

extern EXPORTED void mpistair_v1_region_begin(const char *name);
extern EXPORTED void mpistair_v1_region_end(const char *name);
extern EXPORTED void mpistair_v1_region_set(const char *name);
extern EXPORTED void mpistair_v1_region_mark(const char *name);

void mpistair_v1_region_begin(const char *name)
{
    regions_now()->begin(name, SPOOL_WAY_OWN);
}

void mpistair_v1_region_end(const char *name)
{
    regions_now()->end(name);
}

void mpistair_v1_region_set(const char *name)
{
    regions_now()->set(name, SPOOL_WAY_OWN);
}

void mpistair_v1_region_mark(const char *name)
{
    regions_now()->mark(name, SPOOL_WAY_OWN);
}
