/* Nothing of the recorder but this library is in a process until its MPI is known: a process may have any of several
 * MPIs, or none. The backend is built against one MPI and is loaded here, before MPI is initialised.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/preload/callers.h"
#include "interpose/preload/cells.h"
#include "interpose/preload/look_up.h"
#include "interpose/preload/mpi_library.h"
#include "interpose/preload/openmp.h"
#include "interpose/preload/recording.h"
#include "interpose/preload/regions.h"
#include "share/base/settings.h"
#include "share/base/one_of.h"

/* A line from each of thousands of processes would bury what it says, so only rank 0 speaks, as far as the launcher's
 * environment tells which process that is. */
static int is_speaker(void)
{
    /* These are set by hydra and PMI; Open MPI; PMIx; srun. */
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL)
            return strcmp(rank, "0") == 0;
    }
    return 1;
}

static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    if (!is_speaker())
        return;
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "mpistair: %s\n", text);
}

/* Handed to the backend: the functions found, NULL where the MPI lacks one. */
static mpistair_code *host_next[FN_COUNT];
static mpistair_code *host_pnext[FN_COUNT];

static uint64_t first_calls[FN_COUNT]; /* used until a backend points mpistair_calls elsewhere */
uint64_t *volatile mpistair_calls = first_calls;

static char started_in[PATH_MAX];

__attribute__((constructor)) static void note_folder(void)
{
    int error = errno;
    if (getcwd(started_in, sizeof started_in) == NULL)
        started_in[0] = '\0';
    errno = error;
}

static const struct mpistair_region_calls *backend_regions;

static void begin_regions(void)
{
    regions_begin(backend_regions);
}

static struct mpistair_host own_host = {
    .table_hash = MPISTAIR_TABLE_HASH,
    .n_functions = FN_COUNT,
    .next = host_next,
    .pnext = host_pnext,
    .calls = &mpistair_calls,
    .stop = recording_stop,
    .fortran_note = fortran_note,
    .folder = started_in,
    .begin_regions = begin_regions,
    .is_fortran_layer = callers_is_fortran,
    .count_openmp = openmp_count,
    .read_openmp = openmp_read,
};

__attribute__((constructor)) static void say_if_static(void)
{
    int error = errno;
    if (mpi_library_is_static() && !recording_is_disabled())
        say("not recorded: the program is statically linked to its MPI, which a preloaded library cannot observe; link "
            "it to the shared libraries");
    errno = error;
}

/* Returns true if a second copy of this library stands in front: that one records. */
static bool is_second_copy(void)
{
    Dl_info own, first;
    void *symbol = dlsym(RTLD_DEFAULT, "PMPI_Init");
    return symbol != NULL && dladdr(symbol, &first) != 0 && dladdr(&own_host, &own) != 0 &&
           first.dli_fbase != own.dli_fbase &&
           strncmp(file_name(first.dli_fname), "libmpistair.so", strlen("libmpistair.so")) == 0;
}

