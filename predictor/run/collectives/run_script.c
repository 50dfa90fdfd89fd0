/* Every algorithm is written for members numbered from its root on; who that is in the collective comes last. See
 * run_script.h. */
#include "predictor/run/collectives/run_script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

#define NONE UINT32_MAX

/* Trees follow from the digits of the members' numbers, which count from the root on. Children are in the order in
 * which a broadcast serves them. */
static uint32_t radix_of(int tree)
{
    return tree == TREE_KNOMIAL ? 4 : 2;
}

/* Returns the largest power of the radix that divides v; of the root, the smallest one that is at least n. */
static uint64_t span_of(uint32_t radix, uint32_t n, uint32_t v)
{
    uint64_t span = 1;
    while (v == 0 ? span < n : v % (radix * span) == 0)
        span *= radix;
    return span;
}

static uint32_t highest_bit(uint32_t v)
{
    uint32_t bit = 1;
    while (v >> 1 >= bit)
        bit *= 2;
    return bit;
}

/* tree: enum script_tree; n: members. Children are in the order in which they are served by a broadcast. */
static uint32_t script_tree_child(int tree, uint32_t n, uint32_t v, uint32_t i)
{
    uint64_t child = n;
    switch ((enum script_tree)tree) {
    case TREE_FLAT:
        child = v == 0 ? (uint64_t)i + 1 : n;
        break;
    case TREE_CHAIN:
        child = i == 0 ? (uint64_t)v + 1 : n;
        break;
    case TREE_BINARY:
        child = i < 2 ? v + ((uint64_t)i + 1) * highest_bit(v + 1) : n;
        break;
    case TREE_BINOMIAL_HIGH:
        child = i < 32 ? v + ((uint64_t)(v == 0 ? 1 : 2 * highest_bit(v)) << i) : n;
        break;
    case TREE_BINOMIAL:
    case TREE_KNOMIAL:
        for (uint64_t radix = radix_of(tree), span = span_of((uint32_t)radix, n, v) / radix; span > 0; span /= radix)
            for (uint64_t k = 1; k < radix && v + k * span < n; k++)
                if (i-- == 0)
                    return (uint32_t)(v + k * span);
        break;
    }
    return child < n ? (uint32_t)child : NONE;
}

static uint32_t script_tree_children(int tree, uint32_t n, uint32_t v)
{
    uint32_t count = 0;
    if (tree == TREE_FLAT)
        return v == 0 && n > 0 ? n - 1 : 0;
    while (script_tree_child(tree, n, v, count) != NONE)
        count++;
    return count;
}

static uint32_t script_tree_parent(int tree, uint32_t v)
{
    uint32_t level = highest_bit(v + 1), parent = v - level / 2;
    uint64_t span = radix_of(tree) * span_of(radix_of(tree), 0, v);
    switch ((enum script_tree)tree) {
    case TREE_FLAT:
        break;
    case TREE_CHAIN:
        return v - 1;
    case TREE_BINARY:
        return parent >= level - 1 ? parent - level / 2 : parent;
    case TREE_BINOMIAL_HIGH:
        return v & ~highest_bit(v);
    case TREE_BINOMIAL:
    case TREE_KNOMIAL:
        return (uint32_t)(v / span * span);
    }
    return 0;
}

/* Returns how many members the subtree of v has: v and those behind it. Only of TREE_FLAT and TREE_BINOMIAL. */
static uint32_t script_tree_below(int tree, uint32_t n, uint32_t v)
{
    uint64_t span = tree == TREE_FLAT ? (v == 0 ? n : 1) : span_of(2, n, v);
    return span < n - v ? (uint32_t)span : n - v;
}

/* Holds where a member stands in a phase. */
struct view {
    const struct run_script *script;
    const struct script_phase *phase;
    uint32_t n, v;   /* members of its group; its number, from the root on */
    uint32_t node;   /* of GROUP_NODE */
    uint32_t two;    /* the largest power of two up to n */
    uint32_t rest;   /* n - two */
    uint32_t target; /* from the root on, or NONE */
};

