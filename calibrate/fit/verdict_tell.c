/* Joins doubts of one kind on the values of one quantity: a curve of ten sizes has one thing wrong, not ten. */
#include <math.h>
#include <string.h>

#include "calibrate/fit/verdict.h"

static bool alike(const struct verdict_doubt *a, const struct verdict_doubt *b)
{
    return a->kind == b->kind && a->kind <= SUSPICION_WIDE && a->row->level == b->row->level &&
           a->row->protocol == b->row->protocol && strcmp(a->row->quantity, b->row->quantity) == 0;
}

/* Writes "only 2 to 6 samples", with what the values have in common. */
static void range(const struct verdict_doubt *doubt, double least, double most, char *text, size_t size)
{
    char figures[64];
    double factor = doubt->kind == SUSPICION_WIDE ? 100 : 1;
    if (least < most)
        snprintf(figures, sizeof figures, "%.3g to %.3g", least * factor, most * factor);
    else
        snprintf(figures, sizeof figures, "%.3g", most * factor);
    if (doubt->kind == SUSPICION_FEW_SAMPLES)
        snprintf(text, size, "only %s samples each", figures);
    else if (doubt->kind == SUSPICION_NO_END)
        snprintf(text, size, "their 95 %% intervals have no end");
    else
        snprintf(text, size, "their 95 %% intervals are %s %% wide", figures);
}

/* Tells the doubt at first with those like it behind it. */
static void tell_group(const struct verdict *verdict, size_t first, void (*line)(void *context, const char *text),
                       void *context)
{
    enum { LISTED = 3 };
    const struct verdict_doubt *doubt = &verdict->doubts[first], *last = doubt;
    char text[768], place[160], figures[128], list[96] = "";
    double least = doubt->size, most = doubt->size;
    size_t n = 0;
    for (size_t i = first; i < verdict->n_doubts; i++) {
        const struct verdict_doubt *other = &verdict->doubts[i];
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

void verdict_tell(const struct verdict *verdict, bool all, void (*line)(void *context, const char *text), void *context)
{
    for (size_t i = 0; i < verdict->n_doubts; i++) {
        bool told = false;
        for (size_t k = 0; k < i && !told && !all; k++)
            told = alike(&verdict->doubts[k], &verdict->doubts[i]);
        if (all)
            line(context, verdict->doubts[i].sentence);
        else if (!told)
            tell_group(verdict, i, line, context);
    }
}
