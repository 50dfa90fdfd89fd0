/* Nothing of the recorder but this library is in a process until its MPI is known: a process may have any of several
 * MPIs, or none. The backend is built against one MPI and is loaded here, before MPI is initialised.
 */
#include "interpose/preload/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/preload/callers.h"
#include "interpose/preload/cells.h"
#include "interpose/preload/elf_needed.h"
#include "interpose/preload/fortran.h"
#include "interpose/preload/look_up.h"
#include "interpose/preload/mpi_library.h"
#include "interpose/preload/recording.h"
#include "interpose/preload/say.h"

/* Are handed to the backend: the functions found, NULL where the MPI lacks one. */
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

static struct mpistair_host host = {
    .table_hash = MPISTAIR_TABLE_HASH,
    .n_functions = FN_COUNT,
    .next = host_next,
    .pnext = host_pnext,
    .calls = &mpistair_calls,
    .stop = recording_stop,
    .fortran_note = fortran_note,
    .folder = started_in,
    .is_fortran_layer = callers_is_fortran,
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
    return symbol != NULL && dladdr(symbol, &first) != 0 && dladdr(&host, &own) != 0 &&
           first.dli_fbase != own.dli_fbase &&
           strncmp(base_name(first.dli_fname), "libmpistair.so", strlen("libmpistair.so")) == 0;
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
    const char *given = getenv("MPISTAIR_LIB");
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
    if (dladdr1(&host, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || dlinfo(map, RTLD_DI_ORIGIN, origin) != 0)
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
        say("not recorded: %s cannot be loaded: %s", path, reason != NULL ? reason : "it is no shared library");
        return NULL;
    }
    if (found->table_hash != MPISTAIR_TABLE_HASH || found->n_functions != FN_COUNT) {
        say("not recorded: %s belongs to another version of mpistair; install both anew", path);
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
        say("not recorded: there is no backend for this MPI (\"%s\"); known are MPICH, its ABI family, Open MPI, and "
            "the "
            "standard ABI of MPI 5.0",
            mpi.said);
        return NULL;
    }
    host.family = mpi.family;
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

void attach_backend(void)
{
    if (!recording_claim())
        return;
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
    if (pthread_atfork(NULL, NULL, recording_stop) != 0 || backend->start(&host) != 0) {
        recording_stop();
        return;
    }
    if (recording_start(backend, &host))
        store_wrappers();
}
