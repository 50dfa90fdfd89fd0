/* The domain is a ball with a lens cut out of it, so that parts meet in faces of all shapes. Each cell of a grid that
 * lies inside has one point, moved from its centre at random by up to 0.4 of the width; points closer than 1.5 widths
 * share an edge (about 14 an inner point, 3 to 30 in all). Randomness is a hash of the cell, so that no process
 * needs another to know the mesh.
 *
 * Parts come from recursive coordinate bisection: a set of points and of parts is cut along its longest axis in the
 * ratio of the parts' weights. Weights run from 1 to about 8, so that sizes of parts, and the faces between
 * them, differ by an order of magnitude, as they do where a partition follows the work instead of the points.
 */
#include "tests/apps/halo_mesh.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EDGE_LENGTH 1.5

/* Hashes by splitmix64: the finalizer of Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
 * (2014). */
static uint64_t hash(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* Returns a number in [0, 1) that belongs to (seed, item, which). */
static double chance(uint64_t seed, uint64_t item, uint64_t which)
{
    return (double)(hash(hash(seed ^ (which << 56)) ^ item) >> 11) * 0x1p-53;
}

static bool inside(double x, double y, double z)
{
    double lens = (x - 0.9) * (x - 0.9) + (y - 0.5) * (y - 0.5) + (z - 0.6) * (z - 0.6);
    double ball = (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) + (z - 0.5) * (z - 0.5);
    return ball < 0.25 && lens > 0.06;
}

static void place_points(uint64_t seed, struct mesh *mesh)
{
    double width = 1.0 / (double)mesh->side;
    mesh->n_points = 0;
    for (size_t cell = 0; cell < mesh->side * mesh->side * mesh->side; cell++) {
        size_t index[3] = {cell % mesh->side, cell / mesh->side % mesh->side, cell / mesh->side / mesh->side};
        mesh->point_of[cell] = -1;
        if (!inside(((double)index[0] + 0.5) * width, ((double)index[1] + 0.5) * width,
                    ((double)index[2] + 0.5) * width))
            continue;
        for (unsigned axis = 0; axis < 3; axis++) {
            double moved = 0.8 * (chance(seed, cell, axis) - 0.5);
            mesh->place[mesh->n_points][axis] = (float)((double)index[axis] + 0.5 + moved);
        }
        mesh->cell_of[mesh->n_points] = (int32_t)cell;
        mesh->point_of[cell] = (int32_t)mesh->n_points++;
    }
}

struct ranked {
    float at;
    int32_t point;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

static unsigned longest_axis(const struct mesh *mesh, const struct ranked *points, size_t n_points)
{
    unsigned longest = 0;
    float extent = -1;
    for (unsigned axis = 0; axis < 3; axis++) {
        float low = mesh->place[points[0].point][axis];
        float high = low;
        for (size_t i = 1; i < n_points; i++) {
            float at = mesh->place[points[i].point][axis];
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        if (high - low > extent) {
            extent = high - low;
            longest = axis;
        }
    }
    return longest;
}

/* Gives points[n_points] to the parts first ... first + n_parts - 1; n_points >= n_parts >= 1. */
static void bisect(struct mesh *mesh, struct ranked *points, size_t n_points, const double *weights, int first,
                   int n_parts)
{
    if (n_parts == 1) {
        for (size_t i = 0; i < n_points; i++)
            mesh->owner[points[i].point] = first;
        return;
    }
    unsigned axis = longest_axis(mesh, points, n_points);
    for (size_t i = 0; i < n_points; i++)
        points[i].at = mesh->place[points[i].point][axis];
    qsort(points, n_points, sizeof(*points), compare_ranked);

    int lower_parts = n_parts / 2;
    double lower = 0;
    double all = 0;
    for (int part = 0; part < n_parts; part++) {
        all += weights[first + part];
        lower += part < lower_parts ? weights[first + part] : 0;
    }
    size_t cut = (size_t)((double)n_points * lower / all);
    size_t least = (size_t)lower_parts;
    size_t most = n_points - (size_t)(n_parts - lower_parts);
    cut = cut < least ? least : cut > most ? most : cut;
    bisect(mesh, points, cut, weights, first, lower_parts);
    bisect(mesh, points + cut, n_points - cut, weights, first + lower_parts, n_parts - lower_parts);
}

static int partition(struct mesh *mesh, int n_parts, uint64_t seed)
{
    struct ranked *points = malloc(mesh->n_points * sizeof(*points));
    double *weights = malloc((size_t)n_parts * sizeof(*weights));
    int result = -1;
    if (!points || !weights)
        goto out;
    for (size_t i = 0; i < mesh->n_points; i++)
        points[i].point = (int32_t)i;
    for (int part = 0; part < n_parts; part++) {
        double draw = chance(seed, (uint64_t)part, 3);
        weights[part] = 1 + 7 * draw * draw;
    }
    bisect(mesh, points, mesh->n_points, weights, 0, n_parts);
    result = 0;
out:
    free(points);
    free(weights);
    return result;
}

int mesh_make(size_t n_points, int n_parts, uint64_t seed, struct mesh *mesh)
{
    struct mesh made = {.side = 4};
    /* The domain fills about 0.45 of the box. */
    while ((double)(made.side * made.side * made.side) * 0.45 < (double)n_points)
        made.side++;
    size_t cells = made.side * made.side * made.side;
    if (cells > INT32_MAX)
        return -1;
    made.place = malloc(cells * sizeof(*made.place));
    made.point_of = malloc(cells * sizeof(*made.point_of));
    made.cell_of = malloc(cells * sizeof(*made.cell_of));
    made.owner = malloc(cells * sizeof(*made.owner));
    if (!made.place || !made.point_of || !made.cell_of || !made.owner)
        goto fail;
    place_points(seed, &made);
    if (made.n_points < (size_t)n_parts || partition(&made, n_parts, seed))
        goto fail;
    *mesh = made;
    return 0;
fail:
    mesh_release(&made);
    return -1;
}

size_t mesh_neighbours(const struct mesh *mesh, int32_t point, struct mesh_neighbour *neighbours)
{
    int64_t side = (int64_t)mesh->side;
    int64_t cell = mesh->cell_of[point];
    int64_t index[3] = {cell % side, cell / side % side, cell / side / side};
    const float *here = mesh->place[point];
    size_t found = 0;
    for (int64_t offset = 0; offset < 125; offset++) {
        int64_t x = index[0] + offset % 5 - 2;
        int64_t y = index[1] + offset / 5 % 5 - 2;
        int64_t z = index[2] + offset / 25 - 2;
        if (x < 0 || y < 0 || z < 0 || x >= side || y >= side || z >= side)
            continue;
        int32_t other = mesh->point_of[(z * side + y) * side + x];
        if (other < 0 || other == point)
            continue;
        double square = 0;
        for (unsigned axis = 0; axis < 3; axis++) {
            double difference = (double)here[axis] - (double)mesh->place[other][axis];
            square += difference * difference;
        }
        if (square < EDGE_LENGTH * EDGE_LENGTH)
            neighbours[found++] = (struct mesh_neighbour){other, 1 / (0.1 + square)};
    }
    return found;
}

void mesh_release(struct mesh *mesh)
{
    free(mesh->place);
    free(mesh->point_of);
    free(mesh->cell_of);
    free(mesh->owner);
    memset(mesh, 0, sizeof(*mesh));
}
