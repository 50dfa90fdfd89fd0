/* Fits what a message of many costs beside its bytes, for each level and protocol: tau_p2p, tau_rma, tau_partitioned
 * and tau_thread; and for each level how fast bytes move by an interface (share/doc/MODELS.md, Fine-grained messages).
 *
 * The samples (calibrate/benchmark/fine.c) are times of the same bytes as few messages and as many. Of those whose
 * messages all have the protocol, the fewest m and the most n are taken:
 *
 *   tau = (T(n) - T(m)) / (n - m)
 *
 * by the medians (or minima), with the interval of their difference over n - m. Where two totals have such a pair, that
 * with the larger n - m counts. tau_thread is what two threads that send at once add to tau_p2p; it is 0 where they
 * send no slower. Where there are fewer than SAMPLES_MIN samples of either, or more messages take no longer, there is
 * no row, and a note says so: a model then takes tau, not a message that costs nothing. No end of an interval is below
 * 0.
 *
 * tau_request is found in the same way, of partitioned requests of one partition each that both ranks move at once.
 * rate_rma and rate_partitioned are T(messages) / T(puts or partitions) of the same bytes, which both ranks send at
 * once; the interval is that of the difference of the two times. There is no row where it holds 1, and a note says so.
 *
 * partitions_early is 1 if the first partition arrived before the others were ready in any sample, else 0: a rank
 * that has to wait for a processor may be late. */
#include <math.h>

#include "calibrate/fit/bootstrap.h"
#include "calibrate/fit/fits.h"

enum { FINE_SAMPLES_MIN = 3 };

/* How long the others were held back (calibrate/benchmark/fine.c). */
#define EARLY_S 20e-3

static const struct interface {
    const char *quantity;
    enum variant variant;
} interfaces[] = {
    {"tau_p2p", VARIANT_P2P},
    {"tau_rma", VARIANT_RMA},
    {"tau_partitioned", VARIANT_PARTITIONED},
};
enum { N_INTERFACES = sizeof interfaces / sizeof interfaces[0] };

/* What a message costs; more is 0 where it is not known. */
struct message_cost {
    bool measured;         /* both few and many, though maybe by too few samples */
    struct line_value tau; /* s */
    double more;           /* n - m */
    size_t n_samples;
};

/* Which messages are looked for. */
struct wanted {
    enum level level;
    enum machine_protocol protocol; /* PROTOCOL_ANY: of all */
    const struct machine_protocols *protocols;
    uint64_t n; /* ranks that send */
};

/* Goes on to the next set of a variant that is wanted; returns false where there is none. */
static bool next_wanted(const struct samples *samples, const struct wanted *wanted, enum variant variant,
                        struct sample_set *set)
{
    while (samples_next(samples, BENCHMARK_FINE, wanted->level, set)) {
        const struct sample *sample = &samples->samples[set->first];
        if (sample->variant == variant && sample->n == wanted->n && sample->count > 0 &&
            (wanted->protocol == PROTOCOL_ANY ||
             machine_protocol_of(wanted->protocols, sample->bytes / sample->count) == wanted->protocol))
            return true;
    }
    return false;
}

/* Takes a pair of numbers of messages if it shows more than what is known. */
static void take_pair(const struct fit *fit, struct sample_set few, struct sample_set many, struct message_cost *cost)
{
    const struct sample *sample = fit->samples->samples;
    double more = (double)sample[many.first].count - (double)sample[few.first].count;
    cost->measured = true;
    if (more <= cost->more || few.n < FINE_SAMPLES_MIN || many.n < FINE_SAMPLES_MIN)
        return;
    struct difference time = difference_find(fit->samples, fit->options->statistic, few, many);
    if (isfinite(time.value_s))
        *cost = (struct message_cost){
            .measured = true,
            .tau = {time.value_s / more, fit_finite(time.low_s) / more, fit_finite(time.high_s) / more},
            .more = more,
            .n_samples = time.n_samples};
}

static struct message_cost find_cost(const struct fit *fit, const struct wanted *wanted, enum variant variant)
{
    const struct samples *samples = fit->samples;
    struct sample_set few = {.n = 0};
    struct message_cost cost = {.more = 0};
    for (struct sample_set set = {0}; next_wanted(samples, wanted, variant, &set);)
        if (few.n == 0 || samples->samples[few.first].bytes != samples->samples[set.first].bytes)
            few = set;
        else
            take_pair(fit, few, set, &cost);
    return cost;
}

static void fit_fine_append(const struct fit *fit, const struct wanted *wanted, const char *quantity,
                            const char *method, const struct message_cost *cost)
{
    fit_row(fit->machine, wanted->level, wanted->protocol, quantity, MACHINE_NO_N, fit_not_negative(cost->tau),
            cost->n_samples, method);
}

