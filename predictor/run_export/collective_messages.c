/* The messages of a collective (export.h). */
#include "predictor/run_export/export.h"

bool exchange_as_recorded(const struct run_collective *collective)
{
    return collective->kind == COLLECTIVE_OTHER || collective->dependence == DEPENDS_ON_NOBODY;
}

unsigned exchange_rounds(const struct run_collective *collective)
{
    unsigned rounds = 0;
    if (collective->dependence != DEPENDS_ON_NOBODY)
        while ((UINT64_C(1) << rounds) < collective->n_members)
            rounds++;
    return rounds;
}

/* Returns how many blocks of a member go over an edge of the tree to the node `child`, counted from the root. */
static uint32_t subtree(uint32_t n, uint32_t child, uint64_t mask)
{
    return (uint32_t)((n - 1 - child) / (2 * mask) + 1);
}

static uint32_t numbers_with_bit(uint32_t n, uint64_t bit)
{
    uint64_t whole = n / (2 * bit) * bit, rest = n % (2 * bit);
    return (uint32_t)(whole + (rest > bit ? rest - bit : 0));
}

/* Returns the bytes of dissemination's message from a member who hands in that many. */
static double disseminated(const struct run_collective *c, double bytes, uint64_t distance)
{
    uint64_t blocks = distance < c->n_members - distance ? distance : c->n_members - distance;
    switch (c->kind) {
    case COLLECTIVE_ALLREDUCE:
        return bytes;
    case COLLECTIVE_ALLGATHER:
        return bytes * (double)blocks;
    case COLLECTIVE_REDUCE_SCATTER:
        return bytes * (double)blocks / c->n_members;
    case COLLECTIVE_ALLTOALL:
        return bytes * numbers_with_bit(c->n_members, distance) / c->n_members;
    default:
        return 0;
    }
}

/* The messages of a round; to and from are positions in the collective. */
struct numbers {
    uint32_t to, from;
    double sent, received;
};

static struct numbers around(const struct run_collective *c, const struct run_member *members, uint32_t me,
                             uint64_t distance)
{
    uint32_t n = c->n_members, to = (uint32_t)((me + distance) % n), from = (uint32_t)((me + n - distance) % n);
    return (struct numbers){to, from, disseminated(c, members[me].bytes, distance),
                            disseminated(c, members[from].bytes, distance)};
}

static struct numbers upwards(const struct run_collective *c, const struct run_member *members, uint32_t me,
                              uint64_t distance)
{
    struct numbers numbers = {EXPORT_NOBODY, EXPORT_NOBODY, members[me].bytes, 0};
    if (me + distance < c->n_members)
        numbers.to = (uint32_t)(me + distance);
    if (me >= distance) {
        numbers.from = (uint32_t)(me - distance);
        numbers.received = members[numbers.from].bytes;
    }
    return numbers;
}

/* The edge between parent and child carries what the child hands in or gets, times its subtree where every member has
 * a block of its own. */
static struct numbers tree(const struct run_collective *c, const struct run_member *members, uint32_t me, uint64_t mask)
{
    uint32_t n = c->n_members, root = c->root == UINT32_MAX ? 0 : c->root, child, parent;
    uint64_t v = (me + (uint64_t)n - root) % n;
    bool i_am_child = v >= mask && v < 2 * mask, i_am_parent = v < mask && v + mask < n;
    struct numbers numbers = {EXPORT_NOBODY, EXPORT_NOBODY, 0, 0};
    if (!i_am_child && !i_am_parent)
        return numbers;
    child = i_am_child ? (uint32_t)v : (uint32_t)(v + mask);
    parent = (uint32_t)(child - mask);
    uint32_t other = (uint32_t)(((i_am_child ? parent : child) + (uint64_t)root) % n);
    double bytes = members[(child + (uint64_t)root) % n].bytes;
    if (c->kind == COLLECTIVE_GATHER || c->kind == COLLECTIVE_SCATTER)
        bytes *= subtree(n, child, mask);
    if (exchange_as_recorded(c))
        bytes = 0;
    if (i_am_child == (c->dependence == DEPENDS_OF_ROOT)) {
        numbers.to = other;
        numbers.sent = bytes;
    } else {
        numbers.from = other;
        numbers.received = bytes;
    }
    return numbers;
}

struct exchange_round exchange_round(const struct run_program *program, uint32_t member, unsigned round)
{
    const struct run_collective *c = &program->collectives[program->members[member].collective];
    const struct run_member *members = &program->members[c->first_member];
    uint32_t me = member - c->first_member;
    struct numbers numbers;
    if (c->dependence == DEPENDS_ON_ALL)
        numbers = around(c, members, me, UINT64_C(1) << round);
    else if (c->dependence == DEPENDS_ON_LOWER)
        numbers = upwards(c, members, me, UINT64_C(1) << round);
    else if (c->dependence == DEPENDS_ON_ROOT)
        numbers = tree(c, members, me, UINT64_C(1) << round);
    else
        numbers = tree(c, members, me, UINT64_C(1) << (exchange_rounds(c) - 1 - round));
    return (struct exchange_round){.to = numbers.to == EXPORT_NOBODY ? EXPORT_NOBODY : c->first_member + numbers.to,
                                   .from =
                                       numbers.from == EXPORT_NOBODY ? EXPORT_NOBODY : c->first_member + numbers.from,
                                   .sent_bytes = (uint64_t)(numbers.sent + 0.5),
                                   .received_bytes = (uint64_t)(numbers.received + 0.5)};
}
