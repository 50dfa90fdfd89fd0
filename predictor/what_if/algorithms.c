/* See algorithms.h. Open MPI's names are those of coll_tuned_NAME_algorithm, MPICH's of MPIR_CVAR_NAME_INTRA_ALGORITHM.
 * Algorithms with segments, and those by shared memory, have no price: what is best may be better yet. */
#include "predictor/what_if/algorithms.h"

#include <math.h>

#include "predictor/run/collectives/run_script.h"
#include "predictor/run/engine/simulate.h"
#include "predictor/terms/interval.h"

/* Fewer than predict takes, as each is a replay. */
enum { PRICE_DRAWS = 40 };

enum algorithm_limit { FOR_ALL, FOR_POWERS_OF_TWO, FOR_EVEN };

struct algorithm {
    enum run_mpi_family family;
    enum run_collective_kind kind;
    enum algorithm_limit limit;
    const char *name;
    enum script_algorithm first;
    enum script_tree tree;
    bool allgathers; /* behind a scatter: by the next one */
    enum script_algorithm second;
};

static const struct algorithm algorithms[] = {
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_BCAST, FOR_ALL, "basic_linear", SCRIPT_DOWN, TREE_FLAT, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_BCAST, FOR_ALL, "chain", SCRIPT_DOWN, TREE_CHAIN, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_BCAST, FOR_ALL, "binary_tree", SCRIPT_DOWN, TREE_BINARY, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_BCAST, FOR_ALL, "binomial", SCRIPT_DOWN, TREE_BINOMIAL_HIGH, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_BCAST, FOR_ALL, "knomial", SCRIPT_DOWN, TREE_KNOMIAL, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_BCAST, FOR_POWERS_OF_TWO, "scatter_allgather", SCRIPT_BLOCKS_DOWN, TREE_BINOMIAL,
     true, SCRIPT_DOUBLE},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_BCAST, FOR_ALL, "scatter_allgather_ring", SCRIPT_BLOCKS_DOWN, TREE_BINOMIAL, true,
     SCRIPT_RING},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_ALLGATHER, FOR_ALL, "bruck", SCRIPT_BRUCK, 0, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_ALLGATHER, FOR_POWERS_OF_TWO, "recursive_doubling", SCRIPT_DOUBLE, 0, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_ALLGATHER, FOR_ALL, "ring", SCRIPT_RING, 0, false, 0},
    {MPI_FAMILY_OPEN_MPI, COLLECTIVE_ALLGATHER, FOR_EVEN, "neighbor", SCRIPT_NEIGHBOURS, 0, false, 0},
    {MPI_FAMILY_MPICH, COLLECTIVE_BCAST, FOR_ALL, "binomial", SCRIPT_DOWN, TREE_BINOMIAL, false, 0},
    {MPI_FAMILY_MPICH, COLLECTIVE_BCAST, FOR_POWERS_OF_TWO, "scatter_recursive_doubling_allgather", SCRIPT_BLOCKS_DOWN,
     TREE_BINOMIAL, true, SCRIPT_DOUBLE},
    {MPI_FAMILY_MPICH, COLLECTIVE_BCAST, FOR_ALL, "scatter_ring_allgather", SCRIPT_BLOCKS_DOWN, TREE_BINOMIAL, true,
     SCRIPT_RING},
    {MPI_FAMILY_MPICH, COLLECTIVE_ALLGATHER, FOR_ALL, "brucks", SCRIPT_BRUCK, 0, false, 0},
    {MPI_FAMILY_MPICH, COLLECTIVE_ALLGATHER, FOR_POWERS_OF_TWO, "recursive_doubling", SCRIPT_DOUBLE, 0, false, 0},
    {MPI_FAMILY_MPICH, COLLECTIVE_ALLGATHER, FOR_ALL, "ring", SCRIPT_RING, 0, false, 0},
};

static bool algorithm_serves(const struct algorithm *algorithm, enum run_mpi_family family,
                             const struct run_collective *collective)
{
    uint32_t n = collective->n_members;
    return algorithm->family == family && algorithm->kind == (enum run_collective_kind)collective->kind &&
           (algorithm->limit != FOR_POWERS_OF_TWO || (n & (n - 1)) == 0) &&
           (algorithm->limit != FOR_EVEN || n % 2 == 0);
}

static void algorithm_make_script(const struct algorithm *algorithm, const struct run_collective *collective,
                                  double bytes, struct run_script *script)
{
    uint32_t root = collective->kind == COLLECTIVE_BCAST ? collective->root : 0;
    *script = (struct run_script){.n_members = collective->n_members};
    struct script_phase *phase = script_add(script, algorithm->first, bytes);
    phase->tree = (uint8_t)algorithm->tree;
    phase->root = root;
    phase->together = algorithm->first == SCRIPT_DOWN;
    if (algorithm->allgathers)
        script_add(script, algorithm->second, bytes)->root = root;
}

