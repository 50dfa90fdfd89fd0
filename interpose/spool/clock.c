/* Asks the kernel whether it trusts the TSC, and pairs that clock with CLOCK_MONOTONIC. Tests can shift the clock of a
 * node here, so that the alignment of nodes can be tested on one machine. */
#include "interpose/spool/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIR_READINGS 5

/* Holds how a test shifts this node's clock: node_ns = t + offset_ns + t * rate. */
static struct {
    int64_t offset_ns;
    double rate;
} test_shift;

uint64_t spool_clock_node_ns(void)
{
    uint64_t now_ns = clock_monotonic_ns();
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
    char name[16] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return SPOOL_CLOCK_MONOTONIC;
    ssize_t length = read(fd, name, sizeof name - 1);
    close(fd);
    if (length > 0 && strncmp(name, "tsc\n", 4) == 0)
        return SPOOL_CLOCK_TSC;
#endif
    return SPOOL_CLOCK_MONOTONIC;
}

struct spool_clock_pair spool_clock_pair(enum spool_clock_source source)
{
    struct spool_clock_pair best = {0, 0};
    uint64_t best_width = UINT64_MAX;
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
