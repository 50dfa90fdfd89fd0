/* A list of doubts does not say what a table can be used for. A use needs certain rows of a level: it is lost if one of
 * them is too uncertain for any comparison of models. If the machine itself was disturbed, all uses are lost. */
#include "calibrate/fit/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "calibrate/machine/machine.h"
#include "share/base/array.h"
#include "share/base/one_of.h"

/* From which size on a doubt of a kind is noted, and from which on its value is of no use: models differ by some ten
 * percent. Samples count from that number down. */
static const struct {
    double noted, severe;
} limits[] = {
    [DOUBT_FEW_SAMPLES] = {10, 4},  [DOUBT_NO_END] = {0, 4},
    [DOUBT_WIDE] = {0.10, 0.5}, /* width of the interval over the value, about half of it to each side */
    [DOUBT_PROMISES] = {1.10, 1.5}, [DOUBT_ODD] = {0, INFINITY},
    [DOUBT_DRIFT] = {0.05, 0.15},   [DOUBT_DISTURBED] = {0.10, 0.5},
    [DOUBT_STEAL] = {0.01, 0.1},
};

#define NOT_MESSAGES "the time of messages" /* what a table of memory contention alone does not serve */

const char *const verdict_word[] = {"usable", "usable for", "do not use"};

/* Returns what a row serves, or VERDICT_USES for what describes the machine or the calibration. */
static enum verdict_use use_of(const struct machine_parameter *row)
{
    static const struct {
        const char *begin;
        enum verdict_use use;
    } uses[] = {
        {"tau", VERDICT_LATENCY},    {"bw", VERDICT_BANDWIDTH},    {"injection", VERDICT_BANDWIDTH},
        {"queue_", VERDICT_QUEUES},  {"gamma", VERDICT_QUEUES},    {"delta", VERDICT_NETWORK},
        {"burst", VERDICT_NETWORK},  {"backlog", VERDICT_NETWORK}, {"overhead", VERDICT_CALLS},
        {"progress", VERDICT_CALLS}, {"memory_", VERDICT_MEMORY},
    };
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++)
        if (strncmp(row->quantity, uses[i].begin, strlen(uses[i].begin)) == 0)
            return uses[i].use;
    return VERDICT_USES;
}

static bool is_severe(const struct doubt *doubt)
{
    double severe = limits[doubt->kind].severe;
    return doubt->kind <= DOUBT_NO_END ? (double)doubt->row->samples < severe : doubt->size > severe;
}

static bool is_lost(const struct verdict *verdict, const struct machine_parameter *row)
{
    for (size_t i = 0; i < verdict->doubts.n; i++)
        if (verdict->doubts.doubts[i].row == row && is_severe(&verdict->doubts.doubts[i]))
            return true;
    return false;
}

static void __attribute__((format(printf, 4, 5)))
verdict_append(char *text, size_t size, const char *separator, const char *format, ...)
{
    va_list arguments;
    size_t used = strlen(text);
    if (used > 0)
        used += (size_t)snprintf(text + used, size - used, "%s", separator);
    va_start(arguments, format);
    if (used < size)
        vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* Rows of a use and a level, summed up. */
struct served {
    size_t rows, lost;
    uint64_t most_n;    /* of bandwidths that are not lost */
    uint64_t least_bad; /* the smallest n of those that are */
};

static struct served serve(const struct verdict *verdict, const struct machine *machine, int level, int use)
{
    struct served served = {.least_bad = MACHINE_NO_N};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if ((int)row->level != level || (int)use_of(row) != use)
            continue;
        bool lost = is_lost(verdict, row);
        served.rows++;
        served.lost += lost;
        if (lost && row->n < served.least_bad)
            served.least_bad = row->n;
        else if (!lost && row->n != MACHINE_NO_N && row->n > served.most_n)
            served.most_n = row->n;
    }
    if (served.lost > 0 && served.most_n >= served.least_bad)
        served.most_n = served.least_bad > 1 ? served.least_bad - 1 : 0;
    return served;
}

/* Judges what a level serves, good[VERDICT_USES], and says it in lists[]: what it can be used for, and what not. A
 * bandwidth that is known for small n only is usable up to there. */
