/* Every doubt begins with the row that it is about. */
#include "calibrate/fit/suspicion_say.h"

#include <stdarg.h>
#include <stdio.h>

void suspicion_say(struct suspicions *found, const struct machine_parameter *row, enum suspicion_kind kind, double size,
                   const char *format, ...)
{
    char sentence[512], place[512];
    int used = snprintf(sentence, sizeof sentence, "%s %s %s", level_text(row->level),
                        machine_protocol_name[row->protocol], row->quantity);
    if (row->n != MACHINE_NO_N)
        used += snprintf(sentence + used, sizeof sentence - (size_t)used, " %llu", (unsigned long long)row->n);
    snprintf(place, sizeof place, "%s", sentence);
    used += snprintf(sentence + used, sizeof sentence - (size_t)used, ": ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence + used, sizeof sentence - (size_t)used, format, arguments);
    va_end(arguments);
    found->n++;
    found->report(found->context, &(struct suspicion){row, kind, size, place, sentence});
}
