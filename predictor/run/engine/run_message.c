/* Messages on their way: when they begin, how two nodes agree on one, who must be inside MPI for them to move, when
 * their ends are complete.
 *
 * The handshake of a rendezvous between nodes is made step by step (share/doc/MODELS.md, Whole run, Backlog). The
 * sender announces the message, the receiver answers, the data follow. Announcement and answer wait for what stands
 * before their network card, and a rank takes note of them only while it waits in MPI, where its transport is like that
 * (progress): what has arrived meanwhile it then takes in the order of the arrivals. So data that are handed over ahead
 * of an answer to the same rank hold that up until they are through. Which of two messages that cross ends first
 * decides how both ranks go on, and real ones never end at once: the one that began later takes a little longer. */
#include "predictor/run/engine/simulation_state.h"

#include <math.h>
#include <string.h>

#include "predictor/pattern/traffic.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Orders what arrives at the same moment, whatever rounding says: answers, so that their data go first; announcements;
 * data with their last byte, since a rank sees an announcement right behind them before it goes on. */
#define LATER_S 1e-13

/* Is how much longer the later one of two that cross takes, of its transfer alone. Any time that is longer than the
 * calls between two exchanges does. */
#define CROSSING 0.02

static enum level message_level(const struct simulation *sim, const struct run_message *message)
{
    return placement_level(sim->placement, message->src, message->dst);
}

const struct run_message *message_told(const struct simulation *sim, uint32_t message)
{
    size_t n = sim->program->n_messages;
    return message < n ? &sim->told[message] : &sim->modelled.messages[message - n].told;
}

struct message_state *message_state(const struct simulation *sim, uint32_t message)
{
    size_t n = sim->program->n_messages;
    return message < n ? &sim->states[sim->state_of[message] - 1] : &sim->modelled.messages[message - n].state;
}

/* Returns the class of a message, RUN_NO_CLASS within a rank. Where the machine lacks its level, the replay ends. */
static uint8_t message_class(struct simulation *sim, const struct run_message *message)
{
    enum level level = message_level(sim, message);
    size_t class = level == LEVEL_SELF || !sim->rates.known[level]
                       ? RUN_NO_CLASS
                       : run_rates_class(&sim->rates, level, message->bytes, (message->flags & MESSAGE_CACHED) != 0);
    if (level != LEVEL_SELF && class == RUN_NO_CLASS) {
        sim->no_level = true;
        sim->missing_level = level;
    }
    return (uint8_t) class;
}

/* Gives all bytes of a partitioned message to its last piece, from first to last, where the MPI sends none before. */
static void merge_pieces(struct simulation *sim, size_t first, size_t last)
{
    struct run_message whole = sim->program->messages[first];
    for (size_t k = first + 1; k <= last; k++)
        whole.bytes += sim->program->messages[k].bytes;
    uint8_t class = message_class(sim, &whole);
    if (class == RUN_NO_CLASS || !sim->rates.classes[class].partitions_late)
        return;
    if (sim->merged == NULL) {
        size_t bytes = sim->program->n_messages * sizeof *sim->merged;
        sim->merged = xmalloc(bytes);
        memcpy(sim->merged, sim->program->messages, bytes);
        sim->told = sim->merged;
    }
    for (size_t k = first; k < last; k++)
        sim->merged[k].bytes = 0;
    sim->merged[last].bytes = whole.bytes;
}

void simulation_merge_pieces(struct simulation *sim)
{
    const struct run_message *messages = sim->program->messages;
    sim->told = messages;
    for (size_t first = 0, last; first < sim->program->n_messages; first = last + 1) {
        for (last = first; last + 1 < sim->program->n_messages && (messages[last].flags & MESSAGE_GOES_ON) != 0;)
            last++;
        if (last > first)
            merge_pieces(sim, first, last);
    }
}

