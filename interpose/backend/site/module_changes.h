/* Tells what changed between two looks at the process. */
#ifndef MPISTAIR_BACKEND_MODULE_CHANGES_H
#define MPISTAIR_BACKEND_MODULE_CHANGES_H

#include "interpose/backend/site/module_look.h"

/* Marks the objects of a look that another one has not, and counts them. */
void module_find_new(struct module_look *look, const struct module_look *other);

/* Returns the index from which on objects may have been loaded since the last look although it had them, n_objects if
 * none may. The new ones of the look are marked. */
size_t module_first_uncertain(const struct module_look *look, const struct module_look *last);

/* Gives a look that has only its objects the ranges of the last one, but for what the loader changed. A process of
 * a hundred libraries takes a millisecond for a whole look, little for this. Returns 0, or -1 where the loader does
 * not say enough: a whole look is needed. */
int module_apply_changes(struct module_look *look, struct module_look *last);

#endif
