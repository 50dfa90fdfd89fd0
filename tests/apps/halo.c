/* halo solves a linear system by conjugate gradients on an unstructured 3-D mesh, distributed over the ranks: a real
 * irregular job to record.
 *
 * It solves A x = b, A the weighted graph Laplacian of halo_mesh.c's points plus a small multiple of the identity
 * (symmetric, positive definite), b = A x* for a known x*. Each product with A exchanges the halo (many_pair.c, T
 * Algorithm 2); each iteration has two dot products by MPI_Allreduce. So a run has as many halo exchanges as iterations
 * plus one for the right side and one for the check, all of the same pattern.
 *
 * It exits with 1 unless the true residual and the distance to x* are as small as asked. Papers are named as in
 * share/doc/MODELS.md. */
#include "tests/apps/app.h"
#include "tests/apps/exchange.h"
#include "tests/apps/halo_mesh.h"
#include "tests/apps/witness.h"

#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define SHIFT 0.05

/* Holds the rows that a rank owns: compressed sparse rows in local numbers, own points first, then those received. */
struct system {
    size_t n_own;
    int32_t *own; /* [n_own] global number */
    size_t *row;  /* [n_own + 1] */
    int32_t *column;
    double *value;
    int32_t *send_local; /* [values sent] local number of each value of exchange.send */
    struct exchange exchange;
    struct traffic *traffic;
};

struct options {
    size_t points;
    int iterations;
    double tolerance; /* of the residual, relative to b */
    uint64_t seed;
    const char *traffic;
};

static void system_make(const struct mesh *mesh, int rank, struct traffic *traffic, struct system *system)
{
    struct mesh_neighbour neighbours[MESH_MAX_NEIGHBOURS];
    system->traffic = traffic;
    exchange_plan(mesh, rank, &system->exchange);
    int32_t *local = app_allocate(mesh->n_points, sizeof(*local));
    system->own = app_allocate(mesh->n_points, sizeof(*system->own));
    system->n_own = 0;
    for (size_t i = 0; i < mesh->n_points; i++) {
        if (mesh->owner[i] == rank) {
            local[i] = (int32_t)system->n_own;
            system->own[system->n_own++] = (int32_t)i;
        }
    }
    const struct exchange_side *receive = &system->exchange.receive;
    for (size_t i = 0; i < receive->n_values; i++)
        local[receive->point[i]] = (int32_t)(system->n_own + i);
    const struct exchange_side *send = &system->exchange.send;
    system->send_local = app_allocate(send->n_values, sizeof(*system->send_local));
    for (size_t i = 0; i < send->n_values; i++)
        system->send_local[i] = local[send->point[i]];

    size_t most = system->n_own * (MESH_MAX_NEIGHBOURS + 1);
    system->row = app_allocate(system->n_own + 1, sizeof(*system->row));
    system->column = app_allocate(most, sizeof(*system->column));
    system->value = app_allocate(most, sizeof(*system->value));
    size_t at = 0;
    for (size_t i = 0; i < system->n_own; i++) {
        size_t n = mesh_neighbours(mesh, system->own[i], neighbours);
        size_t diagonal = at++;
        system->column[diagonal] = (int32_t)i;
        system->value[diagonal] = SHIFT;
        for (size_t j = 0; j < n; j++, at++) {
            system->column[at] = local[neighbours[j].point];
            system->value[at] = -neighbours[j].weight;
            system->value[diagonal] += neighbours[j].weight;
        }
        system->row[i + 1] = at;
    }
    free(local);
}

static void system_release(struct system *system)
{
    free(system->own);
    free(system->row);
    free(system->column);
    free(system->value);
    free(system->send_local);
    exchange_release(&system->exchange);
}

