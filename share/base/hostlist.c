/* A name is expanded from left to right: what was read of it so far stands in a buffer, and each number of a bracket
 * goes on with the rest of the name behind it. */
#include "share/base/hostlist.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { HOSTLIST_DIGITS = 18 };

struct hostlist {
    int (*take)(void *context, const char *name, struct error *error);
    void *context;
    char name[HOSTLIST_NAME_BYTES];
};

/* Reads digits up to end, and where they end. Returns their number, 0 if there are none or too many. */
static size_t read_digits(const char **at, const char *end, uint64_t *value)
{
    size_t n = 0;
    *value = 0;
    for (; *at < end && isdigit((unsigned char)**at); (*at)++, n++)
        *value = n < HOSTLIST_DIGITS ? *value * 10 + (uint64_t)(**at - '0') : *value;
    return n <= HOSTLIST_DIGITS ? n : 0;
}

static int expand(struct hostlist *list, size_t length, const char *at, const char *end, struct error *error);

/* Goes on behind the bracket with each of the numbers in it, "1-3,07-09". */
static int expand_bracket(struct hostlist *list, size_t length, const char *at, const char *close, const char *end,
                          struct error *error)
{
    const char *const open = at;
    for (;; at++) {
        uint64_t first, last;
        const char *digits = at;
        size_t width = read_digits(&at, close, &first), width_last = width;
        last = first;
        if (width > 0 && at < close && *at == '-') {
            at++;
            width_last = read_digits(&at, close, &last);
        }
        if (width == 0 || width_last == 0 || (at < close && *at != ','))
            return error_set(error, "'[%.*s]', expected numbers and ranges as in [1-3,07-09]",
                             close - open < 60 ? (int)(close - open) : 60, open);
        if (last < first)
            return error_set(error, "'%.*s', expected a range from the smaller number to the larger one",
                             (int)(at - digits), digits);
        for (uint64_t number = first; number <= last; number++) {
            int written = snprintf(list->name + length, sizeof list->name - length, "%0*llu", (int)width,
                                   (unsigned long long)number);
            if (written < 0 || (size_t)written >= sizeof list->name - length)
                return error_set(error, "a name of more than %d bytes", HOSTLIST_NAME_BYTES - 1);
            if (expand(list, length + (size_t)written, close + 1, end, error) != 0)
                return -1;
        }
        if (at == close)
            return 0;
    }
}

/* Expands what lies from at to end, behind the length bytes of the name that are known. */
static int expand(struct hostlist *list, size_t length, const char *at, const char *end, struct error *error)
{
    for (; at < end && *at != '['; at++) {
        if (*at == ']')
            return error_set(error, "']' without '['");
        if (length + 1 >= sizeof list->name)
            return error_set(error, "a name of more than %d bytes", HOSTLIST_NAME_BYTES - 1);
        list->name[length++] = *at;
    }
    list->name[length] = '\0';
    if (at == end)
        return list->take(list->context, list->name, error);
    const char *close = memchr(at, ']', (size_t)(end - at));
    if (close == NULL)
        return error_set(error, "'[' without ']'");
    return expand_bracket(list, length, at + 1, close, end, error);
}

int hostlist_each(const char *list, int (*take)(void *context, const char *name, struct error *error), void *context,
                  struct error *error)
{
    struct hostlist reader = {.take = take, .context = context};
    for (const char *at = list;; at++) {
        const char *end = at;
        for (bool inside = false; *end != '\0' && (inside || *end != ','); end++)
            inside = *end == '[' || (inside && *end != ']');
        if (end == at)
            return error_set(error, "an empty name in '%.60s'", list);
        if (expand(&reader, 0, at, end, error) != 0)
            return -1;
        at = end;
        if (*at == '\0')
            return 0;
    }
}
