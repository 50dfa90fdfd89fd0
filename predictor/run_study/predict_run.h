/* Runs `mpistair predict TRACE.db`: every law over the whole run, and how far each is from what was measured. */
#ifndef MPISTAIR_PREDICTOR_PREDICT_RUN_H
#define MPISTAIR_PREDICTOR_PREDICT_RUN_H

#include "predictor/options/predict_options.h"

/* Replays the run by each law of the options, stores the time inside messages by law, rank and call site in the trace
 * (tables replay_run, message_time, message_halves of share/sql/schema.sql), and shows the errors. Returns 0, or -1
 * with the reason: no trace, no machine, no law that could be replayed. */
int predict_run(const struct predict_options *options, struct error *error);

#endif
