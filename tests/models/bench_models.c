/* How long the models take on a pattern of the size of T Table IV's largest: 8,192 ranks on 64 nodes of two sockets,
 * 2.7e6 messages, most of them within a node, sizes over four orders of magnitude. Prints a line a model; fails only
 * where a model fails. Aim: 0.5 s a model, 48 bytes a message. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "cases.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { RANKS = 8192, RANKS_A_NODE = 128, RANKS_A_SOCKET = 64, MESSAGES = 2744632 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void large_pattern(struct model_case *c, bool protocols)
{
    struct chance chance = {.state = 6};
    struct model_case random;
    case_random(&random, &chance, protocols); /* for its machine */
    c->machine = random.machine;
    random.machine = (struct machine){0};
    case_release(&random);
    case_place(c, RANKS, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        c->placement.node[rank] = rank / RANKS_A_NODE;
        c->placement.socket[rank] = rank % RANKS_A_NODE / RANKS_A_SOCKET;
    }
    for (size_t i = 0; i < MESSAGES; i++) {
        uint32_t src = (uint32_t)chance_below(&chance, RANKS);
        uint32_t near = src / RANKS_A_NODE * RANKS_A_NODE + (uint32_t)chance_below(&chance, RANKS_A_NODE);
        bool far = chance_below(&chance, 5) == 0;
        double bytes = exp(log(100) + (double)chance_below(&chance, 1000) / 1000 * log(1e4));
        case_add(c, src, far ? (uint32_t)chance_below(&chance, RANKS) : near, (uint64_t)bytes);
    }
}

static void time_models(bool protocols)
{
    struct model_case c = {0};
    large_pattern(&c, protocols);
    for (size_t m = 0; model_table[m] != NULL; m++) {
        long before_kib = peak_kib();
        double start_s = now_s();
        struct prediction prediction = case_predict(&c, model_table[m]->name, LATENCY_IN);
        printf("%-12s %-18s %.3f s, peak %+.1f bytes a message above the pattern's\n", model_table[m]->name,
               protocols ? "three protocols" : "one protocol", now_s() - start_s,
               (double)(peak_kib() - before_kib) * 1024 / MESSAGES);
        prediction_release(&prediction);
    }
    case_release(&c);
}

static void large(void **state)
{
    (void)state;
    time_models(false);
    time_models(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
