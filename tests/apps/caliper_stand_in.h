/* Stands for Caliper: the two functions of its C interface that open and close a region, which count their calls. */
#ifndef MPISTAIR_TESTS_CALIPER_STAND_IN_H
#define MPISTAIR_TESTS_CALIPER_STAND_IN_H

void cali_begin_region(const char *name);
void cali_end_region(const char *name);
int cali_stand_in_calls(void);

#endif