/* Describes a round with at most one send and one receive; to and from are numbers from the root on, or NONE. */
struct swap {
    uint32_t to, from;
    uint32_t send_first, send_n, receive_first, receive_n;
    bool combines;
};

static bool is_alltoall(const struct script_phase *phase)
{
    return phase->algorithm == SCRIPT_BRUCK_ALLTOALL || phase->algorithm == SCRIPT_PAIRWISE ||
           phase->algorithm == SCRIPT_AT_ONCE;
}

/* Returns false where the member has no part in the phase. */
static bool view_init(struct view *view, const struct run_script *script, const struct script_phase *phase,
                      uint32_t member)
{
    const struct script_nodes *nodes = script->nodes;
    uint32_t own = member;
    *view = (struct view){.script = script, .phase = phase, .n = script->n_members, .two = 1, .target = NONE};
    if (phase->group != GROUP_ALL) {
        view->node = nodes->node_of[member];
        own = phase->group == GROUP_NODE ? nodes->place[member] : view->node;
        view->n = phase->group == GROUP_NODE ? nodes->first[view->node + 1] - nodes->first[view->node] : nodes->n_nodes;
        if (phase->group == GROUP_LEADERS
                ? nodes->place[member] != 0
                : view->node == phase->except_node || (phase->only_node != NONE && view->node != phase->only_node))
            return false;
    }
    while (view->two <= view->n / 2)
        view->two *= 2;
    view->rest = view->n - view->two;
    view->v = (own + view->n - phase->root % view->n) % view->n;
    if (phase->target != NONE)
        view->target = (phase->target + view->n - phase->root % view->n) % view->n;
    return true;
}

/* Returns the member of the collective that has the number v, from the root on. */
static uint32_t member_at(const struct view *view, uint32_t v)
{
    const struct script_nodes *nodes = view->script->nodes;
    uint32_t own = (v + view->phase->root) % view->n;
    if (view->phase->group == GROUP_NODE)
        return nodes->by_node[nodes->first[view->node] + own];
    return view->phase->group == GROUP_LEADERS ? nodes->by_node[nodes->first[own]] : own;
}

static uint32_t blocks_of(const struct view *view)
{
    const struct script_phase *phase = view->phase;
    bool halves = phase->algorithm == SCRIPT_HALVE || phase->algorithm == SCRIPT_DOUBLE ||
                  phase->algorithm == SCRIPT_GATHER_HALVES;
    return halves && !phase->own_blocks ? view->two : view->n;
}

/* Says whether v leaves its part to its neighbour, as n is no power of two: the even one of the first pairs, unless it
 * is the target. */
static bool drops_out(const struct view *view, uint32_t v)
{
    if (v >= 2 * view->rest)
        return false;
    bool even = v % 2 == 0, keep_even = view->target != NONE && view->target % 2 == 0 && view->target / 2 == v / 2;
    return even != keep_even;
}

static uint32_t to_left(const struct view *view, uint32_t v)
{
    return v < 2 * view->rest ? v / 2 : v - view->rest;
}

static uint32_t from_left(const struct view *view, uint32_t left)
{
    if (left >= view->rest)
        return left + view->rest;
    return 2 * left + drops_out(view, 2 * left);
}

/* Lets the first pairs send everything to the one that stays, or that one give it back, or the other's block. */
static bool fold(const struct view *view, uint32_t round, struct swap *swap)
{
    if (round > 0 || view->v >= 2 * view->rest)
        return false;
    bool out = drops_out(view, view->v);
    swap->combines = view->phase->algorithm == SCRIPT_FOLD;
    *(out == swap->combines ? &swap->to : &swap->from) = view->v ^ 1;
    if (view->phase->algorithm == SCRIPT_UNFOLD_BLOCK) {
        swap->send_first = swap->receive_first = out ? view->v : view->v ^ 1;
        swap->send_n = swap->receive_n = 1;
    }
    return true;
}

