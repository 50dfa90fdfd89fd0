/* Runs `mpistair doctor`: goes through what recording needs on this machine and says what works, what is missing and
 * what to do about it. Each look_at_ function adds checks; the command prints them. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <libgen.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate/gpu/gpu_memory.h"
#include "interpose/database/cursor.h"
#include "interpose/preload/bind.h"
#include "interpose/run/launch.h"
#include "interpose/spool/clock.h"
#include "interpose/spool/event.h"
#include "interpose/trace/site/symbols.h"
#include "predictor/what_if/places.h"
#include "report/command/commands.h"
#include "report/export/trace_export.h"
#include "share/base/error.h"
#include "share/base/html_page.h"
#include "share/base/installation.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/monotonic.h"
#include "share/base/options.h"
#include "share/base/settings.h"
#include "share/base/terminal.h"

static const char doctor_usage[] =
    "usage: mpistair doctor [--json]\n"
    "\n"
    "Checks what recording needs on this machine: processors, clock, the site's defaults, room for spools, "
    "LD_PRELOAD, libdw for source lines,\n"
    "GPUs, and each MPI's launcher, library and backend. Exits with 0 if jobs of at least one "
    "MPI can be recorded, else\n"
    "with 1. On a cluster, run it on a compute node: mpiexec -n 1 mpistair doctor.\n";

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_NOTE,    /* recording works, but with less or with more care */
    DOCTOR_MISSING, /* something does not work; whether that matters depends on the whole list */
};

struct doctor_check {
    const char *name;
    enum doctor_state state;
    char found[512];
    char advice[512]; /* empty: none */
};

enum { DOCTOR_MAX_CHECKS = 32 };

struct doctor {
    struct doctor_check checks[DOCTOR_MAX_CHECKS];
    size_t n_checks;
    bool preload_works; /* the library is found and honoured */
    bool spool_works;
    unsigned recordable; /* MPIs that have launcher, library and backend */
};

