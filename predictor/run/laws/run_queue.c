/* Positions in a queue are prefix sums, which a Fenwick tree keeps: a search among L entries costs O(log L) here,
 * though an MPI walks. The tree covers the places that were given out since the list was packed, which happens when
 * they are used up, and at no cost where the list is empty. See run_queue.h. */
#include "predictor/run/laws/run_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

int run_queue_init(struct run_queue *queue, const struct machine *machine, size_t n_ranks,
                   struct queue_search *searches, struct error *error)
{
    double step_s;
    if (machine_queue_step_s(machine, MACHINE_QUEUE_POSTED, 1, &step_s, error) != 0)
        return -1;
    *queue = (struct run_queue){.machine = machine,
                                .searchers = xcalloc(n_ranks, sizeof *queue->searchers),
                                .n_ranks = n_ranks,
                                .searches = searches};
    return 0;
}

void run_queue_release(struct run_queue *queue)
{
    for (size_t rank = 0; rank < queue->n_ranks; rank++)
        for (int which = 0; which < MACHINE_QUEUE_COUNT; which++) {
            FREE_ALL(queue->searchers[rank].lists[which].entries, queue->searchers[rank].lists[which].sums);
        }
    for (int which = 0; which < MACHINE_QUEUE_COUNT; which++)
        free(queue->step_s[which]);
    FREE_ALL(queue->searchers, queue->messages, queue->arrivals.entries, queue->due, queue->lasts);
    map_release(&queue->pairs);
    *queue = (struct run_queue){0};
}

/* Returns how many entries are there up to a place. */
static uint32_t position(const struct run_list *list, uint32_t place)
{
    uint32_t sum = 0;
    for (uint32_t i = place + 1; i > 0; i &= i - 1)
        sum += list->sums[i];
    return sum;
}

/* Counts a place in (1) or out (UINT32_MAX, which takes 1 away). */
static void count_place(struct run_list *list, uint32_t place, uint32_t change)
{
    for (uint32_t i = place + 1; i <= list->room; i += i & -i)
        list->sums[i] += change;
}

/* Moves what is there to the first places, and makes room for as many again. */
static void pack(struct run_queue *queue, struct run_list *list)
{
    uint32_t n = 0;
    if (2 * list->n >= list->room) {
        list->room = list->room > 0 ? 2 * list->room : 8;
        list->entries = xreallocarray(list->entries, list->room, sizeof *list->entries);
        list->sums = xreallocarray(list->sums, list->room + 1, sizeof *list->sums);
    }
    memset(list->sums, 0, (list->room + 1) * sizeof *list->sums);
    for (uint32_t i = 0; i < list->n_used; i++)
        if (list->entries[i] != RUN_QUEUE_GONE) {
            list->entries[n] = list->entries[i];
            queue->messages[list->entries[n]].place = n;
            list->sums[++n] = 1;
        }
    for (uint32_t i = 1; i <= list->room; i++)
        if (i + (i & -i) <= list->room)
            list->sums[i + (i & -i)] += list->sums[i];
    list->n_used = n;
}

static void join(struct run_queue *queue, struct run_list *list, uint32_t message)
{
    if (list->n == 0) /* so is the tree */
        list->n_used = 0;
    if (list->n_used == list->room)
        pack(queue, list);
    queue->messages[message].place = list->n_used;
    list->entries[list->n_used] = message;
    count_place(list, list->n_used++, 1);
    list->n++;
}

static void leave_list(struct run_list *list, uint32_t place)
{
    list->entries[place] = RUN_QUEUE_GONE;
    count_place(list, place, UINT32_MAX);
    list->n--;
}

/* Returns c(length). */
static double step_s(struct run_queue *queue, enum machine_queue which, uint32_t length)
{
    for (size_t known = queue->step_room[which]; length >= known;) {
        array_reserve(&queue->step_s[which], &queue->step_room[which], length + 1, sizeof *queue->step_s[which]);
        for (; known < queue->step_room[which]; known++)
            queue->step_s[which][known] = -1;
    }
    double *seconds = &queue->step_s[which][length];
    if (*seconds < 0) /* the table was found to have it */
        machine_queue_step_s(queue->machine, which, length, seconds, NULL);
    return *seconds;
}

