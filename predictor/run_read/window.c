/* Keeps what lies in the window as a whole. What is left of a message with one end outside is nothing: the call at its
 * other end only takes its time. */
#include <stdlib.h>

#include "predictor/run_read/reading.h"
#include "share/base/memory.h"
#include "share/base/order.h"

static int compare_items(const void *left, const void *right)
{
    const struct read_item *a = left, *b = right;
    return ORDER(a->begin_ns, b->begin_ns) ?: ORDER(a->site, b->site) ?: ORDER(a->kind, b->kind)
           ?: ORDER(a->object, b->object);
}

static void sort_items(struct read_rank *rank)
{
    for (size_t i = 1; i < rank->n_items; i++)
        if (compare_items(&rank->items[i - 1], &rank->items[i]) > 0) {
            qsort(rank->items, rank->n_items, sizeof *rank->items, compare_items);
            return;
        }
}

size_t call_of_items(const struct reading *reading, const struct read_item *items, size_t n, size_t first,
                     int64_t *end_ns)
{
    const struct read_item *head = &items[first];
    size_t end = first + 1;
    *end_ns = read_item_end_ns(reading, head);
    while (head->kind != ITEM_IDLE && end < n && items[end].begin_ns == head->begin_ns &&
           items[end].site == head->site && items[end].kind != ITEM_IDLE) {
        int64_t ns = read_item_end_ns(reading, &items[end]);
        *end_ns = ns > *end_ns ? ns : *end_ns;
        end++;
    }
    return end;
}

/* Completes the times of a rank by its calls, and cuts them at the window. What comes behind all that was recorded of a
 * rank whose recording stopped is not the program's: nobody knows what it did. Returns how long that is. */
static int64_t bound_rank(const struct reading *reading, struct read_rank *rank)
{
    int64_t recorded_ns = rank->stopped_ns, lost_ns = 0;
    for (size_t i = 0; i < rank->n_items; i++) {
        const struct read_item *item = &rank->items[i];
        int64_t end_ns = read_item_end_ns(reading, item);
        rank->begin_ns = rank->begin_ns == NO_TIME || item->begin_ns < rank->begin_ns ? item->begin_ns : rank->begin_ns;
        rank->end_ns = rank->end_ns == NO_TIME || end_ns > rank->end_ns ? end_ns : rank->end_ns;
        recorded_ns = end_ns > recorded_ns ? end_ns : recorded_ns;
    }
    if (rank->stopped_ns != NO_TIME && rank->end_ns != NO_TIME && recorded_ns < rank->end_ns) {
        lost_ns = rank->end_ns - recorded_ns;
        rank->end_ns = recorded_ns;
    }
    if (rank->begin_ns == NO_TIME)
        rank->begin_ns = rank->end_ns == NO_TIME ? 0 : rank->end_ns;
    if (rank->end_ns == NO_TIME || rank->end_ns < rank->begin_ns)
        rank->end_ns = rank->begin_ns;
    if (rank->from_ns == NO_TIME || rank->from_ns < rank->begin_ns)
        rank->from_ns = rank->begin_ns;
    if (rank->to_ns == NO_TIME || rank->to_ns > rank->end_ns)
        rank->to_ns = rank->end_ns;
    lost_ns = rank->to_ns == rank->end_ns ? lost_ns : 0;
    rank->from_ns = rank->from_ns > rank->end_ns ? rank->end_ns : rank->from_ns;
    rank->to_ns = rank->to_ns < rank->from_ns ? rank->from_ns : rank->to_ns;
    return lost_ns;
}

/* How far the items of a rank are read. */
struct sieve {
    size_t next, kept;
    int64_t reached_ns; /* the last end of those before */
};

/* Keeps what lies in a burst and the window as a whole. */
static void keep_inside(const struct reading *reading, struct read_rank *rank, const struct read_burst *burst,
                        struct sieve *sieve, struct read_span *span)
{
    bool whole = burst->begin_ns == NO_TIME;
    int64_t from_ns = whole || rank->from_ns > burst->begin_ns ? rank->from_ns : burst->begin_ns;
    int64_t to_ns = whole || rank->to_ns < burst->end_ns ? rank->to_ns : burst->end_ns;
    from_ns = whole || from_ns < burst->end_ns ? from_ns : burst->end_ns;
    to_ns = to_ns > from_ns ? to_ns : from_ns;
    int64_t first_ns = sieve->reached_ns > from_ns ? sieve->reached_ns : from_ns, last_ns = to_ns, end_ns;
    size_t end = sieve->next;
    span->first_item = sieve->kept;
    for (; sieve->next < rank->n_items && rank->items[sieve->next].begin_ns <= to_ns; sieve->next = end) {
        int64_t begin_ns = rank->items[sieve->next].begin_ns;
        end = call_of_items(reading, rank->items, rank->n_items, sieve->next, &end_ns);
        sieve->reached_ns = end_ns > sieve->reached_ns ? end_ns : sieve->reached_ns;
        if (begin_ns >= from_ns && end_ns <= to_ns) {
            for (size_t k = sieve->next; k < end; k++)
                rank->items[sieve->kept++] = rank->items[k];
            continue;
        }
        if (begin_ns < from_ns && end_ns > first_ns)
            first_ns = end_ns;
        if (end_ns > to_ns && begin_ns < last_ns)
            last_ns = begin_ns;
    }
    span->n_items = sieve->kept - span->first_item;
    /* A call may last from before the window to behind it. */
    span->from_ns = first_ns < to_ns ? first_ns : to_ns;
    span->to_ns = last_ns > span->from_ns ? last_ns : span->from_ns;
}

