/* Holds what the models share: the messages of a pattern by class (level and protocol), and each rank's sums of them.
 *
 * Messages of a rank to itself have no class: they take no part in any model. */
#ifndef MPISTAIR_PREDICTOR_TRAFFIC_H
#define MPISTAIR_PREDICTOR_TRAFFIC_H

#include "calibrate/machine/machine.h"
#include "predictor/pattern/pattern.h"

enum { MAX_CLASSES = (LEVEL_COUNT - 1) * (PROTOCOL_COUNT - 1), NO_CLASS = 255 };

enum direction { INCOMING = 0, OUTGOING, DIRECTION_COUNT };

struct message_class {
    enum level level;
    enum machine_protocol protocol;
    double tau_s;
    struct machine_bandwidth bandwidth;
};

struct traffic {
    const struct pattern *pattern; /* borrowed */
    size_t n_ranks;
    size_t n_classes; /* classes that occur, by level and protocol */
    struct message_class classes[MAX_CLASSES];
    uint8_t *class_of;                   /* [pattern->n_messages] or NO_CLASS */
    uint64_t *messages[DIRECTION_COUNT]; /* [n_ranks * n_classes], those of a rank together */
    double *bytes[DIRECTION_COUNT];      /* [n_ranks * n_classes] likewise; exact below 2^53 */
};

/* Classifies the messages. Returns 0, or -1 with the reason: a level or protocol of the messages for which the machine
 * has no values. The pattern must outlive the traffic. n_threads: as of side_by_side. Costs a byte a message. */
int traffic_init(struct traffic *traffic, const struct pattern *pattern, const struct placement *placement,
                 const struct machine *machine, size_t n_threads, struct error *error);
void traffic_release(struct traffic *traffic);

/* Makes a set of levels, with one bit each. */
#define LEVEL_BIT(level) (1u << (level))
#define ALL_LEVELS       (LEVEL_BIT(LEVEL_COUNT) - 1u)
static inline bool traffic_class_in(const struct traffic *traffic, size_t class, unsigned levels)
{
    return (levels & LEVEL_BIT(traffic->classes[class].level)) != 0;
}

/* Says whether a send of that message is over at once: short or eager. */
static inline bool traffic_at_once(const struct traffic *traffic, size_t message)
{
    if (traffic->class_of[message] == NO_CLASS)
        return false;
    enum machine_protocol protocol = traffic->classes[traffic->class_of[message]].protocol;
    return protocol == PROTOCOL_SHORT || protocol == PROTOCOL_EAGER;
}

/* Returns M times tau: the sum of the latencies of a rank's messages of those levels, in s. */
double traffic_latency_s(const struct traffic *traffic, size_t rank, enum direction direction, unsigned levels);
/* Returns V: the bytes of a rank's messages of those levels. */
double traffic_bytes(const struct traffic *traffic, size_t rank, enum direction direction, unsigned levels);
/* Returns the sum over the classes of those levels of V_p / bytes_per_s[class], in s: V over it is BW_i of
 * share/doc/MODELS.md, Several protocols in one round. */
double traffic_transfer_s(const struct traffic *traffic, size_t rank, enum direction direction, unsigned levels,
                          const double bytes_per_s[MAX_CLASSES]);
/* Reads BW(1) of every class. Returns how many that carry bytes lie beyond their table. */
size_t traffic_single_bandwidth(const struct traffic *traffic, double bytes_per_s[MAX_CLASSES]);

#endif
