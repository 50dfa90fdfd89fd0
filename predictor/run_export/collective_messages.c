/* The messages of a collective (run_export.h). */
#include "predictor/run_export/run_export.h"

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

static uint64_t whole_bytes(double bytes)
{
    return (uint64_t)(bytes + 0.5);
}

static struct exchange_round around(const struct run_collective *c, const struct run_member *members, uint32_t me,
                                    uint64_t distance)
{
    uint32_t n = c->n_members, to = (uint32_t)((me + distance) % n), from = (uint32_t)((me + n - distance) % n);
    return (struct exchange_round){c->first_member + to, c->first_member + from,
                                   whole_bytes(disseminated(c, members[me].bytes, distance)),
                                   whole_bytes(disseminated(c, members[from].bytes, distance))};
}

static struct exchange_round upwards(const struct run_collective *c, const struct run_member *members, uint32_t me,
                                     uint64_t distance)
{
    struct exchange_round made = {EXPORT_NOBODY, EXPORT_NOBODY, whole_bytes(members[me].bytes), 0};
    if (me + distance < c->n_members)
        made.to = (uint32_t)(c->first_member + me + distance);
    if (me >= distance) {
        made.from = (uint32_t)(c->first_member + me - distance);
        made.received_bytes = whole_bytes(members[me - distance].bytes);
    }
    return made;
}

/* The edge between parent and child carries what the child hands in or gets, times its subtree where every member has
 * a block of its own. */
static struct exchange_round tree(const struct run_collective *c, const struct run_member *members, uint32_t me,
                                  uint64_t mask)
{
    uint32_t n = c->n_members, root = c->root == UINT32_MAX ? 0 : c->root;
    uint64_t v = (me + (uint64_t)n - root) % n;
    bool i_am_child = v >= mask && v < 2 * mask, i_am_parent = v < mask && v + mask < n;
    if (!i_am_child && !i_am_parent)
        return (struct exchange_round){EXPORT_NOBODY, EXPORT_NOBODY, 0, 0};
    uint32_t child = i_am_child ? (uint32_t)v : (uint32_t)(v + mask), parent = (uint32_t)(child - mask);
    uint32_t other = c->first_member + (uint32_t)(((i_am_child ? parent : child) + (uint64_t)root) % n);
    double bytes = members[(child + (uint64_t)root) % n].bytes;
    if (c->kind == COLLECTIVE_GATHER || c->kind == COLLECTIVE_SCATTER)
        bytes *= subtree(n, child, mask);
    if (exchange_as_recorded(c))
        bytes = 0;
    return i_am_child == (c->dependence == DEPENDS_OF_ROOT)
               ? (struct exchange_round){other, EXPORT_NOBODY, whole_bytes(bytes), 0}
               : (struct exchange_round){EXPORT_NOBODY, other, 0, whole_bytes(bytes)};
}

struct exchange_round exchange_round(const struct run_program *program, uint32_t member, unsigned round)
{
    const struct run_collective *c = &program->collectives[program->members[member].collective];
    const struct run_member *members = &program->members[c->first_member];
    uint32_t me = member - c->first_member;
    if (c->dependence == DEPENDS_ON_ALL)
        return around(c, members, me, UINT64_C(1) << round);
    if (c->dependence == DEPENDS_ON_LOWER)
        return upwards(c, members, me, UINT64_C(1) << round);
    return tree(c, members, me,
                UINT64_C(1) << (c->dependence == DEPENDS_ON_ROOT ? round : exchange_rounds(c) - 1 - round));
}
