/* The names stand apart from what is done with samples: programs of a job read samples too, and have no GSL. */
#include "calibrate/fit/samples.h"

const char *const benchmark_name[BENCHMARK_COUNT] = {"pingpong", "algorithm1", "self",   "injection",
                                                     "queue",    "contention", "buffer", "eager",
                                                     "overhead", "progress",   "burst",  "fine"};
const char *const variant_name[VARIANT_COUNT] = {"",
                                                 "posted_inorder",
                                                 "posted_reversed",
                                                 "unexpected_inorder",
                                                 "unexpected_reversed",
                                                 "alone",
                                                 "shared",
                                                 "taken",
                                                 "refused",
                                                 "send",
                                                 "receive",
                                                 "sender",
                                                 "receiver",
                                                 "both",
                                                 "rested",
                                                 "stream",
                                                 "p2p",
                                                 "threads",
                                                 "rma",
                                                 "partitioned",
                                                 "early"};
