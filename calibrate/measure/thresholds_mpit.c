/* MPI_T tells many variables, whether or not what they belong to is in use; this file knows which of them mean
 * something. */
#include "calibrate/measure/thresholds_mpit.h"

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

/* Lists the variables. Each is used at one kind of level, and only where `proof` says that the part of the MPI to which
 * it belongs is in use: another variable (Open MPI withdraws those of components that it closed), or a word in the
 * library version (MPICH lists the variables of all its devices). The limits of Open MPI's BTLs include at most 64
 * bytes of header (56 in 4.1), so that a message of exactly the limit is the first power of two that goes by
 * rendezvous; but its ob1 sends up to 256 bytes at once whatever the limit (pml_ob1_isend.c, send_inline). An MPI over
 * UCX tells nothing here. */
static const struct {
    bool between_nodes;
    const char *variable;
    const char *proof_variable;
    const char *proof_version;
} known[] = {
    {false, "btl_vader_eager_limit", "pml_ob1_priority", NULL}, /* Open MPI 2-4 */
    {false, "btl_sm_eager_limit", "pml_ob1_priority", NULL},    /* Open MPI 5 */
    {false, "btl_tcp_eager_limit", "pml_ob1_priority", NULL},   /* where shared memory is switched off */
    {true, "btl_openib_eager_limit", "pml_ob1_priority", NULL}, /* before TCP: it is preferred */
    {true, "btl_tcp_eager_limit", "pml_ob1_priority", NULL},
    {false, "MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ", NULL, "ch3:nemesis"}, /* MPICH, -1: not set */
    {true, "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", NULL, "ch3:"},
    {true, "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE", NULL, "ch4:ofi"},
};

/* Returns the value of an integer control variable of the library; -1 if there is none of that name. */
static double variable_value(const char *name)
{
    int index, count = 0;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
        return -1;
    int length = 0, verbosity, bind, scope, size = 0;
    MPI_Datatype type;
    MPI_T_enum names;
    if (MPI_T_cvar_get_info(index, NULL, &length, &verbosity, &type, &names, NULL, &length, &bind, &scope) !=
            MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return -1;
    union {
        int as_int;
        long long as_long;
    } value = {.as_long = 0};
    MPI_Type_size(type, &size);
    double result = -1;
    if (count == 1 && type != MPI_CHAR && (size == sizeof value.as_int || size == sizeof value.as_long) &&
        MPI_T_cvar_read(handle, &value) == MPI_SUCCESS)
        result = size == sizeof value.as_int ? (double)value.as_int : (double)value.as_long;
    MPI_T_cvar_handle_free(&handle);
    return result;
}

double thresholds_rendezvous_bytes(enum level level, const char **variable)
{
    int provided, length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Get_library_version(version, &length);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return 0;
    double bytes = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0] && !(bytes > 0); i++) {
        if (known[i].between_nodes != (level == LEVEL_INTER_NODE) ||
            (known[i].proof_variable != NULL && variable_value(known[i].proof_variable) < 0) ||
            (known[i].proof_version != NULL && strstr(version, known[i].proof_version) == NULL))
            continue;
        double value = variable_value(known[i].variable);
        if (value > 0 && value < 1e9) {
            bytes = value;
            *variable = known[i].variable;
        }
    }
    MPI_T_finalize();
    return bytes;
}
