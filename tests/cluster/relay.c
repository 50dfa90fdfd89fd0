/* Joins hosts of tests/cluster/cluster as a switch whose every packet arrives so much later, for kernels without netem.
 *
 *     relay DELAY PID ...     DELAY: 0, 50us, 1.5ms; PID: a process in the network namespace of each host
 *
 * Gives each of these namespaces a device eth0 (TAP), and passes on what is sent there: to the host with the address
 * that a packet is for, or to all others. Packets leave in the order in which they came, DELAY after that, whatever
 * their size; those of several segments (TSO) pass whole. What the relay itself takes, some microseconds a packet, is
 * there with DELAY 0 too. It runs before all that computes (SCHED_FIFO, if allowed). Its devices go with it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_HOSTS = 64,
    ROOM = 2048,          /* packets on their way */
    PACKET_BYTES = 66000, /* header of virtio, Ethernet, 64 KiB */
    VIRTIO_BYTES = 10,
    MAC_BYTES = 6,
};

struct packet {
    int64_t due_ns;
    size_t from, bytes;
    unsigned char *data; /* [PACKET_BYTES] */
};

struct relay {
    int64_t delay_ns;
    int64_t late_ns; /* by which timers wake it */
    size_t n_hosts;
    struct pollfd taps[MAX_HOSTS];
    unsigned char macs[MAX_HOSTS][MAC_BYTES]; /* of the last sender at each; 0: not known */
    struct packet ring[ROOM];
    size_t first, n;
};

static void fail(const char *what)
{
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* Reads 0, 50us, 1.5ms; -1: something else. */
static int64_t parse_delay(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    double unit_ns = strcmp(end, "us") == 0 ? 1e3 : strcmp(end, "ms") == 0 ? 1e6 : *end == '\0' && value <= 0 ? 1 : -1;
    return end != text && value >= 0 && value <= 1e6 && unit_ns > 0 ? (int64_t)(value * unit_ns) : -1;
}

/* Makes eth0 in the namespace of a process. */
static int make_tap(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) != 0)
        fail(path);
    close(namespace);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    strcpy(request.ifr_name, "eth0");
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request) != 0 ||
        ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0)
        fail("/dev/net/tun");
    return tap;
}

/* Takes what host `from` has sent, as far as there is room. */
static void take(struct relay *relay, size_t from)
{
    while (relay->n < ROOM) {
        struct packet *packet = &relay->ring[(relay->first + relay->n) % ROOM];
        ssize_t bytes = read(relay->taps[from].fd, packet->data, PACKET_BYTES);
        if (bytes < VIRTIO_BYTES + 2 * MAC_BYTES)
            return;
        packet->due_ns = now_ns() + relay->delay_ns;
        packet->from = from;
        packet->bytes = (size_t)bytes;
        memcpy(relay->macs[from], packet->data + VIRTIO_BYTES + MAC_BYTES, MAC_BYTES);
        relay->n++;
    }
}

/* Hands a packet to its host, or to all others. A host that cannot take it loses it, as on a wire. */
static void give(const struct relay *relay, const struct packet *packet)
{
    const unsigned char *to = packet->data + VIRTIO_BYTES;
    size_t host = 0;
    while (host < relay->n_hosts && memcmp(relay->macs[host], to, MAC_BYTES) != 0)
        host++;
    for (size_t i = 0; i < relay->n_hosts; i++)
        if (i != packet->from && (i == host || host == relay->n_hosts) &&
            write(relay->taps[i].fd, packet->data, packet->bytes) < 0 && errno != EAGAIN && errno != EIO)
            fail("eth0");
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns how late timers are, but for one in ten: tens of microseconds on a virtual machine. */
static int64_t find_lateness(void)
{
    enum { TIMES = 100, SLEEP_NS = 20000 };
    int64_t late_ns[TIMES];
    for (size_t i = 0; i < TIMES; i++) {
        int64_t begin_ns = now_ns();
        ppoll(NULL, 0, &(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        late_ns[i] = now_ns() - begin_ns - SLEEP_NS;
    }
    qsort(late_ns, TIMES, sizeof late_ns[0], compare);
    return late_ns[TIMES * 9 / 10];
}

/* Sleeps until something comes, or until shortly before a packet is due, and looks again and again from there on. */
static void pass_on(struct relay *relay)
{
    for (;;) {
        while (relay->n > 0 && relay->ring[relay->first].due_ns <= now_ns()) {
            give(relay, &relay->ring[relay->first]);
            relay->first = (relay->first + 1) % ROOM;
            relay->n--;
        }
        int64_t left_ns = relay->n > 0 ? relay->ring[relay->first].due_ns - now_ns() - relay->late_ns : 0;
        struct timespec left = {left_ns > 0 ? left_ns / 1000000000 : 0, left_ns > 0 ? left_ns % 1000000000 : 0};
        if (ppoll(relay->taps, relay->n < ROOM ? relay->n_hosts : 0, relay->n > 0 ? &left : NULL, NULL) < 0 &&
            errno != EINTR)
            fail("ppoll");
        for (size_t i = 0; i < relay->n_hosts; i++)
            if ((relay->taps[i].revents & POLLIN) != 0)
                take(relay, i);
    }
}

int main(int argc, char **argv)
{
    static struct relay relay;
    relay.delay_ns = argc > 1 ? parse_delay(argv[1]) : -1;
    relay.n_hosts = argc > 2 ? (size_t)argc - 2 : 0;
    if (relay.delay_ns < 0 || relay.n_hosts < 2 || relay.n_hosts > MAX_HOSTS) {
        fprintf(stderr, "usage: relay DELAY PID PID ... (DELAY: 0, 50us, 1.5ms; 2 to %d processes)\n", MAX_HOSTS);
        return 2;
    }
    for (size_t i = 0; i < relay.n_hosts; i++)
        relay.taps[i] = (struct pollfd){.fd = make_tap(argv[i + 2]), .events = POLLIN};
    for (size_t i = 0; i < ROOM; i++)
        if ((relay.ring[i].data = malloc(PACKET_BYTES)) == NULL)
            fail("memory");
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 10});
    relay.late_ns = find_lateness();
    pass_on(&relay);
}
