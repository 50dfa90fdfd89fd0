/* The engine asks for a rate at every event, so that all of them are read from the table before. See run_rates.h. */
#include "predictor/run/laws/run_rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/pattern/traffic.h"
#include "share/base/memory.h"

/* Copies BW(n) into the class. Returns 0, or -1 with the reason. */
static int read_bandwidth(struct run_class *class, const struct machine *machine, size_t n_max, bool infinite,
                          struct error *error)
{
    struct machine_bandwidth bandwidth;
    class->bytes_per_s = xmalloc((n_max + 1) * sizeof *class->bytes_per_s);
    if (machine_bandwidth(machine, class->level, class->protocol, &bandwidth, error) != 0)
        return -1;
    bool extrapolated = false;
    class->bytes_per_s[0] = 0;
    for (size_t n = 1; n <= n_max; n++)
        class->bytes_per_s[n] =
            infinite ? (double)INFINITY : machine_bandwidth_at(&bandwidth, (double)n, &extrapolated);
    class->most_bytes_per_s = infinite ? (double)INFINITY : machine_bandwidth_most(&bandwidth);
    if (!isfinite(class->most_bytes_per_s) && !infinite) /* a table in the form of B without R_N */
        class->most_bytes_per_s = class->bytes_per_s[n_max];
    machine_bandwidth_release(&bandwidth);
    return 0;
}

/* Returns the value of the class, else that of its level, else the one for where there is none. */
static double class_value(const struct run_class *class, const struct machine *machine, const char *quantity,
                          double absent)
{
    double of_level = machine_value(machine, class->level, PROTOCOL_ANY, quantity, absent);
    return machine_value(machine, class->level, class->protocol, quantity, of_level);
}

static int read_class(struct run_class *class, const struct machine *machine, size_t n_max, struct run_ideal ideal,
                      struct error *error)
{
    enum level level = class->level;
    enum machine_protocol protocol = class->protocol;
    if (machine_tau_s(machine, level, protocol, &class->tau_s, error) != 0)
        return -1;
    class->rendezvous = protocol == PROTOCOL_RENDEZVOUS || protocol == PROTOCOL_ANY;
    class->overhead_s[0] = class_value(class, machine, "overhead_send", 0);
    class->overhead_s[1] = class_value(class, machine, "overhead_receive", 0);
    class->overhead_byte_s = class_value(class, machine, "overhead_send_byte", 0);
    class->buffer_bytes = class_value(class, machine, "buffer", -1);
    class->injection_bytes_per_s = machine_value(machine, level, protocol, "injection", INFINITY);
    unsigned progress = (unsigned)class_value(class, machine, "progress", 0);
    class->needs_sender = (progress & 1) != 0;
    class->needs_receiver = (progress & 2) != 0;
    class->partitions_late = class_value(class, machine, "partitions_early", 1) <= 0;
    if (ideal.no_latency)
        class->tau_s = class->overhead_s[0] = class->overhead_s[1] = class->overhead_byte_s = 0;
    return read_bandwidth(class, machine, n_max, ideal.no_transfer, error);
}

/* Lets no protocol go faster between nodes than the largest messages do, since the wire does not know protocols: a
 * single small message that fits into the buckets and buffers on its way is faster, a stream of them is not. That
 * single message shows how fast a bucket lets through what it has room for. */
static void limit_by_wire(struct run_rates *rates)
{
    const struct machine_protocols *protocols = &rates->protocols[LEVEL_INTER_NODE];
    rates->wire = rates->class_of[LEVEL_INTER_NODE][protocols->protocol[protocols->n - 1]];
    const struct run_class *wire = &rates->classes[rates->wire];
    rates->burst_bytes_per_s = wire->bytes_per_s[1];
    for (size_t i = 0; i + 1 < protocols->n; i++) {
        struct run_class *class = &rates->classes[rates->class_of[LEVEL_INTER_NODE][protocols->protocol[i]]];
        rates->burst_bytes_per_s = fmax(rates->burst_bytes_per_s, class->bytes_per_s[1]);
        for (size_t n = 1; n <= rates->n_max; n++)
            class->bytes_per_s[n] = fmin(class->bytes_per_s[n], wire->bytes_per_s[n]);
        class->most_bytes_per_s = fmin(class->most_bytes_per_s, wire->most_bytes_per_s);
    }
}

