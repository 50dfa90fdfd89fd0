/* Runs random programs of operations on a table and on a plain array, as SQLite does for its bitvec.
 *
 * A program does what a table's users do, in random order, and compares each answer with that of the array, and at its
 * end all that is in both. Told to, it drops one removal: the table keeps what the array forgets. The comparison must
 * find that, else it would find no real mistake either. */
#ifndef MPISTAIR_TESTS_RANDOM_PROGRAMS_H
#define MPISTAIR_TESTS_RANDOM_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

struct random_program {
    uint64_t state;        /* of the random numbers, from the seed */
    bool drops_a_removal;  /* one, halfway */
    int n_removals;        /* that the program did so far, to choose the one to drop */
    const char *different; /* where table and array first differed; NULL: nowhere */
    int step;              /* of the program */
    int different_step;
};

/* Returns a random number below n. */
unsigned random_choice(struct random_program *program, unsigned n);

/* Returns whether this removal is the one to drop. */
bool random_drops(struct random_program *program);

/* Notes what is different unless `same`. */
void random_expect(struct random_program *program, bool same, const char *what);

/* Runs the program with each of n_seeds fixed seeds and with a fresh one, each once more with a dropped removal. A
 * program gets a process of its own, so that static tables are empty. Prints the fresh seed, and what differs. With the
 * variable SEED runs that one alone. Returns 0, or 1 if a program found a difference or overlooked the dropped
 * removal. */
int random_programs_run(const char *name, unsigned n_seeds, void (*run)(struct random_program *));

#endif
