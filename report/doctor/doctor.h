/* Lists what mpistair doctor looks at: checks, each with a state and, where something is missing, what to do. */
#ifndef MPISTAIR_REPORT_DOCTOR_H
#define MPISTAIR_REPORT_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_NOTE,    /* recording works, but with less or with more care */
    DOCTOR_MISSING, /* something does not work; whether it matters is for the whole list to say */
};

struct doctor_check {
    const char *name;
    enum doctor_state state;
    char found[512];
    char advice[512]; /* empty: none */
};

enum { DOCTOR_MAX_CHECKS = 32 };

struct doctor {
    struct doctor_check checks[DOCTOR_MAX_CHECKS];
    size_t n_checks;
    bool preload_works; /* the library is found and honoured */
    bool spool_works;
    unsigned recordable; /* MPIs that have launcher, library and backend */
};

int cmd_doctor(int argc, char **argv);

/* Adds a check; its member found is to be filled. */
struct doctor_check *doctor_add(struct doctor *doctor, const char *name, enum doctor_state state);

/* Looks at processors, hwloc, clock, spool folder, preload, and at what reads call sites. */
void doctor_look_at_host(struct doctor *doctor);
/* Looks at GPUs and their driver. */
void doctor_look_at_gpus(struct doctor *doctor);
/* Looks at launchers, libraries and backends of each MPI. */
void doctor_look_at_mpis(struct doctor *doctor);

/* Runs argv[0] (a path) with environment, for at most 10 s; what it writes to stdout, cut to size, ends up in output.
 * Returns its exit status, or -1 if it could not be run, was killed or took too long. */
int doctor_run(char *const argv[], char *const environment[], char *output, size_t size);

#endif