static void judge_level(const struct verdict *verdict, const struct machine *machine, int level, char lists[2][256],
                        bool *good)
{
    static const char *const names[VERDICT_USES] = {"latency",         "bandwidth",         "queue search",
                                                    "network sharing", "the cost of calls", "memory contention"};
    for (int use = 0; use < VERDICT_USES; use++) {
        struct served served = serve(verdict, machine, level, use);
        bool bandwidth = use == VERDICT_BANDWIDTH;
        if (served.rows == 0)
            continue;
        good[use] = served.lost == 0 || (bandwidth && served.most_n > 0 && served.most_n < served.least_bad);
        char *list = lists[good[use] ? 0 : 1];
        verdict_append(list, sizeof lists[0], " and ", "%s", names[use]);
        if (bandwidth && served.most_n > 1)
            verdict_append(list, sizeof lists[0], "", " (n up to %llu)", (unsigned long long)served.most_n);
        if (good[use] && served.lost > 0)
            verdict_append(lists[1], sizeof lists[1], " and ", "bandwidth from n = %llu on",
                           (unsigned long long)served.least_bad);
    }
}

/* Returns whether the table has memory contention, and nothing of the time of messages. */
static bool is_of_memory_alone(const struct machine *machine)
{
    bool memory = false, messages = false;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        enum verdict_use use = use_of(&machine->parameters[i]);
        memory |= use == VERDICT_MEMORY;
        messages |= use == VERDICT_LATENCY || use == VERDICT_BANDWIDTH;
    }
    return memory && !messages;
}

/* Judges all levels. Returns whether the table serves what such a table is for: memory contention where it has that
 * alone, else both latency and bandwidth between ranks. */
static bool judge_levels(struct verdict *verdict, const struct machine *machine)
{
    static const char *const where[LEVEL_COUNT + 1] = {" to oneself", " within a socket", " between sockets",
                                                       " between nodes", ""};
    bool serves = false, memory_alone = is_of_memory_alone(machine);
    for (int level = 0; level <= LEVEL_COUNT; level++) {
        char lists[2][256] = {"", ""};
        bool good[VERDICT_USES] = {false};
        judge_level(verdict, machine, level, lists, good);
        bool both = good[VERDICT_LATENCY] && good[VERDICT_BANDWIDTH];
        serves |= memory_alone ? good[VERDICT_MEMORY] : both && level != LEVEL_SELF;
        char *const all[] = {verdict->uses, verdict->not_uses};
        for (int i = 0; i < 2; i++)
            if (lists[i][0] != '\0')
                verdict_append(all[i], sizeof verdict->uses, ", ", "%s%s", lists[i], where[level]);
    }
    if (memory_alone)
        verdict_append(verdict->not_uses, sizeof verdict->not_uses, ", ", "%s", NOT_MESSAGES);
    return serves;
}

/* Returns the doubt about the machine's speed that spoils all values, or NULL. */
static const struct doubt *unrest(const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->doubts.n; i++)
        if (verdict->doubts.doubts[i].kind >= DOUBT_DRIFT && is_severe(&verdict->doubts.doubts[i]))
            return &verdict->doubts.doubts[i];
    return NULL;
}

static const char *sentence_of(const struct doubt *doubt)
{
    const char *colon = strstr(doubt->sentence, ": ");
    return colon != NULL ? colon + 2 : doubt->sentence;
}

static void reason(struct verdict *verdict, const struct machine *machine)
{
    const struct doubt *cause = unrest(verdict);
    bool told = false;
    for (size_t i = 0; i < machine->n_parameters; i++)
        told |= machine->parameters[i].samples > 0;
    if (cause != NULL)
        snprintf(verdict->reason, sizeof verdict->reason,
                 "%s: its values are not those of the undisturbed machine. Calibrate again on a quieter machine.",
                 sentence_of(cause));
    else if (verdict->word == VERDICT_DO_NOT_USE && is_of_memory_alone(machine))
        snprintf(verdict->reason, sizeof verdict->reason,
                 "its values of memory contention are not known to a quarter. Calibrate longer (--seconds).");
    else if (verdict->word == VERDICT_DO_NOT_USE)
        snprintf(verdict->reason, sizeof verdict->reason,
                 "at no level are both latency and bandwidth known to a quarter. Calibrate longer (--seconds).");
    else if (strcmp(verdict->not_uses, NOT_MESSAGES) == 0)
        snprintf(verdict->reason, sizeof verdict->reason, "it has memory contention alone%s.",
                 told ? "" : ", without intervals");
    else if (verdict->word == VERDICT_USABLE_FOR)
        snprintf(verdict->reason, sizeof verdict->reason,
                 "the rest has intervals wider than half of the values, or less than %.0f samples.",
                 limits[DOUBT_FEW_SAMPLES].severe);
    else if (verdict->doubts.n == 0)
        snprintf(verdict->reason, sizeof verdict->reason, "%s",
                 told ? "nothing suspicious." : "nothing suspicious; its values have no intervals.");
    else
        snprintf(verdict->reason, sizeof verdict->reason, "what follows does not prevent its use.");
}