static bool is_file(char *path, size_t size, const char *folder, const char *relative, const char *name)
{
    int length = snprintf(path, size, "%s/%s%s", folder, relative, name);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* Finds the backend: in MPISTAIR_LIB, or beside this library (installed, or in the build folder). Returns 0, or -1 with
 * the folder where it was expected in path. */
static int find_backend(const char *name, char *path, size_t size)
{
    const char *given = setting("MPISTAIR_LIB");
    if (given != NULL && given[0] != '\0') {
        if (is_file(path, size, given, "", name))
            return 0;
        snprintf(path, size, "%s", given);
        return -1;
    }
    /* The loader noted the folder when it loaded us; the name may be relative to a folder that was left since. */
    char origin[PATH_MAX] = "";
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(&own_host, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || dlinfo(map, RTLD_DI_ORIGIN, origin) != 0)
        return -1;
    if (is_file(path, size, origin, "mpistair/", name) || is_file(path, size, origin, "../backend/", name))
        return 0;
    snprintf(path, size, "%s/mpistair", origin);
    return -1;
}

/* Loads the backend at `path`. Returns NULL after saying why it cannot. */
static const struct mpistair_backend *load_backend(const char *path, const char *family)
{
    char needed[NAME_MAX + 1];
    int needs = elf_needed(path, "libmpi", needed, sizeof needed);
    if (needs > 0 && !mpi_library_is_loaded(needed)) {
        say("not recorded: %s was built for %s, which is not the %s of this process; build mpistair against that one",
            path, needed, family);
        return NULL;
    }
    void *handle = needs < 0 ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct mpistair_backend *found = handle != NULL ? dlsym(handle, MPISTAIR_BACKEND_SYMBOL) : NULL;
    if (found == NULL) {
        const char *reason = needs < 0 ? NULL : dlerror();
        say("not recorded: %s cannot be loaded: %s", path, reason != NULL ? reason : "it is not a shared library");
        return NULL;
    }
    if (found->table_hash != MPISTAIR_TABLE_HASH || found->n_functions != FN_COUNT) {
        say("not recorded: %s is of another version of mpistair; install mpistair again", path);
        return NULL;
    }
    return found;
}

/* Finds the MPI of this process and loads the backend for it. Returns NULL after saying why it cannot. */
static const struct mpistair_backend *choose_backend(void)
{
    unsigned n_libraries = mpi_library_count();
    if (n_libraries > 1) {
        say("not recorded: %u MPI libraries are loaded in this process; link the program and its modules to one",
            n_libraries);
        return NULL;
    }
    static const char *const titles[] = {[SPOOL_FAMILY_MPICH] = "MPICH", [SPOOL_FAMILY_OPENMPI] = "Open MPI"};
    static const char *const names[] = {[SPOOL_FAMILY_MPICH] = "mpich", [SPOOL_FAMILY_OPENMPI] = "openmpi"};
    char name[64], path[2 * PATH_MAX] = "";
    struct mpi_identity mpi = {.family = SPOOL_FAMILY_UNKNOWN};
    if (look_up(FN_Get_library_version))
        mpi =
            mpi_library_identify(atomic_load(&mpistair_pnext[FN_Get_library_version]),
                                 look_up(FN_Abi_get_version) ? atomic_load(&mpistair_pnext[FN_Abi_get_version]) : NULL);
    if (mpi.family == SPOOL_FAMILY_UNKNOWN && !mpi.is_abi) {
        say("not recorded: no backend for this MPI (\"%s\"); supported are MPICH, its ABI family, Open MPI, and the "
            "standard ABI of MPI 5.0",
            mpi.said);
        return NULL;
    }
    own_host.family = mpi.family;
    snprintf(name, sizeof name, "mpistair-backend-%s.so", mpi.is_abi ? "abi" : names[mpi.family]);
    if (find_backend(name, path, sizeof path) != 0) {
        if (mpi.is_abi)
            say("not recorded: %s was not found in %s; install mpistair anew (MPISTAIR_LIB names another folder)", name,
                path);
        else
            say("not recorded: %s was not found in %s; mpistair builds it where %s is installed (MPISTAIR_LIB names "
                "another folder)",
                name, path, titles[mpi.family]);
        return NULL;
    }
    return load_backend(path, mpi.is_abi ? "standard ABI" : titles[mpi.family]);
}

static void store_wrappers(void)
{
    for (uint32_t function = 0; function < FN_COUNT; function++) {
        look_up_pass_on(function);
        mpistair_code *wrapper = recording_wrapper(function);
        if (wrapper != NULL && !look_up_is_end(function))
            look_up_record(function, wrapper);
    }
}

/* Loads and starts the backend of the MPI in this process and stores its wrappers into the cells. Does so once; every
 * reason not to record ends in recording_stop() and, except where the user asked for it, in one line on stderr. Call it
 * before MPI is initialised. */
static void attach_backend(void)
{
    if (!recording_claim())
        return;
    settings_read(started_in);
    const struct mpistair_backend *backend = recording_is_disabled() || is_second_copy() ? NULL : choose_backend();
    if (backend == NULL) {
        recording_stop();
        return;
    }
    for (uint32_t function = 0; function < FN_COUNT; function++)
        if (look_up(function)) {
            host_next[function] = atomic_load(&mpistair_next[function]);
            host_pnext[function] = atomic_load(&mpistair_pnext[function]);
        }
    if (pthread_atfork(NULL, NULL, recording_stop) != 0 || backend->start(&own_host) != 0) {
        recording_stop();
        return;
    }
    backend_regions = backend->regions;
    if (recording_start(backend, &own_host))
        store_wrappers();
}

/* Decides where a call goes that arrives at a trampoline for the first time, and at MPI_Init, MPI_Finalize and
 * MPI_Abort always.
 *
 * Tools stack: a tool behind us gets our MPI_X and calls PMPI_X, which comes to us as well, so PMPI_X passes through
 * unless its caller works for the application (callers.c). For MPI_Init, MPI_Finalize and MPI_Abort the first call
 * counts, by whichever name it comes, so that a tool does not hide the start of the job. The call that a tool behind us
 * makes in the course of our own is no longer the first.
 *
 * A call that comes as PMPI_X and is only passed on goes to PMPI_X, from Fortran too. For a tool behind us may end
 * its MPI_X with a jump to PMPI_X, which returns to the Fortran layer and looks like its call; handed to that tool
 * again, it would go around for ever. In the same way a jump from behind us may look like the program's call of a
 * function that was counted already as MPI_X. */

static bool begins_mpi(uint32_t function)
{
    return look_up_family(function) == FAMILY_INIT || look_up_family(function) == FAMILY_SESSION_INIT;
}

/* Returns the wrapper of MPI_Init, ... for the first call of that family, NULL for all others. */
static mpistair_code *first_end(uint32_t function)
{
    static atomic_flag is_entered[3] = {ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT};
    unsigned which = look_up_family(function) == FAMILY_INIT ? 0 : look_up_family(function) == FAMILY_FINALIZE ? 1 : 2;
    if (look_up_family(function) == FAMILY_INIT)
        attach_backend();
    mpistair_code *wrapper = recording_wrapper(function);
    return wrapper != NULL && !atomic_flag_test_and_set(&is_entered[which]) ? wrapper : NULL;
}

static mpistair_code *target(uint32_t function, enum mpistair_entry entry, const void *return_address)
{
    if (!look_up(function)) {
        mpistair_code *own = mpi_library_find_for(look_up_name(function, entry), return_address);
        if (own != NULL && begins_mpi(function))
            attach_backend(); /* this reports that there are several MPIs */
        return own != NULL ? own : missing_function(function);
    }
    mpistair_code *next = atomic_load(&mpistair_next[function]);
    mpistair_code *pnext = atomic_load(&mpistair_pnext[function]);
    mpistair_code *passed = entry == ENTRY_MPI ? next : pnext;
    mpistair_code *_Atomic *cells = entry == ENTRY_MPI ? mpistair_cells : callers_cells(return_address);
    bool is_application = cells != mpistair_pnext && cells != mpistair_behind_cells;
    if (look_up_family(function) == FAMILY_SESSION_INIT && is_application)
        attach_backend();
    if (look_up_is_end(function)) {
        mpistair_code *wrapper = first_end(function);
        return wrapper != NULL ? wrapper : passed;
    }
    mpistair_code *wrapper = recording_wrapper(function);
    if (wrapper != NULL && is_application)
        return wrapper;
    if (wrapper == NULL) {
        /* Recorded functions get their cells at MPI_Init; until then they keep asking. */
        if (look_up_family(function) != FAMILY_LOCAL && !look_up_is_counted(function) &&
            recording_state() != RECORDING_STOPPED)
            return passed;
        look_up_pass_on(function);
    }
    mpistair_code *code = atomic_load(&cells[function]);
    return code != NULL ? code : pnext; /* NULL: another thread is about to store all cells */
}

mpistair_code *mpistair_resolve(uint32_t function, uint32_t entry, const void *return_address)
{
    int error = errno;
    mpistair_code *found =
        entry == ENTRY_FORTRAN ? fortran_target(function, return_address) : target(function, entry, return_address);
    (void)dlerror(); /* forgets errors of our own look-ups */
    errno = error;
    return found;
}

/* A program may call its MPI past a preloaded library: by addresses that dlsym gave of the MPI's own handle, or as a
 * library of dlopen with RTLD_DEEPBIND. Then not even MPI_Init comes by here. So at the end of a process in which
 * recording never began, its MPI is asked whether it was initialised. */
static pid_t own_pid;

static void look(void)
{
    int error = errno, flag = 0;
    if (getpid() == own_pid && recording_state() == RECORDING_IDLE && !recording_is_disabled() &&
        !mpi_library_is_wrapped_in_front("PMPI_Initialized")) { /* a second copy of this library, which is in front */
        union {
            mpistair_code *code;
            int (*initialized)(int *flag);
        } call = {.code = mpi_library_find_anywhere("PMPI_Initialized")};
        if (call.code != NULL && call.initialized(&flag) == 0 && flag)
            say("not recorded: the program calls its MPI past the loader's search order (by dlsym on the handle that "
                "dlopen gave, or with RTLD_DEEPBIND), where a preloaded library is not; link it to the MPI, or look "
                "functions up with RTLD_DEFAULT");
    }
    errno = error;
}

/* glibc 2.41 calls it again in exit(), when a look at this library's own file opens a library that is down already. */
__attribute__((constructor)) static void watch(void)
{
    if (own_pid == 0)
        atexit(look); /* it runs before any library is taken down */
    own_pid = getpid();
}
