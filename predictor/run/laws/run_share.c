/* Messages come and go here; run_law.c has their rates, run_clock.c says how far they are. See run_share.h. */
#include "predictor/run/laws/run_share.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"

void run_share_init(struct run_share *share, enum run_law law, const struct run_rates *rates,
                    const struct placement *placement)
{
    *share = (struct run_share){.law = &run_laws[law], .rates = rates, .placement = placement};
    grouping_init(&share->sockets, placement, GROUP_BY_SOCKET);
    grouping_init(&share->nodes, placement, GROUP_BY_NODE);
    share->n_groups = 2 * share->sockets.n_groups + share->nodes.n_groups + 1;
    share->groups = xcalloc(share->n_groups, sizeof *share->groups);
    share->next.place = xmalloc(share->n_groups * sizeof *share->next.place);
    share->cohorts = xcalloc(share->n_groups, sizeof *share->cohorts);
    share->unsettled = xmalloc(share->n_groups * sizeof *share->unsettled);
    share->nics = xcalloc(2 * share->nodes.n_groups + 1, sizeof *share->nics);
    share->rank_n = xcalloc(2 * placement->n_ranks + 1, sizeof *share->rank_n);
    share->emptied.place = xmalloc((2 * share->nodes.n_groups + 1) * sizeof *share->emptied.place);
    for (size_t i = 0; i < 2 * share->nodes.n_groups; i++)
        share->emptied.place[i] = HEAP_ABSENT;
    for (size_t g = 0; g < share->n_groups; g++) {
        share->groups[g].only_class = RUN_NO_CLASS;
        share->groups[g].rate = 1;
        share->next.place[g] = HEAP_ABSENT;
    }
}

void run_share_release(struct run_share *share)
{
    for (size_t g = 0; g < share->n_groups; g++) {
        FREE_ALL(share->groups[g].bundles.entries, share->cohorts[g].members);
    }
    for (size_t b = 0; b < share->n_bundles; b++) {
        FREE_ALL(share->bundles[b].marks.entries, share->bundles[b].waiting);
    }
    for (size_t i = 0; i < 2 * share->nodes.n_groups; i++)
        free(share->nics[i].bundles);
    FREE_ALL(share->groups, share->moving, share->cohorts, share->unsettled, share->next.entries, share->next.place,
             share->bundles, share->places, share->nics, share->rank_n, share->emptied.entries, share->emptied.place);
    map_release(&share->bundle_of);
    map_release(&share->connections);
    free(share->carried);
    grouping_release(&share->sockets);
    grouping_release(&share->nodes);
    *share = (struct run_share){0};
}

/* Adds an empty bundle to its group, and to its NICs. */
static void new_bundle(struct run_share *share, const struct run_mover *mover, uint32_t group)
{
    size_t *places = share->places;
    uint32_t number = (uint32_t)share->n_bundles++, socket = run_law_socket(share, mover);
    uint32_t node[2] = {share->nodes.of[mover->src], share->nodes.of[mover->dst]};
    array_reserve(&share->bundles, &share->bundles_room, share->n_bundles, sizeof *share->bundles);
    array_reserve(&share->places, &share->places_room, share->n_bundles, sizeof *share->places);
    for (size_t g = 0; share->places != places && g < share->n_groups; g++)
        share->groups[g].bundles.place = share->places;
    for (size_t end = 0; run_law_path(share, mover->class)->bundle == BUNDLE_OF_NICS && end < 2; end++) {
        struct run_nic *nic = &share->nics[2 * node[end] + end];
        ARRAY_ADD(nic->bundles, nic->n_bundles, number);
    }
    share->places[number] = HEAP_ABSENT;
    share->bundles[number] = (struct run_bundle){
        .group = group, .src_node = node[0], .dst_node = node[1], .keeps = 1, .socket = socket, .head = RUN_NO_MOVING};
    if (socket != RUN_NO_SOCKET)
        share->bundles[number].keeps = run_memory_note(share->memory, socket, number);
}

/* Counts a message in or out, sets the rates that follow, and schedules its group. */
static void count_in_bundle(struct run_share *share, const struct run_mover *mover, int change)
{
    struct run_bundle *bundle = &share->bundles[mover->bundle];
    struct run_group *group = &share->groups[bundle->group];
    uint32_t by = (uint32_t)change;
    bundle->n += by;
    bundle->weight = bundle->n > 0 ? bundle->weight + change * share->moving[mover->number].weight : 0;
    bundle->of_class[mover->class] += by;
    group->n += by;
    group->of_class[mover->class] += by;
    if (bundle->socket != RUN_NO_SOCKET)
        run_memory_move(share->memory, bundle->socket, group->since_s, change);
    run_law_path(share, mover->class)->set(share, mover, change);
    run_group_place(share, bundle->group);
}

/* The messages of some bundles move one after another, in the order in which they began. Only the first one has marks;
 * of one that another takes the turn from, what is left is kept. So what moves follows from which messages are there,
 * however they came. */
