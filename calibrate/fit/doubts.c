/* A fit always gives numbers. Some sets of them no machine can have, and others rest on too little: a reader of the
 * table should not have to find that out. */
#include "calibrate/fit/doubts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "calibrate/machine/memory_quantity.h"
#include "share/base/array.h"

enum { DOUBTS_SAMPLES_MIN = 10 };

#define INTERVAL_MAX          0.10 /* width over value */
#define RATE_MAX              1.10 /* promised over best measured */
#define DOUBTS_DRIFT_MAX      0.05 /* relative standard deviation */
#define SAMPLES_DISTURBED_MAX 0.10 /* share of the samples */
#define DOUBTS_STEAL_MAX      0.01
#define SHARE_MAX             1.01 /* a process's share with more competitors over that with fewer */

#define LOSS_MAX 0.01 /* what a loss may be off from what follows for it */
#define SUM_MAX  0.05 /* what a maximum may be above what its cores and its message have alone, or another maximum */

/* Notes a doubt; its sentence begins with the row that it is about. */
static void __attribute__((format(printf, 5, 6))) doubt_add(struct doubts *found, const struct machine_parameter *row,
                                                            enum doubt_kind kind, double size, const char *format, ...)
{
    array_grow(&found->doubts, found->n, sizeof *found->doubts);
    struct doubt *doubt = &found->doubts[found->n++];
    *doubt = (struct doubt){.kind = kind, .row = row, .size = size};
    snprintf(doubt->place, sizeof doubt->place, "%s %s %s", level_text(row->level),
             machine_protocol_name[row->protocol], row->quantity);
    size_t used = strlen(doubt->place);
    if (row->n != MACHINE_NO_N)
        snprintf(doubt->place + used, sizeof doubt->place - used, " %llu", (unsigned long long)row->n);
    int length = snprintf(doubt->sentence, sizeof doubt->sentence, "%s: ", doubt->place);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(doubt->sentence + length, sizeof doubt->sentence - (size_t)length, format, arguments);
    va_end(arguments);
}

static bool one_of(const char *quantity, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(quantity, *names) == 0)
            return true;
    return false;
}

/* Checks what a calibration found out about itself (drift.h). */
static void check_drift(struct doubts *found, const struct machine_parameter *row)
{
    if (strncmp(row->quantity, "drift_", 6) == 0 && row->value > DOUBTS_DRIFT_MAX)
        doubt_add(found, row, DOUBT_DRIFT, row->value,
                  "the machine's own speed went up and down by %.3g %% while it was calibrated", 100 * row->value);
    else if (strcmp(row->quantity, "disturbed") == 0 && row->value > SAMPLES_DISTURBED_MAX)
        doubt_add(found, row, DOUBT_DISTURBED, row->value, "others had the machine during %.3g %% of the samples",
                  100 * row->value);
    else if (strcmp(row->quantity, "steal") == 0 && row->value > DOUBTS_STEAL_MAX)
        doubt_add(found, row, DOUBT_STEAL, row->value, "the hypervisor took %.3g %% of the processors",
                  100 * row->value);
}

static bool is_drift(const struct machine_parameter *row)
{
    static const char *const own[] = {"drift_small", "drift_large", "disturbed", "waited", "steal", NULL};
    return one_of(row->quantity, own);
}

static void check_certainty(struct doubts *found, const struct machine_parameter *row)
{
    /* Found by a search of few, chosen samples. */
    static const char *const searched[] = {"threshold", "buffer", NULL};
    /* Costs that a machine may not have: where the interval reaches 0, the samples show none, and that is a result.
     */
    static const char *const costs[] = {"gamma", "queue_step", "queue_step_unexpected", "delta", NULL};
    /* Their interval says how sizes differ, or there is none. */
    static const char *const calls[] = {"overhead_send", "overhead_send_byte", "overhead_receive",
                                        "progress",      "cached_bytes",       NULL};
    double width = row->ci_high - row->ci_low;
    if (row->samples == 0)
        return;
    if (row->samples < DOUBTS_SAMPLES_MIN && !one_of(row->quantity, searched))
        doubt_add(found, row, DOUBT_FEW_SAMPLES, (double)row->samples, "only %llu samples",
                  (unsigned long long)row->samples);
    if (one_of(row->quantity, calls))
        return;
    if (strcmp(row->method, QUEUE_NOT_LINEAR) == 0)
        return; /* next to 0: how near in percent says nothing */
    if (isnan(width))
        doubt_add(found, row, DOUBT_NO_END, 0, "its 95 %% interval has no end");
    else if (!(row->value > 0) || (!(row->ci_low > 0) && one_of(row->quantity, costs)))
        return;
    else if (width > INTERVAL_MAX * row->value)
        doubt_add(found, row, DOUBT_WIDE, width / row->value, "its 95 %% interval is %.3g %% wide",
                  100 * width / row->value);
}

