#include "exchange.h"

#include "app.h"

#include <stdlib.h>

#define EXCHANGE_TAG 7

struct pair {
    int32_t rank;
    int32_t point;
};

static int compare_pairs(const void *left, const void *right)
{
    const struct pair *a = left;
    const struct pair *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

/* pairs[n_pairs] in any order, each any number of times. */
static void side_make(struct pair *pairs, size_t n_pairs, struct exchange_side *side)
{
    if (n_pairs > 0)
        qsort(pairs, n_pairs, sizeof(*pairs), compare_pairs);
    size_t ranks = (size_t)app_size();
    side->rank = app_allocate(ranks, sizeof(*side->rank));
    side->first = app_allocate(ranks + 1, sizeof(*side->first));
    side->point = app_allocate(n_pairs, sizeof(*side->point));
    side->n_neighbours = 0;
    size_t values = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        if (i > 0 && compare_pairs(&pairs[i - 1], &pairs[i]) == 0)
            continue;
        if (i == 0 || pairs[i].rank != pairs[i - 1].rank) {
            side->first[side->n_neighbours] = values;
            side->rank[side->n_neighbours++] = pairs[i].rank;
        }
        side->point[values++] = pairs[i].point;
    }
    side->first[side->n_neighbours] = values;
    side->buffer = app_allocate(values, sizeof(*side->buffer));
    side->requests = app_allocate((size_t)side->n_neighbours, sizeof(*side->requests));
}

void exchange_plan(const struct mesh *mesh, int rank, struct exchange *exchange)
{
    struct mesh_neighbour neighbours[MESH_MAX_NEIGHBOURS];
    size_t edges = 0;
    for (size_t i = 0; i < mesh->n_points; i++)
        edges += mesh->owner[i] == rank ? MESH_MAX_NEIGHBOURS : 0;
    struct pair *out = app_allocate(edges, sizeof(*out));
    struct pair *in = app_allocate(edges, sizeof(*in));
    size_t n_pairs = 0;
    for (size_t i = 0; i < mesh->n_points; i++) {
        if (mesh->owner[i] != rank)
            continue;
        size_t n = mesh_neighbours(mesh, (int32_t)i, neighbours);
        for (size_t j = 0; j < n; j++) {
            int32_t other = neighbours[j].point;
            if (mesh->owner[other] == rank)
                continue;
            out[n_pairs] = (struct pair){mesh->owner[other], (int32_t)i};
            in[n_pairs++] = (struct pair){mesh->owner[other], other};
        }
    }
    side_make(out, n_pairs, &exchange->send);
    side_make(in, n_pairs, &exchange->receive);
    free(out);
    free(in);
}

void exchange_run(struct exchange *exchange, struct traffic *traffic)
{
    struct exchange_side *send = &exchange->send;
    struct exchange_side *receive = &exchange->receive;
    for (int j = 0; j < send->n_neighbours; j++) {
        size_t values = send->first[j + 1] - send->first[j];
        MPI_Isend(send->buffer + send->first[j], (int)values, MPI_DOUBLE, send->rank[j], EXCHANGE_TAG, MPI_COMM_WORLD,
                  &send->requests[j]);
        traffic_sent(traffic, send->rank[j], values * sizeof(double));
    }
    for (int j = 0; j < receive->n_neighbours; j++) {
        size_t values = receive->first[j + 1] - receive->first[j];
        MPI_Irecv(receive->buffer + receive->first[j], (int)values, MPI_DOUBLE, receive->rank[j], EXCHANGE_TAG,
                  MPI_COMM_WORLD, &receive->requests[j]);
    }
    for (int j = 0; j < send->n_neighbours; j++)
        MPI_Wait(&send->requests[j], MPI_STATUS_IGNORE);
    for (int j = 0; j < receive->n_neighbours; j++)
        MPI_Wait(&receive->requests[j], MPI_STATUS_IGNORE);
}

static void side_release(struct exchange_side *side)
{
    free(side->rank);
    free(side->first);
    free(side->point);
    free(side->buffer);
    free(side->requests);
}

void exchange_release(struct exchange *exchange)
{
    side_release(&exchange->send);
    side_release(&exchange->receive);
}
