/* The totals of a process are one table, in its spool: fold.h adds to it what chunks held that are used again, and this
 * file what has no record. See total.h. */
#include "interpose/backend/call/total.h"

struct known_totals known_totals;

/* Whether no other thread adds to the totals meanwhile: that of the supply has no chunk to fold. */
static int is_alone(void)
{
    return recorder.sums && !recorder.serialized;
}

static struct spool_total entry_of(const struct total_call *one)
{
    return (struct spool_total){.site = one->site,
                                .communicator = (uint32_t)(one->partner >> 32),
                                .peer = (int32_t)(uint32_t)one->partner,
                                .function = (uint16_t)(one->rest >> 16),
                                .bin = (uint8_t)(one->rest >> 8),
                                .flags = (uint8_t)one->rest,
                                .calls = 1,
                                .bytes = one->bytes,
                                .ticks = one->ticks,
                                .longest_ticks = one->ticks};
}

/* Adds an entry, and time to the course. Returns the entry of the table; NULL if it is not to be kept. */
static struct spool_total *add(enum spool_window_family family, const struct spool_total *entry, uint64_t begin_ticks,
                               uint64_t ticks, uint64_t calls, uint64_t sent_bytes)
{
    struct fold *fold = &recorder.spool.fold;
    int alone = is_alone();
    if (!fold->area)
        return NULL;
    if (!alone)
        pthread_mutex_lock(&fold->lock);
    struct spool_total *found = totals_add(&fold->totals, entry);
    totals_pass(&fold->totals, family, begin_ticks, ticks, calls, sent_bytes);
    if (!alone) {
        pthread_mutex_unlock(&fold->lock);
        return NULL;
    }
    /* The window in which the call ended. */
    struct spool_course *course = &fold->area->course;
    uint64_t passed = begin_ticks + ticks - fold->totals.start_ticks, number = passed >> course->shift;
    if (number < TOTALS_WINDOWS) {
        known_totals.window = &course->windows[number];
        known_totals.window_begin = fold->totals.start_ticks + (number << course->shift);
        known_totals.window_ticks = UINT64_C(1) << course->shift;
    }
    return found;
}

void total_add_any(enum spool_window_family family, const struct total_call *one, uint64_t sent_bytes)
{
    struct spool_total entry = entry_of(one);
    struct spool_total *found = add(family, &entry, one->begin_ticks, one->ticks, 1, sent_bytes);
    if (!found)
        return;
    uint64_t hash = (one->site ^ one->partner << 3 ^ one->rest) * UINT64_C(0x9e3779b97f4a7c15);
    known_totals.of[hash >> 56] = (struct known_total){one->site, one->partner, one->rest, found};
}

void total_add_record(const void *record)
{
    fold_record(&recorder.spool.fold, record);
    known_totals.window_ticks = 0; /* the windows may be others now */
}

void total_timed_idle(const struct recorded_call *call, uint64_t end_ticks)
{
    struct recorder_thread *thread = call->thread;
    struct idle_place *place = idle_place_find(thread, call->function, call->site);
    uint64_t begin_ticks = call->begin_ticks != 0 ? call->begin_ticks : end_ticks, ticks = end_ticks - begin_ticks;
    struct spool_total one = {.site = call->site,
                              .communicator = SPOOL_NO_COMMUNICATOR,
                              .peer = TOTAL_NO_PEER,
                              .function = (uint16_t)call->function,
                              .bin = place ? TOTAL_IDLE_OTHERS : TOTAL_IDLE_FIRST,
                              .flags = (uint8_t)(TOTAL_IDLE | total_off()),
                              .calls = 1,
                              .bytes = 1,
                              .ticks = ticks,
                              .longest_ticks = ticks,
                              .square = (double)ticks * (double)ticks};
    uint64_t calls = 1 + (place ? place->untimed : 0);
    struct spool_total *entry = add(WINDOW_IDLE, &one, begin_ticks, ticks * calls, calls, 0);
    if (!place && thread->n_places < IDLE_ROWS) {
        place = &thread->places[thread->n_places++];
        *place = (struct idle_place){.site = call->site, .function = call->function};
        return;
    }
    if (!place)
        return;
    place->untimed = 0;
    place->entry = entry;
    thread->counted_place = entry ? place : NULL;
}

void total_end_row(struct recorder_thread *thread)
{
    const struct spool_total none = {.calls = 0};
    for (unsigned i = 0; i < thread->n_places; i++) {
        const struct idle_place *place = &thread->places[i];
        const struct spool_total *entry = place->entry;
        if (place->untimed == 0 || !entry || entry->bytes == 0)
            continue;
        uint64_t ticks = entry->ticks / entry->bytes * place->untimed, now = now_ticks();
        uint64_t begin = now - recorder.spool.fold.totals.start_ticks > ticks ? now - ticks : now;
        add(WINDOW_IDLE, &none, begin, begin < now ? ticks : 0, place->untimed, 0);
    }
    thread->n_places = 0;
    thread->counted_place = NULL;
}

void total_add_test(const struct recorded_call *call, uint64_t end_ticks)
{
    struct recorded_call timed = *call;
    if (timed.begin_ticks == 0) {
        const struct spool_total *entry = call->place->entry;
        uint64_t ticks = entry && entry->bytes > 0 ? entry->ticks / entry->bytes : 0;
        timed.begin_ticks = end_ticks - recorder.spool.fold.totals.start_ticks > ticks ? end_ticks - ticks : end_ticks;
    }
    total_add_call(&timed, timed.function, WINDOW_WAIT, SPOOL_NO_COMMUNICATOR, 0, end_ticks);
}
