/* Looks at the MPIs of this machine: a launcher on PATH that says to which MPI it belongs, and a backend that loads. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/preload/bind.h"
#include "report/doctor/doctor.h"
#include "share/base/installation.h"

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
        if (doctor_run(arguments, environ, version, sizeof version) < 0)
            continue;
        for (size_t family = 0; family < N_FAMILIES; family++)
            for (size_t mark = 0; mark < 3 && families[family].marks[mark] != NULL; mark++)
                if (launchers[family][0] == '\0' && strstr(version, families[family].marks[mark]) != NULL)
                    snprintf(launchers[family], PATH_MAX, "%s", path);
    }
}

/* Reads what a library says of itself, first line; returns false where it does not load. */
static bool probe_library(const char *soname, char *text, size_t size)
{
    char version[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH, 256 in Open MPI */
    int length = 0, (*get_version)(char *, int *) = NULL;
    void *handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
    void *symbol = handle == NULL ? NULL : dlsym(handle, "MPI_Get_library_version");
    if (symbol == NULL)
        return false;
    memcpy(&get_version, &symbol, sizeof get_version);
    get_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    for (char *tab; (tab = strchr(version, '\t')) != NULL;) /* "MPICH Version:\t4.0.2" */
        *tab = ' ';
    snprintf(text, size, "%s", version);
    return true;
}

static bool probe_backend(const char *path, char *text, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool works = handle != NULL && dlsym(handle, MPISTAIR_BACKEND_SYMBOL) != NULL;
    const char *reason = works ? NULL : dlerror();
    snprintf(text, size, "%s", works ? path : reason != NULL ? reason : "not a shared library");
    return works;
}

/* Runs probe(argument) in a child, so that no MPI stays loaded here and none can take this process down. */
static bool in_child(bool (*probe)(const char *, char *, size_t), const char *argument, char *text, size_t size)
{
    int ends[2], status = 0;
    text[0] = '\0';
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool works = probe(argument, text, size);
        if (write(ends[1], text, strlen(text)) < 0)
            works = false;
        _exit(works ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got = child < 0 ? -1 : read(ends[0], text, size - 1);
    text[got < 0 ? 0 : got] = '\0';
    close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
    char path[PATH_MAX];
    if (!find_backend(family->name, path)) {
        struct doctor_check *check = doctor_add(doctor, "backend", DOCTOR_MISSING);
        snprintf(check->found, sizeof check->found, "%s: not built", family->title);
        snprintf(check->advice, sizeof check->advice, "install %s, then build mpistair again", family->package);
        return false;
    }
    char text[sizeof doctor->checks[0].found - 64];
    bool loads = in_child(probe_backend, path, text, sizeof text);
    struct doctor_check *check = doctor_add(doctor, "backend", loads ? DOCTOR_OK : DOCTOR_MISSING);
    snprintf(check->found, sizeof check->found, "%s: %s", family->title, text);
    if (!loads && library)
        snprintf(check->advice, sizeof check->advice, "build mpistair against the %s of this machine", family->title);
    return loads;
}

static void look_at_root(struct doctor *doctor)
{
    if (geteuid() != 0 ||
        (getenv("OMPI_ALLOW_RUN_AS_ROOT") != NULL && getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != NULL))
        return;
    struct doctor_check *check = doctor_add(doctor, "root", DOCTOR_NOTE);
    snprintf(check->found, sizeof check->found, "Open MPI refuses to run as root");
    snprintf(check->advice, sizeof check->advice,
             "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or run as another user");
}

/* Looks at the standard ABI of MPI 5.0: whose libmpi_abi.so.1 programs would load here, and our backend for it. */
static bool look_at_abi(struct doctor *doctor)
{
    static const struct family abi = {"abi", "standard ABI", {NULL}, {"libmpi_abi.so.1"}, "mpistair"};
    char version[256] = "";
    if (!in_child(probe_library, abi.libraries[0], version, sizeof version))
        return false;
    struct doctor_check *check = doctor_add(doctor, "MPI", DOCTOR_OK);
    snprintf(check->found, sizeof check->found, "standard ABI (%s) of %s", abi.libraries[0], version);
    return look_at_backend(doctor, &abi, true);
}

void doctor_look_at_mpis(struct doctor *doctor)
{
    char launchers[N_FAMILIES][PATH_MAX] = {{0}};
    find_launchers(launchers);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const struct family *family = &families[i];
        char version[256] = "";
        bool library = false;
        for (size_t k = 0; k < 3 && family->libraries[k] != NULL && !library; k++)
            library = in_child(probe_library, family->libraries[k], version, sizeof version);
        if (launchers[i][0] == '\0' && !library)
            continue;
        bool found = launchers[i][0] != '\0';
        struct doctor_check *check = doctor_add(doctor, "MPI", found ? DOCTOR_OK : DOCTOR_NOTE);
        snprintf(check->found, sizeof check->found, "%s, launcher %.200s", library ? version : family->title,
                 found ? launchers[i] : "not on PATH");
        if (!found)
            snprintf(check->advice, sizeof check->advice,
                     "put its mpiexec on PATH, or start jobs with the batch system's launcher (srun)");
        else if (!library)
            snprintf(check->advice, sizeof check->advice,
                     "its library is not on the loader's path here: programs that bring their own still work");
        bool backend = look_at_backend(doctor, family, library);
        doctor->recordable += found && backend;
        if (strcmp(family->name, "openmpi") == 0 && found)
            look_at_root(doctor);
    }
    if (look_at_abi(doctor))
        for (size_t i = 0; i < N_FAMILIES; i++)
            doctor->recordable += launchers[i][0] != '\0';
    if (doctor->recordable == 0) {
        struct doctor_check *check = doctor_add(doctor, "recording", DOCTOR_MISSING);
        snprintf(check->found, sizeof check->found, "no MPI with both a launcher and a backend");
        snprintf(check->advice, sizeof check->advice, "install %s or %s", families[0].package, families[1].package);
    }
}
