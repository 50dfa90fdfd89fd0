/* Prints quantities and places in the source for people, and says in one way what several sections say. */
#ifndef MPISTAIR_REPORT_WORDS_H
#define MPISTAIR_REPORT_WORDS_H

#include "report/collect/report.h"

/* Returns the characters of UTF-8 text. */
size_t render_width(const char *text);
/* Print into text[size], and return it: "12.3 ms", "4.56 MB"; "7 %", with a decimal below 1 %; "not known" for
 * NaN. */
const char *words_seconds(char *text, size_t size, double seconds);
const char *words_bytes(char *text, size_t size, double bytes);
const char *words_ratio(char *text, size_t size, double ratio);
/* Prints at most `columns` characters of long_text, "..." at the end of what is cut. */
const char *words_shorten(char *text, size_t size, const char *long_text, size_t columns);
/* Prints a function and its place, "MPI_Wait exchange halo.c:42", in at most `columns` columns: folders are
 * cut from the left, then those into which the caller was inlined are left out, then the caller. */
const char *words_call(char *text, size_t size, const char *function, const struct report_place *place, size_t columns);

/* Returns "s" unless n is 1. */
const char *words_plural(int64_t n);
/* Returns ratio in percent, for a text in the middle of a line; 0 where it is not known. */
double words_percent(double ratio);
/* Returns the sentence on all models together, the best of which has that error: that there are too few messages, or
 * that none explains the time; NULL else, and where no error is claimed. */
const char *words_judgement(const struct report *report);
/* Returns an error of a model as the text shows it: NaN, thus not at all, where rounds overlap too much for one. */
double words_claimed(const struct report_model *model, double error);

#endif
