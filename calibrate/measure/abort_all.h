/* Declares how a calibration program ends where one rank cannot go on. */
#ifndef MPISTAIR_CALIBRATE_MEASURE_ABORT_ALL_H
#define MPISTAIR_CALIBRATE_MEASURE_ABORT_ALL_H

/* Says `mpistair: rank R: reason` on stderr and ends all ranks, with exit code EXIT_WORK_FAILED. */
__attribute__((format(printf, 1, 2))) _Noreturn void abort_all(const char *format, ...);

#endif