/* Adds a check with what to do about it (advice, NULL: nothing), and prints what was found. */
static void __attribute__((format(printf, 5, 6)))
add_check(struct doctor *doctor, const char *name, enum doctor_state state, const char *advice, const char *format, ...)
{
    size_t at = doctor->n_checks < DOCTOR_MAX_CHECKS ? doctor->n_checks++ : DOCTOR_MAX_CHECKS - 1;
    doctor->checks[at] = (struct doctor_check){.name = name, .state = state};
    snprintf(doctor->checks[at].advice, sizeof doctor->checks[at].advice, "%s", advice != NULL ? advice : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(doctor->checks[at].found, sizeof doctor->checks[at].found, format, arguments);
    va_end(arguments);
}

/* Tries to count instructions as the recorder does. */
static void look_at_counters(struct doctor *doctor)
{
    struct perf_event_attr attributes = {.size = sizeof attributes,
                                         .type = PERF_TYPE_HARDWARE,
                                         .config = PERF_COUNT_HW_INSTRUCTIONS,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    long file = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    int error = errno;
    bool forbidden = file < 0 && (error == EPERM || error == EACCES || error == ENOSYS);
    if (file >= 0)
        close((int)file);
    add_check(doctor, "counters", forbidden ? DOCTOR_NOTE : DOCTOR_OK,
              forbidden ? "sysctl kernel.perf_event_paranoid=2 allows it, and the filter of a container may have to"
                        : NULL,
              file >= 0   ? "processor time, page faults, switches, instructions and cycles"
              : forbidden ? "processor time, page faults, switches; instructions and cycles are forbidden"
                          : "processor time, page faults, switches; this machine has no counters of instructions");
}

/* Says of which programs it is known how long threads of OpenMP have nothing to do. */
static void look_at_openmp(struct doctor *doctor)
{
    add_check(
        doctor, "OpenMP", DOCTOR_OK, NULL,
        "idle threads are counted where the runtime has OMPT: LLVM's libomp and its kin do, GNU's libgomp does not");
}

/* Time limit of a program, s: one that hangs or prints without end must not take doctor with it. */
enum { PROGRAM_LIMIT_S = 10 };

/* Reads until the end, false if that takes more than PROGRAM_LIMIT_S. What does not fit is read and dropped. */
static bool read_output(int descriptor, char *output, size_t size)
{
    size_t used = 0;
    double end_s = clock_now_s() + PROGRAM_LIMIT_S;
    for (;;) {
        char dropped[512];
        double left_s = end_s - clock_now_s();
        struct pollfd ready = {.fd = descriptor, .events = POLLIN};
        int polled = left_s <= 0 ? 0 : poll(&ready, 1, (int)(1000 * left_s) + 1);
        if (polled < 0 && errno == EINTR)
            continue;
        if (polled <= 0)
            return false;
        bool room = used + 1 < size;
        ssize_t got = read(descriptor, room ? output + used : dropped, room ? size - 1 - used : sizeof dropped);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        if (room) {
            used += (size_t)got;
            output[used] = '\0';
        }
    }
}

/* Runs work in a child, so that nothing it loads or breaks stays here. Its output, which it writes to a descriptor, is
 * cut to size. Returns its exit status, or -1 if it could not be run, was killed or took too long. */
static int in_child(int (*work)(const void *what, int descriptor), const void *what, char *output, size_t size)
{
    int ends[2], status = -1;
    output[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(work(what, ends[1]));
    close(ends[1]);
    bool whole = child > 0 && read_output(ends[0], output, size);
    close(ends[0]);
    if (child < 0)
        return -1;
    if (!whole)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return whole && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct program {
    char *const *argv, *const *environment;
};

/* Becomes a program, whose standard output goes to the descriptor and whose errors go nowhere. */
static int become_shell(const void *what, int descriptor)
{
    const struct program *program = what;
    int nothing = open("/dev/null", O_RDWR);
    if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(descriptor, STDOUT_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0)
        execve(program->argv[0], program->argv, program->environment);
    return 127;
}

static void look_at_processors(struct doctor *doctor)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0) {
        add_check(doctor, "processors", DOCTOR_MISSING,
                  "give the place of every rank by MPISTAIR_PLACEMENT=L.csv (rank,node,socket)",
                  "hwloc cannot read this machine");
        return;
    }
    unsigned api = hwloc_get_api_version();
    int sockets = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    add_check(doctor, "processors", DOCTOR_OK, NULL,
              "%d socket%s, %d core%s, %d processor%s, NUMA nodes %d (hwloc %u.%u%s)", sockets, sockets == 1 ? "" : "s",
              cores, cores == 1 ? "" : "s", units, units == 1 ? "" : "s",
              hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), api >> 16, (api >> 8) & 0xff,
              hwloc_topology_is_thissystem(topology) ? "" : ", not of this machine: an HWLOC_ variable is set");
    hwloc_topology_destroy(topology);
}

static void look_at_clock(struct doctor *doctor)
{
    enum { TIMESTAMPS = 200000 };
    char source[64] = "not known";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file != NULL) {
        if (fgets(source, sizeof source, file) != NULL)
            source[strcspn(source, "\n")] = '\0';
        fclose(file);
    }
    enum spool_clock_source clock = SPOOL_CLOCK_MONOTONIC;
#if defined(__x86_64__)
    if (strcmp(source, "tsc") == 0)
        clock = SPOOL_CLOCK_TSC;
#endif
    volatile uint64_t last = 0;
    uint64_t start = clock_monotonic_ns();
    for (int i = 0; i < TIMESTAMPS; i++)
        last = clock_ticks(clock);
    (void)last;
    double each_ns = (double)(clock_monotonic_ns() - start) / TIMESTAMPS;
    bool slow = each_ns > 200;
    add_check(doctor, "clock", slow ? DOCTOR_NOTE : DOCTOR_OK,
              slow ? "timestamps this slow show in short messages; a kernel whose clock source is tsc is faster" : NULL,
              "kernel's source %s; recorded with %s, %.0f ns a timestamp", source,
              clock == SPOOL_CLOCK_TSC ? "the TSC" : "CLOCK_MONOTONIC", each_ns);
}

/* Returns the name of a file system by the magic number of statfs(2), NULL for some other one. *remote is set if it is
 * not of this node. */
static const char *file_system(long magic, bool *remote)
{
    static const struct {
        unsigned long magic;
        const char *name;
        bool remote;
    } known[] = {{0xEF53, "ext4", false},      {0x01021994, "tmpfs", false},   {0x58465342, "xfs", false},
                 {0x9123683E, "btrfs", false}, {0x794c7630, "overlay", false}, {0x2fc12fc1, "zfs", false},
                 {0x6969, "nfs", true},        {0x0BD00BD0, "lustre", true},   {0x47504653, "gpfs", true},
                 {0x19830326, "beegfs", true}, {0xFF534D42, "cifs", true},     {0x00C36400, "ceph", true},
                 {0x65735546, "fuse", true}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].magic == ((unsigned long)magic & 0xFFFFFFFFUL)) {
            *remote = known[i].remote;
            return known[i].name;
        }
    *remote = false;
    return NULL;
}

