/* Prints ratios, dates and places for people, and says in one way what several sections say. */
#include "report/render/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *words_ratio(char *text, size_t size, double ratio)
{
    if (isnan(ratio))
        snprintf(text, size, "not known");
    else
        snprintf(text, size, fabs(ratio) < 0.01 ? "%.1f %%" : "%.0f %%", 100 * ratio);
    return text;
}

const char *words_started(char *text, size_t size, const struct report_run *run)
{
    time_t started = (time_t)(run->started_unix_ns / 1000000000);
    struct tm utc;
    if (gmtime_r(&started, &utc) == NULL || strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
        snprintf(text, size, "at a time not known");
    return text;
}

/* Returns the bytes of the first `columns` characters of UTF-8 text. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t at = 0;
    for (size_t n = 0; text[at] != '\0'; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && n++ == columns)
            break;
    return at;
}

const char *words_shorten(char *text, size_t size, const char *long_text, size_t columns)
{
    bool cut = render_width(long_text) > columns;
    size_t length = bytes_of(long_text, cut ? columns - 3 : columns);
    if (length + 4 > size) /* the characters are wide: cut where one begins */
        for (length = size - 4; length > 0 && ((unsigned char)long_text[length] & 0xc0) == 0x80; length--)
            cut = true;
    snprintf(text, size, "%.*s%s", (int)length, long_text, cut ? "..." : "");
    return text;
}

enum { LEAST_PATH = 12 };

/* Prints the end of `source` behind as much of the function as there is room for. */
static void words_end(char *text, size_t size, const char *function, const char *source, size_t columns)
{
    char name[64];
    size_t all = render_width(source), least = all <= LEAST_PATH ? all : LEAST_PATH;
    words_shorten(name, sizeof name, function, columns - least - 1);
    size_t shown = columns - render_width(name) - 1;
    const char *end = all <= shown ? source : source + bytes_of(source, all - (shown - 3));
    snprintf(text, size, "%s %s%s", name, end == source ? "" : "...", end);
}

/* Returns where the region begins in the callers of a place, " [solve/step]"; NULL: it has none. */
static const char *region_in(const char *callers)
{
    const char *found = NULL;
    size_t length = strlen(callers);
    for (const char *at = callers; length > 0 && callers[length - 1] == ']' && (at = strstr(at, " [")) != NULL; at++)
        found = at;
    return found;
}

const char *words_call(char *text, size_t size, const char *function, const struct report_place *place, size_t columns)
{
    const char *path = place->file, *name = place->name, *callers = place->callers, *slash;
    const char *region = region_in(callers), *innermost = region != NULL ? strrchr(region, '/') : NULL;
    char line[32] = "", inner_region[32] = ""; /* of the region only the innermost one */
    if (region != NULL)
        snprintf(inner_region, sizeof inner_region, " [%s", innermost != NULL ? innermost + 1 : region + 2);
    if (path[0] != '\0')
        snprintf(line, sizeof line, ":%" PRId64, place->line);
    for (;;) {
        bool is_cut = path != place->file && callers != inner_region;
        snprintf(text, size, "%s%s%s%s%s%s%s%s", function, name[0] != '\0' ? " " : "", name, path[0] != '\0' ? " " : "",
                 is_cut ? ".../" : "", path, line, callers);
        if (render_width(text) <= columns)
            return text;
        if ((slash = strchr(path, '/')) != NULL && slash[1] != '\0')
            path = slash + 1;
        else if (callers[0] != '\0' && callers != inner_region)
            callers = region != NULL && callers != region ? region : inner_region;
        else if (name[0] != '\0' && path[0] != '\0')
            name = "";
        else if (callers[0] != '\0')
            callers = "";
        else
            break;
    }
    char source[512];
    size_t length = strlen(path);
    if (length > sizeof source - sizeof line) /* it fits on no line: its end is shown */
        for (path += length - (sizeof source - sizeof line); ((unsigned char)*path & 0xc0) == 0x80;)
            path++;
    snprintf(source, sizeof source, "%s%s", path, line);
    words_end(text, size, function, path[0] != '\0' ? source : name, columns);
    return text;
}

const char *words_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

double words_percent(double ratio)
{
    return isnan(ratio) ? 0 : ratio * 100;
}

double words_claimed(const struct report_model *model, double error)
{
    return model->withheld ? NAN : error;
}

const char *words_judgement(const struct report *report)
{
    size_t best = report_best_model(report);
    if (best == report->n_models || report->models[best].withheld)
        return NULL;
    const char *found = report->models[best].judgement;
    if (found[0] == '\0')
        return NULL;
    return strcmp(found, "not explained") == 0 ? "no model explains even half of the time in messages"
                                               : "too few messages to judge a model by";
}
