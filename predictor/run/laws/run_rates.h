/* Holds what the replay of a run asks of a machine table, ready for use: every class of message with its rates. */
#ifndef MPISTAIR_PREDICTOR_RUN_RATES_H
#define MPISTAIR_PREDICTOR_RUN_RATES_H

#include "calibrate/machine/machine.h"

/* A level and protocol is a class, and one more of messages whose buffers are in caches, where the table has it. */
enum { RUN_MAX_CLASSES = 2 * LEVEL_COUNT * PROTOCOL_COUNT, RUN_NO_CLASS = 255 };

struct run_class {
    enum level level;
    enum machine_protocol protocol;
    bool rendezvous;                   /* begins when both ends are posted */
    bool needs_sender, needs_receiver; /* moves only while that rank is inside MPI */
    bool partitions_late;              /* those of a message leave when the last one is ready */
    double tau_s;
    double overhead_s[2];         /* of posting a send, a receive */
    double overhead_byte_s;       /* what a byte adds to the post of a send */
    double buffer_bytes;          /* what may be left to move of a message whose send is complete; -1: no such row */
    double most_bytes_per_s;      /* BW_max */
    double injection_bytes_per_s; /* R_N; INFINITY: no such row */
    double *bytes_per_s;          /* [n_max + 1] BW(n); entry 0 unused. INFINITY: no time at all */
};

/* Says how a machine differs from its table: a network without latency, of infinite bandwidth. */
struct run_ideal {
    bool no_latency; /* no overhead either */
    bool no_transfer;
};

struct run_rates {
    size_t n_classes, n_max;
    struct run_class classes[RUN_MAX_CLASSES];
    bool known[LEVEL_COUNT];
    struct machine_protocols protocols[LEVEL_COUNT];
    uint8_t class_of[LEVEL_COUNT][PROTOCOL_COUNT];  /* or RUN_NO_CLASS */
    uint8_t cached_of[LEVEL_COUNT][PROTOCOL_COUNT]; /* the same of buffers in caches */
    double cached_bytes[LEVEL_COUNT];               /* the largest of these */
    size_t wire;                                    /* the class of the largest messages between nodes */
    double burst_bytes;                             /* of a NIC's token bucket, 0: it has none */
    double burst_bytes_per_s;                       /* at which a NIC sends while its bucket lasts */
    double backlog_bytes;                           /* that each pair of ranks has standing before a NIC */
    double backlog_pair_bytes;                      /* that stand there before others of the same pair */
};

/* Reads the classes of those levels of a table, BW(n) up to n_max. Returns 0, or -1 with the reason: a level or
 * quantity that the table lacks, no memory. */
int run_rates_init(struct run_rates *rates, const struct machine *machine, unsigned levels, size_t n_max,
                   struct run_ideal ideal, struct error *error);
void run_rates_release(struct run_rates *rates);
/* Returns the class of a message at a level that was read; cached: its buffers are in caches. */
size_t run_rates_class(const struct run_rates *rates, enum level level, uint64_t bytes, bool cached);

#endif
