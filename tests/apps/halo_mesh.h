/* Makes an unstructured 3-D mesh as a graph of points, and its uneven partition: the problem of halo.c, without MPI. */
#ifndef MPISTAIR_TESTS_MESH_H
#define MPISTAIR_TESTS_MESH_H

#include <stddef.h>
#include <stdint.h>

#define MESH_MAX_NEIGHBOURS 124

/* Every process holds all points (28 bytes each) and makes the rows that it owns when it needs them. */
struct mesh {
    size_t side;       /* cells along each edge of the box around the domain */
    size_t n_points;   /* a cell of the domain has one point */
    float (*place)[3]; /* [n_points] in cell widths */
    int32_t *point_of; /* [side^3] the cell's point, -1 outside the domain */
    int32_t *cell_of;  /* [n_points] */
    int32_t *owner;    /* [n_points] part that owns it */
};

struct mesh_neighbour {
    int32_t point;
    double weight; /* of the edge: the closer, the heavier */
};

/* Makes about n_points points, the same for the same arguments, owned by n_parts parts of unequal size. Returns 0, or
 * -1 without memory or where the mesh would have fewer than one point a part; mesh_release() frees. */
int mesh_make(size_t n_points, int n_parts, uint64_t seed, struct mesh *mesh);
/* Finds the points that share an edge with one point, neighbours[MESH_MAX_NEIGHBOURS], by ascending number. It is
 * symmetric: if a is a neighbour of b, then b is one of a with the same weight. Returns their number. */
size_t mesh_neighbours(const struct mesh *mesh, int32_t point, struct mesh_neighbour *neighbours);
void mesh_release(struct mesh *mesh);

#endif
