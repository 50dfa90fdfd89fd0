/* Entering and leaving a region takes a timestamp, a look into a small table of the thread's last names, and some
 * stores. The table is keyed by the address of the name and by the region around it. A name that is a constant of a
 * module stays the same text while the module is there; others are compared, as a program may build another name at the
 * same address.
 *
 * The regions of the process are in one table. A thread that looks a name up takes no lock: entries are complete before
 * their slot is set, and stay. */
#include "interpose/backend/region/region.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/backend/call/call.h"
#include "interpose/backend/site/modules.h"
#include "share/base/hash.h"
#include "share/base/settings.h"

enum { REGION_DEPTH = 64, KNOWN_REGIONS = 128, REGION_SLOTS = 2 * SPOOL_REGIONS };

/* What a region is called where the program gives nothing. */
static const char no_name[] = "(no name)";

enum { SET_REGION = 1, PLAIN_REGION = 0 }; /* of region_frame.id: neither set nor started; set, which set also ends */

struct region_frame {
    struct spool_region *record; /* in the lane, or stack->own of the frame */
    uint64_t since_ticks;        /* from there on its time is inside the one around it */
    uint64_t around;             /* what thread->region was before */
    uint64_t id;                 /* PLAIN_REGION, SET_REGION, or that of region_start */
    const char *name;            /* where the program's text was */
};

struct known_region {
    const char *name; /* address in the program */
    uint16_t parent;
    uint16_t region;  /* 0: the place is free */
    uint32_t version; /* module_version of the name where it is a constant of a module; else NO_CONSTANT */
};
#define NO_CONSTANT UINT32_MAX

struct region_stack {
    uint32_t depth;
    uint32_t ignored; /* begins beyond REGION_DEPTH whose ends are to come */
    uint64_t last_id;
    struct known_region known[KNOWN_REGIONS];
    struct region_frame frames[REGION_DEPTH];
    struct spool_region own[REGION_DEPTH];
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

/* Finds whether an address lies in memory of a module that nobody may write to. */
static int find_constant(struct dl_phdr_info *module, size_t bytes, void *address)
{
    (void)bytes;
    uint64_t at = *(const uint64_t *)address;
    for (unsigned i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && at - module->dlpi_addr - part->p_vaddr < part->p_filesz)
            return part->p_flags & PF_W ? 2 : 1;
    }
    return 0;
}

/* Returns the version of the module whose constant the name is, which stays the same text while that module is there;
 * NO_CONSTANT for another name. */
static uint32_t constant_version(const char *name)
{
    uint64_t address = (uint64_t)(uintptr_t)name;
    uint32_t version = module_version(address);
    return dl_iterate_phdr(find_constant, &address) == 1 && version != NO_CONSTANT ? version : NO_CONSTANT;
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
    *known = (struct known_region){name, (uint16_t)parent, (uint16_t)region, constant_version(name)};
    return region;
}

static inline struct known_region *known_place(struct region_stack *stack, uint32_t parent, const char *name)
{
    uint64_t key = (uint64_t)(uintptr_t)name + parent;
    return &stack->known[key * UINT64_C(0x9e3779b97f4a7c15) >> 57];
}

