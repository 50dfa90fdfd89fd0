/* Finds the word that a misspelt one stands for: "did you mean staircase?".
 *
 *     struct nearest nearest = nearest_to("starcase");
 *     nearest_add(&nearest, "postal");
 *     nearest_add(&nearest, "staircase");
 *     error_set(error, "no model '%s'%s", "starcase", nearest_hint(&nearest));
 */
#ifndef MPISTAIR_BASE_NEAREST_H
#define MPISTAIR_BASE_NEAREST_H

#include <stddef.h>

#include "share/base/error.h"

struct nearest {
    char wanted[48]; /* empty: too long to be a misspelling */
    char best[80];   /* the nearest so far, empty: none is near enough */
    size_t distance; /* of it */
    char hint[112];
};

struct nearest nearest_to(const char *wanted);
/* Adds a correct word. Among equally near words the first one is kept. */
void nearest_add(struct nearest *nearest, const char *word);
/* Adds the words of list, "text|csv|json". */
void nearest_add_choices(struct nearest *nearest, const char *list);
/* As nearest_add, in the form in which installation_each() calls; context is the struct nearest. Returns 0. */
int nearest_add_named(void *nearest, const char *name, const char *path, struct error *error);
/* Returns "; did you mean WORD?", which nearest holds, or "" where no word is near. */
const char *nearest_hint(struct nearest *nearest);

#endif
