/* Reads a run, and replays it as often as the questions ask for: `mpistair replay`, and `predict` of a whole run. */
#ifndef MPISTAIR_PREDICTOR_RUN_STUDY_H
#define MPISTAIR_PREDICTOR_RUN_STUDY_H

#include "predictor/options/predict_options.h"
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

/* run_story.c: tells where the time goes by one law, and what it would take elsewhere: replays the run by options->law,
 * shows it and what the options ask for, and stores the run as it is. Returns 0, or -1 with the reason. */
int run_story(const struct run_options *options, struct error *error);

/* predict_run.c: replays the run by each law of the options, stores the time inside messages by law, rank and call site
 * in the trace (tables replay_run, message_time, message_window, message_halves of share/sql/schema.sql), and shows the
 * errors. Returns 0, or -1 with the reason: no trace, no machine, no law that could be replayed. */
int predict_run(const struct predict_options *options, struct error *error);

#endif