static bool exchange_with(const struct view *view, uint32_t round, struct swap *swap)
{
    if (drops_out(view, view->v) || 1U << round >= view->two)
        return false;
    swap->to = swap->from = from_left(view, to_left(view, view->v) ^ 1U << round);
    swap->combines = true;
    return true;
}

/* Returns the bit by which partners differ in a step of the halving. */
static uint32_t halving_bit(const struct view *view, uint32_t step)
{
    return view->phase->near_first ? 1U << step : view->two >> (step + 1);
}

/* Finds the blocks that one of those left keeps in a step. */
static void kept_blocks(const struct view *view, uint32_t left, uint32_t step, uint32_t *first, uint32_t *n)
{
    uint32_t begin = 0, size = view->two >> (step + 1);
    for (uint32_t i = 0; i <= step; i++)
        begin += (left & halving_bit(view, i)) != 0 ? view->two >> (i + 1) : 0;
    uint32_t end = begin + size;
    if (view->phase->own_blocks) { /* one who was folded upon has the blocks of two */
        begin += begin < view->rest ? begin : view->rest;
        end += end < view->rest ? end : view->rest;
    }
    *first = begin;
    *n = end - begin;
}

/* Halves, or doubles: the same steps from the last to the first, with what is sent and what is received exchanged. */
static bool halve(const struct view *view, uint32_t round, struct swap *swap)
{
    uint32_t steps = 0;
    while (view->two >> (steps + 1) != 0)
        steps++;
    if (drops_out(view, view->v) || round >= steps)
        return false;
    bool combines = view->phase->algorithm == SCRIPT_HALVE;
    uint32_t step = combines ? round : steps - 1 - round, bit = halving_bit(view, step);
    uint32_t left = to_left(view, view->v), partner = left ^ bit;
    swap->combines = combines;
    swap->to = swap->from = from_left(view, partner);
    kept_blocks(view, combines ? partner : left, step, &swap->send_first, &swap->send_n);
    kept_blocks(view, combines ? left : partner, step, &swap->receive_first, &swap->receive_n);
    if (view->phase->algorithm != SCRIPT_GATHER_HALVES)
        return true;
    uint32_t differs = left ^ to_left(view, view->target);
    for (uint32_t i = step + 1; i < steps; i++)
        if ((differs & halving_bit(view, i)) != 0)
            return false;
    *((differs & bit) != 0 ? &swap->from : &swap->to) = NONE;
    return true;
}

static void set_blocks(struct swap *swap, uint32_t send_first, uint32_t receive_first, uint32_t n)
{
    swap->send_first = send_first;
    swap->receive_first = receive_first;
    swap->send_n = swap->receive_n = n;
}

static bool ring(const struct view *view, uint32_t round, struct swap *swap)
{
    uint32_t n = view->n, behind = view->phase->algorithm == SCRIPT_RING_COMBINE;
    if (round + 1 >= n)
        return false;
    swap->to = (view->v + 1) % n;
    swap->from = (view->v + n - 1) % n;
    swap->combines = behind != 0;
    set_blocks(swap, (view->v + 2 * n - round - behind) % n, (view->v + 2 * n - round - behind - 1) % n, 1);
    return true;
}

static bool pairwise(const struct view *view, uint32_t round, struct swap *swap)
{
    uint32_t n = view->n, k = round + 1;
    if (k >= n)
        return false;
    swap->to = view->phase->by_bits ? view->v ^ k : (view->v + k) % n;
    swap->from = view->phase->by_bits ? view->v ^ k : (view->v + n - k) % n;
    swap->combines = view->phase->algorithm == SCRIPT_PAIRWISE_COMBINE;
    set_blocks(swap, swap->to, view->v, 1);
    return true;
}

