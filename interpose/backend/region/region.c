/* Entering and leaving a region takes a timestamp, a look into a small table of the thread's last names, and some
 * stores. The table is keyed by the address of the name and by the region around it; as a program may build another
 * name at the same address, the name itself is compared.
 *
 * The regions of the process are in one table. A thread that looks a name up takes no lock: entries are complete before
 * their slot is set, and stay. */
#include "interpose/backend/region/region.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/backend/call/call.h"
#include "share/base/hash.h"
#include "share/base/settings.h"

enum { REGION_DEPTH = 64, KNOWN_REGIONS = 128, REGION_SLOTS = 2 * SPOOL_REGIONS };

/* What a region is called where the program gives nothing. */
static const char no_name[] = "(no name)";

struct region_frame {
    struct spool_region *record; /* in the lane, or `own` */
    uint64_t since_ticks;        /* from there on its time is inside the one around it */
    uint64_t id;                 /* of region_start; 0: none */
    uint32_t is_set;             /* by region_set, which also ends it */
    struct spool_region own;
};

struct known_region {
    const char *name; /* address in the program */
    uint32_t parent;
    uint32_t region; /* 0: the place is free */
};

struct region_stack {
    uint32_t depth;
    uint32_t ignored; /* begins beyond REGION_DEPTH whose ends are to come */
    uint64_t last_id;
    struct known_region known[KNOWN_REGIONS];
    struct region_frame frames[REGION_DEPTH];
};

static struct {
    const char *name;
    uint64_t hash;
    uint32_t parent;
} regions[SPOOL_REGIONS];
static uint16_t region_slots[REGION_SLOTS];
static uint32_t n_regions = SPOOL_OTHER + 1;
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((cold, noinline)) void count_fault(enum spool_region_fault fault)
{
    struct spool_header *header = recorder.spool.header;
    if (header)
        __atomic_fetch_add(&header->regions[fault], 1, __ATOMIC_RELAXED);
}

static uint64_t region_hash(uint32_t parent, const char *name, size_t length)
{
    uint64_t hash = hash_bytes(HASH_BASIS + parent, name, length);
    return hash ^ hash >> 32;
}

/* Returns the slot of a region, or the free one where it would be. */
static uint32_t region_slot(uint64_t hash, uint32_t parent, const char *name, size_t length)
{
    uint32_t at = (uint32_t)hash % REGION_SLOTS;
    for (uint32_t region; (region = __atomic_load_n(&region_slots[at], __ATOMIC_ACQUIRE)) != 0;
         at = (at + 1) % REGION_SLOTS)
        if (regions[region].hash == hash && regions[region].parent == parent &&
            strncmp(regions[region].name, name, length) == 0 && regions[region].name[length] == '\0')
            break;
    return at;
}

/* Returns the number of a region; 0: it has none. */
static uint32_t region_found(uint64_t hash, uint32_t parent, const char *name, size_t length)
{
    return __atomic_load_n(&region_slots[region_slot(hash, parent, name, length)], __ATOMIC_ACQUIRE);
}

/* Stores what a new region is. Returns 0 or -1. */
static int store_name(uint32_t region, uint32_t parent, const char *name, size_t length, unsigned way)
{
    struct spool_region_name *record =
        spool_definition_reserve(&recorder.spool, spool_region_name_bytes((uint32_t)length));
    if (!record)
        return -1;
    record->way = (uint8_t)way;
    record->region = (uint16_t)region;
    record->parent = (uint16_t)parent;
    record->bytes = (uint16_t)length;
    memcpy(record->name, name, length);
    spool_definition_publish(&recorder.spool, record, SPOOL_REGION_NAME);
    return 0;
}

/* Gives a region that is new its number; SPOOL_OTHER where there is none. The caller holds the lock. */
static uint32_t region_add(uint32_t slot, uint64_t hash, uint32_t parent, const char *name, size_t length, unsigned way)
{
    char *copy = n_regions < SPOOL_REGIONS ? recorder_allocate(length + 1) : NULL;
    if (!copy || store_name(n_regions, parent, name, length, way) != 0) {
        free(copy);
        n_regions = SPOOL_REGIONS; /* what has no room now has none later */
        return SPOOL_OTHER;
    }
    memcpy(copy, name, length);
    regions[n_regions].name = copy;
    regions[n_regions].hash = hash;
    regions[n_regions].parent = parent;
    __atomic_store_n(&region_slots[slot], (uint16_t)n_regions, __ATOMIC_RELEASE);
    return n_regions++;
}

