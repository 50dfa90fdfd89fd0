/* A program with weak references to MPI sees ours and believes that there is an MPI. It asks MPI_Initialized, hears
 * "no", and goes its way without; whatever else it calls fails as an MPI call does, and does not crash. */
#include "interpose/preload/missing.h"

#include "interpose/functions.h"

enum { ERROR_OTHER = 16 }; /* any error code does: none of an MPI that is not there has a meaning */

static int missing_flag(int *flag)
{
    *flag = 0;
    return 0;
}

static int missing_error(void)
{
    return ERROR_OTHER;
}

static double missing_real(void)
{
    return 0.0;
}

static intptr_t missing_value(void)
{
    return 0;
}

#define missing_REAL  missing_real
#define missing_VALUE missing_value

mpistair_code *missing_function(uint32_t function)
{
    switch (function) {
    case FN_Initialized:
    case FN_Finalized:
        return (mpistair_code *)(void (*)(void))missing_flag;
#define X(name, kind)                                                                                                  \
    case FN_##name:                                                                                                    \
        return (mpistair_code *)(void (*)(void))missing_##kind;
        MPISTAIR_VALUE_FUNCTIONS(X)
#undef X
    default:
        return (mpistair_code *)(void (*)(void))missing_error;
    }
}