/* Returns the row of the same level and protocol with the next smaller n; NULL if there is none. */
static const struct machine_parameter *previous_knot(const struct machine *machine, const struct machine_parameter *row)
{
    const struct machine_parameter *found = NULL;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *other = &machine->parameters[i];
        if (other->level == row->level && other->protocol == row->protocol && strcmp(other->quantity, "bw") == 0 &&
            other->n < row->n && (found == NULL || other->n > found->n))
            found = other;
    }
    return found;
}

static void check_share(struct doubts *found, const struct machine_parameter *row)
{
    const struct machine_parameter *previous = previous_knot(found->machine, row);
    if (previous == NULL)
        return;
    double share = row->value / (double)row->n, before = previous->value / (double)previous->n;
    if (previous->n == 1 && row->n == 2) {
        if (before < share)
            doubt_add(found, previous, DOUBT_ODD, 0, "%.4g GB/s is less than half of bw 2, %.4g GB/s", before * 1e-9,
                      row->value * 1e-9);
    } else if (share > SHARE_MAX * before) {
        doubt_add(found, row, DOUBT_ODD, 0, "a process's share grows from %.4g to %.4g GB/s as n grows from %llu",
                  before * 1e-9, share * 1e-9, (unsigned long long)previous->n);
    }
}

/* A node cannot take more from the network in the two-way Algorithm 1 than all of its links carry one way. */
static void check_injection(struct doubts *found, const struct machine_parameter *row)
{
    for (size_t i = 0; i < found->machine->n_parameters; i++) {
        const struct machine_parameter *other = &found->machine->parameters[i];
        if (other->level == row->level && other->protocol == row->protocol && strcmp(other->quantity, "bw") == 0 &&
            other->value > RATE_MAX * row->value)
            doubt_add(found, row, DOUBT_ODD, 0, "%.4g GB/s is less than bw %llu, %.4g GB/s", row->value * 1e-9,
                      (unsigned long long)other->n, other->value * 1e-9);
    }
}

/* Accepts benchmarks whose seconds are those of messages of one size, n processes at once. */
static bool of_a_curve(const struct sample *sample)
{
    return sample->benchmark == BENCHMARK_PINGPONG || sample->benchmark == BENCHMARK_ALGORITHM1 ||
           sample->benchmark == BENCHMARK_SELF;
}

/* Finds the largest size that was measured for a row, and the shortest time of it. */
static void largest_sample(const struct machine *machine, const struct samples *samples,
                           const struct machine_parameter *row, double *bytes, double *seconds)
{
    struct machine_protocols protocols;
    *bytes = 0;
    if (machine_protocols(machine, row->level, &protocols, NULL) != 0)
        return;
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        double size = (double)sample->bytes;
        if (!of_a_curve(sample) || sample->level != row->level || sample->n != row->n || size < *bytes ||
            machine_protocol_of(&protocols, sample->bytes) != row->protocol)
            continue;
        if (size > *bytes || sample->seconds < *seconds)
            *seconds = sample->seconds;
        *bytes = size;
    }
}

static void check_rate(struct doubts *found, const struct samples *samples, const struct machine_parameter *row)
{
    double bytes, seconds = 0, tau_s, n = (double)row->n;
    largest_sample(found->machine, samples, row, &bytes, &seconds);
    if (!(bytes > 0) || machine_tau_s(found->machine, row->level, row->protocol, &tau_s, NULL) != 0)
        return;
    double best = n * bytes / seconds, promised = n * bytes / (tau_s + n * bytes / row->value);
    if (promised > RATE_MAX * best)
        doubt_add(found, row, DOUBT_PROMISES, promised / best,
                  "promises %.4g GB/s for messages of %.0f B, the best sample reached %.4g GB/s", promised * 1e-9,
                  bytes, best * 1e-9);
}

/* Rows of memory contention of a level, and their values: points of two curves. What no two curves have, a table should
 * not have either. */
struct doubts_side {
    struct doubts *found;
    const struct machine_parameter *row[MEMORY_PARAMETER_COUNT];
    double value[MEMORY_PARAMETER_COUNT];
    double cores; /* of the socket; NaN: not known */
};

static int parameter_of(const struct machine_parameter *row)
{
    int i = 0;
    while (i < MEMORY_PARAMETER_COUNT && strcmp(row->quantity, memory_quantities[i].name) != 0)
        i++;
    return i;
}

/* Whether the width of a row's interval does not say how well the model is known: a loss may be next to 0, and a
 * number of cores any of many whose totals are alike. */