static bool bruck(const struct view *view, uint32_t round, struct swap *swap)
{
    uint32_t n = view->n, k = 1U << round;
    if (k >= n)
        return false;
    swap->to = (view->v + n - k) % n;
    swap->from = (view->v + k) % n;
    set_blocks(swap, view->v, swap->from, k < n - k ? k : n - k);
    return true;
}

/* Returns the first of the two blocks that a member got in a round of SCRIPT_NEIGHBOURS; its own pair before the first:
 * in turn from the left and from the right, each time two farther away. */
static uint32_t neighbours_got(uint32_t n, uint32_t v, uint32_t round)
{
    uint32_t distance = (round + 1) / 2 * 2, pair = v - v % 2;
    bool left = (round % 2 == 1) == (v % 2 == 0);
    return (left ? pair + n - distance : pair + distance) % n;
}

static bool neighbours(const struct view *view, uint32_t round, struct swap *swap)
{
    uint32_t n = view->n, v = view->v;
    if (round >= n / 2)
        return false;
    swap->to = swap->from = (v + ((round % 2 == 0) == (v % 2 == 0) ? 1 : n - 1)) % n;
    if (round == 0)
        set_blocks(swap, v, swap->from, 1);
    else
        set_blocks(swap, neighbours_got(n, v, round - 1), neighbours_got(n, v, round), 2);
    return true;
}

static bool disseminate(const struct view *view, uint32_t round, struct swap *swap)
{
    uint32_t n = view->n, bit = 1U << round, count = 0;
    if (bit >= n)
        return false;
    swap->to = (view->v + bit) % n;
    swap->from = (view->v + n - bit) % n;
    for (uint32_t i = bit; i < n; i += 2 * bit)
        count += n - i < bit ? n - i : bit;
    if (view->phase->algorithm == SCRIPT_BRUCK_ALLTOALL)
        set_blocks(swap, bit, bit, count);
    return true;
}

static bool scan(const struct view *view, uint32_t round, struct swap *swap)
{
    uint32_t partner = view->v ^ 1U << round;
    if (1U << round >= view->n)
        return false;
    if (partner < view->n)
        swap->to = swap->from = partner;
    swap->combines = true;
    return true;
}

static bool scan_chain(const struct view *view, uint32_t round, struct swap *swap)
{
    swap->combines = true;
    if (round == 0 && view->v > 0)
        swap->from = view->v - 1;
    if (round == 1 && view->v + 1 < view->n)
        swap->to = view->v + 1;
    return round < 2;
}

static bool send(const struct view *view, uint32_t round, struct swap *swap)
{
    if (round > 0 || view->target == 0)
        return false;
    if (view->v == 0)
        swap->to = view->target;
    if (view->v == view->target)
        swap->from = 0;
    return true;
}

/* Fills an action whose peer is numbered from the root on. */
static enum script_next fill_action(struct script_action *action, uint32_t peer, bool sends, uint32_t first, uint32_t n)
{
    *action = (struct script_action){.peer = peer, .sends = sends, .first = first, .n = n};
    return NEXT_ACTION;
}

/* Receives before it sends, as posts go. */
static enum script_next swap_action(const struct swap *swap, uint32_t index, struct script_action *action)
{
    bool receives = swap->from != NONE;
    if (index == 0 && receives)
        fill_action(action, swap->from, false, swap->receive_first, swap->receive_n);
    else if (index == receives && swap->to != NONE)
        fill_action(action, swap->to, true, swap->send_first, swap->send_n);
    else
        return NEXT_ROUND;
    action->combines = swap->combines;
    return NEXT_ACTION;
}

static enum script_next at_once(const struct view *view, uint32_t round, uint32_t index, struct script_action *action)
{
    uint32_t lot = view->phase->lot > 0 ? view->phase->lot : view->n, begin = round * lot;
    if (view->n == 0 || begin >= view->n - 1)
        return NEXT_END;
    uint32_t count = view->n - 1 - begin < lot ? view->n - 1 - begin : lot;
    if (index >= 2 * count)
        return NEXT_ROUND;
    uint32_t distance = begin + index % count + 1;
    return index < count ? fill_action(action, (view->v + distance) % view->n, false, view->v, 1)
                         : fill_action(action, (view->v + view->n - distance) % view->n, true, view->v, 1);
}

