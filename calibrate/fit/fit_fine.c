/* Fits what a message of many costs beside its bytes, for each level and protocol: tau_p2p, tau_rma, tau_partitioned
 * and tau_thread; and for each level how fast bytes move by an interface (share/doc/MODELS.md, Fine-grained messages).
 *
 * The samples (calibrate/benchmark/fine/fine.c) are times of the same bytes as few messages and as many. Of those whose
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
 * partitions_early is 1 if the first partition arrived before the others were ready in any sample, else 0: whoever has
 * to wait for a processor may be late. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/difference.h"
#include "calibrate/fit/fits.h"

enum { SAMPLES_MIN = 3 };

/* Is how long the others were held back (calibrate/benchmark/fine/fine_partitioned.h). */
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

/* Holds what a message costs; more is 0 where it is not known. */
struct message_cost {
    bool measured;         /* both few and many, though maybe by too few samples */
    struct line_value tau; /* s */
    double more;           /* n - m */
    size_t n_samples;
};

/* Says which messages are looked for. */
struct wanted {
    enum level level;
    enum machine_protocol protocol; /* PROTOCOL_ANY: of all */
    const struct machine_protocols *protocols;
    enum variant variant;
    uint64_t n; /* ranks that send */
};

static bool is_wanted(const struct wanted *wanted, const struct sample *sample)
{
    return sample->benchmark == BENCHMARK_FINE && sample->level == wanted->level &&
           sample->variant == wanted->variant && sample->n == wanted->n && sample->count > 0 &&
           (wanted->protocol == PROTOCOL_ANY ||
            machine_protocol_of(wanted->protocols, sample->bytes / sample->count) == wanted->protocol);
}

/* Returns where samples end that measure the same as the first; they follow each other. */
static size_t run_end(const struct samples *samples, size_t first)
{
    size_t end = first + 1;
    while (end < samples->n_samples && samples_compare_points(&samples->samples[first], &samples->samples[end]) == 0)
        end++;
    return end;
}

/* Takes a pair of numbers of messages if it tells more than what is known. Returns 0, or -1 without memory. */
static int take_pair(const struct samples *samples, enum samples_statistic statistic, struct sample_set few,
                     struct sample_set many, struct message_cost *cost)
{
    double more = (double)samples->samples[many.first].count - (double)samples->samples[few.first].count;
    struct difference time;
    cost->measured = true;
    if (more <= cost->more || few.n < SAMPLES_MIN || many.n < SAMPLES_MIN)
        return 0;
    if (difference_find(samples, statistic, few, many, &time) != 0)
        return -1;
    if (!isfinite(time.value_s))
        return 0;
    *cost = (struct message_cost){
        .measured = true,
        .tau = {time.value_s / more, benchmark_finite(time.low_s) / more, benchmark_finite(time.high_s) / more},
        .more = more,
        .n_samples = time.n_samples};
    return 0;
}

/* Finds the cost of a message. Returns 0, or -1 without memory. */
static int find_cost(const struct samples *samples, enum samples_statistic statistic, const struct wanted *wanted,
                     struct message_cost *cost)
{
    struct sample_set few = {.n = 0};
    *cost = (struct message_cost){.more = 0};
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        const struct sample *sample = &samples->samples[first];
        end = run_end(samples, first);
        if (!is_wanted(wanted, sample))
            continue;
        struct sample_set set = {.first = first, .n = end - first};
        if (few.n == 0 || samples->samples[few.first].bytes != sample->bytes)
            few = set;
        else if (take_pair(samples, statistic, few, set, cost) != 0)
            return -1;
    }
    return 0;
}

/* Raises a value to 0; NaN stays NaN. */
static double not_below_zero(double value)
{
    return value < 0 ? 0 : value;
}

static int append(struct machine *machine, const struct wanted *wanted, const char *quantity, const char *method,
                  const struct message_cost *cost)
{
    const struct line_value value = {not_below_zero(cost->tau.value), not_below_zero(cost->tau.low),
                                     not_below_zero(cost->tau.high)};
    return benchmark_append(machine, wanted->level, wanted->protocol, quantity, MACHINE_NO_N, &value, "s",
                            cost->n_samples, method);
}

/* Appends what a second thread adds to a message by p2p. */
static int append_thread(const struct samples *samples, enum samples_statistic statistic, struct wanted *wanted,
                         const struct message_cost *alone, struct machine *machine)
{
    struct message_cost by_two;
    wanted->variant = VARIANT_THREADS;
    if (find_cost(samples, statistic, wanted, &by_two) != 0)
        return -1;
    if (!(alone->tau.value > 0) || !(by_two.more > 0))
        return 0;
    by_two.tau = (struct line_value){by_two.tau.value - alone->tau.value, by_two.tau.low - alone->tau.high,
                                     by_two.tau.high - alone->tau.low};
    by_two.n_samples += alone->n_samples;
    return append(machine, wanted, "tau_thread", "two-threads", &by_two);
}

/* Appends whether partitions leave before all are ready. Returns 0, or -1 without memory. */
static int append_early(const struct samples *samples, struct wanted *wanted, struct machine *machine)
{
    struct line_value early = {0, NAN, NAN};
    size_t n_samples = 0;
    wanted->variant = VARIANT_EARLY;
    for (size_t i = 0; i < samples->n_samples; i++) {
        if (!is_wanted(wanted, &samples->samples[i]))
            continue;
        early.value = samples->samples[i].seconds < EARLY_S ? 1 : early.value;
        n_samples++;
    }
    if (n_samples < SAMPLES_MIN)
        return 0;
    return benchmark_append(machine, wanted->level, wanted->protocol, "partitions_early", MACHINE_NO_N, &early, "1",
                            n_samples, "parrived");
}