struct verdict verdict_make(const struct machine *machine, const struct samples *samples)
{
    struct verdict verdict = {.word = VERDICT_USABLE, .doubts = doubts_find(machine, samples)};
    bool any = judge_levels(&verdict, machine);
    if (unrest(&verdict) != NULL || !any)
        verdict.word = VERDICT_DO_NOT_USE;
    else if (verdict.not_uses[0] != '\0')
        verdict.word = VERDICT_USABLE_FOR;
    reason(&verdict, machine);
    return verdict;
}

void verdict_release(struct verdict *verdict)
{
    doubts_release(&verdict->doubts);
}

/* Returns whether two doubts are of one kind on one quantity: a curve of ten sizes has one problem, not ten. */
static bool alike(const struct doubt *a, const struct doubt *b)
{
    return a->kind == b->kind && a->kind <= DOUBT_WIDE && a->row->level == b->row->level &&
           a->row->protocol == b->row->protocol && strcmp(a->row->quantity, b->row->quantity) == 0;
}

/* Writes "only 2 to 6 samples", with what the values have in common. */
static void range(const struct doubt *doubt, double least, double most, char *text, size_t size)
{
    char figures[64];
    double factor = doubt->kind == DOUBT_WIDE ? 100 : 1;
    if (least < most)
        snprintf(figures, sizeof figures, "%.3g to %.3g", least * factor, most * factor);
    else
        snprintf(figures, sizeof figures, "%.3g", most * factor);
    if (doubt->kind == DOUBT_FEW_SAMPLES)
        snprintf(text, size, "only %s samples each", figures);
    else if (doubt->kind == DOUBT_NO_END)
        snprintf(text, size, "their 95 %% intervals have no end");
    else
        snprintf(text, size, "their 95 %% intervals are %s %% wide", figures);
}

/* Joins the doubt at first with those like it behind it. */
static void print_group(const struct verdict *verdict, size_t first, void (*line)(void *context, const char *text),
                        void *context)
{
    enum { LISTED = 3 };
    const struct doubt *doubt = &verdict->doubts.doubts[first], *last = doubt;
    char text[768], place[160], figures[128], list[96] = "";
    double least = doubt->size, most = doubt->size;
    size_t n = 0;
    for (size_t i = first; i < verdict->doubts.n; i++) {
        const struct doubt *other = &verdict->doubts.doubts[i];
        if (!alike(doubt, other))
            continue;
        least = fmin(least, other->size);
        most = fmax(most, other->size);
        last = other;
        size_t used = strlen(list);
        if (n++ < LISTED)
            snprintf(list + used, sizeof list - used, "%s%llu", used > 0 ? ", " : "",
                     (unsigned long long)other->row->n);
    }
    if (n < 2) {
        line(context, doubt->sentence);
        return;
    }
    snprintf(place, sizeof place, "%s", doubt->place);
    char *blank = strrchr(place, ' '); /* the n of the first */
    if (blank != NULL)
        *blank = '\0';
    if (n > LISTED)
        snprintf(list, sizeof list, "%llu to %llu (%zu values)", (unsigned long long)doubt->row->n,
                 (unsigned long long)last->row->n, n);
    range(doubt, least, most, figures, sizeof figures);
    snprintf(text, sizeof text, "%s %s: %s", place, list, figures);
    line(context, text);
}

void verdict_each_doubt(const struct verdict *verdict, bool all, void (*line)(void *context, const char *text),
                        void *context)
{
    for (size_t i = 0; i < verdict->doubts.n; i++) {
        bool told = false;
        for (size_t k = 0; k < i && !told && !all; k++)
            told = alike(&verdict->doubts.doubts[k], &verdict->doubts.doubts[i]);
        if (all)
            line(context, verdict->doubts.doubts[i].sentence);
        else if (!told)
            print_group(verdict, i, line, context);
    }
}

/* A fit always gives numbers, even such as no machine can have, or such as rest on too few samples. The checks find
 * these, so that a reader of the table need not. */

#define SHARE_MAX 1.01 /* a process's share with more competitors over that with fewer */

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

/* Checks what a calibration found out about itself (drift.h). Returns whether the row is of that. */
static bool check_drift(struct doubts *found, const struct machine_parameter *row)
{
    static const struct {
        const char *quantity;
        enum doubt_kind kind;
        const char *what, *of; /* what NULL: nothing is checked */
    } own[] = {
        {"drift_small", DOUBT_DRIFT, "the machine's own speed varied by", " while it was calibrated"},
        {"drift_large", DOUBT_DRIFT, "the machine's own speed varied by", " while it was calibrated"},
        {"disturbed", DOUBT_DISTURBED, "other programs had the processors during", " of the samples"},
        {"steal", DOUBT_STEAL, "the hypervisor took", " of the processors"},
        {"waited", DOUBT_ODD, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(row->quantity, own[i].quantity) != 0)
            continue;
        if (own[i].what != NULL && row->value > limits[own[i].kind].noted)
            doubt_add(found, row, own[i].kind, row->value, "%s %.3g %%%s", own[i].what, 100 * row->value, own[i].of);
        return true;
    }
    return false;
}