struct message_state message_state_new(struct simulation *sim, const struct run_message *told)
{
    uint8_t class = message_class(sim, told);
    bool one_sided = (told->flags & MESSAGE_ONE_SIDED) != 0;
    bool rendezvous =
        (told->flags & MESSAGE_SYNCHRONOUS) != 0 || class == RUN_NO_CLASS || sim->rates.classes[class].rendezvous;
    return (struct message_state){.post_s = {NAN, NAN},
                                  .waiter = {RUN_NOBODY, RUN_NOBODY},
                                  .transfer = RUN_NOBODY,
                                  .class = class,
                                  .rendezvous = rendezvous && !one_sided,
                                  .one_sided = one_sided};
}

struct message_state *message_begin(struct simulation *sim, uint32_t message)
{
    uint32_t *number = &sim->state_of[message];
    if (*number == MESSAGE_IS_OVER)
        return NULL;
    if (*number == 0) {
        *number = run_numbers_take(&sim->state_numbers, &sim->states, sizeof *sim->states) + 1;
        sim->states[*number - 1] = message_state_new(sim, &sim->told[message]);
    }
    return &sim->states[*number - 1];
}

static bool is_one_sided(const struct simulation *sim, uint32_t message)
{
    return message_state(sim, message)->one_sided;
}

bool message_is_rendezvous(const struct simulation *sim, uint32_t message)
{
    return message_state(sim, message)->rendezvous;
}

/* Gives the state of a message of the program back once nothing asks for it any more. */
static void leave(struct simulation *sim, uint32_t message)
{
    if (message >= sim->program->n_messages || sim->state_of[message] == MESSAGE_IS_OVER)
        return;
    const struct message_state *state = message_state(sim, message);
    bool posted =
        !isnan(state->post_s[OPERATION_SEND]) && (!isnan(state->post_s[OPERATION_RECEIVE]) || state->one_sided);
    uint32_t all = SEND_DONE | DELIVERED | (sim->options->message_s != NULL ? NOTED : 0U);
    if (!posted || state->done != all || state->transfer != RUN_NOBODY)
        return;
    run_numbers_give(&sim->state_numbers, sim->state_of[message] - 1);
    sim->state_of[message] = MESSAGE_IS_OVER;
}

void message_note_seconds(struct simulation *sim, uint32_t message)
{
    struct message_state *state = message_begin(sim, message);
    if (state == NULL)
        return;
    sim->options->message_s[message] = (float)(sim->events.now_s - fmax(state->post_s[0], state->post_s[1]));
    state->done |= NOTED;
    leave(sim, message);
}

/* Returns the bytes that the transport takes of a message, by the law or the machine, -1: it is not known. */
static double buffer_bytes(const struct simulation *sim, uint32_t message)
{
    const struct message_state *state = message_state(sim, message);
    const struct run_message *told = message_told(sim, message);
    const struct run_path *path = run_law_path(&sim->share, state->class);
    if (path->room == NULL)
        return sim->rates.classes[state->class].buffer_bytes;
    return flow_limited(path->room, state->transfer != RUN_NOBODY
                                        ? sim->transfers[state->transfer].mover.carried
                                        : run_share_carried(&sim->share, told->src, told->dst));
}

/* Returns the bytes that may be left to move of a message whose send is complete. */
static double message_room_bytes(const struct simulation *sim, uint32_t message)
{
    double bytes = buffer_bytes(sim, message);
    if (bytes >= 0)
        return bytes;
    return message_is_rendezvous(sim, message) ? 0 : (double)INFINITY;
}

static void complete(struct simulation *sim, uint32_t message, enum run_operation_kind side, double rest)
{
    struct message_state *state = message_state(sim, message);
    if ((state->done & 1U << side) != 0)
        return;
    state->done |= (uint8_t)(1U << side);
    if (message < sim->program->n_messages)
        sim->message_complete(sim, message, side, rest);
    else
        sim->collective_message_complete(sim, message, side, rest);
}

double transfer_stalled_s(const struct simulation *sim, const struct transfer *transfer)
{
    return transfer->stalled_s + (transfer->phase == TRANSFER_STOPS ? sim->events.now_s - transfer->stopped_s : 0);
}

