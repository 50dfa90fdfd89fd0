/* A short look is enough, before anything is measured: a refusal should come at once. */
#include "calibrate/benchmark/memory/memory_transport.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "calibrate/benchmark/memory/memory_stream.h"
#include "share/base/monotonic.h"

/* Is large enough for rendezvous and single copy, and short also on a slow network. */
enum { LOOK_BYTES = 4000000, LOOK_MESSAGES = 2 };
#define LOOK_S 0.25
#define IDLE_S 0.1

/* Returns what the TCP sockets of this process have received since they were opened. */
static uint64_t tcp_received(void)
{
    uint64_t bytes = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct tcp_info info = {.tcpi_bytes_received = 0};
        socklen_t size = sizeof info;
        char *end;
        long descriptor = strtol(entry->d_name, &end, 10);
        if (*end == '\0' && end != entry->d_name &&
            getsockopt((int)descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
            bytes += info.tcpi_bytes_received;
    }
    if (folder != NULL)
        closedir(folder);
    return bytes;
}

static double system_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec;
}

void transport_find(MPI_Comm comm, void *buffer, struct transport *transport)
{
    struct transport_use use = {0};
    struct memory_messages first = {0}, messages = {0};
    /* Connections are made, and pages prepared, by the first messages. */
    stream_receive(comm, buffer, LOOK_BYTES, 0, 1, &first);
    uint64_t tcp_before = tcp_received();
    double system_before_s = system_s(), begin_s = clock_now_s();
    stream_receive(comm, buffer, LOOK_BYTES, LOOK_S, LOOK_MESSAGES, &messages);
    use.seconds = clock_now_s() - begin_s;
    use.system_s = system_s() - system_before_s;
    use.bytes = (uint64_t)messages.n * LOOK_BYTES;
    use.tcp_bytes = tcp_received() - tcp_before;
    free(first.times);
    free(messages.times);
    system_before_s = system_s();
    begin_s = clock_now_s();
    stream_wait(comm, buffer, IDLE_S);
    use.idle_share = (system_s() - system_before_s) / (clock_now_s() - begin_s);
    transport_judge(&use, transport);
}
