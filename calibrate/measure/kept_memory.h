/* Lets a process keep the memory that it frees, as one has it that has run for a while. */
#ifndef MPISTAIR_CALIBRATE_KEPT_MEMORY_H
#define MPISTAIR_CALIBRATE_KEPT_MEMORY_H

/* Is called before MPI is initialized. Without the C library of GNU it does nothing. */
void kept_memory_set(void);

#endif
