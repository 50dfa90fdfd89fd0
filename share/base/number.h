/* Numbers out of text from outside: the whole text is a number of the asked kind or it is refused. */
#ifndef MPISTAIR_BASE_NUMBER_H
#define MPISTAIR_BASE_NUMBER_H

#include <stdint.h>

/* Decimal digits only. NULL and *value, or what is wrong, to be put behind the quoted text ("is not ..."), the value
 * untouched. */
const char *number_u64(const char *text, uint64_t *value);
/* A finite decimal number, sign and exponent allowed; no infinity, no NaN, no hexadecimal. As number_u64. */
const char *number_real(const char *text, double *value);

#endif
