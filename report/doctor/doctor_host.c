/* Looks at the machine: processors, clock, the room for spools, and whether LD_PRELOAD is honoured. */
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "report/doctor/doctor.h"
#include "share/base/error.h"
#include "interpose/spool/event.h"
#include "interpose/trace/site/libdw.h"
#include "interpose/run/launch.h"
#include "interpose/spool/clock.h"

static void look_at_processors(struct doctor *doctor)
{
    hwloc_topology_t topology;
    struct doctor_check *check = doctor_add(doctor, "processors", DOCTOR_OK);
    if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0) {
        check->state = DOCTOR_MISSING;
        snprintf(check->found, sizeof check->found, "hwloc cannot read this machine");
        snprintf(check->advice, sizeof check->advice,
                 "give the place of every rank by MPISTAIR_PLACEMENT=L.csv (rank,node,socket)");
        return;
    }
    unsigned api = hwloc_get_api_version();
    int sockets = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    snprintf(check->found, sizeof check->found, "%d socket%s, %d core%s, %d processor%s, NUMA nodes %d (hwloc %u.%u%s)",
             sockets, sockets == 1 ? "" : "s", cores, cores == 1 ? "" : "s", units, units == 1 ? "" : "s",
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
    struct doctor_check *check = doctor_add(doctor, "clock", each_ns > 200 ? DOCTOR_NOTE : DOCTOR_OK);
    snprintf(check->found, sizeof check->found, "kernel's source %s; recorded with %s, %.0f ns a timestamp", source,
             clock == SPOOL_CLOCK_TSC ? "the TSC" : "CLOCK_MONOTONIC", each_ns);
    if (each_ns > 200)
        snprintf(check->advice, sizeof check->advice,
                 "timestamps this slow show in short messages; a kernel whose clock source is tsc is faster");
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
    const char *folder = getenv("MPISTAIR_SPOOL"), *variable = "MPISTAIR_SPOOL";
    if (folder == NULL || folder[0] == '\0') {
        folder = getenv("TMPDIR");
        variable = "TMPDIR";
    }
    if (folder == NULL || folder[0] == '\0') {
        folder = "/tmp";
        variable = NULL;
    }
    struct doctor_check *check = doctor_add(doctor, "spools", DOCTOR_OK);
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
        check->state = DOCTOR_MISSING;
        snprintf(check->found, sizeof check->found, "%.300s: cannot be written: %s", folder,
                 strerror(failure != 0 ? failure : errno));
        snprintf(check->advice, sizeof check->advice, "set MPISTAIR_SPOOL to a folder with room on a local disk");
        return;
    }
    doctor->spool_works = true;
    bool remote;
    const char *name = file_system((long)system.f_type, &remote);
    double free_bytes = (double)system.f_bavail * (double)system.f_bsize;
    snprintf(check->found, sizeof check->found, "%.300s%s%s: %s, %.1f GB free", folder,
             variable != NULL ? ", from " : "", variable != NULL ? variable : "",
             name != NULL ? name : "a file system not known here", free_bytes / 1e9);
    if (remote) {
        check->state = DOCTOR_NOTE;
        snprintf(check->advice, sizeof check->advice,
                 "a network file system: set MPISTAIR_SPOOL to a folder on the node, as /tmp");
    } else if (free_bytes < 1e9) {
        check->state = DOCTOR_NOTE;
        snprintf(check->advice, sizeof check->advice,
                 "less than the 1 GB that a node may fill: set MPISTAIR_SPOOL or MPISTAIR_SPOOL_LIMIT");
    }
}

static void look_at_preload(struct doctor *doctor)
{
    struct error error;
    char library[PATH_MAX], variable[PATH_MAX + 16], program[] = "/bin/cat", maps[] = "/proc/self/maps";
    struct doctor_check *check = doctor_add(doctor, "preload", DOCTOR_OK);
    if (launch_find_preload(library, &error) != 0) {
        check->state = DOCTOR_MISSING;
        snprintf(check->found, sizeof check->found, "%.400s", error.text);
        snprintf(check->advice, sizeof check->advice, "build and install mpistair anew");
        return;
    }
    snprintf(variable, sizeof variable, "LD_PRELOAD=%s", library);
    char *arguments[] = {program, maps, NULL}, *environment[] = {variable, NULL};
    size_t size = 1 << 20;
    char *output = malloc(size);
    int status = output == NULL ? -1 : doctor_run(arguments, environment, output, size);
    const char *name = strrchr(library, '/') + 1;
    doctor->preload_works = status == 0 && strstr(output, name) != NULL;
    free(output);
    snprintf(check->found, sizeof check->found, "%.400s%s", library,
             doctor->preload_works ? "" : ": LD_PRELOAD is not honoured by /bin/cat");
    if (!doctor->preload_works) {
        check->state = DOCTOR_MISSING;
        snprintf(check->advice, sizeof check->advice,
                 "the loader ignores it: a hardened or static environment, or another architecture");
    }
}

static void look_at_call_sites(struct doctor *doctor)
{
    const char *reason;
    struct doctor_check *check = doctor_add(doctor, "call sites", DOCTOR_OK);
    if (libdw_load(&reason) != NULL) {
        snprintf(check->found, sizeof check->found, "libdw can be loaded; it reads functions and lines");
        return;
    }
    check->state = DOCTOR_NOTE;
    snprintf(check->found, sizeof check->found, "libdw cannot be loaded: %.400s", reason);
    snprintf(check->advice, sizeof check->advice,
             "a trace made here has call sites without lines: install libdw of elfutils (libdw1) where mpistair ingest "
             "runs");
}

void doctor_look_at_host(struct doctor *doctor)
{
    look_at_processors(doctor);
    look_at_clock(doctor);
    look_at_spools(doctor);
    look_at_preload(doctor);
    look_at_call_sites(doctor);
}
