/* A failure must be repeatable: all of a program follows from its seed. See random_programs.h. */
#include "tests/unit/random_programs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DROPPED 20 /* the removal to drop: every program does more */

/* Vigna's splitmix64. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

unsigned random_choice(struct random_program *program, unsigned n)
{
    return (unsigned)(random_next(&program->state) % n);
}

bool random_drops(struct random_program *program)
{
    return ++program->n_removals == DROPPED && program->drops_a_removal;
}

void random_expect(struct random_program *program, bool same, const char *what)
{
    if (same || program->different)
        return;
    program->different = what;
    program->different_step = program->step;
}

/* Runs one in a process of its own. Returns whether it ended as expected. */
static bool run_one(const char *name, uint64_t seed, bool drops, void (*run)(struct random_program *))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct random_program program = {.state = seed, .drops_a_removal = drops};
        run(&program);
        bool right = drops ? program.different != NULL : program.different == NULL;
        if (!right && drops)
            fprintf(stderr, "%s: seed %" PRIu64 ": a dropped removal (of %d) was not noticed\n", name, seed,
                    program.n_removals);
        else if (!right)
            fprintf(stderr, "%s: seed %" PRIu64 ": step %d: %s\n", name, seed, program.different_step,
                    program.different);
        exit(right ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        fprintf(stderr, "%s: seed %" PRIu64 ": the program was killed (status %d)\n", name, seed, status);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int random_programs_run(const char *name, unsigned n_seeds, void (*run)(struct random_program *))
{
    const char *chosen = getenv("SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t fresh = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    int wrong = 0;
    if (chosen) {
        fresh = strtoull(chosen, NULL, 10);
        n_seeds = 0;
    }
    for (uint64_t i = 0; i <= n_seeds; i++) {
        uint64_t seed = i < n_seeds ? i + 1 : fresh;
        wrong += !run_one(name, seed, false, run);
        wrong += !run_one(name, seed, true, run);
    }
    printf("%s: seeds 1 to %u and %" PRIu64 ": %d programs went wrong\n", name, n_seeds, fresh, wrong);
    return wrong != 0;
}