static __attribute__((cold, noinline)) uint32_t region_look_up(struct known_region *known, uint32_t parent,
                                                               const char *name, unsigned way)
{
    size_t length = strnlen(name, SPOOL_REGION_NAME_BYTES);
    uint64_t hash = region_hash(parent, name, length);
    uint32_t region = region_found(hash, parent, name, length);
    if (region == 0 && __atomic_load_n(&n_regions, __ATOMIC_RELAXED) < SPOOL_REGIONS) {
        pthread_mutex_lock(&regions_lock);
        region = region_found(hash, parent, name, length);
        if (region == 0)
            region = region_add(region_slot(hash, parent, name, length), hash, parent, name, length, way);
        pthread_mutex_unlock(&regions_lock);
    }
    if (region == 0 || region == SPOOL_OTHER) {
        count_fault(SPOOL_REGION_NO_NUMBER);
        return SPOOL_OTHER;
    }
    *known = (struct known_region){name, parent, region};
    return region;
}

/* Returns the number of a name within a region. */
static inline uint32_t region_of(struct region_stack *stack, uint32_t parent, const char *name, unsigned way)
{
    uint64_t key = (uint64_t)(uintptr_t)name ^ (uint64_t)parent << 20;
    struct known_region *known = &stack->known[key * UINT64_C(0x9e3779b97f4a7c15) >> 57];
    if (__builtin_expect(known->name == name && known->parent == parent && known->region != 0, 1) &&
        __builtin_expect(strncmp(regions[known->region].name, name, SPOOL_REGION_NAME_BYTES) == 0, 1))
        return known->region;
    return region_look_up(known, parent, name, way);
}

static inline uint64_t site_bits(uint32_t region)
{
    return (uint64_t)region << SPOOL_SITE_BITS;
}

static inline uint32_t region_inside(const struct recorder_thread *thread)
{
    return (uint32_t)(thread->region >> SPOOL_SITE_BITS);
}

/* Adds a region that has no record to the sums. Where one thread alone adds to them, others may not. */
static __attribute__((cold, noinline)) void region_sum(const struct spool_region *region)
{
    struct fold *fold = &recorder.spool.fold;
    struct spool_region copy = *region;
    copy.type = SPOOL_REGION;
    if (recorder.sums && !recorder.serialized && fold->area)
        totals_add_record(&fold->totals, &copy);
    else
        fold_record(fold, &copy);
}

/* Returns whether the thread may not add to the sums: with MPISTAIR_DETAIL=none only the one that initialised MPI may,
 * unless MPI knows of several. */
static int is_beyond_sums(const struct recorder_thread *thread)
{
    return recorder.sums && !recorder.serialized && thread != recorder.first_thread;
}

static void end_thread(struct recorder_thread *thread);

/* Returns the thread's stack where a region may be entered; NULL: it is ignored. */
static __attribute__((cold, noinline)) struct region_stack *stack_rarely(struct recorder_thread *thread)
{
    if (is_beyond_sums(thread)) {
        count_fault(SPOOL_REGION_NO_ROOM);
        return NULL;
    }
    if (!thread->regions)
        thread->regions = recorder_allocate(sizeof *thread->regions);
    thread->end_regions = end_thread;
    if (!thread->regions || thread->regions->depth == REGION_DEPTH) {
        if (thread->regions)
            thread->regions->ignored++;
        count_fault(SPOOL_REGION_NO_ROOM);
        return NULL;
    }
    return thread->regions;
}

static inline struct region_stack *stack_to_begin(struct recorder_thread *thread)
{
    struct region_stack *stack = thread->regions;
    return __builtin_expect(stack && stack->depth < REGION_DEPTH, 1) ? stack : stack_rarely(thread);
}

/* Returns the thread that enters or leaves a region; NULL where nothing is recorded. */
static inline struct recorder_thread *thread_of_region(void)
{
    return __builtin_expect(is_recording(), 1) ? recorder_thread_own() : NULL;
}

/* Enters a region. Returns its frame; NULL: it is ignored. */
static inline struct region_frame *enter(struct recorder_thread *thread, const char *name, unsigned way)
{
    struct region_stack *stack = stack_to_begin(thread);
    if (!stack)
        return NULL;
    uint32_t region = region_of(stack, region_inside(thread), name && *name ? name : no_name, way);
    struct region_frame *frame = &stack->frames[stack->depth++];
    struct spool_region *record = __builtin_expect(__atomic_load_n(&recorder.off, __ATOMIC_RELAXED) == 0, 1)
                                      ? spool_lane_reserve(thread->lane, sizeof *record)
                                      : NULL;
    frame->record = record ? record : &frame->own;
    frame->is_set = 0;
    frame->id = 0;
    if (__builtin_expect(!record, 0)) {
        record = &frame->own;
        *record = (struct spool_region){0};
    }
    record->region = (uint16_t)region;
    thread->region = site_bits(region);
    record->begin_ticks = frame->since_ticks = now_ticks();
    if (record != &frame->own)
        spool_record_publish(record, SPOOL_REGION);
    return frame;
}