static void check_certainty(struct doubts *found, const struct machine_parameter *row)
{
    double width = row->ci_high - row->ci_low;
    if (row->samples == 0)
        return;
    /* A search takes few, chosen samples. */
    if ((double)row->samples < limits[DOUBT_FEW_SAMPLES].noted && !WORD_IS_ONE_OF(row->quantity, "threshold", "buffer"))
        doubt_add(found, row, DOUBT_FEW_SAMPLES, (double)row->samples, "only %llu samples",
                  (unsigned long long)row->samples);
    /* Their intervals say how sizes differ, or there are none. */
    if (WORD_IS_ONE_OF(row->quantity, "overhead_send", "overhead_send_byte", "overhead_receive", "progress",
                       "cached_bytes"))
        return;
    if (strcmp(row->method, QUEUE_NOT_LINEAR) == 0)
        return; /* next to 0, a width in percent means nothing */
    if (isnan(width))
        doubt_add(found, row, DOUBT_NO_END, 0, "its 95 %% interval has no end");
    else if (!(row->value > 0) || (!(row->ci_low > 0) && WORD_IS_ONE_OF(row->quantity, "gamma", "queue_step",
                                                                        "queue_step_unexpected", "delta")))
        return; /* a cost may be 0: where the interval reaches 0, the samples show no such cost, and that is a result */
    else if (width > limits[DOUBT_WIDE].noted * row->value)
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
            other->value > limits[DOUBT_PROMISES].noted * row->value)
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
    if (promised > limits[DOUBT_PROMISES].noted * best)
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
    return place_in_names(row->quantity, memory_quantity_name, MEMORY_PARAMETER_COUNT);
}

/* Whether the width of a row's interval does not say how well the model is known: a loss may be next to 0, and a
 * number of cores any of many whose totals are alike. */
static bool memory_excuses(const struct machine_parameter *row)
{
    int parameter = parameter_of(row);
    return parameter == MEMORY_CORES_PAR || parameter == MEMORY_CORES_SEQ || parameter == MEMORY_LOSS_LEFT ||
           parameter == MEMORY_LOSS_RIGHT;
}

/* Collects the rows; returns their number. */
static int doubts_collect(struct doubts_side *side, enum level level)
{
    const struct machine *machine = side->found->machine;
    int n = 0;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        int parameter = row->level == level ? parameter_of(row) : -1;
        if (parameter < 0)
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
        bool least;
        double bound;
        const char *what;
    } bounds[] = {
        {MEMORY_TOTAL_PAR, true, v[MEMORY_ONE_CORE], "what one core has alone (memory_computation)"},
        {MEMORY_TOTAL_SEQ, true, v[MEMORY_ONE_CORE], "what one core has alone (memory_computation)"},
        {MEMORY_TOTAL_PAR, true, v[MEMORY_TOTAL_PAR2], "what memory_total_par2, though it is the maximum"},
        {MEMORY_TOTAL_PAR2, true, v[MEMORY_ALPHA] * v[MEMORY_ONE_MESSAGE], "what a message keeps of it (memory_alpha)"},
        {MEMORY_TOTAL_SEQ, false, v[MEMORY_CORES_SEQ] * v[MEMORY_ONE_CORE], "memory_cores_seq times one core"},
        {MEMORY_TOTAL_PAR, false, v[MEMORY_CORES_PAR] * v[MEMORY_ONE_CORE] + v[MEMORY_ONE_MESSAGE],
         "memory_cores_par times one core and the message"},
    };
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        double value = v[bounds[i].row], bound = bounds[i].bound;
        if (bounds[i].least ? value * (1 + LOSS_MAX) < bound : value > bound * (1 + SUM_MAX))
            doubt_add(side->found, side->row[bounds[i].row], DOUBT_ODD, 0, "%.4g GB/s is %s than %s, %.4g GB/s",
                      value * 1e-9, bounds[i].least ? "less" : "more", bounds[i].what, bound * 1e-9);
    }
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
                  memory_quantity_name[lacking], MEMORY_PARAMETER_COUNT);
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
        if (!check_drift(&found, row) && !memory_excuses(row))
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