static void look_at_spools(struct doctor *doctor)
{
    const char *folder = setting("MPISTAIR_SPOOL"), *variable = "MPISTAIR_SPOOL";
    if (folder == NULL || folder[0] == '\0') {
        folder = getenv("TMPDIR");
        variable = "TMPDIR";
    }
    if (folder == NULL || folder[0] == '\0') {
        folder = "/tmp";
        variable = NULL;
    }
    char path[PATH_MAX], parent[PATH_MAX];
    if (variable != NULL && access(folder, F_OK) != 0) { /* the recorder makes it */
        snprintf(parent, sizeof parent, "%s", folder);
        folder = dirname(parent);
    }
    snprintf(path, sizeof path, "%s/mpistair-doctor-XXXXXX", folder);
    struct statfs system;
    int descriptor = mkstemp(path);
    int failure = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, SPOOL_CHUNK_BYTES);
    if (descriptor >= 0) {
        close(descriptor);
        unlink(path);
    }
    if (failure != 0 || statfs(folder, &system) != 0) {
        add_check(doctor, "spools", DOCTOR_MISSING, "set MPISTAIR_SPOOL to a folder with room on a local disk",
                  "%.300s: cannot be written: %s", folder, strerror(failure != 0 ? failure : errno));
        return;
    }
    doctor->spool_works = true;
    bool remote;
    const char *name = file_system((long)system.f_type, &remote);
    double free_bytes = (double)system.f_bavail * (double)system.f_bsize;
    const char *advice = remote ? "a network file system: set MPISTAIR_SPOOL to a folder on the node, as /tmp"
                         : free_bytes < 1e9
                             ? "less than the 1 GB that a node may fill: set MPISTAIR_SPOOL or MPISTAIR_SPOOL_LIMIT"
                             : NULL;
    add_check(doctor, "spools", advice != NULL ? DOCTOR_NOTE : DOCTOR_OK, advice, "%.300s%s%s: %s, %.1f GB free",
              folder, variable != NULL ? ", from " : "", variable != NULL ? variable : "",
              name != NULL ? name : "a file system not known here", free_bytes / 1e9);
}

static void look_at_defaults(struct doctor *doctor)
{
    char complaint[1536], keys[400] = "";
    const char *file = settings_file(), *name, *value;
    bool is_wrong = settings_complaint(complaint, sizeof complaint);
    size_t used = 0;
    for (size_t at = 0; value = settings_default(at, &name), name != NULL; at++)
        if (value != NULL && used < sizeof keys)
            used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s=%s%s", used > 0 ? ", " : ": ", name, value,
                                     getenv(name) != NULL ? " (the environment has it, too, and wins)" : "");
    add_check(doctor, "defaults", is_wrong ? DOCTOR_NOTE : DOCTOR_OK,
              is_wrong ? "mend the file; its keys are in mpistair(1), FILES" : NULL, "%.300s%s",
              is_wrong       ? complaint
              : file != NULL ? file
                             : "none",
              keys);
}

static void look_at_preload(struct doctor *doctor)
{
    struct error error;
    char library[PATH_MAX], variable[PATH_MAX + 16], program[] = "/bin/cat", maps[] = "/proc/self/maps";
    if (launch_find_preload(library, &error) != 0) {
        add_check(doctor, "preload", DOCTOR_MISSING, "build and install mpistair anew", "%.400s", error.text);
        return;
    }
    snprintf(variable, sizeof variable, "LD_PRELOAD=%s", library);
    char *arguments[] = {program, maps, NULL}, *environment[] = {variable, NULL};
    size_t size = 1 << 20;
    char *output = xmalloc(size);
    int status = in_child(become_shell, &(struct program){arguments, environment}, output, size);
    const char *name = strrchr(library, '/') + 1;
    doctor->preload_works = status == 0 && strstr(output, name) != NULL;
    free(output);
    if (doctor->preload_works)
        add_check(doctor, "preload", DOCTOR_OK, NULL, "%.400s", library);
    else
        add_check(doctor, "preload", DOCTOR_MISSING,
                  "the loader ignores it: a hardened or static environment, or another architecture",
                  "%.400s: LD_PRELOAD is not honoured by /bin/cat", library);
}