/* Returns the region that is around a frame. */
static inline uint32_t region_around(const struct region_stack *stack, uint32_t depth)
{
    return depth > 0 ? stack->frames[depth - 1].record->region : 0;
}

/* Leaves the innermost region, at a time. */
static inline void leave(struct recorder_thread *thread, struct region_stack *stack, uint64_t at_ticks)
{
    uint32_t depth = --stack->depth;
    struct region_frame *frame = &stack->frames[depth];
    struct spool_region *record = frame->record;
    uint64_t since = frame->since_ticks;
    __atomic_store_n(&record->end_ticks, at_ticks, __ATOMIC_RELEASE);
    thread->region = site_bits(region_around(stack, depth));
    if (depth > 0)
        frame[-1].record->inner_ticks += at_ticks - since;
    if (__builtin_expect(record == &frame->own, 0))
        region_sum(record);
}

/* Returns whether the thread is in a region whose end may come; else the end is counted. */
static inline int may_end(struct region_stack *stack)
{
    if (__builtin_expect(stack && stack->depth > 0 && stack->ignored == 0, 1))
        return 1;
    if (stack && stack->ignored > 0)
        stack->ignored--;
    else
        count_fault(SPOOL_REGION_NO_BEGIN);
    return 0;
}

/* Leaves all regions that are deeper than so many, whose ends did not come. */
static __attribute__((cold, noinline)) void leave_down_to(struct recorder_thread *thread, uint32_t depth)
{
    struct region_stack *stack = thread->regions;
    uint64_t now = now_ticks();
    stack->ignored = 0;
    while (stack->depth > depth) {
        if (!stack->frames[stack->depth - 1].is_set)
            count_fault(SPOOL_REGION_NO_END);
        leave(thread, stack, now);
    }
}

/* Ends all regions of a thread that ends. */
static void end_thread(struct recorder_thread *thread)
{
    if (thread->regions && is_recording())
        leave_down_to(thread, 0);
    free(thread->regions);
    thread->regions = NULL;
}

static int is_called(const struct region_frame *frame, const char *name)
{
    const char *own = regions[frame->record->region].name;
    return !own || strncmp(own, name, SPOOL_REGION_NAME_BYTES) == 0; /* of SPOOL_OTHER the name is not known */
}

static void region_begin(const char *name, unsigned way)
{
    struct recorder_thread *thread = thread_of_region();
    if (thread)
        enter(thread, name, way);
}

/* Leaves a region with others within it, which go on within the one around it. */
static void leave_around(struct region_stack *stack, uint32_t at)
{
    struct region_frame *frame = &stack->frames[at], *inner = frame + 1;
    uint64_t now = now_ticks(), since = frame->since_ticks;
    frame->record->inner_ticks += now - inner->since_ticks;
    inner->since_ticks = now;
    __atomic_store_n(&frame->record->end_ticks, now, __ATOMIC_RELEASE);
    if (at > 0)
        frame[-1].record->inner_ticks += now - since;
    if (frame->record == &frame->own)
        region_sum(frame->record);
    for (uint32_t i = at; i + 1 < stack->depth; i++) {
        int is_own = stack->frames[i + 1].record == &stack->frames[i + 1].own;
        stack->frames[i] = stack->frames[i + 1];
        if (is_own)
            stack->frames[i].record = &stack->frames[i].own;
    }
    stack->depth--;
}

/* Finds the region that an end means which is not simply that of the innermost: that of its name, else one that was
 * begun and neither set nor started. Returns its place; -1: there is none. */
static __attribute__((cold, noinline)) int find_meant(const struct region_stack *stack, const char *name)
{
    for (uint32_t i = stack->depth; i-- > 0;)
        if (name ? is_called(&stack->frames[i], name) : !stack->frames[i].is_set && stack->frames[i].id == 0)
            return (int)i;
    return -1;
}

