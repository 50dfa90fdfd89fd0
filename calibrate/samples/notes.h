/* Keeps what the calibration programs said besides samples (`mpistair-note: TEXT` on standard error), each text once.
 *
 *   ranks 8 | library Open MPI v4.1.4, ...       about the job; must be the same from program to program
 *   place RANK NODE SOCKET NUMA L3 HOST CPUS     where each rank ran and may run, from the first program that says so
 *   binding 8 ranks unbound on 1 node            the same in a few words
 *   oversubscribed RANKS CORES                   about a node
 *   domain LEVEL DOMAIN PAIRS                    pairs of ranks that share that much of a socket
 *   rendezvous LEVEL BYTES VARIABLE              smallest rendezvous size as told by the MPI
 *   memory KEY VALUE                             about memory contention (memory_samples.h); the same in all runs
 *   left_out WHAT: WHY                           what cannot be measured with these ranks
 *   late ..., incomplete ..., others             for the user
 *   progress NAME DONE OF REMAINING_S            not kept
 */
#ifndef MPISTAIR_CALIBRATE_NOTES_H
#define MPISTAIR_CALIBRATE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "share/base/error.h"

/* Begins these lines on standard error; and a note of what is not there, in place of which there are no samples. */
#define MEASURE_NOTE          "mpistair-note: "
#define MEASURE_NOT_AVAILABLE MEASURE_NOTE "not_available "

/* Keeps a growing list of lines; it owns their texts, so that a reader's buffer may change. */
struct text_list {
    char **texts; /* [n] */
    size_t n;
};

/* Appends a copy. */
void text_list_append(struct text_list *list, const char *text);
bool text_list_holds(const struct text_list *list, const char *text);
void text_list_release(struct text_list *list);

struct notes {
    struct text_list kept;
    unsigned long n_places; /* ranks 0 to n_places - 1 have told their place */
};

/* Takes a note. Returns 1 if it is kept, as it is new; 0 if it is known already, or not of the kind that is kept; -1
 * with the reason in error if it contradicts what was said before, there are fewer than two ranks, or no memory. */
int notes_take(struct notes *notes, const char *text, struct error *error);
void notes_release(struct notes *notes);

/* Returns what stands behind the word `key` in the first note that begins with it; NULL if there is no such note. */
const char *notes_find(const struct notes *notes, const char *key);
int notes_ranks(const struct notes *notes); /* 0: not reported */
/* Returns whether the ranks are on several nodes; false as long as their places are not known. */
bool notes_several_nodes(const struct notes *notes);

/* Describes the job in a few words, without the end of a sentence: `8 ranks unbound on 1 node`. */
void notes_describe_job(const struct notes *notes, char *text, size_t size);
/* Prints a line for each note that a user should read. */
void notes_print(const struct notes *notes, FILE *stream);

#endif