bool message_await(struct simulation *sim, uint32_t message, enum run_operation_kind side, uint32_t strand)
{
    struct message_state *state = message_begin(sim, message);
    if (state == NULL || (state->done & 1U << side) != 0)
        return true;
    state->waiter[side] = strand;
    if (state->transfer != RUN_NOBODY) {
        struct transfer *transfer = &sim->transfers[state->transfer];
        transfer->stalled_at_wait[side] = transfer_stalled_s(sim, transfer);
        if (transfer->phase == TRANSFER_MOVES)
            transfer->rest_at_wait[side] = run_share_rest(&sim->share, sim->events.now_s, &transfer->mover);
        else if (transfer->phase == TRANSFER_STOPS)
            transfer->rest_at_wait[side] = transfer->rest;
        else if (transfer->phase >= TRANSFER_IS_THROUGH)
            transfer->rest_at_wait[side] = 0;
    }
    return false;
}

/* Says whether one of both ranks copies the bytes of a class from the other one's memory: that takes its processor. */
static bool is_copied(const struct run_class *class)
{
    return class->level != LEVEL_INTER_NODE && class->needs_sender != class->needs_receiver;
}

static bool may_move(const struct simulation *sim, const struct transfer *transfer)
{
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    const struct rank_state *src = &sim->ranks[transfer->mover.src], *dst = &sim->ranks[transfer->mover.dst];
    if ((message_told(sim, transfer->message)->flags & MESSAGE_TENDED) != 0)
        return true;
    if (is_copied(class))
        return (class->needs_sender ? src : dst)->n_tending > 0;
    return (!class->needs_sender || src->n_inside > 0) && (!class->needs_receiver || dst->n_inside > 0);
}

/* Returns the rank that copies the bytes of a class. */
static uint32_t copier(const struct run_class *class, const struct run_mover *mover)
{
    return class->needs_sender ? mover->src : mover->dst;
}

/* Lets a rank that waits in MPI without a processor have one for a message that stands still. */
static void want_processor(struct simulation *sim, const struct transfer *transfer)
{
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    if (transfer->phase == TRANSFER_STOPS && is_copied(class))
        sim->rank_wanted(sim, copier(class, &transfer->mover));
}

static void append(struct transfer_list *list, uint32_t number)
{
    array_reserve(&list->transfers, &list->room, list->n + 1, sizeof *list->transfers);
    list->transfers[list->n++] = number;
}

static void forget(struct transfer_list *list, uint32_t number)
{
    size_t i = 0;
    while (i < list->n && list->transfers[i] != number)
        i++;
    if (i < list->n)
        list->transfers[i] = list->transfers[--list->n];
}

/* Notes the transfer with the ranks that it needs, or forgets it. */
static void note_needs(struct simulation *sim, uint32_t number, bool note)
{
    const struct run_mover *mover = &sim->transfers[number].mover;
    const struct run_class *class = &sim->rates.classes[mover->class];
    if ((message_told(sim, sim->transfers[number].message)->flags & MESSAGE_TENDED) != 0 ||
        sim->transfers[number].noted == note)
        return;
    sim->transfers[number].noted = note;
    for (int end = 0; end < 2; end++) {
        struct transfer_list *list = &sim->ranks[end == 0 ? mover->src : mover->dst].needing;
        if (end == 0 ? !class->needs_sender : !class->needs_receiver)
            continue;
        if (note)
            append(list, number);
        else
            forget(list, number);
    }
}

/* Says whether the transport has taken all that is left of a message: between nodes it then needs no rank any more. */
static bool moves_by_itself(const struct simulation *sim, const struct transfer *transfer, double rest)
{
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    return class->level == LEVEL_INTER_NODE && rest <= buffer_bytes(sim, transfer->message);
}

static void move(struct simulation *sim, uint32_t number, double rest)
{
    struct transfer *transfer = &sim->transfers[number];
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    bool sent = (message_state(sim, transfer->message)->done & SEND_DONE) != 0 || is_one_sided(sim, transfer->message);
    bool frees = class->level == LEVEL_INTER_NODE &&
                 buffer_bytes(sim, transfer->message) >= 0; /* moves_by_itself() from there on */
    transfer->phase = TRANSFER_MOVES;
    transfer->mover.begun_s = transfer->begun_s;
    run_share_add(&sim->share, sim->events.now_s, &transfer->mover, rest,
                  sent && !frees ? (double)INFINITY : message_room_bytes(sim, transfer->message));
}

