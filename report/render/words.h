/* Says in one way what several sections say. */
#ifndef MPISTAIR_REPORT_WORDS_H
#define MPISTAIR_REPORT_WORDS_H

#include "report/collect/report.h"
#include "report/render/document.h"

/* Returns "s" unless n is 1. */
const char *words_plural(int64_t n);
/* Returns ratio in percent, for a text in the middle of a line; 0 where it is not known. */
double words_percent(double ratio);
/* Returns what is said of all models together, the best of which has that error: that there are too few messages, or
 * that none explains the time; NULL else, and where no error is claimed. */
const char *words_judgement(const struct report *report);
/* Returns an error of a model as the text shows it: NaN, thus not at all, where rounds overlap too much. */
double words_claimed(const struct report *report, double error);
/* Adds the cell of a model's time of a rank, in s; returns true where it is marked: the rank was busy, and nothing of
 * that is in the model. */
bool words_modelled(struct document *document, double measured, double modelled);
/* Adds a cell that names a site: "Allreduce at dot halo.c:119, rows". What does not fit on a line of 80 columns goes
 * without the caller's name. */
void words_site(struct document *document, const struct report_site *site);
/* Adds the line that explains the mark of words_modelled. */
void words_unknown(struct document *document);

#endif
