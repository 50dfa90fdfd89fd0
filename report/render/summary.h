/* Holds the parts of the first screen that judge: whether the recording is whole, what the models are worth. */
#ifndef MPISTAIR_REPORT_SUMMARY_H
#define MPISTAIR_REPORT_SUMMARY_H

#include "report/collect/report.h"
#include "report/render/document.h"

/* Adds at most two lines on whether the recording is whole, and at most two on waiting for processors. */
void summary_recording(struct document *document, const struct report *report);
/* Adds at most three lines on the best model, which claim no more than its error and the replicate error allow. */
void summary_models(struct document *document, const struct report *report);
/* Returns what is said where there is no finding. */
const char *summary_nothing_found(const struct report *report);

#endif