static void note_left_out(FILE *notes, const struct wanted *wanted, const char *quantity,
                          const struct message_cost *cost)
{
    benchmark_note(notes, "%s %s: %s left out: %s", level_name[wanted->level], machine_protocol_name[wanted->protocol],
                   quantity, cost->more > 0 ? "more messages take no longer" : "too few samples");
}

/* Appends the rows of one level and protocol. Returns 0, or -1 without memory. */
static int fit_one(const struct samples *samples, enum samples_statistic statistic, struct wanted *wanted,
                   struct machine *machine, FILE *notes)
{
    struct message_cost costs[N_INTERFACES];
    int result = 0;
    for (int i = 0; i < N_INTERFACES && result == 0; i++) {
        wanted->variant = interfaces[i].variant;
        result = find_cost(samples, statistic, wanted, &costs[i]);
        if (result == 0 && costs[i].measured && !(costs[i].tau.value > 0))
            note_left_out(notes, wanted, interfaces[i].quantity, &costs[i]);
        else if (result == 0 && costs[i].measured)
            result = append(machine, wanted, interfaces[i].quantity, "many-few", &costs[i]);
    }
    if (result == 0)
        result = append_early(samples, wanted, machine);
    return result == 0 ? append_thread(samples, statistic, wanted, &costs[0], machine) : result;
}

/* Finds the samples of most bytes. Returns false if there are too few. */
static bool find_largest(const struct samples *samples, const struct wanted *wanted, struct sample_set *largest)
{
    *largest = (struct sample_set){.n = 0};
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        end = run_end(samples, first);
        if (is_wanted(wanted, &samples->samples[first]) &&
            (largest->n == 0 || samples->samples[first].bytes >= samples->samples[largest->first].bytes))
            *largest = (struct sample_set){.first = first, .n = end - first};
    }
    return largest->n >= SAMPLES_MIN;
}

/* Appends how fast bytes move by an interface over messages. Returns 0, or -1 without memory. */
static int append_rate(const struct samples *samples, enum samples_statistic statistic, struct wanted *wanted,
                       enum variant variant, const char *quantity, struct machine *machine, FILE *notes)
{
    struct sample_set messages, others;
    struct difference time;
    wanted->variant = VARIANT_P2P;
    if (!find_largest(samples, wanted, &messages))
        return 0;
    wanted->variant = variant;
    if (!find_largest(samples, wanted, &others) ||
        samples->samples[messages.first].bytes != samples->samples[others.first].bytes)
        return 0;
    if (difference_find(samples, statistic, messages, others, &time) != 0)
        return -1;
    double least_s = time.first_s + time.low_s, most_s = time.first_s + time.high_s;
    const struct line_value rate = {time.first_s / time.second_s, time.first_s / most_s,
                                    least_s > 0 ? time.first_s / least_s : NAN};
    if (rate.low <= 1 && !(rate.high < 1)) {
        benchmark_note(notes, "%s: %s left out: %.2f is not told from 1", level_name[wanted->level], quantity,
                       rate.value);
        return 0;
    }
    return benchmark_append(machine, wanted->level, PROTOCOL_ANY, quantity, MACHINE_NO_N, &rate, "1", time.n_samples,
                            "both-ways");
}

/* Appends the rows of one level that are of no protocol. Returns 0, or -1 without memory. */
static int fit_both_ways(const struct samples *samples, enum samples_statistic statistic, struct wanted *wanted,
                         struct machine *machine, FILE *notes)
{
    struct message_cost request;
    wanted->protocol = PROTOCOL_ANY;
    wanted->n = 2;
    if (append_rate(samples, statistic, wanted, VARIANT_RMA, "rate_rma", machine, notes) != 0 ||
        append_rate(samples, statistic, wanted, VARIANT_PARTITIONED, "rate_partitioned", machine, notes) != 0 ||
        find_cost(samples, statistic, wanted, &request) != 0)
        return -1;
    return request.tau.value > 0 ? append(machine, wanted, "tau_request", "many-few", &request) : 0;
}

static bool is_measured(const struct samples *samples, enum level level)
{
    bool found = false;
    for (size_t i = 0; i < samples->n_samples; i++)
        found = found || (samples->samples[i].benchmark == BENCHMARK_FINE && samples->samples[i].level == level);
    return found;
}

int fit_fine(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
             struct error *error)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct machine_protocols protocols;
        struct wanted wanted = {.level = (enum level)level, .protocols = &protocols};
        if (!is_measured(samples, wanted.level))
            continue;
        if (machine_protocols(machine, wanted.level, &protocols, NULL) != 0) {
            benchmark_note(notes, "%s: tau_p2p and its like left out: the level has no protocols", level_name[level]);
            continue;
        }
        for (size_t i = 0; i < protocols.n; i++) {
            wanted.protocol = protocols.protocol[i];
            wanted.n = 1;
            if (fit_one(samples, options->statistic, &wanted, machine, notes) != 0)
                return error_set(error, "no memory");
        }
        if (fit_both_ways(samples, options->statistic, &wanted, machine, notes) != 0)
            return error_set(error, "no memory");
    }
    return 0;
}
