/* Claims a folder for one `mpistair run` as long as that lives. */
#ifndef MPISTAIR_RUN_CLAIM_H
#define MPISTAIR_RUN_CLAIM_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#define CLAIM_FILE "run.lock"

struct claim {
    char folder[PATH_MAX];
    int lock; /* a descriptor, -1: nothing is claimed */
    bool is_made;
    struct timespec since; /* by the clock of the folder's file system */
};

#define CLAIM_NONE ((struct claim){.lock = -1})

enum claim_result {
    CLAIM_OURS = 0,
    CLAIM_TAKEN = 1,   /* a process that lives has it */
    CLAIM_FAILED = -1, /* errno says why */
};

/* Makes the folder if it is missing, and claims it. Unless it returns CLAIM_OURS, claim is as CLAIM_NONE. */
enum claim_result claim_take(struct claim *claim, const char *folder);
/* True if another process that lives has claimed the folder. */
bool claim_is_taken(const char *folder);
/* Gives the folder back, and removes it if it was made by claim_take and is empty. */
void claim_release(struct claim *claim);

#endif
