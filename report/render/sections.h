/* The sections of the report, in the order in which a reader asks. A section is a row of the table in sections.c: its
 * name for --section, its heading, and the function that presents it. */
#ifndef MPISTAIR_REPORT_SECTIONS_H
#define MPISTAIR_REPORT_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/collect/report.h"
#include "report/render/document.h"

struct section {
    const char *name, *heading; /* heading NULL: the section makes its own */
    const char *holds;          /* of --help */
    const char *empty;          /* the line of a section that was asked for by name and is empty */
    /* Adds what is below the heading; where it adds nothing, the heading is left out as well. */
    void (*present)(struct document *document, const struct report *report);
    bool of_all; /* of all calls, also where single ones have rows of bursts alone */
};

/* A set of sections: bit i stands for the i-th of the table. */
typedef uint64_t section_set;

/* Return the first screen alone, and all sections. */
section_set sections_summary(void);
section_set sections_all(void);
/* True if one of the sections shows what is collected for more than the first screen, mostly from rows of single calls
 * and messages. */
bool sections_need_details(section_set set);
/* Adds to *set those of text, names with commas between. Returns 0, or the exit code after reporting which names there
 * are. */
int sections_read(section_set *set, const char *command, const char *text);
/* Returns whether the section of that name is in a set. */
bool sections_has(section_set set, const char *name);
/* Prints each name with what the section holds, for --help. */
void sections_list(void);
/* Adds the sections of a set to the document. by_name: one that is empty gets a line that says so. */
void sections_present(struct document *document, const struct report *report, section_set set, bool by_name);

/* Each of these is a section of the table, whose row says what it holds. */
void present_summary(struct document *document, const struct report *report);
void present_findings(struct document *document, const struct report *report);
void present_evidence(struct document *document, const struct report *report);
void present_call_sites(struct document *document, const struct report *report);
void present_run(struct document *document, const struct report *report);
void present_replay(struct document *document, const struct report *report);
void present_completeness(struct document *document, const struct report *report);
void present_levels(struct document *document, const struct report *report);
void present_rounds(struct document *document, const struct report *report);
void present_models(struct document *document, const struct report *report);
void present_ranks(struct document *document, const struct report *report);
void present_overlap(struct document *document, const struct report *report);
void present_collectives(struct document *document, const struct report *report);
void present_rma(struct document *document, const struct report *report);
void present_files(struct document *document, const struct report *report);
void present_partitions(struct document *document, const struct report *report);
void present_fine_grained(struct document *document, const struct report *report);
void present_gpu(struct document *document, const struct report *report);
void present_regions(struct document *document, const struct report *report);
void present_first_regions(struct document *document, const struct report *report); /* for the first screen */
void present_why(struct document *document, const struct report *report);

/* Adds the findings of the first screen, as many as there is room for in so many lines. */
void present_diagnosis(struct document *document, const struct report *report, size_t lines);
/* Adds a finding, from 1 on, with its evidence. Returns 0, or -1 with the reason. */
int present_explanation(struct document *document, const struct report *report, size_t number, struct error *error);
/* Prints all kinds of finding. */
void findings_list(FILE *stream);

/* The values of a report, one row for each rank and model (one for each rank without predictions), or everything that
 * was collected. render_json returns 0, or -1 without memory. */
void render_csv(FILE *stream, const struct report *report);
int render_json(FILE *stream, const struct report *report, struct error *error);

/* Prints into text[size], and returns it: "7 %", with a decimal below 1 %; "not known" for NaN. */
const char *words_ratio(char *text, size_t size, double ratio);
/* Prints "2026-11-28 15:04:05 UTC", when the run started. */
const char *words_started(char *text, size_t size, const struct report_run *run);
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
