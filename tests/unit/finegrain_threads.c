/* Runs the pool of the benchmark of fine-grained messaging under ThreadSanitizer, without MPI: each thread fills
 * its own place of a buffer when it arrives, the last of a part reads the whole part, and what waits for parts
 * counts in a plain variable. A part that is sent early, twice or never, a thread that does not see what another
 * filled, or two threads that wait at once are found by the counts or by the sanitizer. */
#include <stdio.h>

#include "calibrate/finegrain/thread_pool.h"
#include "share/base/monotonic.h"

enum { THREADS = 12, ROUNDS = 150 };

struct round {
    int number;
    size_t n_parts;
    int filled[THREADS];                 /* by the threads, each its own */
    int n_ready[THREADS], read[THREADS]; /* of a part, by the thread that is its last */
    int n_complete;                      /* by one thread at a time */
};

static int failures;

static void check(const struct round *round, int right, const char *what)
{
    if (!right && failures++ < 10)
        fprintf(stderr, "round %d, %zu parts: %s\n", round->number, round->n_parts, what);
}

static void fill(void *context, size_t thread)
{
    struct round *round = context;
    round->filled[thread] = round->number;
}

static void send_part(void *context, size_t part)
{
    struct round *round = context;
    size_t each = THREADS / round->n_parts;
    round->n_ready[part]++;
    for (size_t thread = part * each; thread < (part + 1) * each; thread++)
        round->read[part] += round->filled[thread] == round->number;
}

static void complete(void *context, size_t part)
{
    struct round *round = context;
    (void)part;
    round->n_complete++;
}

/* Checks a round with parts. */
static void check_parts(const struct round *round)
{
    for (size_t part = 0; part < round->n_parts; part++) {
        check(round, round->n_ready[part] == 1, "a part was not sent once");
        check(round, round->read[part] == (int)(THREADS / round->n_parts),
              "a part was sent before its threads arrived");
    }
    check(round, round->n_complete == (int)round->n_parts, "a part was not waited for once");
}

static void run_round(struct pool *pool, size_t n_parts, int number, int is_bsp)
{
    struct round round = {.number = number + 1, .n_parts = n_parts};
    double arrival_s[THREADS], arrived_s[THREADS];
    const struct pool_work parts = {.arrived = fill, .ready = send_part, .complete = complete, .context = &round};
    const struct pool_work whole = {.arrived = fill, .context = &round};
    for (int i = 0; i < THREADS; i++)
        arrival_s[i] = number % 3 == 0 ? 0 : 1e-5 * ((i * 7 + number) % THREADS);
    double before_s = clock_now_s();
    pool_run(pool, is_bsp ? &whole : &parts, before_s, arrival_s, arrived_s);
    double lasted_s = clock_now_s() - before_s;
    for (int i = 0; i < THREADS; i++) {
        check(&round, arrived_s[i] >= arrival_s[i], "a thread arrived before its time");
        check(&round, arrived_s[i] <= lasted_s, "a thread arrived behind the end");
        check(&round, round.filled[i] == round.number, "a thread was not waited for");
    }
    if (is_bsp)
        check(&round, round.n_ready[0] == 0, "a part was sent though there are none");
    else
        check_parts(&round);
}

int main(void)
{
    static const size_t parts[] = {1, 3, 12};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct pool *pool;
        struct error error;
        if (pool_open(&pool, THREADS, parts[i], &error) != 0)
            return error_report(&error);
        for (int number = 0; number < ROUNDS; number++)
            run_round(pool, parts[i], number, number % 2);
        pool_close(pool);
    }
    if (failures == 0)
        printf("finegrain threads: %zu pools of %d threads, %d rounds each: ok\n", sizeof parts / sizeof parts[0],
               THREADS, ROUNDS);
    return failures == 0 ? EXIT_DONE : EXIT_WORK_FAILED;
}
