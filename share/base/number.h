/* Reads numbers from text that comes from outside: the whole text is a number of the asked kind or it is refused. */
#ifndef MPISTAIR_BASE_NUMBER_H
#define MPISTAIR_BASE_NUMBER_H

#include <stdint.h>

/* Accepts decimal digits only. Returns NULL and sets *value, or returns what is wrong, to be put behind the quoted text
 * ("is not ..."), with the value untouched. */
const char *number_u64(const char *text, uint64_t *value);
/* Accepts a finite decimal number with sign and exponent; no infinity, no NaN, no hexadecimal. Returns as number_u64.
 */
const char *number_real(const char *text, double *value);

#endif
