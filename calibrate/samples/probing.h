/* Describes what a calibration program finds out about the machine itself while it measures: a probe at its begin, at
 * its end and every second between, and what each says of the epoch, the time since the one before.
 *
 * A probe is the time of messages of a rank to itself, of PROBING_SMALL_BYTES (what the processor does) and of
 * PROBING_LARGE_BYTES (what the memory does), on ranks that have a processor each. Nothing of the network or of other
 * ranks is in it, so a probe that differs from the others of its program shows that processor or memory were faster or
 * slower then: other programs, a hypervisor, heat. In the raw file a probe is a comment behind the epoch's samples:
 *
 *   # probe PROGRAM LAUNCH AT_S SMALL_S LARGE_S WAITED STEAL VERDICT
 *
 * `-` stands for what is not known. */
#ifndef MPISTAIR_CALIBRATE_PROBING_H
#define MPISTAIR_CALIBRATE_PROBING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "share/base/error.h"

#define PROBING_SMALL_BYTES 8u
#define PROBING_LARGE_BYTES 1048576u

/* Limits from which on a sample is disturbed. PROBING_WAITED_MAX: share of the processor time that its ranks wanted and
 * others had; where its ranks were more than processors, that of its epoch. PROBING_STEAL_MAX: share of the processors
 * that the hypervisor took in its epoch. PROBING_LEVEL_MAX: factor between a probe at one end of its epoch and the
 * median of the program's probes. */
#define PROBING_WAITED_MAX 0.10
#define PROBING_STEAL_MAX  0.05
#define PROBING_LEVEL_MAX  1.25

enum probing_verdict {
    PROBING_QUIET = 0,
    PROBING_WAITED, /* disturbs samples whose own share is not known */
    PROBING_LEVEL,  /* disturbs all others */
    PROBING_STEAL,
    PROBING_VERDICT_COUNT
};
extern const char *const probing_verdict_name[PROBING_VERDICT_COUNT]; /* quiet, waited, level, steal */

struct probing {
    char program[24];
    unsigned launch;
    double at_s;    /* when it ended, since the program began */
    double small_s; /* time at its end of a message of PROBING_SMALL_BYTES of a rank to itself, on the slowest rank;
                     * NaN: unknown */
    double large_s; /* the same for PROBING_LARGE_BYTES */
    double waited;  /* share of the processor time that ranks wanted and others had; NaN: unknown */
    double steal;   /* share of the time of the processors that the hypervisor took; NaN: unknown */
    enum probing_verdict verdict;
};

struct probings {
    struct probing *probings; /* [n] */
    size_t n;
};

/* Appends a copy. */
void probings_append(struct probings *probings, const struct probing *probing);
void probings_release(struct probings *probings);

/* Judges the last of these epochs, all of one run of one program; with fewer than five no level is known. */
enum probing_verdict probings_judge(const struct probings *probings);
/* Returns whether a sample is disturbed, by the verdict over its epoch and the share that its ranks waited, NaN: not
 * known. */
bool probing_disturbs(enum probing_verdict verdict, double waited);

/* Write the comment without `# ` and end, and read it back; reading returns 0, or -1 with what was expected in error.
 */
bool probing_is_probe(const char *text);
int probing_parse(const char *text, struct probing *probing, struct error *error);
void probing_write(FILE *stream, const struct probing *probing);

#endif
