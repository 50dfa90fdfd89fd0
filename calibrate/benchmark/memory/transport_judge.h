/* Judges from what a process saw while it received whether the processor copied the bytes: then a receive takes its
 * share of the memory as a computing core does, and the model of a network card that writes to memory by itself does
 * not hold. */
#ifndef MPISTAIR_CALIBRATE_TRANSPORT_JUDGE_H
#define MPISTAIR_CALIBRATE_TRANSPORT_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

/* Holds what was seen on rank 0 while it received. */
struct transport_use {
    uint64_t bytes;     /* received */
    double seconds;     /* that it took */
    double system_s;    /* processor time of this process within the kernel meanwhile */
    double idle_share;  /* processor time within the kernel for a second of waiting in MPI_Recv */
    uint64_t tcp_bytes; /* what the TCP sockets of this process received meanwhile */
};

struct transport {
    bool is_copy;
    char seen[160]; /* what tells it, in a few words */
};

/* Judges: most of the bytes came by TCP sockets; or the kernel took more time for them than a copy takes. */
void transport_judge(const struct transport_use *use, struct transport *transport);

#endif
