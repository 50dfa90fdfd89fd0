/* What mending findings gains. See gains.c. */
#ifndef MPISTAIR_REPORT_GAINS_H
#define MPISTAIR_REPORT_GAINS_H

#include "report/diagnose/diagnosis.h"

/* Finds what each finding gains, drops those that gain nothing though they should, puts them in order, and those that
 * another one explains behind it. There is one at least. */
void gains_collect(struct diagnosis *diagnosis);

#endif
