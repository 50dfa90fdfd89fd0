/* Lists the laws by which messages of a run share bandwidth, and the terms that go with any of them
 * (share/doc/MODELS.md, Whole run, Sharing and Terms). */
#ifndef MPISTAIR_PREDICTOR_RUN_CHOICE_H
#define MPISTAIR_PREDICTOR_RUN_CHOICE_H

#include "share/base/error.h"

/* The order in which they are listed. */
enum run_law {
    LAW_POSTAL, /* nobody shares anything: a network without contention */
    LAW_MAX_RATE,
    LAW_NODE_AWARE,
    LAW_STAIRCASE,
    LAW_SERIAL,
    LAW_FLOW,
    LAW_FLOW_WINDOW,
    LAW_FAIR,
    LAW_COUNT
};

/* Terms, bits of a set. */
enum run_term {
    RUN_TERM_QUEUE = 1U << 0,
    RUN_TERM_CONTENTION = 1U << 1,
    RUN_TERM_MEMORY = 1U << 2,
};
enum { RUN_TERM_COUNT = 3 };

struct run_choice_row {
    const char *name;    /* as in --model, --law */
    const char *summary; /* for --help */
};
extern const struct run_choice_row run_law_table[LAW_COUNT];
/* The term of row i is the bit 1 << i. */
extern const struct run_choice_row run_term_table[RUN_TERM_COUNT];

/* Holds a law with its terms. */
struct run_law_choice {
    enum run_law law;
    unsigned terms;
    char name[64]; /* "flow+memory" */
};

/* Reads LAW[+TERM]... Returns 0, or -1 with what was expected: an unknown law or term, a term that comes twice. */
int run_law_choose(const char *name, struct run_law_choice *choice, struct error *error);

/* Adds a term that the choice may have already. */
void run_law_add_term(struct run_law_choice *choice, enum run_term term);
/* Prints laws and terms with their summaries, for --help. */
void run_choice_list(void);

#endif