static uint32_t transfer_make(struct simulation *sim, uint32_t message, enum transfer_phase phase)
{
    uint32_t number = run_numbers_take(&sim->transfer_numbers, &sim->transfers, sizeof *sim->transfers);
    const struct run_message *told = message_told(sim, message);
    uint32_t class = message_state(sim, message)->class;
    double bytes = (double)told->bytes;
    sim->transfers[number] = (struct transfer){
        .mover =
            {.src = told->src, .dst = told->dst, .class = class, .number = number, .order = message, .bytes = bytes},
        .message = message,
        .phase = (uint8_t)phase,
        .first_behind = RUN_NOBODY,
        .begun = simulation_moment(sim),
        .rest_at_wait = {bytes, bytes}};
    message_state(sim, message)->transfer = number;
    return number;
}

static void transfer_free(struct simulation *sim, uint32_t number)
{
    uint32_t message = sim->transfers[number].message;
    message_state(sim, message)->transfer = RUN_NOBODY;
    run_numbers_give(&sim->transfer_numbers, number);
    leave(sim, message);
}

/* Says whether a message is searched for at its receiver. */
static bool is_searched(const struct simulation *sim, uint32_t message)
{
    return sim->queue.searchers != NULL && message_state(sim, message)->class != RUN_NO_CLASS &&
           !is_one_sided(sim, message);
}

/* Says whether the delivery of a message waits for a search at its receiver; then it comes by itself. */
static bool awaits_search(struct simulation *sim, uint32_t number)
{
    struct transfer *transfer = &sim->transfers[number];
    const double *post_s = message_state(sim, transfer->message)->post_s;
    if (transfer->phase == TRANSFER_IS_FOUND || !is_searched(sim, transfer->message))
        return false;
    if (!run_queue_has_arrived(&sim->queue, transfer->message)) {
        transfer->phase = TRANSFER_ARRIVES;
        return true;
    }
    transfer->phase = TRANSFER_IS_FOUND;
    transfer->search_s = run_queue_left_s(
        &sim->queue, transfer->message, message_is_rendezvous(sim, transfer->message) ? post_s[OPERATION_RECEIVE] : 0);
    if (transfer->search_s > 0)
        events_schedule(&sim->events, sim->events.now_s + transfer->search_s, EVENT_TRANSFER, number);
    return transfer->search_s > 0;
}

static void deliver_message(struct simulation *sim, uint32_t number)
{
    if (sim->queue.searchers != NULL && awaits_search(sim, number))
        return;
    uint32_t message = sim->transfers[number].message;
    complete(sim, message, OPERATION_RECEIVE, 0);
    if (is_one_sided(sim, message))
        complete(sim, message, OPERATION_SEND, 0);
    transfer_free(sim, number);
}

/* Says whether the bytes of a message load the links of the network. */
static bool loads_links(const struct simulation *sim, const struct transfer *transfer)
{
    return sim->links.links != NULL && sim->rates.classes[transfer->mover.class].level == LEVEL_INTER_NODE &&
           message_told(sim, transfer->message)->bytes > 0;
}

/* Takes the bytes of a message from the links. Returns by how much it comes later for their load. */
static double leave_links(struct simulation *sim, const struct transfer *transfer)
{
    return run_links_end(&sim->links, sim->share.nodes.of[transfer->mover.src],
                         sim->share.nodes.of[transfer->mover.dst], (double)message_told(sim, transfer->message)->bytes,
                         transfer->begun_s, sim->events.now_s);
}

bool handshake_has_steps(const struct simulation *sim, uint32_t message)
{
    uint8_t class = message_state(sim, message)->class;
    return backlog_counts(sim) && class != RUN_NO_CLASS && sim->rates.classes[class].level == LEVEL_INTER_NODE &&
           message_is_rendezvous(sim, message);
}

double handshake_step_s(const struct simulation *sim, const struct transfer *transfer)
{
    return sim->rates.classes[transfer->mover.class].tau_s / 3;
}

