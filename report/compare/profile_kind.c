/* Says by its name what a function of MPI does. */
#include <string.h>

#include "report/compare/profile.h"

const char *const profile_kind_name[PROFILE_KINDS] = {"point-to-point", "collectives", "one-sided", "files", "other"};

static bool begins(const char *name, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strncmp(name, *words, strlen(*words)) == 0)
            return true;
    return false;
}

enum profile_kind profile_kind_of(const char *function)
{
    static const char *const files[] = {"File_", NULL};
    static const char *const one_sided[] = {"Win_",       "Put",         "Get",         "Rput",      "Rget",
                                            "Accumulate", "Raccumulate", "Compare_and", "Fetch_and", NULL};
    static const char *const collectives[] = {"Allgather", "Allreduce", "Alltoall", "Barrier", "Bcast",     "Exscan",
                                              "Gather",    "Neighbor",  "Reduce",   "Scan",    "Scatter",   "Iall",
                                              "Ibarrier",  "Ibcast",    "Iexscan",  "Igather", "Ineighbor", "Ireduce",
                                              "Iscan",     "Iscatter",  NULL};
    static const char *const point_to_point[] = {"Bsend",  "Rsend",  "Send",    "Ssend", "Recv",   "Ib",       "Ir",
                                                 "Isend",  "Iss",    "Wait",    "Test",  "Start",  "Request",  "Probe",
                                                 "Iprobe", "Mprobe", "Improbe", "Mrecv", "Imrecv", "Parrived", "Pready",
                                                 "Precv",  "Psend",  "Cancel",  NULL};
    static const char *const not_of_requests[] = {"Test_cancelled", "Request_c2f", "Request_f2c",
                                                  "Reduce_local",   "Get_",        NULL};
    static const char *const one_sided_get[] = {"Get_accumulate", NULL};
    if (strncmp(function, "MPI_", 4) != 0)
        return PROFILE_OTHER;
    const char *name = function + 4;
    if (begins(name, not_of_requests) && !begins(name, one_sided_get))
        return PROFILE_OTHER;
    return begins(name, files)            ? PROFILE_FILE
           : begins(name, one_sided)      ? PROFILE_ONE_SIDED
           : begins(name, collectives)    ? PROFILE_COLLECTIVE
           : begins(name, point_to_point) ? PROFILE_POINT_TO_POINT
                                          : PROFILE_OTHER;
}
