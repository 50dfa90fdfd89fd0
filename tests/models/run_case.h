/* Makes small runs for the tests of the replay (share/doc/MODELS.md, Whole run) out of a few words, and looks at what
 * becomes of them. */
#ifndef MPISTAIR_TESTS_RUN_CASE_H
#define MPISTAIR_TESTS_RUN_CASE_H

#include "predictor/run/engine/simulate.h"
#include "tests/models/cases.h"

/* Holds a run: places and machine are those of the case. */
struct run_case {
    struct model_case c;
    struct run_program program;
    struct simulation_options options;
    struct simulation_result result;
    struct run_parts *parts; /* [n_ranks] */
    uint32_t place;          /* of the words that follow */
};

#define RUN_CASE                                                                                                       \
    {                                                                                                                  \
        .options.law = LAW_STAIRCASE                                                                                   \
    }

/* Begins a run of n ranks on those nodes (NULL: all on one) with a machine of tau = 0 and BW(n) = 1 GB/s at all
 * levels, rendezvous only, or else the rows that the caller has put into c.machine. All functions end the test
 * where they fail. */
void run_ranks(struct run_case *run, size_t n, const uint32_t *node);
/* Gives the case, before run_ranks, eager messages below 2 MB and rendezvous above, tau = 0.1 ms, BW(n) = 1 GB/s. */
void run_eager_machine(struct run_case *run);
/* Adds message 0, 1, ... */
void run_message(struct run_case *run, uint32_t src, uint32_t dst, uint64_t bytes, uint32_t flags);
/* Adds collective 0, 1, ... of all ranks, which leave after_ms after the moment that they depend on. */
void run_collective(struct run_case *run, enum run_dependence dependence, uint32_t root, double after_ms);
/* Adds one of a kind whose members hand in that many bytes, and lets collectives be modelled. */
void run_modelled(struct run_case *run, enum run_collective_kind kind, uint32_t root, double bytes);
/* Adds the program of the next rank, words with blanks between:
 *     c2.5   computes 2.5 ms             x1    spends 1 ms inside MPI
 *     s0 r0  posts the send, the receive of message 0      S0 R0  the same, and waits for it in the same call
 *     b0     begins collective 0         B0    takes part in it
 *     w:s0:r1:b0  waits for these        p0    probes for message 0
 *     k1     what follows is at call site 1 (0 from the begin) */
void run_rank(struct run_case *run, const char *words);
/* Adds one more thread of that rank. */
void run_thread(struct run_case *run, const char *words);
/* Returns the place of a rank's calls at a site; it is added where there is none. */
uint32_t run_place_of(struct run_case *run, uint32_t rank, uint32_t site);
/* Replays; the run then has times. */
void run_replay(struct run_case *run);
/* Expects that part of a rank's time, in ms, to 1e-9. */
void assert_part(const struct run_case *run, uint32_t rank, enum run_part part, double ms);
/* Expects the end of a rank, in ms, and that its parts add up to it. */
void assert_end(const struct run_case *run, uint32_t rank, double ms);
void run_release(struct run_case *run);

#endif
