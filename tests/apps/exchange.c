/* Every rank knows the whole mesh, so both sides of a message find its values in the same order without asking each
 * other. */
#include "tests/apps/exchange.h"

#include "tests/apps/app.h"

#include <stdbool.h>
#include <stdlib.h>

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

static bool is_new(const struct pair *pairs, size_t i)
{
    return i == 0 || compare_pairs(&pairs[i - 1], &pairs[i]) != 0;
}

/* Makes a side from pairs[n_pairs], which are in any order and each come any number of times. */
static void side_make(struct pair *pairs, size_t n_pairs, struct exchange_side *side)
{
    if (n_pairs > 0)
        qsort(pairs, n_pairs, sizeof(*pairs), compare_pairs);
    int neighbours = 0;
    for (size_t i = 0; i < n_pairs; i++)
        neighbours += i == 0 || pairs[i].rank != pairs[i - 1].rank;
    many_pair_init(&side->pairs, neighbours);
    side->point = app_allocate(n_pairs, sizeof(*side->point));
    side->buffer = app_allocate(n_pairs, sizeof(*side->buffer));
    side->n_values = 0;
    struct many_pair_message *message = NULL;
    for (size_t i = 0; i < n_pairs; i++) {
        if (!is_new(pairs, i))
            continue;
        if (message == NULL || message->peer != pairs[i].rank) {
            message = message ? message + 1 : side->pairs.messages;
            *message = (struct many_pair_message){.peer = pairs[i].rank, .buffer = side->buffer + side->n_values};
        }
        message->count++;
        side->point[side->n_values++] = pairs[i].point;
    }
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
    many_pair_run(&exchange->send.pairs, &exchange->receive.pairs, MPI_DOUBLE, traffic);
}

static void side_release(struct exchange_side *side)
{
    many_pair_release(&side->pairs);
    free(side->point);
    free(side->buffer);
}

void exchange_release(struct exchange *exchange)
{
    side_release(&exchange->send);
    side_release(&exchange->receive);
}
