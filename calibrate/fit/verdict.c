/* A list of doubts does not say whether a table may be used. A use is what rows of a level serve: it is lost where one
 * of them is known too badly for any comparison of models. Where the machine itself was not at rest, all is lost. */
#include "calibrate/fit/verdict.h"

#include <math.h>
#include <string.h>

/* How far a value may be off before the figures made of it say nothing: models differ by some ten percent. */
#define WIDE_MAX              0.5 /* width of the interval over the value, about a quarter to each side */
#define PROMISES_MAX          1.5
#define VERDICT_DRIFT_MAX     0.15
#define VERDICT_DISTURBED_MAX 0.5
#define VERDICT_STEAL_MAX     0.1
enum { VERDICT_SAMPLES_MIN = 4 };

#define NOT_MESSAGES "the time of messages" /* what a table of memory contention alone does not serve */

const char *const verdict_word[] = {"usable", "usable for", "do not use"};

static bool begins(const char *quantity, const char *word)
{
    return strncmp(quantity, word, strlen(word)) == 0;
}

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
        if (begins(row->quantity, uses[i].begin))
            return uses[i].use;
    return VERDICT_USES;
}

static bool is_severe(const struct doubt *doubt)
{
    switch (doubt->kind) {
    case DOUBT_FEW_SAMPLES:
        return doubt->size < VERDICT_SAMPLES_MIN;
    case DOUBT_NO_END:
        return doubt->row->samples < VERDICT_SAMPLES_MIN;
    case DOUBT_WIDE:
        return doubt->size > WIDE_MAX;
    case DOUBT_PROMISES:
        return doubt->size > PROMISES_MAX;
    case DOUBT_DRIFT:
        return doubt->size > VERDICT_DRIFT_MAX;
    case DOUBT_DISTURBED:
        return doubt->size > VERDICT_DISTURBED_MAX;
    case DOUBT_STEAL:
        return doubt->size > VERDICT_STEAL_MAX;
    default:
        return false;
    }
}

/* What the rows of a use and a level come to. */
struct served {
    size_t rows, lost;
    uint64_t most_n;    /* of bandwidths that are not lost */
    uint64_t least_bad; /* the smallest n of those that are */
};

static bool is_lost(const struct verdict *verdict, const struct machine_parameter *row)
{
    for (size_t i = 0; i < verdict->doubts.n; i++)
        if (verdict->doubts.doubts[i].row == row && is_severe(&verdict->doubts.doubts[i]))
            return true;
    return false;
}

static void verdict_append(char *text, size_t size, const char *separator, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used > 0 ? separator : "", more);
}

static void name_use(enum verdict_use use, uint64_t most_n, char *text, size_t size)
{
    static const char *const names[VERDICT_USES] = {"latency",         "bandwidth",         "queue search",
                                                    "network sharing", "the cost of calls", "memory contention"};
    char n[32] = "";
    if (use == VERDICT_BANDWIDTH && most_n > 1 && most_n != MACHINE_NO_N)
        snprintf(n, sizeof n, " (n up to %llu)", (unsigned long long)most_n);
    snprintf(text, size, "%s%s", names[use], n);
}

/* Collects what a level's rows can be used for, and what not. */
struct level_uses {
    char good[256], bad[256];
};

/* Sorts a use of a level. A bandwidth that is known for small n only is usable up to there. */
static bool judge_use(struct level_uses *uses, enum verdict_use use, const struct served *served)
{
    char name[96];
    bool part = use == VERDICT_BANDWIDTH && served->most_n > 0 && served->most_n < served->least_bad;
    bool good = served->lost == 0 || part;
    name_use(use, served->most_n, name, sizeof name);
    verdict_append(good ? uses->good : uses->bad, sizeof uses->good, " and ", name);
    if (good && served->lost > 0) {
        snprintf(name, sizeof name, "bandwidth from n = %llu on", (unsigned long long)served->least_bad);
        verdict_append(uses->bad, sizeof uses->bad, " and ", name);
    }
    return good;
}