static double handshake_order_s(const struct simulation *sim, const struct transfer *transfer)
{
    bool between_nodes = sim->rates.classes[transfer->mover.class].level == LEVEL_INTER_NODE;
    return between_nodes && backlog_counts(sim) ? 2 * LATER_S : 0;
}

/* Sends an announcement or an answer on its way in so many seconds. */
static void leave_in(struct simulation *sim, uint32_t number, double in_s)
{
    struct transfer *transfer = &sim->transfers[number];
    double left_s = sim->events.now_s + in_s, arrival_s = left_s + handshake_step_s(sim, transfer);
    if (transfer->phase == TRANSFER_ANNOUNCES) {
        transfer->wait_s[0] = left_s - message_state(sim, transfer->message)->post_s[OPERATION_SEND];
        transfer->announced_s = arrival_s;
        arrival_s += LATER_S;
    } else {
        transfer->wait_s[1] = left_s - transfer->agreed_s;
        transfer->answered_s = arrival_s;
    }
    events_schedule(&sim->events, arrival_s, EVENT_TRANSFER, number);
}

/* Lets an announcement or an answer from one rank to another leave: behind data of the same ranks when these are
 * through. */
static void queue(struct simulation *sim, uint32_t number, uint32_t src, uint32_t dst)
{
    uint32_t behind;
    double wait_s = backlog_s(sim, src, dst, &behind);
    if (behind == RUN_NOBODY) {
        leave_in(sim, number, wait_s);
    } else {
        sim->transfers[number].next_behind = sim->transfers[behind].first_behind;
        sim->transfers[behind].first_behind = number;
    }
}

static void handshake_through(struct simulation *sim, uint32_t number)
{
    uint32_t behind = sim->transfers[number].first_behind;
    for (; behind != RUN_NOBODY; behind = sim->transfers[behind].next_behind)
        leave_in(sim, behind, sim->transfers[number].through_s - sim->events.now_s);
    forget(&sim->ranks[sim->transfers[number].mover.dst].coming, number);
}

/* Returns the time from a message's last byte to its delivery. */
static double last_latency_s(const struct simulation *sim, const struct transfer *transfer)
{
    if (!message_is_rendezvous(sim, transfer->message))
        return sim->rates.classes[transfer->mover.class].tau_s;
    return handshake_has_steps(sim, transfer->message) ? handshake_step_s(sim, transfer) : 0;
}

static void through(struct simulation *sim, uint32_t number)
{
    struct transfer *transfer = &sim->transfers[number];
    transfer->phase = TRANSFER_IS_THROUGH;
    transfer->moved_s = sim->events.now_s;
    transfer->through_s = fmax(sim->events.now_s, transfer->queued_s) + transfer->crossing_s;
    handshake_through(sim, number);
    double delivered_s = transfer->through_s + last_latency_s(sim, transfer);
    if (loads_links(sim, transfer))
        delivered_s += leave_links(sim, transfer);
    if (!is_one_sided(sim, transfer->message))
        complete(sim, transfer->message, OPERATION_SEND, 0);
    if (delivered_s > sim->events.now_s)
        events_schedule(&sim->events, delivered_s + handshake_order_s(sim, transfer), EVENT_TRANSFER, number);
    else
        deliver_message(sim, number);
}

static void transfer_begin_to_move(struct simulation *sim, uint32_t number)
{
    struct transfer *transfer = &sim->transfers[number];
    transfer->begun_s = sim->events.now_s;
    transfer->mover.carried = run_share_carried(&sim->share, transfer->mover.src, transfer->mover.dst);
    double bytes = (double)message_told(sim, transfer->message)->bytes;
    if (!is_one_sided(sim, transfer->message) && bytes > 0 && message_room_bytes(sim, transfer->message) >= bytes)
        complete(sim, transfer->message, OPERATION_SEND, bytes);
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    if (!(bytes > 0) || isinf(class->bytes_per_s[1])) {
        note_needs(sim, number, false);
        through(sim, number);
        return;
    }
    if (loads_links(sim, transfer))
        run_links_begin(&sim->links, sim->share.nodes.of[transfer->mover.src], sim->share.nodes.of[transfer->mover.dst],
                        bytes, sim->events.now_s);
    bool by_itself = moves_by_itself(sim, transfer, bytes);
    if (may_move(sim, transfer) || (by_itself && handshake_has_steps(sim, transfer->message))) {
        if (!by_itself)
            note_needs(sim, number, true);
        move(sim, number, bytes);
    } else {
        note_needs(sim, number, true);
        transfer->phase = TRANSFER_STOPS;
        transfer->stopped_s = sim->events.now_s;
        transfer->rest = bytes;
        want_processor(sim, transfer);
    }
}

