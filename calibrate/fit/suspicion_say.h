/* Holds a doubt about a row of a machine table, and whom it is told. */
#ifndef MPISTAIR_CALIBRATE_SUSPICION_SAY_H
#define MPISTAIR_CALIBRATE_SUSPICION_SAY_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate/machine/machine.h"

/* Says in which way a doubt is one; doubts of one kind on values of one quantity can be told together. */
enum suspicion_kind {
    SUSPICION_FEW_SAMPLES, /* size: how many */
    SUSPICION_NO_END,
    SUSPICION_WIDE,      /* size: width of the interval over the value */
    SUSPICION_PROMISES,  /* size: promised over best measured rate */
    SUSPICION_ODD,       /* no machine should have such values: what two of them are to each other */
    SUSPICION_DRIFT,     /* size: relative standard deviation of the machine's own speed */
    SUSPICION_DISTURBED, /* size: share of the samples */
    SUSPICION_STEAL,     /* size: share of the processors */
};

struct suspicion {
    const struct machine_parameter *row;
    enum suspicion_kind kind;
    double size;
    const char *place;    /* "intra_socket any bw 4" */
    const char *sentence; /* "intra_socket any bw 4: only 9 samples" */
};

/* Holds what the doubts are about and who is told. */
struct suspicions {
    const struct machine *machine;
    void (*report)(void *context, const struct suspicion *suspicion);
    void *context;
    int n; /* so far */
};

/* Reports one doubt about a row. */
void suspicion_say(struct suspicions *found, const struct machine_parameter *row, enum suspicion_kind kind, double size,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
