/* Makes a hexahedral mesh of a box, refined around wells and partitioned into parts: unstructured patterns come from
 * it.
 *
 * The box is 4 : 4 : 1 in cells, as reservoirs are flat. Vertical wells stand at random places. Every cell within a
 * radius of one is split into eight, so that a face of a coarse cell meets four fine ones (hanging nodes) and a cell
 * has 3 to 24 neighbours: the cells that share a face with it. Every cell of the coarse grid has a permeability,
 * log-normal, by layer and by cell. For the partitioner a face weighs the harmonic mean of its two cells'
 * permeabilities (their transmissibility), as reservoir simulators partition: the more it varies, the more scattered
 * the parts.
 *
 * Far pairs join cells that share no face, as faults and fractures do. Both cells are drawn at random, and the deeper
 * (towards the first layer) are the likelier, with a density of 4 (1 - x)^3 at the share x of the cells. The
 * partitioner does not know them. */
#ifndef MPISTAIR_PREDICTOR_MESH_H
#define MPISTAIR_PREDICTOR_MESH_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

enum { MESH_MAX_NEIGHBOURS = 24 };

struct mesh {
    uint32_t size[3];    /* size of the coarse grid */
    uint32_t n_cells;    /* after refinement */
    uint32_t *first;     /* [coarse cells + 1] a coarse cell's first cell: it has one, or eight */
    uint32_t *coarse_of; /* [n_cells] */
    float *permeability; /* [coarse cells] */
    size_t n_far;        /* pairs */
    uint32_t *far_first; /* [n_cells + 1] where a cell's far cells begin; NULL without far pairs */
    uint32_t *far;       /* [2 * n_far] cells joined with it */
};

/* Makes about n_cells cells (within a few percent from some thousands on), with permeabilities of that spread. The
 * caller releases. */
void mesh_init(struct mesh *mesh, uint64_t n_cells, double spread, uint64_t seed);
void mesh_release(struct mesh *mesh);
/* Joins n_far (below 2^30) pairs; may be called once. */
void mesh_join_far(struct mesh *mesh, uint64_t n_far, uint64_t seed);
/* Finds the cells that share a face with cell; returns how many. */
size_t mesh_neighbours(const struct mesh *mesh, uint32_t cell, uint32_t neighbours[MESH_MAX_NEIGHBOURS]);
/* Returns the weight of the face between two neighbours, 1 to 1000. */
uint32_t mesh_face_weight(const struct mesh *mesh, uint32_t a, uint32_t b);
/* Sets each cell's part, part[n_cells], by Scotch, the same for the same seed. Returns 0, or -1 with the reason. */
int mesh_partition(const struct mesh *mesh, size_t n_parts, uint64_t seed, uint32_t *part, struct error *error);

#endif
