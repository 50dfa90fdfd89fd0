/* Keeps what lies in the window as a whole. What is left of a message with one end outside is nothing: the call at its
 * other end only takes its time. */
#include <stdlib.h>

#include "predictor/run_read/reading.h"
#include "share/base/memory.h"

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

static void sort_items(struct read_rank *rank)
{
    for (size_t i = 1; i < rank->n_items; i++)
        if (compare_items(&rank->items[i - 1], &rank->items[i]) > 0) {
            qsort(rank->items, rank->n_items, sizeof *rank->items, compare_items);
            return;
        }
}

size_t call_of_items(const struct read_rank *rank, size_t first, int64_t *end_ns)
{
    const struct item *head = &rank->items[first];
    size_t end = first + 1;
    *end_ns = head->end_ns;
    while (head->kind != ITEM_IDLE && end < rank->n_items && rank->items[end].begin_ns == head->begin_ns &&
           rank->items[end].site == head->site && rank->items[end].kind != ITEM_IDLE) {
        *end_ns = rank->items[end].end_ns > *end_ns ? rank->items[end].end_ns : *end_ns;
        end++;
    }
    return end;
}

/* Completes the times of a rank by its calls, and cuts them at the window. What comes behind all that was recorded of a
 * rank whose recording stopped is not the program's: nobody knows what it did. Returns how long that is. */
static int64_t bound_rank(struct read_rank *rank)
{
    int64_t recorded_ns = rank->stopped_ns, lost_ns = 0;
    for (size_t i = 0; i < rank->n_items; i++) {
        const struct item *item = &rank->items[i];
        rank->begin_ns = rank->begin_ns == NO_TIME || item->begin_ns < rank->begin_ns ? item->begin_ns : rank->begin_ns;
        rank->end_ns = rank->end_ns == NO_TIME || item->end_ns > rank->end_ns ? item->end_ns : rank->end_ns;
        recorded_ns = item->end_ns > recorded_ns ? item->end_ns : recorded_ns;
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

static void keep_inside(struct read_rank *rank)
{
    int64_t first_ns = rank->from_ns, last_ns = rank->to_ns, end_ns;
    size_t kept = 0;
    for (size_t i = 0, end; i < rank->n_items; i = end) {
        end = call_of_items(rank, i, &end_ns);
        int64_t begin_ns = rank->items[i].begin_ns;
        if (begin_ns >= rank->from_ns && end_ns <= rank->to_ns) {
            for (size_t k = i; k < end; k++)
                rank->items[kept++] = rank->items[k];
            continue;
        }
        if (begin_ns < rank->from_ns && end_ns > first_ns)
            first_ns = end_ns;
        if (end_ns > rank->to_ns && begin_ns < last_ns)
            last_ns = begin_ns;
    }
    rank->n_items = kept;
    /* A call may last from before the window to behind it. */
    rank->from_ns = first_ns < rank->to_ns ? first_ns : rank->to_ns;
    rank->to_ns = last_ns > rank->from_ns ? last_ns : rank->from_ns;
}

enum { POSTED_SEND = 1, POSTED_RECEIVE = 2 };

static void note_posts(struct reading *reading, const struct read_rank *rank, uint8_t *posted)
{
    for (size_t i = 0; i < rank->n_items; i++) {
        const struct item *item = &rank->items[i];
        if (item->kind == ITEM_COLLECTIVE)
            reading->members[item->object].counts = true;
        else if (item->kind == ITEM_ONE_SIDED)
            posted[item->object] = POSTED_SEND | POSTED_RECEIVE;
        else if (item->kind == ITEM_SEND)
            posted[item->object] |= POSTED_SEND;
        else if (item->kind == ITEM_RECEIVE)
            posted[item->object] |= POSTED_RECEIVE;
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
        reading->posts[kept++] = reading->posts[i];
    }
    program->n_messages = kept;
    for (size_t r = 0; r < program->n_ranks; r++)
        for (size_t i = 0; i < reading->ranks[r].n_items; i++) {
            struct item *item = &reading->ranks[r].items[i];
            if (item->kind == ITEM_SEND || item->kind == ITEM_RECEIVE || item->kind == ITEM_ONE_SIDED)
                item->object = numbers[item->object];
        }
}

static void keep_messages(struct reading *reading)
{
    size_t n = reading->program->n_messages;
    uint8_t *posted = xcalloc(n + 1, 1);
    bool all = true;
    for (size_t rank = 0; rank < reading->program->n_ranks; rank++)
        note_posts(reading, &reading->ranks[rank], posted);
    for (size_t i = 0; all && i < n; i++)
        all = posted[i] == (POSTED_SEND | POSTED_RECEIVE);
    if (!all) {
        uint32_t *numbers = xmalloc((n + 1) * sizeof *numbers);
        renumber(reading, posted, numbers);
        free(numbers);
    }
    free(posted);
}

void window_apply(struct reading *reading)
{
    struct run_program *program = reading->program;
    int64_t first_ns = 0;
    for (size_t i = 0; i < program->n_ranks; i++) {
        struct read_rank *rank = &reading->ranks[i];
        if (reading->window != NULL && reading->window->ranks != NULL && !reading->window->ranks[i])
            rank->n_items = 0;
        sort_items(rank);
        program->ranks[i].lost_s = reading_seconds(bound_rank(rank));
        keep_inside(rank);
        first_ns = rank->from_ns < first_ns ? rank->from_ns : first_ns;
        double whole_ns = rank->observed_ns > 0 ? (double)rank->observed_ns : (double)(rank->end_ns - rank->begin_ns);
        double share = (double)(rank->to_ns - rank->from_ns) / whole_ns;
        if ((reading->window != NULL || program->ranks[i].lost_s > 0) && share < 1) {
            program->ranks[i].run_s *= share;
            program->ranks[i].wait_s *= share;
        }
    }
    reading->origin_ns = first_ns;
    keep_messages(reading);
}