static void look_at_call_sites(struct doctor *doctor)
{
    const char *reason;
    if (callsites_can_be_resolved(&reason))
        add_check(doctor, "call sites", DOCTOR_OK, NULL, "libdw can be loaded; it reads functions and lines");
    else
        add_check(doctor, "call sites", DOCTOR_NOTE,
                  "a trace made here has call sites without lines: install libdw of elfutils (libdw1) where mpistair "
                  "ingest runs",
                  "libdw cannot be loaded: %.400s", reason);
}

/* Adds a note for each part that this mpistair lacks. */
static void look_at_parts(struct doctor *doctor)
{
    const struct {
        const char *name, *lacking, *advice;
        bool is_there;
    } parts[] = {
        {"Scotch",
         "built without Scotch: no pattern mesh, predict --best-placement starts from rules alone, no finding of "
         "placement",
         "install libscotch-dev and build mpistair once more", placement_map_is_built()},
        {"OTF2", "built without libotf2: no export --to otf2",
         "install libopen-trace-format2-dev and build mpistair once more", export_otf2_is_built()},
        {"pictures", "the chart library is not installed: no pictures in HTML reports, no --plot",
         "install libjs-vega and build mpistair once more, with -Dvega=FOLDER where it lies elsewhere",
         html_page_draws()},
        {"libunwind", "libunwind.so.8 cannot be loaded: MPISTAIR_STACK records no callers",
         "install libunwind8 where jobs run", dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL) != NULL},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!parts[i].is_there)
            add_check(doctor, parts[i].name, DOCTOR_NOTE, parts[i].advice, "%s", parts[i].lacking);
}

static void list_devices(struct doctor *doctor, const struct cuda_driver *driver)
{
    char names[sizeof doctor->checks[0].found] = "";
    for (int ordinal = 0, used = 0; ordinal < driver->n_devices && (size_t)used < sizeof names; ordinal++) {
        char name[64] = "";
        int device;
        if (driver->cuDeviceGet(&device, ordinal) != 0 || driver->cuDeviceGetName(name, sizeof name, device) != 0)
            snprintf(name, sizeof name, "without a name");
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%s", ordinal == 0 ? ": " : ", ", name);
    }
    add_check(doctor, "GPUs", DOCTOR_OK, NULL, "%d of NVIDIA (driver of CUDA %d.%d)%s", driver->n_devices,
              driver->version / 1000, driver->version % 1000 / 10, names);
}

/* A job is recorded without GPUs, too, so that a driver that fails is only noted. */
static void look_at_gpus(struct doctor *doctor)
{
    struct cuda_driver driver;
    struct error error;
    enum cuda_driver_state state = cuda_driver_open(&driver, &error);
    if (state == CUDA_DRIVER_FOUND) {
        list_devices(doctor, &driver);
        cuda_driver_close(&driver);
        return;
    }
    bool absent = state == CUDA_DRIVER_ABSENT;
    add_check(doctor, "GPUs", absent ? DOCTOR_OK : DOCTOR_NOTE,
              absent ? NULL : "recording needs no GPU; what measures GPUs does", "%.500s", error.text);
}

static const struct family {
    const char *name, *title;
    const char *marks[3];     /* found in the output of `LAUNCHER --version` */
    const char *libraries[3]; /* sonames of the MPI library */
    const char *package;
} families[] = {
    {"mpich", "MPICH", {"HYDRA", "MPICH"}, {"libmpich.so.12", "libmpi.so.12"}, "mpich libmpich-dev"},
    {"openmpi", "Open MPI", {"OpenRTE", "Open MPI", "PRRTE"}, {"libmpi.so.40"}, "openmpi-bin libopenmpi-dev"},
};

enum { N_FAMILIES = sizeof families / sizeof families[0] };

/* Finds the first executable called name on PATH. */
static bool on_path(const char *name, char *path, size_t size)
{
    const char *folder = getenv("PATH");
    while (folder != NULL) {
        size_t length = strcspn(folder, ":");
        int written = snprintf(path, size, "%.*s/%s", (int)length, folder, name);
        if (written > 0 && (size_t)written < size && length > 0 && access(path, X_OK) == 0)
            return true;
        folder = folder[length] == ':' ? folder + length + 1 : NULL;
    }
    return false;
}

