/* Every benchmark is a program of its own under the launcher of the MPI that is measured, and has its MPI_Init,
 * options, places and clock from here. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/measure/measure.h"
#include "calibrate/measure/rank_place.h"
#include "calibrate/measure/processor.h"
#include "share/base/options.h"
#include "calibrate/machine/machine.h"

#define SECONDS_LEAST 0.1
#define OPTIONS_MIB   1048576.0

/* Returns a buffer's bytes such that both buffers of all ranks of a node fit in an eighth of its memory. */
static size_t default_buffer(int ranks)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), share = memory / 16 / ranks;
    return (size_t)(share > 32 * OPTIONS_MIB ? 32 * OPTIONS_MIB : share < 4 * OPTIONS_MIB ? 4 * OPTIONS_MIB : share);
}

static int options_take(int argc, char **argv, struct measure *measure, bool *hello)
{
    char command[64], usage[1024];
    double seconds = 10, buffer = 0;
    uint64_t seed = 1;
    uint32_t launch = 1;
    const struct option_row rows[] = {
        {0, "seconds", "S", "time limit (10)", .real = &seconds, .most = 86400},
        {0, "buffer", "MIB", "size of the long buffers, two a rank (32, less where memory is short)", .real = &buffer,
         .least = 4, .most = 65536},
        {0, "seed", "N", "of the random order (1)", .whole = &seed, .most = 1000000000},
        {0, "launch", "N", "number of this launch, for the CSV (1)", .u32 = &launch, .most = 1000000000},
        {0, "link", "A-B,..", "pairs of nodes that share a link, for contention; numbered from 0 by first rank",
         .text = &measure->link},
        {0, "path", "P[,P]", "copy, host, gpudirect, 3-step, extra-message, duplicate-pointer, for GPUs (all)",
         .text = &measure->paths},
        {0, "resume", "F",
         "go on from the samples of this benchmark and launch in F, written by an earlier run that ended",
         .text = &measure->resume_path},
        {0, "cached", NULL, "every message at the same place, so that it stays in the cache", .flag = &measure->cached},
        {0, "hello", NULL, "only tell the number of ranks", .flag = hello},
    };
    snprintf(command, sizeof command, "mpistair-benchmark-MPI %s", measure->program->name);
    snprintf(
        usage, sizeof usage,
        "usage: mpiexec -n RANKS %s [options]\n\n%s\n\nWrites samples as CSV on standard output, remarks on standard "
        "error.\n",
        command, measure->program->summary);
    const struct option_table table = {
        .command = command,
        .usage = usage,
        .rows = rows,
        .n_rows = sizeof rows / sizeof rows[0],
        .notes = "MPISTAIR_PLACEMENT=L.csv (rank,node,socket[,numa,l3]) places the ranks by hand.\n"};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code == EXIT_DONE ? -1 : code;
    if (argc > 0)
        return wrong_usage(command, "unexpected argument '%s'", argv[0]);
    if (seconds < SECONDS_LEAST)
        return wrong_usage(command, "--seconds %g: expected a number, %g to 86400", seconds, SECONDS_LEAST);
    measure->seconds = seconds;
    measure->seed = seed;
    measure->launch = launch;
    measure->buffer_bytes = buffer > 0 ? (size_t)(buffer * OPTIONS_MIB) : default_buffer(measure->size);
    return 0;
}

/* Fills seconds, seed, launch, buffer_bytes, link, paths, resume_path, cached; *hello asks only to say how many ranks
 * there are. Collective; rank 0 alone prints. Returns 0; -1 after --help; EXIT_WRONG_USAGE. */
static int options_parse(int argc, char **argv, struct measure *measure, bool *hello)
{
    int code = measure->rank == 0 ? options_take(argc, argv, measure, hello) : 0;
    MPI_Bcast(&code, 1, MPI_INT, 0, measure->control);
    return code != 0 || measure->rank == 0 ? code : options_take(argc, argv, measure, hello);
}

/* Lists the variables. Each is used at one kind of level, and only where `proof` says that the part of the MPI to which
 * it belongs is in use: another variable (Open MPI withdraws those of components that it closed), or a word in the
 * library version (MPICH lists the variables of all its devices). The limits of Open MPI's BTLs include at most 64
 * bytes of header (56 in 4.1), so that a message of exactly the limit is the first power of two that goes by
 * rendezvous; but its ob1 sends up to 256 bytes at once whatever the limit (pml_ob1_isend.c, send_inline). An MPI over
 * UCX reports nothing here. */
