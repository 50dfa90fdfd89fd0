/* Computes the efficiencies of the POP method (M. Wagner, S. Mohr, J. Gimenez and J. Labarta, A structured approach
 * to performance analysis, Tools for High Performance Computing 2017, doi:10.1007/978-3-030-11987-4_1). What they are
 * of is in share/doc/MODELS.md, Whole run, Efficiencies. */
#ifndef MPISTAIR_PREDICTOR_RUN_EFFICIENCY_H
#define MPISTAIR_PREDICTOR_RUN_EFFICIENCY_H

#include "predictor/run/run_program.h"

enum run_efficiency {
    EFFICIENCY_PARALLEL, /* load balance * communication */
    EFFICIENCY_LOAD_BALANCE,
    EFFICIENCY_COMMUNICATION, /* serialisation * transfer */
    EFFICIENCY_SERIALISATION,
    EFFICIENCY_TRANSFER,
    EFFICIENCY_COUNT,
};
extern const char *const run_efficiency_name[EFFICIENCY_COUNT]; /* parallel, load_balance ... */

struct run_efficiencies {
    double share[EFFICIENCY_COUNT]; /* 0 to 1; NaN: not known */
    double ideal;                   /* the run on an ideal network as a share of the run, before it is bounded */
};

#define RUN_EFFICIENCIES_UNKNOWN ((struct run_efficiencies){{NAN, NAN, NAN, NAN, NAN}, NAN})

/* computed_s[n_ranks] is what each rank computed of a run of run_s; it is changed. ideal_s: that run's length on an
 * ideal network, NaN: not known. Ranks that were spawned later, or ended earlier, count for the time for which they
 * were there. */
struct run_efficiencies run_efficiencies_of(const struct run_program *program, double *computed_s, double run_s,
                                            double ideal_s);

/* Says what an efficiency is where the ideal run had to be bounded: at most (-1) or at least (1) the share; 0: it is
 * the share. */
int run_efficiency_bound(enum run_efficiency efficiency, double communication, double ideal);

#endif