/* Fills launchers[family] with the first launcher on PATH that belongs to it. */
static void find_launchers(char launchers[N_FAMILIES][PATH_MAX])
{
    static const char *const names[] = {"mpiexec",         "mpirun",  "mpiexec.mpich", "mpiexec.hydra",
                                        "mpiexec.openmpi", "orterun", "prterun"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[PATH_MAX], version[1024], flag[] = "--version";
        if (!on_path(names[i], path, sizeof path))
            continue;
        char *arguments[] = {path, flag, NULL};
        if (in_child(become_shell, &(struct program){arguments, environ}, version, sizeof version) < 0)
            continue;
        for (size_t family = 0; family < N_FAMILIES; family++)
            for (size_t mark = 0; mark < 3 && families[family].marks[mark] != NULL; mark++)
                if (launchers[family][0] == '\0' && strstr(version, families[family].marks[mark]) != NULL)
                    snprintf(launchers[family], PATH_MAX, "%s", path);
    }
}

static int tell_parent(int descriptor, const char *text, bool works)
{
    return write(descriptor, text, strlen(text)) >= 0 && works ? 0 : 1;
}

/* Reads what a library reports of itself, first line; fails where it does not load. */
static int probe_library(const void *soname, int descriptor)
{
    char version[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH, 256 in Open MPI */
    int length = 0, (*get_version)(char *, int *) = NULL;
    void *handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
    void *symbol = handle == NULL ? NULL : dlsym(handle, "MPI_Get_library_version");
    if (symbol == NULL)
        return 1;
    memcpy(&get_version, &symbol, sizeof get_version);
    get_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    for (char *tab; (tab = strchr(version, '\t')) != NULL;) /* "MPICH Version:\t4.0.2" */
        *tab = ' ';
    return tell_parent(descriptor, version, true);
}

static int probe_backend(const void *path, int descriptor)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool works = handle != NULL && dlsym(handle, MPISTAIR_BACKEND_SYMBOL) != NULL;
    const char *reason = works ? NULL : dlerror();
    return tell_parent(descriptor, works ? path : reason != NULL ? reason : "not a shared library", works);
}

/* Finds the backend where the preload library looks: MPISTAIR_LIB, mpistair/ beside it, ../backend in a build folder.
 */
static bool find_backend(const char *family, char path[PATH_MAX])
{
    static const char *const places[] = {"", "mpistair/", "../backend/"};
    char preload[PATH_MAX];
    if (installation_find(INSTALLATION_PRELOAD, NULL, preload, sizeof preload, NULL) != 0)
        return false;
    *strrchr(preload, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char place[2 * PATH_MAX];
        snprintf(place, sizeof place, "%s/%smpistair-backend-%s.so", preload, places[i], family);
        if (realpath(place, path) != NULL)
            return true;
    }
    return false;
}

static bool look_at_backend(struct doctor *doctor, const struct family *family, bool library)
{
    char path[PATH_MAX], advice[256], text[sizeof doctor->checks[0].found - 64];
    if (!find_backend(family->name, path)) {
        snprintf(advice, sizeof advice, "install %s, then build mpistair again", family->package);
        add_check(doctor, "backend", DOCTOR_MISSING, advice, "%s: not built", family->title);
        return false;
    }
    bool loads = in_child(probe_backend, path, text, sizeof text) == 0;
    snprintf(advice, sizeof advice, "build mpistair against the %s of this machine", family->title);
    add_check(doctor, "backend", loads ? DOCTOR_OK : DOCTOR_MISSING, !loads && library ? advice : NULL, "%s: %s",
              family->title, text);
    return loads;
}

static void look_at_root(struct doctor *doctor)
{
    if (geteuid() != 0 ||
        (getenv("OMPI_ALLOW_RUN_AS_ROOT") != NULL && getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != NULL))
        return;
    add_check(doctor, "root", DOCTOR_NOTE,
              "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or run as another user",
              "Open MPI refuses to run as root");
}

/* Looks at the standard ABI of MPI 5.0: whose libmpi_abi.so.1 programs would load here, and our backend for it. */
static bool look_at_abi(struct doctor *doctor)
{
    static const struct family abi = {"abi", "standard ABI", {NULL}, {"libmpi_abi.so.1"}, "mpistair"};
    char version[256] = "";
    if (in_child(probe_library, abi.libraries[0], version, sizeof version) != 0)
        return false;
    add_check(doctor, "MPI", DOCTOR_OK, NULL, "standard ABI (%s) of %s", abi.libraries[0], version);
    return look_at_backend(doctor, &abi, true);
}

