/* Gathers the evidence of findings: the calls of their lines, by rank and over time. */
#ifndef MPISTAIR_REPORT_EVIDENCE_H
#define MPISTAIR_REPORT_EVIDENCE_H

#include "report/diagnose/diagnosis.h"

/* Sets the evidence of all findings that are of a line, in one pass over all calls. */
void evidence_collect(struct diagnosis *diagnosis);

#endif