/* Computes product[n_own] = A x[n_own], with a halo exchange. */
static void multiply(struct system *system, const double *x, double *product)
{
    struct exchange_side *send = &system->exchange.send;
    const double *received = system->exchange.receive.buffer;
    for (size_t i = 0; i < send->n_values; i++)
        send->buffer[i] = x[system->send_local[i]];
    exchange_run(&system->exchange, system->traffic);
    for (size_t i = 0; i < system->n_own; i++) {
        double sum = 0;
        for (size_t k = system->row[i]; k < system->row[i + 1]; k++) {
            size_t column = (size_t)system->column[k];
            sum += system->value[k] * (column < system->n_own ? x[column] : received[column - system->n_own]);
        }
        product[i] = sum;
    }
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Improves x[n_own] until |b - A x| <= tolerance |b|, as the recurrence has it. Returns the iterations. */
static int solve(struct system *system, const double *b, double *x, int iterations, double tolerance)
{
    size_t n = system->n_own;
    double *residual = app_allocate(n, sizeof(double));
    double *direction = app_allocate(n, sizeof(double));
    double *product = app_allocate(n, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        residual[i] = direction[i] = b[i];
    }
    double square = dot(n, residual, residual);
    double goal = tolerance * tolerance * square;
    int done = 0;
    while (done < iterations && square > goal) {
        multiply(system, direction, product);
        double step = square / dot(n, direction, product);
        for (size_t i = 0; i < n; i++) {
            x[i] += step * direction[i];
            residual[i] -= step * product[i];
        }
        double next = dot(n, residual, residual);
        for (size_t i = 0; i < n; i++)
            direction[i] = residual[i] + next / square * direction[i];
        square = next;
        done++;
    }
    free(residual);
    free(direction);
    free(product);
    return done;
}

/* Finds the smallest and the largest over all ranks, on every rank. */
static void extremes(int64_t value, int64_t *smallest, int64_t *largest)
{
    MPI_Allreduce(&value, smallest, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&value, largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
}

static void describe(const struct mesh *mesh, const struct system *system)
{
    const struct exchange_side *send = &system->exchange.send;
    int64_t own[2], neighbours[2], smallest[2], largest[2];
    int64_t least = INT64_MAX;
    int64_t most = 0;
    for (int j = 0; j < send->pairs.n_messages; j++) {
        int64_t values = send->pairs.messages[j].count;
        least = values < least ? values : least;
        most = values > most ? values : most;
    }
    extremes((int64_t)system->n_own, &own[0], &own[1]);
    extremes(send->pairs.n_messages, &neighbours[0], &neighbours[1]);
    extremes(least, &smallest[0], &smallest[1]);
    extremes(most, &largest[0], &largest[1]);
    if (app_rank() == 0)
        printf("halo: %zu points on %d ranks, %lld to %lld each; %lld to %lld neighbours; messages of %lld to %lld "
               "bytes\n",
               mesh->n_points, app_size(), (long long)own[0], (long long)own[1], (long long)neighbours[0],
               (long long)neighbours[1], (long long)(smallest[0] == INT64_MAX ? 0 : smallest[0] * 8),
               (long long)(largest[1] * 8));
}

/* Solves and checks; returns the exit code. */
static int work(const struct options *options, struct system *system)
{
    size_t n = system->n_own;
    double *known = app_allocate(n, sizeof(double));
    double *b = app_allocate(n, sizeof(double));
    double *x = app_allocate(n, sizeof(double));
    double *product = app_allocate(n, sizeof(double));
    for (size_t i = 0; i < n; i++)
        known[i] = sin(0.001 * system->own[i]);
    multiply(system, known, b);
    double begin_s = MPI_Wtime();
    int iterations = solve(system, b, x, options->iterations, options->tolerance);
    double took_s = MPI_Wtime() - begin_s;
    multiply(system, x, product);
    double right = dot(n, b, b);
    for (size_t i = 0; i < n; i++) {
        product[i] -= b[i];
        known[i] -= x[i];
    }
    double residual = sqrt(dot(n, product, product) / right);
    double distance = sqrt(dot(n, known, known) / right);
    /* The smallest eigenvalue is at least SHIFT, so |x - x*| <= |residual| / SHIFT. */
    int passed = residual <= 10 * options->tolerance && distance <= 10 * options->tolerance / SHIFT;
    if (app_rank() == 0)
        printf("halo: %d iterations, residual %.3g, distance to the solution %.3g: %s\nhalo: %.6f s\n", iterations,
               residual, distance, passed ? "converged" : "not converged", took_s);
    free(known);
    free(b);
    free(x);
    free(product);
    return passed ? 0 : 1;
}

static const char usage[] = "usage: halo [--points N] [--iterations N] [--tolerance X] [--seed N] [--traffic FILE]\n"
                            "  --points N       about that many mesh points (20000)\n"
                            "  --iterations N   at most (1000)\n"
                            "  --tolerance X    of the residual, relative to the right side (1e-8)\n"
                            "  --traffic FILE   what was sent, counted by the program, as CSV src,dst,messages,bytes\n";

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option long_options[] = {
        {"points", required_argument, NULL, 'p'},    {"iterations", required_argument, NULL, 'i'},
        {"tolerance", required_argument, NULL, 't'}, {"seed", required_argument, NULL, 's'},
        {"traffic", required_argument, NULL, 'f'},   {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == 'p')
            options->points = (size_t)app_integer("points", optarg, 1, 500000000);
        else if (option == 'i')
            options->iterations = (int)app_integer("iterations", optarg, 0, INT32_MAX);
        else if (option == 't')
            options->tolerance = app_real("tolerance", optarg, 0);
        else if (option == 's')
            options->seed = (uint64_t)app_integer("seed", optarg, 0, INT64_MAX);
        else if (option == 'f')
            options->traffic = optarg;
        else
            return -1;
    }
    return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct options options = {.points = 20000, .iterations = 1000, .tolerance = 1e-8, .seed = 1};
    MPI_Init(&argc, &argv);
    if (parse(argc, argv, &options)) {
        if (app_rank() == 0)
            fputs(usage, stderr);
        MPI_Finalize();
        return 2;
    }
    struct mesh mesh;
    if (mesh_make(options.points, app_size(), options.seed, &mesh))
        app_fail("no mesh of %zu points for %d ranks: not enough memory, or fewer points than ranks", options.points,
                 app_size());
    struct traffic traffic;
    struct system system;
    witness_init(&traffic);
    system_make(&mesh, app_rank(), &traffic, &system);
    describe(&mesh, &system);
    int code = work(&options, &system);
    traffic_write(&traffic, options.traffic);
    system_release(&system);
    witness_release(&traffic);
    mesh_release(&mesh);
    MPI_Finalize();
    return code;
}
