/* The eager limit in use. Only Open MPI's ob1 has one a transport and names it: a variable of the tool interface for
 * each BTL. A component that is not in use (another PML was chosen, a BTL found no device or was switched off) is
 * closed at MPI_Init and its variables are withdrawn, so a variable that can be read is of a transport that is there.
 * Of several the one with the higher exclusivity carries the messages to a peer: shared memory before TCP inside a
 * node, InfiniBand before TCP between nodes (btl_..._exclusivity in Open MPI 4.1: vader and sm 65535, openib 1024, tcp
 * 100).
 *
 * UCX (the PML of that name, and MPICH over it) decides by itself for each size and peer and tells nothing here. */
#include "eager_limit.h"

#include <errno.h>

#include "recorder.h"

#ifdef OPEN_MPI

static const char *const inside[] = {"btl_vader_eager_limit", "btl_sm_eager_limit", "btl_tcp_eager_limit", NULL};
static const char *const between[] = {"btl_openib_eager_limit", "btl_tcp_eager_limit", NULL};

static int has_tool_interface(void)
{
    return PMPI(T_init_thread) && PMPI(T_finalize) && PMPI(T_cvar_get_index) && PMPI(T_cvar_get_info) &&
           PMPI(T_cvar_handle_alloc) && PMPI(T_cvar_read) && PMPI(T_cvar_handle_free);
}

/* Value of a variable of 4 or 8 bytes; 0: there is none of that name. */
static uint64_t variable_value(const char *name)
{
    int index, verbosity, bind, scope, bytes = 0, count = 0, no_length = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names;
    MPI_T_cvar_handle handle;
    union {
        uint32_t four;
        uint64_t eight;
    } value = {.eight = 0};
    if (PMPI(T_cvar_get_index)(name, &index) != MPI_SUCCESS ||
        PMPI(T_cvar_get_info)(index, NULL, &no_length, &verbosity, &type, &names, NULL, &no_length, &bind, &scope) !=
            MPI_SUCCESS ||
        PMPI(T_cvar_handle_alloc)(index, NULL, &handle, &count) != MPI_SUCCESS)
        return 0;
    PMPI(Type_size)(type, &bytes);
    int known = count == 1 && (bytes == 4 || bytes == 8) && PMPI(T_cvar_read)(handle, &value) == MPI_SUCCESS;
    PMPI(T_cvar_handle_free)(&handle);
    return !known ? 0 : bytes == 4 ? value.four : value.eight;
}

uint64_t eager_limit_bytes(int between_nodes)
{
    int level = MPI_THREAD_SINGLE, saved_errno = errno;
    /* Open MPI 4 answers MPI_Query_thread with the level that is asked for here: it must stay what it is. */
    PMPI(Query_thread)(&level);
    if (!has_tool_interface() || PMPI(T_init_thread)(level, &level) != MPI_SUCCESS)
        return 0;
    uint64_t bytes = 0;
    if (variable_value("pml_ob1_priority") > 0)
        for (const char *const *name = between_nodes ? between : inside; *name && bytes == 0; name++)
            bytes = variable_value(*name);
    PMPI(T_finalize)();
    errno = saved_errno;
    return bytes;
}

#else

uint64_t eager_limit_bytes(int between_nodes)
{
    (void)between_nodes;
    return 0;
}

#endif
