/* Reads a run, and replays it as often as the questions ask for. */
#ifndef MPISTAIR_PREDICTOR_RUN_STUDY_H
#define MPISTAIR_PREDICTOR_RUN_STUDY_H

#include "predictor/run_study/run_side.h"

/* Reads the program of the run, the machine and the places; nothing is replayed yet but what says which buffers are in
 * caches. watch is told each call, if it is not NULL. Returns 0, or -1 with the reason; run_study_release releases in
 * any case. */
int run_study_open(const struct run_options *options, sqlite3 *database, const struct run_watch *watch,
                   struct run_study *study, struct error *error);
/* Replays the run of an open study as before.options say: before, blame, efficiencies. Returns 0, or -1 with the
 * reason. */
int run_study_replay(struct run_study *study, struct error *error);
/* Does that, and replays. Returns 0, or -1 with the reason; run_study_release releases in any case. */
int run_study(const struct run_options *options, sqlite3 *database, struct run_study *study, struct error *error);
void run_study_release(struct run_study *study);

/* Says whether any time inside MPI of the run as it is follows from the machine: a message goes to another rank, or
 * collectives are modelled. Else all of it is copied from what was recorded, and agrees with it. */
bool run_study_predicts(const struct run_study *study);

#endif