static void answer(struct simulation *sim, uint32_t number)
{
    struct transfer *transfer = &sim->transfers[number];
    transfer->phase = TRANSFER_ANSWERS;
    transfer->agreed_s = sim->events.now_s;
    queue(sim, number, transfer->mover.dst, transfer->mover.src);
}

static void handshake_post(struct simulation *sim, uint32_t message, enum run_operation_kind side)
{
    const struct message_state *state = message_state(sim, message);
    const struct run_message *told = message_told(sim, message);
    if (side == OPERATION_SEND) {
        queue(sim, transfer_make(sim, message, TRANSFER_ANNOUNCES), told->src, told->dst);
    } else if (state->transfer != RUN_NOBODY) { /* the announcement is on its way, or not taken note of */
        sim->transfers[state->transfer].begun = simulation_moment(sim);
    } else if (!isnan(state->post_s[OPERATION_SEND])) {
        answer(sim, transfer_make(sim, message, TRANSFER_ANNOUNCES));
    }
}

/* Lets the data of a message begin to move; other ones of the same ranks may come the other way. */
static void begin_data(struct simulation *sim, uint32_t number)
{
    struct transfer *transfer = &sim->transfers[number];
    const struct transfer_list *others = &sim->ranks[transfer->mover.src].coming;
    struct transfer_list *mine = &sim->ranks[transfer->mover.dst].coming;
    double alone_s =
        (double)message_told(sim, transfer->message)->bytes / sim->rates.classes[transfer->mover.class].bytes_per_s[1];
    for (size_t i = 0; i < others->n; i++) {
        const struct transfer *other = &sim->transfers[others->transfers[i]];
        if (other->mover.src == transfer->mover.dst && other->begun_s < sim->events.now_s)
            transfer->crossing_s = CROSSING * alone_s;
    }
    append(mine, number);
    transfer_begin_to_move(sim, number);
}

void message_arrives(struct simulation *sim, uint32_t message)
{
    uint32_t transfer = message_state(sim, message)->transfer;
    if (!is_searched(sim, message))
        return;
    run_queue_arrive(&sim->queue, message, message_told(sim, message)->dst, sim->events.now_s);
    if (transfer != RUN_NOBODY && sim->transfers[transfer].phase == TRANSFER_ARRIVES)
        deliver_message(sim, transfer);
}

/* Keeps a transfer until the rank looks for messages. Returns false where it need not wait. */
static bool await_rank(struct simulation *sim, uint32_t number, enum run_operation_kind side)
{
    struct transfer *transfer = &sim->transfers[number];
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    uint32_t rank = side == OPERATION_SEND ? transfer->mover.src : transfer->mover.dst;
    bool needs = side == OPERATION_SEND ? class->needs_sender : class->needs_receiver;
    if (!needs || sim->ranks[rank].n_polling > 0 || (message_told(sim, transfer->message)->flags & MESSAGE_TENDED) != 0)
        return false;
    append(&sim->ranks[rank].arrived, number);
    return true;
}

/* Lets a rank take note of an answer, or of an announcement: without its receive that is answered when it is posted. */
static void take_note(struct simulation *sim, uint32_t number)
{
    const struct transfer *transfer = &sim->transfers[number];
    if (transfer->phase == TRANSFER_ANNOUNCES)
        message_arrives(sim, transfer->message);
    if (transfer->phase == TRANSFER_ANSWERS)
        begin_data(sim, number);
    else if (isnan(message_state(sim, transfer->message)->post_s[OPERATION_RECEIVE]))
        transfer_free(sim, number);
    else
        answer(sim, number);
}

