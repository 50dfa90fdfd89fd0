/* A shared library that a program is linked to, as it would be to Caliper. */
#include "tests/apps/caliper_stand_in.h"

static int calls;

void cali_begin_region(const char *name)
{
    calls += name != (void *)0;
}

void cali_end_region(const char *name)
{
    calls += name != (void *)0;
}

int cali_stand_in_calls(void)
{
    return calls;
}