/* Returns how long a script takes on the machine, NaN where it cannot be told: it is replayed in the place of a
 * collective at which all arrive at once. */
static double algorithm_price(const struct run_script *script, const struct machine *machine,
                              const struct placement *placement)
{
    uint32_t n = script->n_members;
    struct run_program program = {0};
    struct simulation_options options = {.law = LAW_STAIRCASE, .model_collectives = true, .script = script};
    double seconds = NAN;
    struct error error;
    int result = 0;
    run_program_ranks(&program, n);
    run_program_site(&program, "algorithm", -1);
    run_program_collective(
        &program, &(struct run_collective){
                      .n_members = n, .root = UINT32_MAX, .dependence = DEPENDS_ON_ALL, .kind = COLLECTIVE_ALLGATHER});
    for (uint32_t member = 0; result == 0 && member < n; member++) {
        run_program_place(&program, member, 0);
        run_program_strand(&program, member, 0);
        result = run_program_member(&program, &(struct run_member){.rank = member});
        if (result == 0)
            result = run_program_step(&program, &(struct run_step){.object = member,
                                                                   .place = member,
                                                                   .kind = STEP_COLLECTIVE,
                                                                   .flags = STEP_ENTERS | STEP_LEAVES});
    }
    if (result == 0)
        result = run_program_check(&program, &error);
    if (result == 0)
        result = simulate_length(&program, machine, placement, &options, &seconds, &error);
    run_program_release(&program);
    return result == 0 ? seconds : NAN;
}

/* Among fewer an allgather is one exchange, whatever the algorithm, and the copy of the own block, which has no price,
 * is as much as what is sent. */
enum { ALLGATHER_LEAST_MEMBERS = 4 };

/* Fills the places of the members, which are freed by the caller, and the bytes of all blocks. Returns false for a
 * collective that is not priced. */
static bool algorithms_lay(const struct run_program *program, const struct run_collective *priced,
                           const struct placement *placement, struct placement *own, double *bytes)
{
    const struct run_member *members = &program->members[priced->first_member];
    if (priced->n_members < 2 || priced->n_members > ALGORITHMS_MOST_MEMBERS ||
        (priced->flags & COLLECTIVE_VARIES) != 0 ||
        (priced->kind == COLLECTIVE_ALLGATHER && priced->n_members < ALLGATHER_LEAST_MEMBERS) ||
        (priced->kind == COLLECTIVE_BCAST && priced->root >= priced->n_members))
        return false;
    placement_init(own, priced->n_members);
    *bytes = 0;
    for (uint32_t i = 0; i < priced->n_members; i++) {
        own->node[i] = placement->node[members[i].rank];
        own->socket[i] = placement->socket[members[i].rank];
        *bytes = priced->kind == COLLECTIVE_BCAST ? fmax(*bytes, members[i].bytes) : *bytes + members[i].bytes;
    }
    return true;
}

bool algorithms_best(const struct run_program *program, uint32_t collective, const struct machine *machine,
                     const struct placement *placement, struct algorithm_price *best)
{
    const struct run_collective *priced = &program->collectives[collective];
    struct placement own;
    double bytes;
    *best = (struct algorithm_price){0};
    if (!algorithms_lay(program, priced, placement, &own, &bytes))
        return false;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        struct run_script script;
        if (!algorithm_serves(&algorithms[i], program->mpi_family, priced))
            continue;
        algorithm_make_script(&algorithms[i], priced, bytes, &script);
        double price_s = algorithm_price(&script, machine, &own);
        if (price_s > 0 && (best->name == NULL || price_s < best->seconds))
            *best = (struct algorithm_price){.name = algorithms[i].name, .seconds = price_s};
    }
    placement_release(&own);
    return best->name != NULL;
}

void algorithms_interval(const struct run_program *program, uint32_t collective, const struct machine *machine,
                         const struct placement *placement, struct algorithm_price *best)
{
    const struct run_collective *priced = &program->collectives[collective];
    struct machine_draws draws;
    struct placement own;
    struct run_script script = {0};
    double bytes, prices_s[PRICE_DRAWS];
    size_t n = 0;
    best->low_s = best->high_s = best->seconds;
    if (!algorithms_lay(program, priced, placement, &own, &bytes))
        return;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (algorithm_serves(&algorithms[i], program->mpi_family, priced) && algorithms[i].name == best->name)
            algorithm_make_script(&algorithms[i], priced, bytes, &script);
    machine_draws_init(&draws, machine, PRICE_DRAWS, 1);
    for (size_t i = 0; i < draws.n; i++) {
        prices_s[n] = algorithm_price(&script, &draws.machines[i], &own);
        n += isnan(prices_s[n]) ? 0 : 1;
    }
    if (n > 0) {
        const struct time_interval interval = time_interval(prices_s, n, best->seconds);
        best->low_s = interval.low_s;
        best->high_s = interval.high_s;
    }
    machine_draws_release(&draws);
    placement_release(&own);
}