static void handshake_event(struct simulation *sim, uint32_t number)
{
    struct transfer *transfer = &sim->transfers[number];
    if (!await_rank(sim, number, transfer->phase == TRANSFER_ANSWERS ? OPERATION_SEND : OPERATION_RECEIVE))
        take_note(sim, number);
}

void rank_polls(struct simulation *sim, uint32_t rank)
{
    struct transfer_list *list = &sim->ranks[rank].arrived;
    for (size_t i = 0; i < list->n; i++)
        take_note(sim, list->transfers[i]);
    list->n = 0;
}

static void begin(struct simulation *sim, uint32_t message)
{
    const struct run_message *told = message_told(sim, message);
    bool rendezvous = message_is_rendezvous(sim, message);
    uint32_t behind;
    double wait_s = rendezvous ? 0 : backlog_s(sim, told->src, told->dst, &behind);
    uint32_t number = transfer_make(sim, message, TRANSFER_BEGINS);
    struct transfer *transfer = &sim->transfers[number];
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    if (wait_s > 0)
        transfer->queued_s = sim->events.now_s + wait_s + (double)told->bytes / class->bytes_per_s[1];
    if (rendezvous && class->tau_s > 0) {
        if (is_copied(class))
            note_needs(sim, number, true); /* who copies it and is there goes on to do so */
        events_schedule(&sim->events, sim->events.now_s + class->tau_s, EVENT_TRANSFER, number);
    } else {
        transfer_begin_to_move(sim, number);
    }
}

void transfer_event(struct simulation *sim, uint32_t number)
{
    switch (sim->transfers[number].phase) {
    case TRANSFER_ANNOUNCES:
    case TRANSFER_ANSWERS:
        handshake_event(sim, number);
        break;
    case TRANSFER_BEGINS:
        transfer_begin_to_move(sim, number);
        break;
    default:
        deliver_message(sim, number);
    }
}

void transfer_mark(struct simulation *sim, uint32_t mark)
{
    uint32_t number = run_mark_number(mark);
    struct transfer *transfer = &sim->transfers[number];
    if (!run_mark_is_end(mark)) {
        if (!is_one_sided(sim, transfer->message))
            complete(sim, transfer->message, OPERATION_SEND, message_room_bytes(sim, transfer->message));
        if (moves_by_itself(sim, transfer, message_room_bytes(sim, transfer->message)))
            note_needs(sim, number, false);
        return;
    }
    const struct run_class *class = &sim->rates.classes[transfer->mover.class];
    uint32_t rank = is_copied(class) ? copier(class, &transfer->mover) : RUN_NOBODY;
    run_share_remove(&sim->share, sim->events.now_s, &transfer->mover);
    note_needs(sim, number, false);
    through(sim, number);
    if (rank != RUN_NOBODY && !rank_copies(sim, rank))
        sim->rank_unwanted(sim, rank);
}

static bool is_probing(const struct simulation *sim, uint32_t strand)
{
    return sim->program->steps[sim->strands[strand].step].kind == STEP_PROBE;
}

double message_search(struct simulation *sim, uint32_t message, enum run_operation_kind side)
{
    const struct run_message *told = message_told(sim, message);
    const struct message_state *state = message_state(sim, message);
    if (!is_searched(sim, message))
        return 0;
    if (isnan(state->post_s[0]) && isnan(state->post_s[1]))
        run_queue_begin(&sim->queue, message);
    if (side == OPERATION_RECEIVE)
        return run_queue_post(&sim->queue, message, told->dst, sim->events.now_s);
    if (!handshake_has_steps(sim, message))
        run_queue_send(&sim->queue, message, told->src, told->dst,
                       sim->events.now_s + sim->rates.classes[state->class].tau_s);
    return 0;
}

