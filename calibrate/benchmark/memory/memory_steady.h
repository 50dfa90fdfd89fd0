/* Finds the part of a sample that counts: the time in which every computing core was between its first and its last
 * iteration, what the cores wrote in it, and the messages that came wholly within it (Denis, Jeannot, Swartvagher 2022,
 * section 4.1.1). All times are of one clock, in seconds.
 *
 * Also judges, from what a process observed while it received, whether the processor copied the bytes: then a receive
 * takes its share of the memory as a computing core does, and the model of a network card that writes to memory by
 * itself does not hold. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_STEADY_H
#define MPISTAIR_CALIBRATE_MEMORY_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Iterations of one core: each begins when the one before ends. */
struct memory_iterations {
    double *end_s; /* [n] ascending */
    size_t n;
};

struct memory_window {
    double begin_s;
    double end_s;
};

/* Messages in the order of their arrival: each from the call that receives it until it is there. */
struct memory_messages {
    struct memory_window *times; /* [n] */
    size_t n;
};

/* Returns false where no time is left: a core made fewer than three iterations, or another began later than it ended.
 */
bool memory_steady_window(const struct memory_iterations *cores, size_t n_cores, struct memory_window *window);

/* Returns the bytes that the cores wrote within the window, block_bytes an iteration; of an iteration that is partly in
 * it, that part. */
uint64_t memory_steady_bytes(const struct memory_iterations *cores, size_t n_cores, uint64_t block_bytes,
                             const struct memory_window *window);

/* Counts the messages behind the first that are wholly within the window (NULL: all are), and adds up their times in
 * *seconds. */
size_t memory_steady_messages(const struct memory_messages *messages, const struct memory_window *window,
                              double *seconds);

/* What was observed on rank 0 while it received. */
struct transport_use {
    uint64_t bytes;     /* received */
    double seconds;     /* that it took */
    double system_s;    /* processor time of this process within the kernel meanwhile */
    double idle_share;  /* processor time within the kernel for a second of waiting in MPI_Recv */
    uint64_t tcp_bytes; /* what the TCP sockets of this process received meanwhile */
};

struct transport {
    bool is_copy;
    char seen[160]; /* the evidence, in a few words */
};

/* Judges: most of the bytes came by TCP sockets; or the kernel took more time for them than a copy takes. */
void transport_judge(const struct transport_use *use, struct transport *transport);

#endif