static bool is_before(const struct run_share *share, uint32_t a, uint32_t b)
{
    const struct run_moving *first = &share->moving[a], *second = &share->moving[b];
    return first->begun_s < second->begun_s || (!(second->begun_s < first->begun_s) && first->order < second->order);
}

/* Puts a message into the heap at a place from which entries have to move up or down. */
static void settle_turn(const struct run_share *share, struct run_bundle *bundle, size_t at, uint32_t number)
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

static void await_turn(const struct run_share *share, struct run_bundle *bundle, uint32_t number)
{
    array_reserve(&bundle->waiting, &bundle->waiting_room, bundle->n_waiting + 1, sizeof *bundle->waiting);
    bundle->n_waiting++;
    settle_turn(share, bundle, bundle->n_waiting - 1, number);
}

static void remove_at(const struct run_share *share, struct run_bundle *bundle, size_t at)
{
    if (at < --bundle->n_waiting)
        settle_turn(share, bundle, at, bundle->waiting[bundle->n_waiting]);
}

static void begin_turn(struct run_share *share, struct run_bundle *bundle, uint32_t number)
{
    bundle->head = number;
    run_moving_mark(share, number);
}

/* Let a message come or go; its bundle is up to date, and must be placed after that. */
static void turns_add(struct run_share *share, uint32_t number, double now_s)
{
    struct run_bundle *bundle = &share->bundles[share->moving[number].bundle];
    uint32_t head = bundle->head;
    if (head != RUN_NO_MOVING && !is_before(share, number, head)) {
        await_turn(share, bundle, number);
        return;
    }
    if (head != RUN_NO_MOVING) {
        share->moving[head].rest = run_moving_rest(share, head, now_s);
        run_moving_unmark(share, head);
        await_turn(share, bundle, head);
    }
    begin_turn(share, bundle, number);
}

static void turns_remove(struct run_share *share, uint32_t number)
{
    struct run_bundle *bundle = &share->bundles[share->moving[number].bundle];
    if (bundle->head == number) {
        run_moving_unmark(share, number);
        bundle->head = RUN_NO_MOVING;
        if (bundle->n_waiting > 0) {
            uint32_t next = bundle->waiting[0];
            remove_at(share, bundle, 0);
            begin_turn(share, bundle, next);
        }
        return;
    }
    size_t at = 0;
    while (bundle->waiting[at] != number)
        at++;
    remove_at(share, bundle, at);
}

/* Bytes of a packet of TCP over Ethernet, MTU 1500: data; headers (14 of Ethernet, 20 of IP, 32 of TCP with
 * timestamps). */
enum { PACKET_DATA_BYTES = 1448, PACKET_HEADER_BYTES = 66 };

/* Takes bytes out of the buckets of both NICs between two nodes. */
static void drain(struct run_share *share, uint32_t src_node, uint32_t dst_node, double bytes)
{
    run_nics_drain(share, 2 * (size_t)src_node, bytes);
    run_nics_drain(share, 2 * (size_t)dst_node + 1, bytes);
}

/* Takes out what a message adds to its own bytes: what headers it has beyond those of full packets, which the wire's
 * bandwidth counts, and an acknowledgement of every second packet (RFC 9293, 3.8.6.3). */
static void drain_headers(struct run_share *share, const uint32_t node[2], double bytes)
{
    double packets = bytes / PACKET_DATA_BYTES;
    drain(share, node[0], node[1], PACKET_HEADER_BYTES * (ceil(packets) - packets));
    drain(share, node[1], node[0], PACKET_HEADER_BYTES * ceil(packets / 2));
}

void run_share_drain(struct run_share *share, double now_s, uint32_t src, uint32_t dst, double bytes)
{
    const uint32_t node[2] = {share->nodes.of[src], share->nodes.of[dst]};
    uint32_t group = (uint32_t)share->n_groups - 1;
    if (node[0] == node[1] || !run_nics_have_buckets(share))
        return;
    run_clock_advance(&share->groups[group], now_s);
    drain(share, node[0], node[1], bytes);
    drain_headers(share, node, bytes);
    run_group_place(share, group);
}

void run_share_add(struct run_share *share, double now_s, struct run_mover *mover, double rest, double room_bytes)
{
    const struct run_path *path = run_law_path(share, mover->class);
    uint32_t number;
    mover->bundle = map_number(&share->bundle_of, run_law_bundle(share, mover, &number), share->n_bundles);
    if (mover->bundle == share->n_bundles)
        new_bundle(share, mover, number);
    struct run_bundle *bundle = &share->bundles[mover->bundle];
    struct run_group *group = &share->groups[bundle->group];
    array_reserve(&share->moving, &share->moving_room, mover->number + 1, sizeof *share->moving);
    run_clock_advance(group, now_s);
    run_bundle_catch_up(group, bundle);
    share->moving[mover->number] = (struct run_moving){
        .weight = path->packet != NULL ? flow_limited(path->packet, mover->carried) : 1,
        .rest = rest,
        .room_bytes = room_bytes,
        .begun_s = mover->begun_s,
        .order = mover->order,
        .class = mover->class,
        .bundle = mover->bundle,
        .place = RUN_NO_MOVING,
    };
    if (path->in_turn)
        turns_add(share, mover->number, now_s);
    else
        run_moving_mark(share, mover->number);
    if (path->begun_rate != NULL)
        run_cohort_join(share, mover->number, now_s);
    bool is_new = !(rest < mover->bytes);
    if (is_new && path->bundle == BUNDLE_OF_NICS && run_nics_have_buckets(share))
        drain_headers(share, (const uint32_t[]){bundle->src_node, bundle->dst_node}, rest);
    count_in_bundle(share, mover, 1);
}

