/* Only the message that began first has marks; of one that another takes the turn from, what is left is kept. What
 * moves so follows from which messages are there, however they came. See run_turns.h. */
#include "predictor/run/run_turns.h"

#include "share/base/array.h"

static bool is_before(const struct run_share *share, uint32_t a, uint32_t b)
{
    const struct run_moving *first = &share->moving[a], *second = &share->moving[b];
    return first->begun_s < second->begun_s || (!(second->begun_s < first->begun_s) && first->order < second->order);
}

/* Puts a message into the heap at a place from which entries have to move up or down. */
static void settle(const struct run_share *share, struct run_bundle *bundle, size_t at, uint32_t number)
{
    uint32_t *waiting = bundle->waiting;
    for (; at > 0 && is_before(share, number, waiting[(at - 1) / 2]); at = (at - 1) / 2)
        waiting[at] = waiting[(at - 1) / 2];
    for (size_t child = 2 * at + 1; child < bundle->n_waiting; child = 2 * at + 1) {
        child += child + 1 < bundle->n_waiting && is_before(share, waiting[child + 1], waiting[child]);
        if (!is_before(share, waiting[child], number))
            break;
        waiting[at] = waiting[child];
        at = child;
    }
    waiting[at] = number;
}

static void wait(const struct run_share *share, struct run_bundle *bundle, uint32_t number)
{
    array_reserve(&bundle->waiting, &bundle->waiting_room, bundle->n_waiting + 1, sizeof *bundle->waiting);
    bundle->n_waiting++;
    settle(share, bundle, bundle->n_waiting - 1, number);
}

static void remove_at(const struct run_share *share, struct run_bundle *bundle, size_t at)
{
    if (at < --bundle->n_waiting)
        settle(share, bundle, at, bundle->waiting[bundle->n_waiting]);
}

static void begin(struct run_share *share, struct run_bundle *bundle, uint32_t number)
{
    bundle->head = number;
    run_moving_mark(share, number);
}

void run_turns_add(struct run_share *share, uint32_t number, double now_s)
{
    struct run_bundle *bundle = &share->bundles[share->moving[number].bundle];
    uint32_t head = bundle->head;
    if (head != RUN_NO_MOVING && !is_before(share, number, head)) {
        wait(share, bundle, number);
        return;
    }
    if (head != RUN_NO_MOVING) {
        share->moving[head].rest = run_moving_rest(share, head, now_s);
        run_moving_unmark(share, head);
        wait(share, bundle, head);
    }
    begin(share, bundle, number);
}

void run_turns_remove(struct run_share *share, uint32_t number)
{
    struct run_bundle *bundle = &share->bundles[share->moving[number].bundle];
    if (bundle->head == number) {
        run_moving_unmark(share, number);
        bundle->head = RUN_NO_MOVING;
        if (bundle->n_waiting > 0) {
            uint32_t next = bundle->waiting[0];
            remove_at(share, bundle, 0);
            begin(share, bundle, next);
        }
        return;
    }
    size_t at = 0;
    while (bundle->waiting[at] != number)
        at++;
    remove_at(share, bundle, at);
}