/* Adds the class of buffers in caches beside that of a level and protocol, where the table has its rates. More
 * than two processes are taken to share as they do from memory, for want of a measurement. */
static void add_cached(struct run_rates *rates, const struct machine *machine, const struct run_class *from_memory,
                       struct run_ideal ideal)
{
    struct machine_bandwidth bandwidth;
    struct error none;
    enum level level = from_memory->level;
    enum machine_protocol protocol = from_memory->protocol;
    if (machine_bandwidth_named(machine, level, protocol, "bw_cached", "injection_cached", &bandwidth, &none) != 0)
        return;
    struct run_class *class = &rates->classes[rates->n_classes];
    *class = *from_memory;
    class->bytes_per_s = xmalloc((rates->n_max + 1) * sizeof *class->bytes_per_s);
    rates->cached_of[level][protocol] = (uint8_t)rates->n_classes++;
    if (!ideal.no_transfer) {
        double last = bandwidth.n[bandwidth.n_knots - 1];
        double knot = last <= (double)rates->n_max ? from_memory->bytes_per_s[(size_t)last] : 0;
        bool extrapolated = false;
        class->bytes_per_s[0] = 0;
        for (size_t n = 1; n <= rates->n_max; n++)
            class->bytes_per_s[n] = machine_bandwidth_at(&bandwidth, fmin((double)n, last), &extrapolated) *
                                    ((double)n > last ? from_memory->bytes_per_s[n] / knot : 1);
        class->most_bytes_per_s = class->bytes_per_s[rates->n_max];
    } else {
        memcpy(class->bytes_per_s, from_memory->bytes_per_s, (rates->n_max + 1) * sizeof *class->bytes_per_s);
    }
    machine_bandwidth_release(&bandwidth);
}

int run_rates_init(struct run_rates *rates, const struct machine *machine, unsigned levels, size_t n_max,
                   struct run_ideal ideal, struct error *error)
{
    *rates = (struct run_rates){.n_max = n_max};
    memset(rates->class_of, RUN_NO_CLASS, sizeof rates->class_of);
    memset(rates->cached_of, RUN_NO_CLASS, sizeof rates->cached_of);
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        if ((levels & LEVEL_BIT(level)) == 0)
            continue;
        if (machine_protocols(machine, level, &rates->protocols[level], error) != 0)
            return -1;
        rates->known[level] = true;
        for (size_t i = 0; i < rates->protocols[level].n; i++) {
            enum machine_protocol protocol = rates->protocols[level].protocol[i];
            struct run_class *class = &rates->classes[rates->n_classes];
            rates->class_of[level][protocol] = (uint8_t)rates->n_classes++;
            *class = (struct run_class){.level = level, .protocol = protocol};
            if (read_class(class, machine, n_max, ideal, error) != 0)
                return -1;
            add_cached(rates, machine, class, ideal);
        }
        rates->cached_bytes[level] = machine_value(machine, level, PROTOCOL_ANY, "cached_bytes", 0);
    }
    if (rates->known[LEVEL_INTER_NODE]) {
        limit_by_wire(rates);
        if (!ideal.no_transfer)
            rates->burst_bytes = machine_value(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "burst", 0);
        if (!ideal.no_transfer && !ideal.no_latency) {
            rates->backlog_bytes = machine_value(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog", 0);
            rates->backlog_pair_bytes = machine_value(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog_pair", 0);
        }
    }
    return 0;
}

void run_rates_release(struct run_rates *rates)
{
    for (size_t c = 0; c < rates->n_classes; c++)
        free(rates->classes[c].bytes_per_s);
    *rates = (struct run_rates){0};
}

size_t run_rates_class(const struct run_rates *rates, enum level level, uint64_t bytes, bool cached)
{
    enum machine_protocol protocol = machine_protocol_of(&rates->protocols[level], bytes);
    size_t class = rates->cached_of[level][protocol];
    if (cached && class != RUN_NO_CLASS)
        return class;
    return rates->class_of[level][protocol];
}
