/* Lets the messages of a bundle move one after another, in the order in which they began. */
#ifndef MPISTAIR_PREDICTOR_RUN_TURNS_H
#define MPISTAIR_PREDICTOR_RUN_TURNS_H

#include "predictor/run/run_clock.h"

/* Let a message come or go; its bundle is up to date, and must be placed after that. */
void run_turns_add(struct run_share *share, uint32_t number, double now_s);
void run_turns_remove(struct run_share *share, uint32_t number);

#endif
