/* Finds the eager limit in use. Only Open MPI's ob1 has one for each transport and names it: each BTL has an MCA
 * variable. A component that is not in use (another PML was chosen, a BTL found no device or was switched off) is
 * closed at MPI_Init and its variables are withdrawn. So a variable that can be found belongs to a transport that is
 * there. If there are several, the one with the highest exclusivity carries the messages to a peer: shared memory
 * before TCP inside a node, InfiniBand before TCP between nodes (btl_..._exclusivity in Open MPI 4.1: vader and sm
 * 65535, openib 1024, tcp 100).
 *
 * The MPI tool interface has the same variables, but MPI_T_init_thread of Open MPI 4.1 loads all components that are
 * installed: 69 libraries and 0.2 s here. So Open MPI is asked where MPI_T asks, by the two functions that its own
 * tools use (test/monitoring/monitoring_test.c in its sources); a build that does not export them is not asked.
 *
 * UCX (the PML of that name, and MPICH over it) decides by itself for each size and peer and tells nothing here. */
#include "interpose/backend/run/eager_limit.h"

#include <mpi.h>

#if defined OPEN_MPI || defined MPISTAIR_STANDARD_ABI /* whose MPI may be Open MPI */

#include <dlfcn.h>
#include <stddef.h>

/* Are declared in opal/mca/base/mca_base_var.h: one gives 0 and the index of a variable, the other 0 and a pointer to
 * where its value is. */
typedef int find_by_name(const char *full_name, int *index);
typedef int get_value(int index, const void *value, void *source, const char **source_file);

static const char *const inside[] = {"btl_vader_eager_limit", "btl_sm_eager_limit", "btl_tcp_eager_limit", NULL};
static const char *const between[] = {"btl_openib_eager_limit", "btl_tcp_eager_limit", NULL};

/* Returns where the value of a variable is; NULL if there is none of that name. */
static const void *variable(const char *name)
{
    union { /* ISO C has no conversion for this */
        void *object;
        find_by_name *find;
        get_value *get;
    } find = {dlsym(RTLD_DEFAULT, "mca_base_var_find_by_name")}, get = {dlsym(RTLD_DEFAULT, "mca_base_var_get_value")};
    int index = -1;
    const void *value = NULL;
    if (!find.object || !get.object || find.find(name, &index) != 0 || index < 0 ||
        get.get(index, &value, NULL, NULL) != 0)
        return NULL;
    return value;
}

uint64_t eager_limit_bytes(int between_nodes)
{
    const int *priority = variable("pml_ob1_priority");
    const size_t *bytes = NULL;
    if (priority && *priority > 0)
        for (const char *const *name = between_nodes ? between : inside; *name && !bytes; name++)
            bytes = variable(*name);
    return bytes ? *bytes : 0;
}

#else

uint64_t eager_limit_bytes(int between_nodes)
{
    (void)between_nodes;
    return 0;
}

#endif