static void post(struct simulation *sim, uint32_t message, enum run_operation_kind side)
{
    struct message_state *state = message_state(sim, message);
    const struct run_message *told = message_told(sim, message);
    state->post_s[side] = sim->events.now_s;
    bool both = (!isnan(state->post_s[0]) && !isnan(state->post_s[1])) || is_one_sided(sim, message);
    uint32_t strand = state->waiter[OPERATION_RECEIVE];
    if (side == OPERATION_SEND && strand != RUN_NOBODY && is_probing(sim, strand)) {
        double tau_s = state->class != RUN_NO_CLASS ? sim->rates.classes[state->class].tau_s : 0;
        state->waiter[OPERATION_RECEIVE] = RUN_NOBODY;
        sim->strands[strand].parts = (struct wait_parts){
            .of.part_s =
                {[RUN_LATE_SENDER] = sim->events.now_s - sim->strands[strand].wait_begin_s, [RUN_LATENCY] = tau_s},
            .cause = simulation_moment(sim)};
        events_schedule(&sim->events, sim->events.now_s + tau_s, EVENT_STRAND, strand);
    }
    if (side == OPERATION_SEND && (told->flags & MESSAGE_BUFFERED) != 0)
        complete(sim, message, OPERATION_SEND, (double)told->bytes);
    if (state->class == RUN_NO_CLASS) {
        if (both) {
            complete(sim, message, OPERATION_SEND, 0);
            complete(sim, message, OPERATION_RECEIVE, 0);
        }
        return;
    }
    bool rendezvous = message_is_rendezvous(sim, message);
    if (side == OPERATION_SEND && !rendezvous && !is_one_sided(sim, message) &&
        (told->bytes == 0 || message_room_bytes(sim, message) >= (double)told->bytes))
        complete(sim, message, OPERATION_SEND, (double)told->bytes);
    if (handshake_has_steps(sim, message))
        handshake_post(sim, message, side);
    else if (rendezvous ? both : side == OPERATION_SEND)
        begin(sim, message);
}

void message_post(struct simulation *sim, uint32_t message, enum run_operation_kind side)
{
    post(sim, message, side);
    leave(sim, message);
}

double message_seen_s(struct simulation *sim, uint32_t message, uint32_t strand)
{
    struct message_state *state = message_begin(sim, message);
    if (state == NULL)
        return sim->events.now_s;
    double tau_s = state->class != RUN_NO_CLASS ? sim->rates.classes[state->class].tau_s : 0;
    if (!isnan(state->post_s[OPERATION_SEND]))
        return state->post_s[OPERATION_SEND] + tau_s;
    state->waiter[OPERATION_RECEIVE] = strand;
    return NAN;
}

bool rank_copies(const struct simulation *sim, uint32_t rank)
{
    const struct transfer_list *list = &sim->ranks[rank].needing;
    for (size_t i = 0; i < list->n; i++) {
        const struct transfer *transfer = &sim->transfers[list->transfers[i]];
        const struct run_class *class = &sim->rates.classes[transfer->mover.class];
        double seen_s = message_state(sim, transfer->message)->post_s[OPERATION_SEND] + class->tau_s;
        if (is_copied(class) && (transfer->phase != TRANSFER_BEGINS || seen_s <= sim->events.now_s))
            return true;
    }
    return false;
}

static void stop(struct simulation *sim, struct transfer *transfer)
{
    transfer->rest = run_share_rest(&sim->share, sim->events.now_s, &transfer->mover);
    run_share_remove(&sim->share, sim->events.now_s, &transfer->mover);
    transfer->phase = TRANSFER_STOPS;
    transfer->stopped_s = sim->events.now_s;
    want_processor(sim, transfer);
}

void rank_changes(struct simulation *sim, uint32_t rank)
{
    const struct rank_state *state = &sim->ranks[rank];
    for (size_t i = 0; i < state->needing.n; i++) {
        uint32_t number = state->needing.transfers[i];
        struct transfer *transfer = &sim->transfers[number];
        bool may = may_move(sim, transfer);
        if (transfer->phase == TRANSFER_MOVES && !may)
            stop(sim, transfer);
        if (transfer->phase != TRANSFER_STOPS || !may)
            continue;
        transfer->stalled_s += sim->events.now_s - transfer->stopped_s;
        move(sim, number, transfer->rest);
        if (moves_by_itself(sim, transfer, transfer->rest)) {
            note_needs(sim, number, false);
            i--; /* another one has come to this place */
        }
    }
}