/* Fills the action that concerns the blocks of the subtree of `child`. */
static enum script_next tree_act(const struct view *view, uint32_t peer, bool sends, uint32_t child,
                                 struct script_action *action)
{
    bool blocks = view->phase->algorithm == SCRIPT_BLOCKS_DOWN || view->phase->algorithm == SCRIPT_BLOCKS_UP;
    uint32_t n = view->n;
    if (blocks)
        n = script_tree_below(view->phase->tree, view->n, child);
    fill_action(action, peer, sends, blocks ? child : 0, n);
    action->combines = view->phase->algorithm == SCRIPT_UP;
    return NEXT_ACTION;
}

static enum script_next tree_child(const struct view *view, uint32_t i, bool sends, struct script_action *action)
{
    uint32_t child = script_tree_child(view->phase->tree, view->n, view->v, i);
    return child == NONE ? NEXT_ROUND : tree_act(view, child, sends, child, action);
}

static enum script_next tree_parent(const struct view *view, uint32_t index, bool sends, struct script_action *action)
{
    if (view->v == 0 || index > 0)
        return NEXT_ROUND;
    return tree_act(view, script_tree_parent(view->phase->tree, view->v), sends, view->v, action);
}

static enum script_next tree_action(const struct view *view, uint32_t round, uint32_t index,
                                    struct script_action *action)
{
    bool down = view->phase->algorithm == SCRIPT_DOWN || view->phase->algorithm == SCRIPT_BLOCKS_DOWN;
    uint32_t children = script_tree_children(view->phase->tree, view->n, view->v);
    uint32_t child_rounds = view->phase->together ? children > 0 : children;
    if (round > child_rounds)
        return NEXT_END;
    if (round == (down ? 0 : child_rounds))
        return tree_parent(view, index, !down, action);
    if (view->phase->together)
        return tree_child(view, index, down, action);
    if (index > 0)
        return NEXT_ROUND;
    return tree_child(view, down ? round - 1 : children - 1 - round, down, action);
}

static enum script_next phase_action(const struct view *view, uint32_t round, uint32_t index,
                                     struct script_action *action)
{
    static bool (*const swaps[])(const struct view *, uint32_t, struct swap *) = {
        [SCRIPT_FOLD] = fold,
        [SCRIPT_UNFOLD] = fold,
        [SCRIPT_UNFOLD_BLOCK] = fold,
        [SCRIPT_EXCHANGE] = exchange_with,
        [SCRIPT_HALVE] = halve,
        [SCRIPT_DOUBLE] = halve,
        [SCRIPT_GATHER_HALVES] = halve,
        [SCRIPT_RING] = ring,
        [SCRIPT_RING_COMBINE] = ring,
        [SCRIPT_PAIRWISE_COMBINE] = pairwise,
        [SCRIPT_PAIRWISE] = pairwise,
        [SCRIPT_BRUCK] = bruck,
        [SCRIPT_NEIGHBOURS] = neighbours,
        [SCRIPT_BRUCK_ALLTOALL] = disseminate,
        [SCRIPT_DISSEMINATE] = disseminate,
        [SCRIPT_SCAN] = scan,
        [SCRIPT_SCAN_CHAIN] = scan_chain,
        [SCRIPT_SEND] = send,
    };
    if (view->phase->algorithm <= SCRIPT_BLOCKS_UP)
        return tree_action(view, round, index, action);
    if (view->phase->algorithm == SCRIPT_AT_ONCE)
        return at_once(view, round, index, action);
    struct swap swap = {.to = NONE, .from = NONE, .send_n = view->n, .receive_n = view->n};
    if (!swaps[view->phase->algorithm](view, round, &swap))
        return NEXT_END;
    return swap_action(&swap, index, action);
}

