/* memory_kernel stores to memory while a large message is pending, as a solver that computes while its halo arrives.
 *
 *     memory_kernel [WHO [REPETITIONS [BYTES [MICROSECONDS]]]]
 *
 * Rank 0 sends to rank 1. A repetition is a Barrier, an Irecv and an Isend, stores by whom WHO names (receiver, sender,
 * both or none), and a Wait. The stores go past the caches (non-temporal) to a block of 64 MB, one after the other,
 * until the time is over. At its end each rank prints a line a repetition: rank, repetition, when its Barrier, its
 * post, its stores and its wait began, when the wait ended, in s of CLOCK_MONOTONIC, and the bytes that it stored. */
#include "tests/apps/app.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK_BYTES = 1 << 26, PIECE_BYTES = 1 << 20 };

struct repetition {
    double barrier_s, post_s, stores_s, wait_s, end_s, stored_bytes;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Stores a piece; without such stores they go through the caches. */
static void store(char *piece)
{
#ifdef __SSE2__
    const __m128i value = _mm_set1_epi32(42);
    for (size_t i = 0; i < PIECE_BYTES; i += sizeof value)
        _mm_stream_si128((__m128i *)(void *)(piece + i), value);
    _mm_sfence();
#else
    memset(piece, 42, PIECE_BYTES);
#endif
}

/* Stores until the time is over; returns the bytes. */
static double compute(char *block, double seconds)
{
    double end_s = now_s() + seconds, bytes = 0;
    for (size_t at = 0; now_s() < end_s; at = (at + PIECE_BYTES) % BLOCK_BYTES) {
        store(block + at);
        bytes += PIECE_BYTES;
    }
    return bytes;
}

/* Says whether the rank is one that WHO names. */
static bool computes(const char *who, int rank)
{
    static const char *const names[] = {"none", "sender", "receiver", "both"};
    int which = 0;
    while (which < 4 && strcmp(who, names[which]) != 0)
        which++;
    if (which == 4)
        app_fail("WHO: %s, expected receiver, sender, both or none", who);
    return rank < 2 && (which & (rank == 0 ? 1 : 2)) != 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = app_rank();
    bool stores = computes(argc > 1 ? argv[1] : "receiver", rank);
    int repetitions = (int)app_integer("REPETITIONS", argc > 2 ? argv[2] : "10", 1, 10000);
    int bytes = (int)app_integer("BYTES", argc > 3 ? argv[3] : "64000000", 1, 1 << 30);
    double work_s = 1e-6 * app_real("MICROSECONDS", argc > 4 ? argv[4] : "50000", 0);
    if (app_size() < 2)
        app_fail("expected at least two ranks");
    char *block = aligned_alloc(4096, BLOCK_BYTES), *message = app_allocate((size_t)bytes, 1);
    if (block == NULL)
        app_fail("no memory");
    struct repetition *done = app_allocate((size_t)repetitions, sizeof *done);
    memset(block, 1, BLOCK_BYTES);
    memset(done, 0, (size_t)repetitions * sizeof *done);
    memset(message, 1, (size_t)bytes); /* so that no page is new in a repetition */
    for (int i = 0; i < repetitions; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        struct repetition *now = &done[i];
        now->barrier_s = now_s();
        MPI_Barrier(MPI_COMM_WORLD);
        now->post_s = now_s();
        if (rank == 0)
            MPI_Isend(message, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        else if (rank == 1)
            MPI_Irecv(message, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        now->stores_s = now_s();
        if (stores)
            now->stored_bytes = compute(block, work_s);
        now->wait_s = now_s();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        now->end_s = now_s();
    }
    for (int i = 0; i < repetitions; i++)
        printf("%d %d %.9f %.9f %.9f %.9f %.9f %.0f\n", rank, i, done[i].barrier_s, done[i].post_s, done[i].stores_s,
               done[i].wait_s, done[i].end_s, done[i].stored_bytes);
    free(done);
    free(block);
    free(message);
    MPI_Finalize();
    return 0;
}