/* Sets the rate of a bundle anew, as other computation contends with it, and its place. */
static void set_kept(struct run_share *share, uint32_t number, double keeps)
{
    struct run_bundle *bundle = &share->bundles[number];
    bundle->keeps = keeps;
    if (bundle->n == 0)
        return;
    run_bundle_set_speed(share, number, bundle->law_speed);
    run_bundle_place(share, number);
    run_nics_keep(share, bundle);
}

void run_share_compute(struct run_share *share, double now_s, uint32_t rank, int change)
{
    uint32_t number = share->sockets.of[rank];
    const struct run_memory_socket *socket = &share->memory->sockets[number];
    if (!run_memory_compute(share->memory, number, now_s, change))
        return;
    for (size_t i = 0; i < socket->n_bundles; i++) {
        struct run_bundle *bundle = &share->bundles[socket->bundles[i]];
        if (bundle->n > 0)
            run_clock_advance(&share->groups[bundle->group], now_s);
        set_kept(share, socket->bundles[i], socket->keeps);
        if (bundle->n > 0)
            run_group_place(share, bundle->group);
    }
}

double run_share_rest(const struct run_share *share, double now_s, const struct run_mover *mover)
{
    bool waits = run_law_path(share, mover->class)->in_turn && share->bundles[mover->bundle].head != mover->number;
    return waits ? share->moving[mover->number].rest : run_moving_rest(share, mover->number, now_s);
}

/* Returns where the bytes stand that a message's connection has carried. */
static double *carried_by(struct run_share *share, const struct run_mover *mover)
{
    size_t n = share->connections.n_entries;
    uint32_t connection = map_number(&share->connections, (struct map_key){mover->src, mover->dst, 0}, n);
    if (connection == n)
        ARRAY_ADD(share->carried, n, 0);
    return &share->carried[connection];
}

double run_share_carried(const struct run_share *share, uint32_t src, uint32_t dst)
{
    uint32_t connection = MAP_ABSENT;
    if (share->connections.n_entries > 0)
        connection = map_find(&share->connections, (struct map_key){src, dst, 0});
    return connection == MAP_ABSENT ? 0 : share->carried[connection];
}

void run_share_remove(struct run_share *share, double now_s, const struct run_mover *mover)
{
    const struct run_path *path = run_law_path(share, mover->class);
    struct run_bundle *bundle = &share->bundles[mover->bundle];
    struct run_group *group = &share->groups[bundle->group];
    run_clock_advance(group, now_s);
    run_bundle_catch_up(group, bundle);
    if (path->packet != NULL && !(run_moving_rest(share, mover->number, now_s) > 0))
        *carried_by(share, mover) += mover->bytes;
    if (path->in_turn)
        turns_remove(share, mover->number);
    else
        run_moving_unmark(share, mover->number);
    if (path->begun_rate != NULL)
        run_cohort_leave(share, mover->number, now_s);
    count_in_bundle(share, mover, -1);
}

double run_share_next_s(const struct run_share *share)
{
    double next_s = share->next.n > 0 ? share->next.entries[0].key : INFINITY;
    return share->emptied.n > 0 ? fmin(next_s, share->emptied.entries[0].key) : next_s;
}

uint32_t run_share_take(struct run_share *share, double now_s)
{
    if (share->emptied.n > 0 && (share->next.n == 0 || share->emptied.entries[0].key < share->next.entries[0].key)) {
        uint32_t group = (uint32_t)share->n_groups - 1;
        run_clock_advance(&share->groups[group], now_s);
        run_nics_emptied(share, heap_pop(&share->emptied).id);
        run_group_place(share, group);
        return RUN_NO_MARK;
    }
    uint32_t number = share->next.entries[0].id;
    struct run_group *group = &share->groups[number];
    uint32_t first = group->bundles.entries[0].id;
    struct run_bundle *bundle = &share->bundles[first];
    group->clock = fmax(group->clock, group->bundles.entries[0].key);
    group->since_s = now_s;
    struct heap_entry mark = heap_pop(&bundle->marks);
    share->moving[run_mark_number(mark.id)].n_marks--;
    bundle->through = mark.key;
    bundle->at = group->clock;
    run_bundle_place(share, first);
    run_group_place(share, number);
    return mark.id;
}

bool run_share_settle(struct run_share *share)
{
    if (share->n_unsettled == 0)
        return false;
    run_cohort_settle(share);
    return true;
}