/* Returns the bytes of an action whose peer is still numbered from the root on. */
static uint64_t bytes_of(const struct view *view, const struct script_action *action)
{
    const struct script_phase *phase = view->phase;
    double bytes = phase->bytes, blocks = blocks_of(view);
    if (is_alltoall(phase)) {
        if (phase->sizes != NULL)
            bytes = phase->sizes[member_at(view, action->sends ? view->v : action->peer)].bytes;
        return (uint64_t)round(bytes * action->n / blocks);
    }
    if (action->n == (uint32_t)blocks)
        return (uint64_t)round(bytes);
    if (phase->sizes == NULL)
        return (uint64_t)(round(bytes * ((double)action->first + action->n) / blocks) -
                          round(bytes * action->first / blocks));
    bytes = 0;
    for (uint32_t i = 0; i < action->n; i++)
        bytes += phase->sizes[member_at(view, (action->first + i) % view->n)].bytes;
    return (uint64_t)round(bytes);
}

enum script_next script_next(const struct run_script *script, uint32_t member, struct script_cursor *cursor,
                             struct script_action *action)
{
    for (; cursor->phase < script->n_phases; *cursor = (struct script_cursor){.phase = cursor->phase + 1}) {
        const struct script_phase *phase = &script->phases[cursor->phase];
        struct view view;
        if (!view_init(&view, script, phase, member) || view.n < 2)
            continue;
        enum script_next next = phase_action(&view, cursor->round, cursor->index, action);
        if (next == NEXT_END)
            continue;
        if (next == NEXT_ROUND) {
            cursor->round++;
            cursor->index = 0;
            return NEXT_ROUND;
        }
        cursor->index++;
        action->bytes = bytes_of(&view, action);
        action->peer = member_at(&view, action->peer);
        return NEXT_ACTION;
    }
    return NEXT_END;
}

uint32_t script_blocks(const struct run_script *script, const struct script_phase *phase, uint32_t member)
{
    struct view view;
    return view_init(&view, script, phase, member) ? blocks_of(&view) : 0;
}

struct script_phase *script_add(struct run_script *script, enum script_algorithm algorithm, double bytes)
{
    struct script_phase *phase = &script->phases[script->n_phases++];
    *phase = (struct script_phase){
        .algorithm = (uint8_t)algorithm, .bytes = bytes, .target = NONE, .only_node = NONE, .except_node = NONE};
    return phase;
}

/* Numbers the nodes by their first members: number[node], of those that have any. */
static void number_nodes(struct script_nodes *nodes, const struct run_member *members, uint32_t n,
                         const uint32_t *node_of, uint32_t *number)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *node = &number[node_of[members[i].rank]];
        if (*node == NONE)
            *node = nodes->n_nodes++;
        nodes->node_of[i] = *node;
        nodes->place[i] = nodes->first[*node + 1]++;
    }
    for (uint32_t i = 0; i < nodes->n_nodes; i++)
        nodes->first[i + 1] += nodes->first[i];
    for (uint32_t i = 0; i < n; i++)
        nodes->by_node[nodes->first[nodes->node_of[i]] + nodes->place[i]] = i;
}

struct script_nodes *script_nodes_new(const struct run_member *members, uint32_t n, const uint32_t *node_of,
                                      size_t n_nodes)
{
    size_t count = 4 * (size_t)n + 1;
    struct script_nodes *nodes = xmalloc(sizeof *nodes + count * sizeof(uint32_t));
    uint32_t *number = xmalloc((n_nodes + 1) * sizeof *number);
    uint32_t *array = (uint32_t *)(nodes + 1);
    memset(array, 0, count * sizeof *array);
    memset(number, 0xff, (n_nodes + 1) * sizeof *number);
    *nodes = (struct script_nodes){
        .node_of = array, .place = array + n, .by_node = array + 2 * (size_t)n, .first = array + 3 * (size_t)n};
    number_nodes(nodes, members, n, node_of, number);
    free(number);
    return nodes;
}
