/* Holds what a run of the benchmark of fine-grained messaging is asked to do. The command and the MPI programs
 * read it from the same table of options, a sweep from its file. */
#ifndef MPISTAIR_CALIBRATE_FINEGRAIN_CONFIG_H
#define MPISTAIR_CALIBRATE_FINEGRAIN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "share/base/options.h"

enum finegrain_interface {
    FINEGRAIN_P2P,
    FINEGRAIN_RMA,
    FINEGRAIN_PARTITIONED,
    FINEGRAIN_PERSISTENT,
    FINEGRAIN_INTERFACES
};
enum finegrain_rma { FINEGRAIN_FENCE, FINEGRAIN_PASSIVE };

extern const char *const finegrain_interface_word[FINEGRAIN_INTERFACES]; /* p2p, rma, partitioned, persistent */
extern const char *const finegrain_rma_word[2];                          /* fence, passive */

struct finegrain_config {
    uint64_t peers;   /* buffers that a rank sends in an iteration, half of them in either direction of the ring */
    uint64_t bytes;   /* in each buffer */
    uint64_t threads; /* user partitions of a buffer */
    uint64_t parts;   /* transport partitions of a buffer */
    uint64_t iterations, trials, seed;
    int interface; /* enum finegrain_interface */
    int rma;       /* enum finegrain_rma */
    double compute_s;
    double width_s;       /* of the kernel of arrivals; 0: Silverman's */
    const char *arrivals; /* borrowed: laggard:4, kde:FILE, ... */
    bool fold, clears_cache, verify;
    bool rma_given, width_given;
};

enum { FINEGRAIN_ROWS = 16, FINEGRAIN_WORDS = 32, FINEGRAIN_WORD_SIZE = 32 };

/* Sets what is not given. */
void finegrain_config_init(struct finegrain_config *config);

/* Writes the options of a config into rows[FINEGRAIN_ROWS]. Returns how many there are. */
size_t finegrain_config_rows(struct finegrain_config *config, struct option_row *rows);

/* Checks that the values fit each other. Returns 0, or -1 with the reason. Arrivals and ranks are not looked at. */
int finegrain_config_check(const struct finegrain_config *config, struct error *error);

/* A config as words for the program; words points into text and into the config. */
struct finegrain_words {
    char text[FINEGRAIN_WORDS][FINEGRAIN_WORD_SIZE];
    char *words[FINEGRAIN_WORDS + 1]; /* NULL behind the last */
};

/* Writes the words that give a program this config, with these arrivals in place of its own. */
void finegrain_config_words(const struct finegrain_config *config, const char *arrivals, struct finegrain_words *words);

#endif
