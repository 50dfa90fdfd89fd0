/* A socket's messages have one factor, which changes as its threads begin and end to compute. See run_memory.h. */
#include "predictor/run/laws/run_memory.h"

#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"

int run_memory_init(struct run_memory *memory, const struct machine *machine, size_t n_sockets, size_t n_wanted,
                    struct error *error)
{
    *memory = (struct run_memory){.n_sockets = n_sockets, .sockets = xcalloc(n_sockets, sizeof *memory->sockets)};
    for (size_t i = 0; i < n_sockets; i++)
        memory->sockets[i].keeps = 1;
    return memory_share_init(&memory->share, machine, n_wanted, error);
}

void run_memory_release(struct run_memory *memory)
{
    for (size_t i = 0; memory->sockets != NULL && i < memory->n_sockets; i++)
        free(memory->sockets[i].bundles);
    free(memory->sockets);
    memory_share_release(&memory->share);
    *memory = (struct run_memory){0};
}

double run_memory_note(struct run_memory *memory, uint32_t socket, uint32_t bundle)
{
    struct run_memory_socket *at = &memory->sockets[socket];
    array_grow(&at->bundles, at->n_bundles, sizeof *at->bundles);
    at->bundles[at->n_bundles++] = bundle;
    return at->keeps;
}

/* Adds what was computed since the last change. */
static void settle_socket(struct run_memory *memory, struct run_memory_socket *socket, double now_s)
{
    if (socket->n_moving > 0 && socket->n_computing > 0 && now_s > socket->since_s) {
        double computed_s = (now_s - socket->since_s) * socket->n_computing;
        memory->computed_s += computed_s;
        memory->slowed_s += computed_s * memory_share_slows(&memory->share, socket->n_computing);
    }
    socket->since_s = now_s;
}

void run_memory_move(struct run_memory *memory, uint32_t socket, double now_s, int change)
{
    settle_socket(memory, &memory->sockets[socket], now_s);
    memory->sockets[socket].n_moving += (uint32_t)change;
}

bool run_memory_compute(struct run_memory *memory, uint32_t socket, double now_s, int change)
{
    struct run_memory_socket *at = &memory->sockets[socket];
    double before = at->keeps;
    settle_socket(memory, at, now_s);
    at->n_computing += (uint32_t)change;
    at->keeps = memory_share_keeps(&memory->share, at->n_computing);
    return at->keeps < before || at->keeps > before;
}