static bool memory_excuses(const struct machine_parameter *row)
{
    static const enum memory_parameter excused[] = {MEMORY_CORES_PAR, MEMORY_CORES_SEQ, MEMORY_LOSS_LEFT,
                                                    MEMORY_LOSS_RIGHT};
    int parameter = parameter_of(row);
    for (size_t i = 0; i < sizeof excused / sizeof excused[0]; i++)
        if (parameter == (int)excused[i])
            return true;
    return false;
}

/* Collects the rows; returns their number. */
static int doubts_collect(struct doubts_side *side, enum level level)
{
    const struct machine *machine = side->found->machine;
    int n = 0;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        int parameter = row->level == level ? parameter_of(row) : MEMORY_PARAMETER_COUNT;
        if (parameter == MEMORY_PARAMETER_COUNT)
            continue;
        side->row[parameter] = row;
        side->value[parameter] = row->value;
        n++;
    }
    side->cores = machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "cores", NAN);
    return n;
}

/* Checks a loss against the totals that it leads from and to. */
static void check_loss_left(const struct doubts_side *side)
{
    const double *v = side->value;
    const struct machine_parameter *row = side->row[MEMORY_LOSS_LEFT];
    double cores = v[MEMORY_CORES_SEQ] - v[MEMORY_CORES_PAR], lost = v[MEMORY_TOTAL_PAR] - v[MEMORY_TOTAL_PAR2];
    double loss = v[MEMORY_LOSS_LEFT], expected = lost / cores, n_par = v[MEMORY_CORES_SEQ] - lost / loss;
    char instead[64] = "";
    if (!(fabs(cores) > 0)) {
        if (fabs(loss) > 0)
            doubt_add(side->found, row, DOUBT_ODD, 0,
                      "%.4g GB/s a core, but no core lies between memory_cores_par and memory_cores_seq, both %.0f",
                      loss * 1e-9, v[MEMORY_CORES_PAR]);
        if (fabs(lost) > LOSS_MAX * v[MEMORY_TOTAL_PAR])
            doubt_add(side->found, side->row[MEMORY_TOTAL_PAR2], DOUBT_ODD, 0,
                      "%.4g GB/s with %.0f cores, and memory_total_par has %.4g GB/s with as many",
                      v[MEMORY_TOTAL_PAR2] * 1e-9, v[MEMORY_CORES_PAR], v[MEMORY_TOTAL_PAR] * 1e-9);
        return;
    }
    if (fabs(loss - expected) <= LOSS_MAX * fabs(expected))
        return;
    if (n_par >= 0.5 && fabs(n_par - round(n_par)) < LOSS_MAX * fabs(lost / loss))
        snprintf(instead, sizeof instead, "; it would follow for memory_cores_par %.0f", n_par);
    doubt_add(side->found, row, DOUBT_ODD, 0,
              "%.4g GB/s a core, but (memory_total_par - memory_total_par2) / (memory_cores_seq - "
              "memory_cores_par) = (%.6g - %.6g) / (%.0f - %.0f) is %.4g GB/s%s%s",
              loss * 1e-9, v[MEMORY_TOTAL_PAR] * 1e-9, v[MEMORY_TOTAL_PAR2] * 1e-9, v[MEMORY_CORES_SEQ],
              v[MEMORY_CORES_PAR], expected * 1e-9, instead,
              row->samples == 0 ? "; the table keeps what its source prints" : "");
}

static void check_cores(const struct doubts_side *side)
{
    static const enum memory_parameter counts[] = {MEMORY_CORES_PAR, MEMORY_CORES_SEQ};
    const double *v = side->value;
    for (int i = 0; i < 2; i++)
        if (v[counts[i]] > side->cores)
            doubt_add(side->found, side->row[counts[i]], DOUBT_ODD, 0, "%.0f, but a socket has %.0f cores",
                      v[counts[i]], side->cores);
    if (v[MEMORY_CORES_SEQ] < v[MEMORY_CORES_PAR])
        doubt_add(
            side->found, side->row[MEMORY_CORES_SEQ], DOUBT_ODD, 0,
            "%.0f is below memory_cores_par, %.0f: with a message besides, no more cores should be needed for the "
            "maximum than without; memory_loss_left serves no number of cores",
            v[MEMORY_CORES_SEQ], v[MEMORY_CORES_PAR]);
}