/* Returns the number of a name within a region. */
static uint32_t region_of(struct region_stack *stack, uint32_t parent, const char *name, unsigned way)
{
    struct known_region *known = known_place(stack, parent, name);
    if (known->name == name && known->parent == parent && known->region != 0 &&
        (known->version == module_version((uint64_t)(uintptr_t)name) ||
         strncmp(regions[known->region].name, name, SPOOL_REGION_NAME_BYTES) == 0))
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

/* Fills a frame and its record, which counts from then on. */
static inline void begin_frame(struct recorder_thread *thread, struct region_stack *stack, struct spool_region *record,
                               uint32_t region, const char *name, uint64_t now)
{
    struct region_frame *frame = &stack->frames[stack->depth++];
    frame->record = record;
    frame->since_ticks = now;
    frame->around = thread->region;
    frame->id = PLAIN_REGION;
    frame->name = name;
    record->region = (uint16_t)region;
    record->begin_ticks = now;
    thread->region = site_bits(region);
    spool_record_publish(record, SPOOL_REGION);
}

/* Enters a region. Returns its frame; NULL: it is ignored. */
static __attribute__((noinline)) struct region_frame *enter(struct recorder_thread *thread, const char *name,
                                                            unsigned way)
{
    struct region_stack *stack = stack_to_begin(thread);
    if (!stack)
        return NULL;
    uint32_t depth = stack->depth;
    uint32_t region = region_of(stack, region_inside(thread), name && *name ? name : no_name, way);
    struct spool_region *record =
        __atomic_load_n(&recorder.off, __ATOMIC_RELAXED) == 0 ? spool_lane_reserve(thread->lane, sizeof *record) : NULL;
    if (!record) {
        record = &stack->own[depth];
        *record = (struct spool_region){0};
    }
    begin_frame(thread, stack, record, region, name, now_ticks());
    return &stack->frames[depth];
}

/* Does the same in the usual case, without a call of a function: a constant name that the thread met before, and room
 * in its lane. Returns whether it did. */
static inline int enter_quickly(struct recorder_thread *thread, const char *name)
{
    struct region_stack *stack = thread->regions;
    struct spool_lane *lane = thread->lane;
    uint32_t parent = region_inside(thread);
    if (!stack || stack->depth >= REGION_DEPTH || __atomic_load_n(&recorder.off, __ATOMIC_RELAXED) != 0 ||
        (size_t)(lane->end - lane->next) < sizeof(struct spool_region))
        return 0;
    const struct known_region *known = known_place(stack, parent, name);
    if (known->name != name || known->parent != parent || known->region == 0 ||
        known->version != module_version((uint64_t)(uintptr_t)name))
        return 0;
    struct spool_region *record = (void *)lane->next;
    lane->next += sizeof *record;
    spool_prefetch(lane->next);
    begin_frame(thread, stack, record, known->region, name, quick_ticks());
    return 1;
}

/* Leaves the innermost region, at a time. */
static inline void leave(struct recorder_thread *thread, struct region_stack *stack, uint64_t at_ticks)
{
    uint32_t depth = --stack->depth;
    struct region_frame *frame = &stack->frames[depth];
    struct spool_region *record = frame->record;
    __atomic_store_n(&record->end_ticks, at_ticks, __ATOMIC_RELEASE);
    thread->region = frame->around;
    if (depth > 0)
        frame[-1].record->inner_ticks += at_ticks - frame->since_ticks;
    if (__builtin_expect(record == &stack->own[depth], 0))
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
        if (stack->frames[stack->depth - 1].id != SET_REGION)
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
    struct recorder_thread *thread = recorder_thread;
    if (__builtin_expect(thread && is_recording_quickly() && enter_quickly(thread, name), 1))
        return;
    thread = thread_of_region();
    if (thread)
        enter(thread, name, way);
}

/* Leaves a region with others within it, which go on within the one around it. */
static void leave_around(struct region_stack *stack, uint32_t at)
{
    struct region_frame *frame = &stack->frames[at], *inner = frame + 1;
    struct spool_region *record = frame->record;
    uint64_t now = now_ticks();
    record->inner_ticks += now - inner->since_ticks;
    if (at > 0)
        frame[-1].record->inner_ticks += now - frame->since_ticks;
    inner->since_ticks = now;
    inner->around = frame->around;
    __atomic_store_n(&record->end_ticks, now, __ATOMIC_RELEASE);
    if (record == &stack->own[at])
        region_sum(record);
    for (uint32_t i = at; i + 1 < stack->depth; i++) {
        stack->frames[i] = stack->frames[i + 1];
        if (stack->frames[i].record == &stack->own[i + 1]) {
            stack->own[i] = stack->own[i + 1];
            stack->frames[i].record = &stack->own[i];
        }
    }
    stack->depth--;
}

/* Finds the region that an end means which is not simply that of the innermost: that of its name, else one that was
 * begun and neither set nor started. Returns its place; -1: there is none. */
static __attribute__((cold, noinline)) int find_meant(const struct region_stack *stack, const char *name)
{
    for (uint32_t i = stack->depth; i-- > 0;)
        if (name ? is_called(&stack->frames[i], name) : stack->frames[i].id == PLAIN_REGION)
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
        has_started |= stack->frames[i].id > SET_REGION;
    if (has_started) {
        leave_around(stack, (uint32_t)found);
        return;
    }
    leave_down_to(thread, (uint32_t)found + 1);
    leave(thread, stack, now_ticks());
}

static __attribute__((noinline)) void end_any(const char *name)
{
    struct recorder_thread *thread = thread_of_region();
    if (!thread || is_beyond_sums(thread) || !may_end(thread->regions))
        return;
    struct region_stack *stack = thread->regions;
    const struct region_frame *top = &stack->frames[stack->depth - 1];
    if (top->id != PLAIN_REGION || (name && !is_called(top, name)))
        end_rarely(thread, name);
    else
        leave(thread, stack, now_ticks());
}

static void region_end(const char *name)
{
    struct recorder_thread *thread = recorder_thread;
    if (__builtin_expect(thread && thread->regions && is_recording_quickly(), 1)) {
        struct region_stack *stack = thread->regions;
        uint32_t depth = stack->depth;
        const struct region_frame *top = &stack->frames[depth - 1];
        if (__builtin_expect(depth > 0 && stack->ignored == 0 && top->id == PLAIN_REGION &&
                                 (!name || name == top->name) && top->record != &stack->own[depth - 1],
                             1)) {
            leave(thread, stack, quick_ticks());
            return;
        }
    }
    end_any(name);
}

/* Ends the region that was set at this depth, and sets another one; NULL: none. */
static void region_set(const char *name, unsigned way)
{
    struct recorder_thread *thread = thread_of_region();
    if (!thread)
        return;
    struct region_stack *stack = thread->regions;
    if (stack && stack->depth > 0 && stack->frames[stack->depth - 1].id == SET_REGION)
        leave(thread, stack, now_ticks());
    struct region_frame *frame = name ? enter(thread, name, way) : NULL;
    if (frame)
        frame->id = SET_REGION;
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
        return frame->id = SET_REGION + ++thread->regions->last_id;
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