/* Appends what a second thread adds to a message by p2p. */
static void append_thread(const struct fit *fit, const struct wanted *wanted, const struct message_cost *alone)
{
    struct message_cost by_two = find_cost(fit, wanted, VARIANT_THREADS);
    if (!(alone->tau.value > 0) || !(by_two.more > 0))
        return;
    by_two.tau = (struct line_value){by_two.tau.value - alone->tau.value, by_two.tau.low - alone->tau.high,
                                     by_two.tau.high - alone->tau.low};
    by_two.n_samples += alone->n_samples;
    fit_fine_append(fit, wanted, "tau_thread", "two-threads", &by_two);
}

/* Appends whether partitions leave before all are ready. */
static void append_early(const struct fit *fit, const struct wanted *wanted)
{
    struct line_value early = {0, NAN, NAN};
    size_t n_samples = 0;
    for (struct sample_set set = {0}; next_wanted(fit->samples, wanted, VARIANT_EARLY, &set); n_samples += set.n)
        if (fit->samples->samples[set.first].seconds < EARLY_S) /* the shortest */
            early.value = 1;
    if (n_samples >= FINE_SAMPLES_MIN)
        fit_row(fit->machine, wanted->level, wanted->protocol, "partitions_early", MACHINE_NO_N, early, n_samples,
                "parrived");
}

/* Appends the rows of one level and protocol. */
static void fit_protocol(const struct fit *fit, const struct wanted *wanted)
{
    struct message_cost costs[N_INTERFACES];
    for (int i = 0; i < N_INTERFACES; i++) {
        costs[i] = find_cost(fit, wanted, interfaces[i].variant);
        if (costs[i].measured && !(costs[i].tau.value > 0))
            fit_note(fit->notes, "%s %s: %s left out: %s", level_name[wanted->level],
                     machine_protocol_name[wanted->protocol], interfaces[i].quantity,
                     costs[i].more > 0 ? "more messages take no longer" : "too few samples");
        else if (costs[i].measured)
            fit_fine_append(fit, wanted, interfaces[i].quantity, "many-few", &costs[i]);
    }
    append_early(fit, wanted);
    append_thread(fit, wanted, &costs[0]);
}

/* Finds the samples of most bytes. Returns false if there are too few. */
static bool find_largest(const struct samples *samples, const struct wanted *wanted, enum variant variant,
                         struct sample_set *largest)
{
    largest->n = 0;
    for (struct sample_set set = {0}; next_wanted(samples, wanted, variant, &set);)
        if (largest->n == 0 || samples->samples[set.first].bytes >= samples->samples[largest->first].bytes)
            *largest = set;
    return largest->n >= FINE_SAMPLES_MIN;
}

/* Appends how fast bytes move by an interface over messages. */
static void append_rate(const struct fit *fit, const struct wanted *wanted, enum variant variant, const char *quantity)
{
    const struct samples *samples = fit->samples;
    struct sample_set messages, others;
    if (!find_largest(samples, wanted, VARIANT_P2P, &messages) || !find_largest(samples, wanted, variant, &others) ||
        samples->samples[messages.first].bytes != samples->samples[others.first].bytes)
        return;
    struct difference time = difference_find(samples, fit->options->statistic, messages, others);
    double least_s = time.first_s + time.low_s, most_s = time.first_s + time.high_s;
    const struct line_value rate = {time.first_s / time.second_s, time.first_s / most_s,
                                    least_s > 0 ? time.first_s / least_s : NAN};
    if (rate.low <= 1 && !(rate.high < 1))
        fit_note(fit->notes, "%s: %s left out: %.2f is not significantly different from 1", level_name[wanted->level],
                 quantity, rate.value);
    else
        fit_row(fit->machine, wanted->level, PROTOCOL_ANY, quantity, MACHINE_NO_N, rate, time.n_samples, "both-ways");
}

void fit_fine(const struct fit *fit)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct machine_protocols protocols;
        struct wanted wanted = {.level = (enum level)level, .protocols = &protocols, .n = 1};
        if (!samples_next(fit->samples, BENCHMARK_FINE, wanted.level, &(struct sample_set){0}))
            continue;
        if (machine_protocols(fit->machine, wanted.level, &protocols, NULL) != 0) {
            fit_note(fit->notes, "%s: tau_p2p and its like left out: the level has no protocols", level_name[level]);
            continue;
        }
        for (size_t i = 0; i < protocols.n; i++) {
            wanted.protocol = protocols.protocol[i];
            fit_protocol(fit, &wanted);
        }
        /* Both ranks send: rows that are of no protocol. */
        wanted.protocol = PROTOCOL_ANY;
        wanted.n = 2;
        append_rate(fit, &wanted, VARIANT_RMA, "rate_rma");
        append_rate(fit, &wanted, VARIANT_PARTITIONED, "rate_partitioned");
        struct message_cost request = find_cost(fit, &wanted, VARIANT_PARTITIONED);
        if (request.tau.value > 0)
            fit_fine_append(fit, &wanted, "tau_request", "many-few", &request);
    }
}
