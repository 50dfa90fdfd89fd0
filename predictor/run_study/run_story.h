/* Tells where the time of a whole run goes by one law, and what it would take elsewhere: `mpistair replay`. */
#ifndef MPISTAIR_PREDICTOR_RUN_STORY_H
#define MPISTAIR_PREDICTOR_RUN_STORY_H

#include "predictor/options/run_options.h"

/* Replays the run by options->law, shows it and what the options ask for, and stores the run as it is. Returns 0, or -1
 * with the reason. */
int run_story(const struct run_options *options, struct error *error);

#endif