/* Adds a row, of which no other use is asked. */
static void serve(struct served *served, const struct machine_parameter *row, bool lost)
{
    served->rows++;
    served->lost += lost;
    if (lost && row->n < served->least_bad)
        served->least_bad = row->n;
    else if (!lost && row->n != MACHINE_NO_N && row->n > served->most_n)
        served->most_n = row->n;
}

/* Judges what a level serves: good[VERDICT_USES]. */
static void judge_level(const struct verdict *verdict, const struct machine *machine, int level,
                        struct level_uses *uses, bool *good)
{
    for (int use = 0; use < VERDICT_USES; use++) {
        struct served served = {.least_bad = MACHINE_NO_N};
        for (size_t i = 0; i < machine->n_parameters; i++) {
            const struct machine_parameter *row = &machine->parameters[i];
            if ((int)row->level == level && use_of(row) == (enum verdict_use)use)
                serve(&served, row, is_lost(verdict, row));
        }
        if (served.lost > 0 && served.most_n >= served.least_bad)
            served.most_n = served.least_bad > 1 ? served.least_bad - 1 : 0;
        good[use] = served.rows > 0 && judge_use(uses, (enum verdict_use)use, &served);
    }
}

/* Whether the table has memory contention, and nothing of the time of messages. */
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
        struct level_uses uses = {"", ""};
        char text[320];
        bool good[VERDICT_USES] = {false};
        judge_level(verdict, machine, level, &uses, good);
        bool both = good[VERDICT_LATENCY] && good[VERDICT_BANDWIDTH];
        serves |= memory_alone ? good[VERDICT_MEMORY] : both && level != LEVEL_SELF;
        const char *lists[] = {uses.good, uses.bad};
        char *all[] = {verdict->uses, verdict->not_uses};
        for (int i = 0; i < 2; i++) {
            if (lists[i][0] == '\0')
                continue;
            snprintf(text, sizeof text, "%s%s", lists[i], where[level]);
            verdict_append(all[i], sizeof verdict->uses, ", ", text);
        }
    }
    if (memory_alone)
        verdict_append(verdict->not_uses, sizeof verdict->not_uses, ", ", NOT_MESSAGES);
    return serves;
}

/* Returns the doubt about the machine's rest that spoils all values, or NULL. */
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
                 "%s: no value of it is the machine's own. Calibrate again on a quieter machine.", sentence_of(cause));
    else if (verdict->word == VERDICT_DO_NOT_USE && is_of_memory_alone(machine))
        snprintf(verdict->reason, sizeof verdict->reason,
                 "its values of memory contention are not known to a quarter. Calibrate longer (--seconds).");
    else if (verdict->word == VERDICT_DO_NOT_USE)
        snprintf(verdict->reason, sizeof verdict->reason,
                 "at no level are both latency and bandwidth known to a quarter. Calibrate longer (--seconds).");
    else if (strcmp(verdict->not_uses, NOT_MESSAGES) == 0)
        snprintf(verdict->reason, sizeof verdict->reason, "it has memory contention alone%s.",
                 told ? "" : ", and does not tell how well its values are known");
    else if (verdict->word == VERDICT_USABLE_FOR)
        snprintf(verdict->reason, sizeof verdict->reason,
                 "the rest has intervals wider than half of the values, or less than %d samples.", VERDICT_SAMPLES_MIN);
    else if (verdict->doubts.n == 0)
        snprintf(verdict->reason, sizeof verdict->reason, "%s",
                 told ? "nothing suspicious." : "nothing suspicious; it does not tell how well its values are known.");
    else
        snprintf(verdict->reason, sizeof verdict->reason, "what follows does not spoil it.");
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

/* Doubts of one kind on the values of one quantity: a curve of ten sizes has one thing wrong, not ten. */
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