/* Checks each maximum against what is its part, and against what its parts can have at most. */
static void check_totals(const struct doubts_side *side)
{
    const double *v = side->value;
    const struct {
        enum memory_parameter row;
        double least;
        const char *what;
    } least[] = {
        {MEMORY_TOTAL_PAR, v[MEMORY_ONE_CORE], "one core has alone (memory_computation)"},
        {MEMORY_TOTAL_SEQ, v[MEMORY_ONE_CORE], "one core has alone (memory_computation)"},
        {MEMORY_TOTAL_PAR, v[MEMORY_TOTAL_PAR2], "memory_total_par2, though it is the maximum"},
        {MEMORY_TOTAL_PAR2, v[MEMORY_ALPHA] * v[MEMORY_ONE_MESSAGE], "a message keeps of it (memory_alpha)"},
    };
    const struct {
        enum memory_parameter row;
        double most;
        const char *what;
    } most[] = {
        {MEMORY_TOTAL_SEQ, v[MEMORY_CORES_SEQ] * v[MEMORY_ONE_CORE], "memory_cores_seq times one core"},
        {MEMORY_TOTAL_PAR, v[MEMORY_CORES_PAR] * v[MEMORY_ONE_CORE] + v[MEMORY_ONE_MESSAGE],
         "memory_cores_par times one core and the message"},
    };
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++)
        if (v[least[i].row] * (1 + LOSS_MAX) < least[i].least)
            doubt_add(side->found, side->row[least[i].row], DOUBT_ODD, 0, "%.4g GB/s is less than what %s, %.4g GB/s",
                      v[least[i].row] * 1e-9, least[i].what, least[i].least * 1e-9);
    for (size_t i = 0; i < sizeof most / sizeof most[0]; i++)
        if (v[most[i].row] > most[i].most * (1 + SUM_MAX))
            doubt_add(side->found, side->row[most[i].row], DOUBT_ODD, 0, "%.4g GB/s is more than %s, %.4g GB/s",
                      v[most[i].row] * 1e-9, most[i].what, most[i].most * 1e-9);
}

/* Follows the total to the last core. */
static void check_last(const struct doubts_side *side)
{
    const double *v = side->value;
    const struct machine_parameter *row = side->row[MEMORY_LOSS_RIGHT];
    double last = v[MEMORY_TOTAL_PAR2] - v[MEMORY_LOSS_RIGHT] * (side->cores - v[MEMORY_CORES_SEQ]);
    double kept = v[MEMORY_ALPHA] * v[MEMORY_ONE_MESSAGE];
    if (last < kept)
        doubt_add(side->found, row, DOUBT_ODD, 0,
                  "%.4g GB/s a core leaves %.4g GB/s to all %.0f cores and the message, which keeps %.4g GB/s of it",
                  v[MEMORY_LOSS_RIGHT] * 1e-9, last * 1e-9, side->cores, kept * 1e-9);
    else if (last > v[MEMORY_TOTAL_PAR] * (1 + SUM_MAX))
        doubt_add(side->found, row, DOUBT_ODD, 0,
                  "%.4g GB/s a core gives all %.0f cores and the message %.4g GB/s, more than memory_total_par, "
                  "%.4g GB/s",
                  v[MEMORY_LOSS_RIGHT] * 1e-9, side->cores, last * 1e-9, v[MEMORY_TOTAL_PAR] * 1e-9);
}

/* Reports each doubt about memory contention of a level. */
static void check_memory(struct doubts *found, enum level level)
{
    struct doubts_side side = {.found = found};
    int n = doubts_collect(&side, level), first = 0, lacking = 0;
    if (n == 0)
        return;
    while (side.row[first] == NULL)
        first++;
    while (lacking < MEMORY_PARAMETER_COUNT && side.row[lacking] != NULL)
        lacking++;
    if (lacking < MEMORY_PARAMETER_COUNT) {
        doubt_add(found, side.row[first], DOUBT_ODD, 0,
                  "no %s beside it: without all %d values of a level there is no model of memory contention",
                  memory_quantities[lacking].name, MEMORY_PARAMETER_COUNT);
        return;
    }
    check_cores(&side);
    check_loss_left(&side);
    check_totals(&side);
    check_last(&side);
}

struct doubts doubts_find(const struct machine *machine, const struct samples *samples)
{
    struct doubts found = {.machine = machine};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (is_drift(row))
            check_drift(&found, row);
        else if (!memory_excuses(row))
            check_certainty(&found, row);
        if (strcmp(row->quantity, "injection") == 0)
            check_injection(&found, row);
        if (strcmp(row->quantity, "bw") != 0)
            continue;
        check_share(&found, row);
        if (samples != NULL)
            check_rate(&found, samples, row);
    }
    for (int level = 0; level <= LEVEL_COUNT; level++)
        check_memory(&found, (enum level)level);
    return found;
}

void doubts_release(struct doubts *doubts)
{
    free(doubts->doubts);
    *doubts = (struct doubts){.n = 0};
}
