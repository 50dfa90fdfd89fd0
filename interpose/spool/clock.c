/* Asks the kernel whether it trusts the TSC, and pairs that clock with the node's CLOCK_MONOTONIC. The process may have
 * another one: in a time namespace, as containers have after a restore, it counts from another moment. Tests can shift
 * the clock of a node here, so that the alignment of nodes can be tested on one machine. */
#include "interpose/spool/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAIR_READINGS 5

/* How a test shifts this node's clock: node_ns = t + offset_ns + t * rate. */
static struct {
    int64_t offset_ns;
    double rate;
} test_shift;

size_t spool_read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    length = length > 0 ? length : 0;
    text[length] = '\0';
    return (size_t)length;
}

/* The kernel tells the offsets of the namespace that our children will have, mostly our own. */
static int children_share_our_clock(void)
{
    struct stat own, children;
    return stat("/proc/self/ns/time", &own) == 0 && stat("/proc/self/ns/time_for_children", &children) == 0 &&
           own.st_ino == children.st_ino;
}

struct spool_clock_namespace spool_clock_namespace(void)
{
    static struct spool_clock_namespace found;
    static int is_read;
    char text[256];
    if (__atomic_load_n(&is_read, __ATOMIC_ACQUIRE))
        return found;
    struct spool_clock_namespace ahead = {0, 0};
    spool_read_text("/proc/self/timens_offsets", text, sizeof text);
    for (const char *line = text; *line && children_share_our_clock();
         line += strcspn(line, "\n"), line += *line == '\n') {
        char clock[16];
        int64_t s, ns;
        if (sscanf(line, "%15s %" SCNd64 " %" SCNd64, clock, &s, &ns) != 3 || s > INT32_MAX || s < INT32_MIN)
            continue;
        /* Linux 5.6 wrote the numbers of the clocks. */
        if (strcmp(clock, "monotonic") == 0 || strcmp(clock, "1") == 0)
            ahead.monotonic_ns = s * 1000000000 + ns;
        else if (strcmp(clock, "boottime") == 0 || strcmp(clock, "7") == 0)
            ahead.boottime_ns = s * 1000000000 + ns;
    }
    found = ahead; /* several threads find the same */
    __atomic_store_n(&is_read, 1, __ATOMIC_RELEASE);
    return ahead;
}

uint64_t spool_clock_node_ns(void)
{
    uint64_t now_ns = clock_monotonic_ns() - (uint64_t)spool_clock_namespace().monotonic_ns;
    return now_ns + (uint64_t)(test_shift.offset_ns + (int64_t)((double)now_ns * test_shift.rate));
}

void spool_clock_test(const char *spec, const char *host)
{
    size_t length = strlen(host);
    while (*spec && (strncmp(spec, host, length) != 0 || spec[length] != ':')) {
        spec += strcspn(spec, " ");
        spec += strspn(spec, " ");
    }
    if (!*spec)
        return;
    char *end;
    test_shift.offset_ns = strtoll(spec + length + 1, &end, 10);
    test_shift.rate = *end == ',' ? strtod(end + 1, NULL) * 1e-6 : 0;
}

enum spool_clock_source spool_clock_detect(void)
{
#if defined(__x86_64__)
    char name[16];
    spool_read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name);
    if (strncmp(name, "tsc\n", 4) == 0)
        return SPOOL_CLOCK_TSC;
#endif
    return SPOOL_CLOCK_MONOTONIC;
}

struct spool_clock_pair spool_clock_pair(enum spool_clock_source source)
{
    struct spool_clock_pair best = {0, 0};
    uint64_t best_width = UINT64_MAX;
    if (source == SPOOL_CLOCK_MONOTONIC) {
        uint64_t now_ns = clock_monotonic_ns();
        return (struct spool_clock_pair){now_ns, now_ns - (uint64_t)spool_clock_namespace().monotonic_ns};
    }
    for (int i = 0; i < PAIR_READINGS; i++) {
        uint64_t before = clock_ticks(source);
        uint64_t monotonic_ns = spool_clock_node_ns();
        uint64_t width = clock_ticks(source) - before;
        if (width < best_width) {
            best_width = width;
            best = (struct spool_clock_pair){before + width / 2, monotonic_ns};
        }
    }
    return best;
}
