/* Says by its name which kind of communication a function of MPI belongs to. */
#include "report/collect/activity_sums.h"

#include <string.h>

const char *const report_activity_name[SPENT_COUNT] = {"computation", "point_to_point", "collectives",
                                                       "one_sided",   "files",          "other"};

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_one_sided(const char *name)
{
    static const char *const names[] = {"Win_",       "Put",          "Get",  "Accumulate", "Get_accumulate",
                                        "Fetch_and_", "Compare_and_", "Rput", "Rget",       "Raccumulate"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (begins(name, names[i]))
            return true;
    return false;
}

static bool is_message(const char *name)
{
    static const char *const first[] = {"Wait", "Test", "Start", "Pready", "Parrived", "Cancel"};
    static const char *const within[] = {"send", "Send", "recv", "Recv", "robe"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        if (begins(name, first[i]))
            return true;
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++)
        if (strstr(name, within[i]) != NULL)
            return true;
    return false;
}

static bool is_collective(const char *name)
{
    static const char *const within[] = {"arrier", "cast", "educe", "ather", "catter", "lltoall", "scan", "Scan"};
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++)
        if (strstr(name, within[i]) != NULL)
            return true;
    return false;
}

enum report_activity_kind activity_kind(const char *function)
{
    const char *name = begins(function, "MPI_") ? function + 4 : function;
    if (begins(name, "File_"))
        return SPENT_FILES;
    if (is_one_sided(name))
        return SPENT_ONE_SIDED;
    if (is_message(name))
        return SPENT_MESSAGES;
    return is_collective(name) ? SPENT_COLLECTIVES : SPENT_OTHER;
}
