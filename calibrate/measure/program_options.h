/* Reads the options of the calibration programs. */
#ifndef MPISTAIR_CALIBRATE_OPTIONS_H
#define MPISTAIR_CALIBRATE_OPTIONS_H

#include "calibrate/measure/measure.h"

/* Fills seconds, seed, launch, buffer_bytes, link, paths, resume_path, cached; *hello asks only to say how many ranks
 * there are. Collective; rank 0 alone prints. Returns 0; -1 after --help; EXIT_WRONG_USAGE. */
int options_parse(int argc, char **argv, const struct benchmark_program *program, struct measure *measure, bool *hello);

#endif