static void look_at_mpis(struct doctor *doctor)
{
    char launchers[N_FAMILIES][PATH_MAX] = {{0}};
    find_launchers(launchers);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const struct family *family = &families[i];
        char version[256] = "";
        bool library = false;
        for (size_t k = 0; k < 3 && family->libraries[k] != NULL && !library; k++)
            library = in_child(probe_library, family->libraries[k], version, sizeof version) == 0;
        if (launchers[i][0] == '\0' && !library)
            continue;
        bool found = launchers[i][0] != '\0';
        add_check(doctor, "MPI", found ? DOCTOR_OK : DOCTOR_NOTE,
                  !found     ? "put its mpiexec on PATH, or start jobs with the batch system's launcher (srun)"
                  : !library ? "its library is not on the loader's path here: programs that bring their own still work"
                             : NULL,
                  "%s, launcher %.200s", library ? version : family->title, found ? launchers[i] : "not on PATH");
        bool backend = look_at_backend(doctor, family, library);
        doctor->recordable += found && backend;
        if (strcmp(family->name, "openmpi") == 0 && found)
            look_at_root(doctor);
    }
    if (look_at_abi(doctor))
        for (size_t i = 0; i < N_FAMILIES; i++)
            doctor->recordable += launchers[i][0] != '\0';
    if (doctor->recordable == 0) {
        char advice[256];
        snprintf(advice, sizeof advice, "install %s or %s", families[0].package, families[1].package);
        add_check(doctor, "recording", DOCTOR_MISSING, advice, "no MPI with both a launcher and a backend");
    }
}

static const char *const state_names[] = {[DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_MISSING] = "missing"};

static void print_text(const struct doctor *doctor, bool works)
{
    unsigned width = terminal_page(stdout);
    for (size_t i = 0; i < doctor->n_checks; i++) {
        const struct doctor_check *check = &doctor->checks[i];
        int at = printf("%-8s %-11s ", state_names[check->state], check->name);
        help_text_fill(stdout, check->found, (unsigned)at, (unsigned)at, width);
        if (check->advice[0] != '\0') {
            printf("%*s-> ", at, "");
            help_text_fill(stdout, check->advice, (unsigned)at + 3, (unsigned)at + 3, width);
        }
    }
    puts(works ? "\nJobs can be recorded here." : "\nJobs cannot be recorded here yet: see what is missing above.");
}

static int print_json(const struct doctor *doctor, bool works)
{
    struct pool pool = {0};
    struct json *checks = json_array();
    for (size_t i = 0; i < doctor->n_checks; i++) {
        const struct doctor_check *check = &doctor->checks[i];
        const char *found = pool_clean(&pool, check->found, strlen(check->found));
        const char *advice = pool_clean(&pool, check->advice, strlen(check->advice));
        json_add(checks, json_pack("{ss ss ss? ss?}", "check", check->name, "state", state_names[check->state], "found",
                                   found, "advice", check->advice[0] != '\0' ? advice : NULL));
    }
    struct json *all = json_pack("{sb so}", "can_record", (int)works, "checks", checks);
    struct error error;
    int result = json_write(stdout, all, &error);
    pool_release(&pool);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int cmd_doctor(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {{0, "json", NULL, "print JSON", .flag = &json}};
    const struct option_table table = {.command = "doctor", .usage = doctor_usage, .rows = rows, .n_rows = 1};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc > 0)
        return wrong_usage("doctor", "%s: takes no arguments", argv[0]);
    struct doctor doctor = {0};
    void (*const looks[])(struct doctor *) = {look_at_processors, look_at_clock,  look_at_counters, look_at_openmp,
                                              look_at_defaults,   look_at_spools, look_at_preload,  look_at_call_sites,
                                              look_at_parts,      look_at_gpus,   look_at_mpis};
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        looks[i](&doctor);
    bool works = doctor.preload_works && doctor.spool_works && doctor.recordable > 0;
    if (json && print_json(&doctor, works) != EXIT_DONE)
        return EXIT_WORK_FAILED;
    if (!json)
        print_text(&doctor, works);
    return works ? EXIT_DONE : EXIT_WORK_FAILED;
}
