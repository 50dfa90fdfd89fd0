/* Adds up calls in an open-addressing table without deletion. */
#include "interpose/spool/totals.h"

#include <string.h>

#include "interpose/functions.h"

static const uint8_t function_families[] = {
#define FAMILY_OF(name, family) family,
    MPISTAIR_FUNCTIONS(FAMILY_OF)
#undef FAMILY_OF
};

static enum spool_window_family access_family(uint16_t function)
{
    if (function >= sizeof function_families)
        return WINDOW_OTHER;
    switch (function_families[function]) {
    case FAMILY_FILE:
    case FAMILY_FILE_ALL:
    case FAMILY_FILE_REQUEST:
    case FAMILY_FILE_REQUEST_ALL:
    case FAMILY_FILE_OPEN:
    case FAMILY_FILE_CLOSE:
        return WINDOW_FILE;
    default:
        return WINDOW_ONE_SIDED;
    }
}

static uint64_t total_mix(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint32_t total_hash(const struct spool_total *key)
{
    uint64_t rest = (uint64_t)key->function << 16 | (uint64_t)key->bin << 8 | key->flags;
    uint64_t partner = (uint64_t)key->communicator << 32 | (uint32_t)key->peer;
    return (uint32_t)total_mix(total_mix(key->site, partner), rest);
}

static int is_same_total(const struct spool_total *a, const struct spool_total *b)
{
    _Static_assert(offsetof(struct spool_total, pad) == 20, "the key has no holes");
    return memcmp(a, b, offsetof(struct spool_total, pad)) == 0;
}

/* Returns the slot of the key, or the free one where it would be. */
static uint32_t total_slot(const struct totals *totals, const struct spool_total *key)
{
    uint32_t at = total_hash(key) & (totals->n_slots - 1);
    while (totals->slots[at].calls != 0 && !is_same_total(&totals->slots[at], key))
        at = (at + 1) & (totals->n_slots - 1);
    return at;
}

/* Gives up parts of a new key that have no room. One slot stays free, so that each search ends. */
static struct spool_total total_narrowed(const struct totals *totals, const struct spool_total *one)
{
    struct spool_total key = *one;
    uint32_t n = totals->n_slots;
    if (key.flags & TOTAL_REGION) {
        if (totals->n_used >= n - n / 8)
            key.site = 0;
        return key;
    }
    if (key.peer != TOTAL_NO_PEER)
        key.peer = TOTAL_SEVERAL;
    if (totals->n_used >= n / 4 * 3)
        key.communicator = SPOOL_NO_COMMUNICATOR;
    if (totals->n_used >= n / 8 * 7)
        key.site &= ~((UINT64_C(1) << SPOOL_SITE_BITS) - 1);
    if (totals->n_used >= n / 16 * 15)
        key.bin = 0;
    if (totals->n_used >= n - 2)
        key.function = key.flags = 0;
    return key;
}

/* Adds to the slot that total_slot gave for it. */
static void slot_add(struct totals *totals, uint32_t at, const struct spool_total *one)
{
    struct spool_total *slot = &totals->slots[at];
    if (totals->changing)
        totals->changing(totals->context, at);
    if (slot->calls == 0) {
        *slot = *one;
        totals->n_used++;
        return;
    }
    slot->bytes = slot->bytes > UINT64_MAX - one->bytes ? UINT64_MAX : slot->bytes + one->bytes;
    slot->ticks += one->ticks;
    slot->longest_ticks = one->longest_ticks > slot->longest_ticks ? one->longest_ticks : slot->longest_ticks;
    slot->square += one->square;
    slot->calls += one->calls;
}

struct spool_total *totals_add(struct totals *totals, const struct spool_total *one)
{
    if (one->calls == 0)
        return NULL;
    uint32_t at = total_slot(totals, one), n_most = totals->n_slots - 2;
    if (totals->slots[at].calls == 0 && totals->n_used >= totals->n_slots / 2) {
        struct spool_total key = total_narrowed(totals, one);
        at = total_slot(totals, &key);
        if ((key.flags & TOTAL_REGION) && totals->slots[at].calls == 0 && totals->n_used >= n_most)
            return NULL;
        slot_add(totals, at, &key);
    } else {
        slot_add(totals, at, one);
    }
    return &totals->slots[at];
}

static void window_add(struct spool_window *window, const struct spool_window *other)
{
    for (int i = 0; i < WINDOW_FAMILIES; i++)
        window->ticks[i] += other->ticks[i];
    window->calls += other->calls;
    window->sent_bytes += other->sent_bytes;
}

/* Doubles the windows. */
static void course_widen(struct spool_course *course)
{
    for (uint32_t i = 0; i < TOTALS_WINDOWS / 2; i++) {
        struct spool_window joined = course->windows[2 * i];
        window_add(&joined, &course->windows[2 * i + 1]);
        course->windows[i] = joined;
    }
    memset(course->windows + TOTALS_WINDOWS / 2, 0, sizeof course->windows / 2);
    course->n = (course->n + 1) / 2;
    course->shift++;
}

/* Makes the windows reach a moment after the start. */
static void course_reach(struct spool_course *course, uint64_t passed)
{
    if (passed >> course->shift < course->n)
        return;
    if (course->shift == 0)
        course->shift = TOTALS_FIRST_SHIFT;
    while (passed >> course->shift >= TOTALS_WINDOWS)
        course_widen(course);
    uint32_t n = (uint32_t)(passed >> course->shift) + 1;
    course->n = n > course->n ? n : course->n;
}

void totals_pass(struct totals *totals, enum spool_window_family family, uint64_t begin_ticks, uint64_t ticks,
                 uint64_t calls, uint64_t sent_bytes)
{
    struct spool_course *course = totals->course;
    uint64_t begin = begin_ticks > totals->start_ticks ? begin_ticks - totals->start_ticks : 0;
    uint64_t end = begin + ticks >= begin ? begin + ticks : begin;
    course_reach(course, end);
    uint32_t number = (uint32_t)(begin >> course->shift);
    course->windows[number].calls += calls;
    course->windows[number].sent_bytes += sent_bytes;
    while (begin < end) {
        uint64_t window_end = (uint64_t)(number + 1) << course->shift;
        uint64_t until = end < window_end ? end : window_end;
        course->windows[number++].ticks[family] += until - begin;
        begin = until;
    }
}

/* Adds calls that took so many ticks together. */
static void total_and_pass(struct totals *totals, enum spool_window_family family, struct spool_total *one,
                           uint64_t begin_ticks)
{
    int is_send = family == WINDOW_POINT_TO_POINT && !(one->flags & TOTAL_RECEIVE);
    one->bin = total_bin(one->bytes);
    totals->added_ticks = one->ticks;
    totals_add(totals, one);
    totals_pass(totals, family, begin_ticks, one->ticks, one->calls, is_send ? one->bytes : 0);
}

/* True for what MPI_Startall starts besides its first request. */
static int total_is_same_start(struct totals *totals, uint16_t function, uint64_t begin_ticks)
{
    if (function != FN_Startall)
        return 0;
    int same = totals->startall_ticks == begin_ticks;
    totals->startall_ticks = begin_ticks;
    return same;
}

static uint8_t total_off_flag(unsigned flags)
{
    return flags & SPOOL_OFF ? TOTAL_OFF : 0;
}

/* Returns the time of the call, for the first operation of those that it posted: MPI_Startall posts several. call_ticks
 * ends at 32 bits, and a call that waits may take longer. */
static uint64_t operation_call_ticks(struct totals *totals, const struct spool_operation *record)
{
    if (record->flags & SPOOL_SAME_CALL || total_is_same_start(totals, record->function, record->post_ticks))
        return 0;
    int waited = (record->flags & SPOOL_BLOCKING) && record->complete_ticks > record->post_ticks;
    return waited ? record->complete_ticks - record->post_ticks : record->call_ticks;
}

static void total_add_operation(struct totals *totals, const struct spool_operation *record)
{
    uint64_t ticks = operation_call_ticks(totals, record);
    /* A peer that is not known counts as posted. */
    struct spool_total one = {
        .site = record->site,
        .communicator = record->communicator,
        .peer = record->peer,
        .function = record->function,
        .flags = (uint8_t)((record->direction == SPOOL_RECEIVE ? TOTAL_RECEIVE : 0) | total_off_flag(record->flags)),
        .calls = 1,
        .bytes = record->bytes,
        .ticks = ticks,
        .longest_ticks = ticks};
    total_and_pass(totals, WINDOW_POINT_TO_POINT, &one, record->post_ticks);
}

static void total_add_idle(struct totals *totals, const struct spool_idle *idle)
{
    struct spool_total one = {.site = idle->site,
                              .communicator = SPOOL_NO_COMMUNICATOR,
                              .peer = TOTAL_NO_PEER,
                              .function = idle->function,
                              .bin = TOTAL_IDLE_FIRST,
                              .flags = TOTAL_IDLE,
                              .calls = 1,
                              .bytes = 1,
                              .ticks = idle->first_ticks,
                              .longest_ticks = idle->first_ticks,
                              .square = (double)idle->first_ticks * (double)idle->first_ticks};
    totals_add(totals, &one);
    one.bin = TOTAL_IDLE_OTHERS;
    one.calls = idle->calls > 1 ? idle->calls - 1 : 0;
    one.bytes = idle->timed;
    one.ticks = idle->ticks;
    one.longest_ticks = 0;
    one.square = idle->square;
    totals_add(totals, &one);
    totals->added_ticks = spool_idle_ticks(idle);
    totals_pass(totals, WINDOW_IDLE, idle->begin_ticks, totals->added_ticks, idle->calls, 0);
}

/* Returns how long the call of a record with these ends took: a nonblocking one ends when another call reports it. */
static uint64_t total_call_ticks(unsigned flags, uint64_t begin_ticks, uint64_t end_ticks, uint64_t call_ticks)
{
    if (flags & SPOOL_NONBLOCKING)
        return call_ticks;
    return end_ticks > begin_ticks ? end_ticks - begin_ticks : 0;
}

void totals_add_record(struct totals *totals, const void *record)
{
    struct spool_total one = {.communicator = SPOOL_NO_COMMUNICATOR, .peer = TOTAL_NO_PEER, .calls = 1};
    totals->added_ticks = 0;
    switch (*(const uint8_t *)record) {
    case SPOOL_OPERATION:
        total_add_operation(totals, record);
        break;
    case SPOOL_CALL: {
        const struct spool_call *call = record;
        one.site = call->site;
        one.function = call->function;
        one.ticks = one.longest_ticks = call->call_ticks;
        total_and_pass(totals, WINDOW_WAIT, &one, call->begin_ticks);
        break;
    }
    case SPOOL_IDLE:
        total_add_idle(totals, record);
        break;
    case SPOOL_COLLECTIVE: {
        const struct spool_collective *collective = record;
        one.site = collective->site;
        one.communicator = collective->communicator;
        one.function = collective->function;
        one.flags = total_off_flag(collective->flags);
        one.bytes = collective->bytes;
        one.ticks = one.longest_ticks = total_is_same_start(totals, collective->function, collective->begin_ticks)
                                            ? 0
                                            : total_call_ticks(collective->flags, collective->begin_ticks,
                                                               collective->end_ticks, collective->call_ticks);
        total_and_pass(totals, WINDOW_COLLECTIVE, &one, collective->begin_ticks);
        break;
    }
    case SPOOL_ACCESS: {
        const struct spool_access *access = record;
        enum spool_window_family family = access_family(access->function);
        int is_file = family == WINDOW_FILE;
        one.site = access->site;
        one.communicator = access->communicator;
        one.peer = access->target >= 0 ? access->target : TOTAL_NO_PEER;
        one.function = access->function;
        one.flags = total_off_flag(access->flags);
        one.bytes = is_file && (access->flags & SPOOL_FAILED) ? 0 : access->bytes;
        one.ticks = one.longest_ticks =
            total_call_ticks(access->flags, access->begin_ticks, access->end_ticks, access->call_ticks);
        total_and_pass(totals, family, &one, access->begin_ticks);
        break;
    }
    case SPOOL_PERSISTENT: {
        const struct spool_persistent *persistent = record;
        one.site = persistent->site;
        one.communicator = persistent->communicator;
        one.function = persistent->function;
        one.ticks = one.longest_ticks = persistent->call_ticks;
        total_and_pass(totals, WINDOW_OTHER, &one, persistent->begin_ticks);
        break;
    }
    case SPOOL_REGION: {
        const struct spool_region *region = record;
        one.site = (uint64_t)region->region << SPOOL_SITE_BITS;
        one.flags = TOTAL_REGION;
        one.ticks = one.longest_ticks =
            region->end_ticks > region->begin_ticks ? region->end_ticks - region->begin_ticks : 0;
        one.bytes = region->inner_ticks;
        one.square = (double)one.ticks * (double)one.ticks;
        totals_add(totals, &one);
        break;
    }
    default:
        break;
    }
}

void totals_join(struct totals *totals, const struct totals *others)
{
    for (uint32_t i = 0; i < others->n_slots; i++)
        totals_add(totals, &others->slots[i]);
    struct spool_course *course = totals->course;
    const struct spool_course *other = others->course;
    if (other->n == 0)
        return;
    course_reach(course, ((uint64_t)other->n << other->shift) - 1);
    while (course->shift < other->shift)
        course_widen(course);
    for (uint32_t i = 0; i < other->n; i++)
        window_add(&course->windows[(uint64_t)i << other->shift >> course->shift], &other->windows[i]);
}