static const struct {
    bool between_nodes;
    const char *variable;
    const char *proof_variable;
    const char *proof_version;
} limit_variables[] = {
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

/* Returns, after MPI_Init, the smallest size in bytes that is sent by rendezvous at that level, 0 where the MPI does
 * not report it; the name of the control variable in *variable. */
static double thresholds_rendezvous_bytes(enum level level, const char **variable)
{
    int provided, length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Get_library_version(version, &length);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return 0;
    double bytes = 0;
    for (size_t i = 0; i < sizeof limit_variables / sizeof limit_variables[0] && !(bytes > 0); i++) {
        if (limit_variables[i].between_nodes != (level == LEVEL_INTER_NODE) ||
            (limit_variables[i].proof_variable != NULL && variable_value(limit_variables[i].proof_variable) < 0) ||
            (limit_variables[i].proof_version != NULL && strstr(version, limit_variables[i].proof_version) == NULL))
            continue;
        double value = variable_value(limit_variables[i].variable);
        if (value > 0 && value < 1e9) {
            bytes = value;
            *variable = limit_variables[i].variable;
        }
    }
    MPI_T_finalize();
    return bytes;
}

enum { PARTS_MAX = 16 };

#define LEAD_S 5e-3 /* at first */

static void program_lead(struct measure *measure)
{
    puts(MEASURE_CSV_HEADER);
    measure->begin_s = clock_now_s() - measure->resume.spent_s;
    (void)probe_take(measure);
    (measure->program->lead != NULL ? measure->program->lead : schedule_lead)(measure);
    if (measure->n_series > 0)
        (void)probe_take(measure);
    measure_end(measure);
    fflush(stdout);
}

static void note_levels(const struct measure *measure)
{
    for (int level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct pair pair;
        const char *variable = "";
        if (levels_pairs(&measure->placement, (enum level)level, 1, &pair) == 0) {
            fprintf(stderr, MEASURE_NOTE "left_out %s: no two of the %d ranks are at this level\n", level_name[level],
                    measure->size);
            continue;
        }
        double bytes = thresholds_rendezvous_bytes((enum level)level, &variable);
        if (bytes > 0)
            fprintf(stderr, MEASURE_NOTE "rendezvous %s %.0f %s\n", level_name[level], bytes, variable);
    }
}

/* Collective: rank 0 alone reads, as the file may be on its node only. */
static int read_resumed(struct measure *measure)
{
    struct error error;
    const char *names[PARTS_MAX];
    size_t n_names = 0;
    int code = 0;
    do {
        names[n_names] = benchmark_of(measure, (int)n_names)->name;
        n_names++;
    } while ((int)n_names < measure->program->n_parts && n_names < PARTS_MAX);
    if (measure->rank == 0 && measure->resume_path != NULL &&
        resume_read(measure->resume_path, names, n_names, measure->launch, &measure->resume, &error) != 0)
        code = error_report(&error);
    MPI_Bcast(&code, 1, MPI_INT, 0, measure->control);
    return code;
}

int measure_main(int argc, char **argv, const struct benchmark_program *program)
{
    mpi_job_init(&argc, &argv, program->is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    struct measure measure = {.program = program,
                              .lead_s = LEAD_S,
                              .machine = sharing_machine(),
                              .n_processors = binding_processors(&measure.cpus)};
    struct error error;
    MPI_Comm_rank(MPI_COMM_WORLD, &measure.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &measure.size);
    MPI_Comm_dup(MPI_COMM_WORLD, &measure.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &measure.control);
    bool leads = measure.rank == 0, hello = false;
    if (leads)
        mpi_job_note(measure.size);
    int code = options_parse(argc, argv, &measure, &hello);
    if (code == 0 && !hello)
        code = read_resumed(&measure);
    if (code == 0 && !hello) {
        if (place_find(measure.control, stderr, &measure.placement, &measure.host, &error) != 0) {
            code = leads ? error_report(&error) : EXIT_WORK_FAILED;
        } else if (program->prepare == NULL || (code = program->prepare(&measure, leads)) == 0) {
            measure.offset_s = clock_offset_s(measure.control, measure.host);
            probe_prepare(&measure);
            if (leads) {
                note_levels(&measure);
                program_lead(&measure);
            } else {
                measure_follow(&measure);
            }
            if (program->release != NULL)
                program->release(&measure);
        }
        placement_release(&measure.placement);
        free(measure.host);
    }
    resume_release(&measure.resume);
    free(measure.send_buffer);
    free(measure.recv_buffer);
    MPI_Comm_free(&measure.comm);
    MPI_Comm_free(&measure.control);
    MPI_Finalize();
    return code < 0 ? EXIT_DONE : code;
}
