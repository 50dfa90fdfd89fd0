/* A file of /sys has one number, that of /proc a line for each interface. See network_counters.h. */
#include "interpose/spool/network_counters.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/spool/clock.h"

struct network_file_kind {
    const char *name;
    enum spool_network_counter counter;
    uint32_t unit;
};

/* Data of a port of InfiniBand are counted in words of four bytes. */
static const struct network_file_kind infiniband_files[] = {
    {"counters/port_rcv_data", NETWORK_IN_BYTES, 4},
    {"counters/port_xmit_data", NETWORK_OUT_BYTES, 4},
    {"counters/port_rcv_packets", NETWORK_PACKETS, 1},
    {"counters/port_xmit_packets", NETWORK_PACKETS, 1},
    {"counters/port_rcv_errors", NETWORK_ERRORS, 1},
    {"counters/symbol_error", NETWORK_ERRORS, 1},
    {"hw_counters/packet_seq_err", NETWORK_RETRANSMISSIONS, 1},
    {"hw_counters/local_ack_timeout_err", NETWORK_RETRANSMISSIONS, 1},
};
_Static_assert(sizeof infiniband_files / sizeof *infiniband_files == NETWORK_FILES, "each has so many files");

/* Opens the files of a port in a folder, if it has a first one. */
static void add_port(struct network_counters *counters, const char *folder, const char *name)
{
    struct spool_network *network = counters->network;
    uint32_t at = network->n_interfaces, n = 0;
    char path[512];
    if (at == SPOOL_INTERFACES - 1 || strlen(name) >= sizeof network->names[0]) /* the last is for TCP */
        return;
    for (size_t i = 0; i < NETWORK_FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, infiniband_files[i].name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 && i == 0)
            return;
        counters->files[at][n++] = (struct network_file){fd, infiniband_files[i].unit, infiniband_files[i].counter};
    }
    strcpy(network->names[at], name);
    counters->n_files[at] = n;
    network->n_interfaces = at + 1;
}

/* What getdents64 fills. */
struct folder_entry {
    uint64_t number;
    int64_t offset;
    uint16_t bytes;
    uint8_t kind;
    char name[];
};

/* Calls for each name in a folder but those with a dot in front. */
static void for_each_name(const char *folder, void (*call)(void *context, const char *folder, const char *name),
                          void *context)
{
    _Alignas(struct folder_entry) char entries[4096];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long n; fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0;)
        for (long at = 0; at < n;) {
            const struct folder_entry *entry = (const void *)(entries + at);
            if (entry->name[0] != '.' && strlen(entry->name) < 32)
                call(context, folder, entry->name);
            at += entry->bytes;
        }
    if (fd >= 0)
        close(fd);
}

struct interface_search {
    struct network_counters *counters;
    const char *device; /* name of the InfiniBand device */
};

static void find_port(void *context, const char *folder, const char *name)
{
    const struct interface_search *search = context;
    char path[320], full[72];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(full, sizeof full, "%s/%s", search->device, name);
    add_port(search->counters, path, full);
}

static void find_infiniband(void *context, const char *folder, const char *name)
{
    struct interface_search search = *(struct interface_search *)context;
    char path[256];
    search.device = name;
    snprintf(path, sizeof path, "%s/%s/ports", folder, name);
    for_each_name(path, find_port, &search);
}

/* Reads what /proc has of all interfaces of the process's own network namespace, of which /sys may show another one. */
static const char *read_interfaces(int fd, char *text, size_t size)
{
    size_t length = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && length + 1 < size; length += n > 0 ? (size_t)n : 0)
        n = pread(fd, text + length, size - 1 - length, (off_t)length);
    text[length] = '\0';
    const char *second = strchr(text, '\n'),
               *third = second ? strchr(second + 1, '\n') : NULL; /* behind two headings */
    return third ? third + 1 : "";
}

