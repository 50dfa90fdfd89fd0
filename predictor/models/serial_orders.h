/* Finds when a rank's sends are over if receivers take one message after another, in any order: the part of the model
 * serial that takes the place of T9. serial.c has the model. */
#ifndef MPISTAIR_PREDICTOR_SERIAL_ORDERS_H
#define MPISTAIR_PREDICTOR_SERIAL_ORDERS_H

#include "predictor/pattern/radix_sort.h"
#include "predictor/pattern/size_order.h"
#include "predictor/models/staircase_steps.h"

/* Says when a block is delivered if it is the first of its receiver's, and if half of the others come before it. */
struct serial_times {
    double first_s, half_s;
};

struct serial {
    const struct traffic *traffic; /* borrowed */
    unsigned levels;
    struct size_order by_receiver; /* used until the delivery */
    struct serial_times *times;    /* [n_messages], of those that stand for a block */
    double *end_share;             /* [n_ranks] share of the orders in which a block is the first, or the last, of
                                    * several to a rank; 0 if there is one */
    struct radix_run blocks;       /* blocks of the current receiver; key: bytes, id: the message that stands for it */
    struct radix_run spare;        /* room to sort them, behind them */
    uint32_t *block_of;            /* [n_ranks] block of a sender among them, plus one; 0: none, and between receivers
                                    */
};

/* Orders the messages of those levels. Takes 28 bytes a message. */
void serial_init(struct serial *serial, const struct traffic *traffic, unsigned levels);
/* Takes one group, as staircase_receive_even or staircase_receive_mixed left its n competitors. */
void serial_receive(struct serial *serial, struct bandwidth_steps *steps, const struct competitor *competitors,
                    size_t n);
/* Computes, once and when all groups have received, the mean over the orders of when each rank's receives and sends are
 * over: sends[n_ranks], from recv_s[n_ranks]. bytes is INFINITY where in half of the orders it waits for its receives
 * longest. */
void serial_delivery(struct serial *serial, const double *recv_s, struct critical *sends);
void serial_release(struct serial *serial);

#endif