/* Keeps what lies in the bursts and the window. Returns for how long the rank is there. */
static int64_t keep_spans(const struct reading *reading, struct read_rank *rank)
{
    struct sieve sieve = {.reached_ns = INT64_MIN};
    int64_t there_ns = 0;
    rank->spans = xcalloc(reading->n_bursts, sizeof *rank->spans);
    for (size_t b = 0; b < reading->n_bursts; b++) {
        keep_inside(reading, rank, &reading->bursts[b], &sieve, &rank->spans[b]);
        there_ns += rank->spans[b].to_ns - rank->spans[b].from_ns;
    }
    rank->n_items = sieve.kept;
    rank->from_ns = rank->spans[0].from_ns;
    rank->to_ns = rank->spans[reading->n_bursts - 1].to_ns;
    return there_ns;
}

enum { POSTED_SEND = 1, POSTED_RECEIVE = 2, POSTED_APART = 4 };

/* Notes an end of a message; `bursts` has the burst of its first one, NULL: there is one burst. */
static void note_post(uint8_t *posted, uint32_t *bursts, uint32_t burst, uint8_t ends)
{
    if (bursts != NULL && *posted != 0 && *bursts != burst)
        ends |= POSTED_APART;
    if (bursts != NULL)
        *bursts = burst;
    *posted |= ends;
}

static void note_posts(struct reading *reading, const struct read_rank *rank, uint8_t *posted, uint32_t *bursts)
{
    for (uint32_t b = 0; b < reading->n_bursts; b++)
        for (size_t i = 0; i < rank->spans[b].n_items; i++) {
            const struct read_item *item = &rank->items[rank->spans[b].first_item + i];
            uint8_t ends = item->kind == ITEM_ONE_SIDED ? POSTED_SEND | POSTED_RECEIVE
                           : item->kind == ITEM_SEND    ? POSTED_SEND
                           : item->kind == ITEM_RECEIVE ? POSTED_RECEIVE
                                                        : 0;
            if (ends != 0)
                note_post(&posted[item->object], bursts != NULL ? &bursts[item->object] : NULL, b, ends);
            if (item->kind != ITEM_COLLECTIVE)
                continue;
            reading->members[item->object].counts = true;
            reading->members[item->object].burst = b;
        }
}

/* Leaves only messages whose ends both count; numbers[] becomes their new number. */
static void renumber(struct reading *reading, const uint8_t *posted, uint32_t *numbers)
{
    struct run_program *program = reading->program;
    uint32_t kept = 0;
    for (size_t i = 0; i < program->n_messages; i++) {
        bool counts = posted[i] == (POSTED_SEND | POSTED_RECEIVE);
        numbers[i] = counts ? kept : NO_OBJECT;
        if (!counts)
            continue;
        program->messages[kept] = program->messages[i];
        if (i + 1 < program->n_messages && posted[i + 1] != (POSTED_SEND | POSTED_RECEIVE))
            program->messages[kept].flags &= (uint16_t)~MESSAGE_GOES_ON;
        reading->late_ns[kept++] = reading->late_ns[i];
    }
    program->n_messages = kept;
    for (size_t r = 0; r < program->n_ranks; r++)
        for (size_t i = 0; i < reading->ranks[r].n_items; i++) {
            struct read_item *item = &reading->ranks[r].items[i];
            if (item->kind == ITEM_SEND || item->kind == ITEM_RECEIVE || item->kind == ITEM_ONE_SIDED)
                item->object = numbers[item->object];
        }
}

static void keep_messages(struct reading *reading)
{
    size_t n = reading->program->n_messages;
    uint8_t *posted = xcalloc(n + 1, 1);
    uint32_t *bursts = reading->n_bursts > 1 ? xcalloc(n + 1, sizeof *bursts) : NULL;
    bool all = true;
    for (size_t rank = 0; rank < reading->program->n_ranks; rank++)
        note_posts(reading, &reading->ranks[rank], posted, bursts);
    for (size_t i = 0; all && i < n; i++)
        all = posted[i] == (POSTED_SEND | POSTED_RECEIVE);
    if (!all) {
        uint32_t *numbers = xmalloc((n + 1) * sizeof *numbers);
        renumber(reading, posted, numbers);
        free(numbers);
    }
    FREE_ALL(posted, bursts);
}

void window_apply(struct reading *reading)
{
    struct run_program *program = reading->program;
    int64_t first_ns = 0;
    for (size_t i = 0; i < program->n_ranks; i++) {
        struct read_rank *rank = &reading->ranks[i];
        if (reading->want.window != NULL && reading->want.window->ranks != NULL && !reading->want.window->ranks[i])
            rank->n_items = 0;
        sort_items(rank);
        program->ranks[i].lost_s = reading_seconds(bound_rank(reading, rank));
        double there_ns = (double)keep_spans(reading, rank);
        first_ns = rank->from_ns < first_ns ? rank->from_ns : first_ns;
        double whole_ns = rank->observed_ns > 0 ? (double)rank->observed_ns : (double)(rank->end_ns - rank->begin_ns);
        double share = there_ns / whole_ns;
        if ((reading->want.window != NULL || !reading->is_whole || program->ranks[i].lost_s > 0) && share < 1) {
            program->ranks[i].run_s *= share;
            program->ranks[i].wait_s *= share;
        }
    }
    reading->origin_ns = first_ns;
    keep_messages(reading);
}