/* Searches a list of a rank: up to the message, which then leaves it, or else all. Returns what that takes. */
static double search_list(struct run_queue *queue, enum machine_queue which, uint32_t rank, uint32_t message,
                          bool is_there)
{
    struct run_list *list = &queue->searchers[rank].lists[which];
    struct queue_search *searches = &queue->searches[rank];
    uint32_t length = list->n, passed = is_there ? position(list, queue->messages[message].place) : length;
    if (is_there)
        leave_list(list, queue->messages[message].place);
    searches->passed[which] += passed;
    if (length > searches->longest[which])
        searches->longest[which] = length;
    return passed > 0 ? passed * step_s(queue, which, length) : 0;
}

/* Lets a rank search when it has its turn. Returns when it has done so. */
static double take_turn(struct run_searcher *searcher, double now_s, double seconds)
{
    searcher->free_s = fmax(searcher->free_s, now_s) + seconds;
    return searcher->free_s;
}

void run_queue_begin(struct run_queue *queue, uint32_t message)
{
    array_reserve(&queue->messages, &queue->messages_room, (size_t)message + 1, sizeof *queue->messages);
    queue->messages[message] = (struct run_queued){.arrived_s = NAN};
}

void run_queue_send(struct run_queue *queue, uint32_t message, uint32_t src, uint32_t dst, double arrival_s)
{
    uint32_t *pair = map_at(&queue->pairs, (struct map_key){src, dst, 0});
    if (*pair == MAP_ABSENT) {
        *pair = (uint32_t)queue->pairs.n_entries - 1;
        array_reserve(&queue->lasts, &queue->pairs_room, queue->pairs.n_entries, sizeof *queue->lasts);
    } else {
        const struct run_last *last = &queue->lasts[*pair];
        if (arrival_s < last->arrival_s || (arrival_s <= last->arrival_s && message < last->message))
            arrival_s = nextafter(last->arrival_s, INFINITY);
    }
    queue->lasts[*pair] = (struct run_last){arrival_s, message};
    heap_push(&queue->arrivals, arrival_s, message);
}

void run_queue_take(struct run_queue *queue)
{
    double now_s = run_queue_next_s(queue);
    for (queue->n_due = 0; queue->arrivals.n > 0 && run_queue_next_s(queue) <= now_s; queue->n_due++) {
        array_reserve(&queue->due, &queue->due_room, queue->n_due + 1, sizeof *queue->due);
        queue->due[queue->n_due] = heap_pop(&queue->arrivals).id;
    }
    if (queue->n_due > 1)
        qsort(queue->due, queue->n_due, sizeof *queue->due, compare_u32);
}

double run_queue_post(struct run_queue *queue, uint32_t message, uint32_t rank, double now_s)
{
    struct run_searcher *searcher = &queue->searchers[rank];
    bool has_arrived = run_queue_has_arrived(queue, message);
    double seconds = search_list(queue, MACHINE_QUEUE_UNEXPECTED, rank, message, has_arrived);
    queue->messages[message].is_posted = true;
    if (!has_arrived)
        join(queue, &searcher->lists[MACHINE_QUEUE_POSTED], message);
    return seconds > 0 ? take_turn(searcher, now_s, seconds) - now_s : 0;
}

void run_queue_arrive(struct run_queue *queue, uint32_t message, uint32_t rank, double now_s)
{
    struct run_searcher *searcher = &queue->searchers[rank];
    bool is_posted = queue->messages[message].is_posted;
    double seconds = search_list(queue, MACHINE_QUEUE_POSTED, rank, message, is_posted);
    if (!is_posted)
        join(queue, &searcher->lists[MACHINE_QUEUE_UNEXPECTED], message);
    queue->messages[message].arrived_s = now_s;
    queue->messages[message].found_s = take_turn(searcher, now_s, seconds);
}

bool run_queue_has_arrived(const struct run_queue *queue, uint32_t message)
{
    return !isnan(queue->messages[message].arrived_s);
}

double run_queue_left_s(const struct run_queue *queue, uint32_t message, double since_s)
{
    const struct run_queued *queued = &queue->messages[message];
    return fmax(queued->found_s - fmax(queued->arrived_s, since_s), 0);
}