/* Ends a region that is not the innermost, or not as simply. Those within it that were started go on. */
static __attribute__((cold, noinline)) void end_rarely(struct recorder_thread *thread, const char *name)
{
    struct region_stack *stack = thread->regions;
    int found = find_meant(stack, name), has_started = 0;
    if (found < 0) {
        count_fault(SPOOL_REGION_NO_BEGIN);
        return;
    }
    for (uint32_t i = (uint32_t)found + 1; i < stack->depth; i++)
        has_started |= stack->frames[i].id != 0;
    if (has_started) {
        leave_around(stack, (uint32_t)found);
        return;
    }
    leave_down_to(thread, (uint32_t)found + 1);
    leave(thread, stack, now_ticks());
}

static void region_end(const char *name)
{
    struct recorder_thread *thread = thread_of_region();
    if (!thread || is_beyond_sums(thread) || !may_end(thread->regions))
        return;
    struct region_stack *stack = thread->regions;
    const struct region_frame *top = &stack->frames[stack->depth - 1];
    if (__builtin_expect(top->is_set || top->id != 0 || (name && !is_called(top, name)), 0))
        end_rarely(thread, name);
    else
        leave(thread, stack, now_ticks());
}

/* Ends the region that was set at this depth, and sets another one; NULL: none. */
static void region_set(const char *name, unsigned way)
{
    struct recorder_thread *thread = thread_of_region();
    if (!thread)
        return;
    struct region_stack *stack = thread->regions;
    if (stack && stack->depth > 0 && stack->frames[stack->depth - 1].is_set)
        leave(thread, stack, now_ticks());
    struct region_frame *frame = name ? enter(thread, name, way) : NULL;
    if (frame)
        frame->is_set = 1;
    else if (name && thread->regions && thread->regions->ignored > 0)
        thread->regions->ignored--; /* no end comes for it */
}

static void region_mark(const char *name, unsigned way)
{
    struct recorder_thread *thread = thread_of_region();
    struct region_frame *frame = thread ? enter(thread, name, way) : NULL;
    if (frame)
        leave(thread, thread->regions, frame->since_ticks);
    else if (thread && thread->regions && thread->regions->ignored > 0)
        thread->regions->ignored--;
}

/* Enters a region that need not be the innermost when it is left. Returns its id for region_stop; 0: it is ignored. */
static uint64_t region_start(const char *name, unsigned way)
{
    struct recorder_thread *thread = thread_of_region();
    struct region_frame *frame = thread ? enter(thread, name, way) : NULL;
    if (frame)
        return frame->id = ++thread->regions->last_id;
    if (thread && thread->regions && thread->regions->ignored > 0)
        thread->regions->ignored--;
    return 0;
}

static void region_stop(uint64_t id)
{
    struct recorder_thread *thread = thread_of_region();
    struct region_stack *stack = thread ? thread->regions : NULL;
    if (id == 0 || !thread)
        return;
    for (uint32_t i = stack ? stack->depth : 0; i-- > 0;)
        if (stack->frames[i].id == id) {
            if (i + 1 == stack->depth)
                leave(thread, stack, now_ticks());
            else
                leave_around(stack, i);
            return;
        }
    count_fault(SPOOL_REGION_NO_BEGIN);
}

void region_end_recording(void)
{
    struct recorder_thread *thread = recorder_thread;
    uint64_t now = now_ticks();
    while (thread && thread->regions && thread->regions->depth > 0) {
        thread->regions->frames[thread->regions->depth - 1].record->flags |= SPOOL_UNENDED;
        leave(thread, thread->regions, now);
    }
}

static int pcontrol_has_names;

void region_open(int rank)
{
    const char *value = setting("MPISTAIR_PCONTROL");
    pcontrol_has_names = value && strcmp(value, "names") == 0;
    if (value && *value && !pcontrol_has_names && strcmp(value, "numbers") != 0 && rank == 0)
        say_line("MPISTAIR_PCONTROL must be numbers or names, not '%s'; taking numbers", value);
}

int region_pcontrol(int number, const void *word)
{
    char name[32];
    if (pcontrol_has_names && (number == 1 || number == -1)) {
        if (number == 1)
            region_begin(word, SPOOL_WAY_PCONTROL);
        else
            region_end(word);
        return 1;
    }
    if (number >= FIRST_MARK) {
        snprintf(name, sizeof name, "mark %d", number);
        region_set(name, SPOOL_WAY_PCONTROL);
    } else if (number <= -FIRST_MARK) {
        region_set(NULL, SPOOL_WAY_PCONTROL);
    }
    return 0;
}

const struct mpistair_region_calls region_calls = {
    .begin = region_begin,
    .end = region_end,
    .set = region_set,
    .mark = region_mark,
    .start = region_start,
    .stop = region_stop,
};
