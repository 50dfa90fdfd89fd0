/* The C library converts. What it accepts beyond a plain number (blanks, signs on unsigned, inf, nan, hexadecimal,
 * trailing characters) is refused before, by the set of characters. */
#include "share/base/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *number_u64(const char *text, uint64_t *value)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return "is not a whole number from 0 on";
    errno = 0;
    unsigned long long parsed = strtoull(text, NULL, 10);
    if (errno == ERANGE)
        return "is too large";
    *value = parsed;
    return NULL;
}

const char *number_real(const char *text, double *value)
{
    char *end;
    double parsed = strtod(text, &end);
    if (end == text || *end != '\0' || text[strspn(text, "0123456789+-.eE")] != '\0')
        return "is not a finite number";
    if (isinf(parsed))
        return "is too large";
    *value = parsed;
    return NULL;
}