/* Takes the name from the line of an interface. Returns what is behind it; NULL: it is none that counts. */
static const char *take_interface(const char *line, char name[32])
{
    line += strspn(line, " ");
    size_t length = strcspn(line, ":\n");
    if (line[length] != ':' || length >= 32 || length == 0)
        return NULL;
    memcpy(name, line, length);
    name[length] = '\0';
    return strcmp(name, "lo") == 0 ? NULL : line + length + 1;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Notes the interfaces that there are: those with a device, or else any. */
static void find_interfaces(struct network_counters *counters, const char *root)
{
    struct spool_network *network = counters->network;
    char text[NETWORK_TEXT_BYTES], name[32], path[256];
    uint32_t n_before = network->n_interfaces;
    const char *first = read_interfaces(counters->interfaces, text, sizeof text);
    for (int any = 0; any < 2 && network->n_interfaces == n_before; any++)
        for (const char *line = first; *line; line = next_line(line)) {
            if (network->n_interfaces == SPOOL_INTERFACES - 1 || !take_interface(line, name))
                continue;
            snprintf(path, sizeof path, "%s/sys/class/net/%s/device", root, name);
            if (any || access(path, F_OK) == 0)
                strcpy(network->names[network->n_interfaces++], name);
        }
}

static void sample_interfaces(const struct network_counters *counters, struct spool_network_sample *sample)
{
    const struct spool_network *network = counters->network;
    char text[NETWORK_TEXT_BYTES], name[32];
    for (const char *line = read_interfaces(counters->interfaces, text, sizeof text); *line; line = next_line(line)) {
        /* Bytes, packets, errors, dropped, four others; then the same of what was sent. */
        uint64_t in[4], out[4];
        const char *at = take_interface(line, name);
        if (!at ||
            sscanf(at,
                   "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%*u%*u%*u%*u%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64,
                   &in[0], &in[1], &in[2], &in[3], &out[0], &out[1], &out[2], &out[3]) != 8)
            continue;
        for (uint32_t i = 0; i < network->n_interfaces; i++) {
            if (strcmp(network->names[i], name) != 0)
                continue;
            sample->value[i][NETWORK_IN_BYTES] = in[0];
            sample->value[i][NETWORK_OUT_BYTES] = out[0];
            sample->value[i][NETWORK_PACKETS] = in[1] + out[1];
            sample->value[i][NETWORK_ERRORS] = in[2] + in[3] + out[2] + out[3];
        }
    }
}

/* TCP is one line of names and one of values, which have the same place. */
static uint64_t tcp_retransmissions(int fd)
{
    char text[4096];
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    const char *names = strstr(text, "Tcp: "), *values = names ? strstr(names + 1, "\nTcp: ") : NULL;
    const char *name = names ? strstr(names, " RetransSegs") : NULL;
    if (!values || !name || name > values)
        return SPOOL_NOT_KNOWN;
    for (values++; names < name; names = strchr(names + 1, ' '))
        if (!(values = strchr(values + 1, ' ')))
            return SPOOL_NOT_KNOWN;
    return strtoull(values, NULL, 10);
}

void network_counters_open(struct network_counters *counters, struct spool_network *network, const char *root)
{
    char path[256];
    struct interface_search search = {.counters = counters};
    *counters = (struct network_counters){.network = network};
    network->interval_ns = SPOOL_NETWORK_FIRST_NS;
    snprintf(path, sizeof path, "%s/sys/class/infiniband", root);
    for_each_name(path, find_infiniband, &search);
    snprintf(path, sizeof path, "%s/proc/thread-self/net/dev", root);
    counters->interfaces = open(path, O_RDONLY | O_CLOEXEC);
    find_interfaces(counters, root);
    snprintf(path, sizeof path, "%s/proc/thread-self/net/snmp", root);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint32_t at = network->n_interfaces;
    if (fd < 0)
        return;
    strcpy(network->names[at], "tcp");
    counters->files[at][0] = (struct network_file){fd, 0, NETWORK_RETRANSMISSIONS};
    counters->n_files[at] = 1;
    network->n_interfaces = at + 1;
}

/* Reads a number of /sys; SPOOL_NOT_KNOWN where there is none. */
static uint64_t network_number(int fd)
{
    char text[32];
    uint64_t value;
    ssize_t length = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    text[length > 0 ? length : 0] = '\0';
    return sscanf(text, "%" SCNu64, &value) == 1 ? value : SPOOL_NOT_KNOWN;
}

void network_counters_take(struct network_counters *counters, int in_any_case)
{
    struct spool_network *network = counters->network;
    struct spool_network_sample sample = {.at_ns = spool_clock_node_ns()};
    if (!network || network->n_interfaces == 0 || (!in_any_case && sample.at_ns < counters->next_ns))
        return;
    memset(sample.value, 0xff, sizeof sample.value); /* SPOOL_NOT_KNOWN */
    sample_interfaces(counters, &sample);
    for (uint32_t i = 0; i < network->n_interfaces; i++)
        for (uint32_t k = 0; k < counters->n_files[i]; k++) {
            const struct network_file *file = &counters->files[i][k];
            uint64_t *sum = &sample.value[i][file->counter];
            uint64_t value = file->unit > 0 ? network_number(file->fd) : tcp_retransmissions(file->fd);
            if (value != SPOOL_NOT_KNOWN)
                *sum = (*sum == SPOOL_NOT_KNOWN ? 0 : *sum) + value * (file->unit > 0 ? file->unit : 1);
        }
    if (network->n == SPOOL_NETWORK_SAMPLES) {
        for (uint32_t i = 1; 2 * i < SPOOL_NETWORK_SAMPLES; i++)
            network->samples[i] = network->samples[2 * i];
        __atomic_store_n(&network->n, SPOOL_NETWORK_SAMPLES / 2, __ATOMIC_RELEASE);
        network->interval_ns *= 2;
    }
    network->samples[network->n] = sample;
    __atomic_store_n(&network->n, network->n + 1, __ATOMIC_RELEASE);
    counters->next_ns = sample.at_ns + network->interval_ns;
}
