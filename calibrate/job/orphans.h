/* Finds and ends processes that a child of ours left behind, which otherwise go to init and run on. */
#ifndef MPISTAIR_CALIBRATE_ORPHANS_H
#define MPISTAIR_CALIBRATE_ORPHANS_H

#include <stdbool.h>

/* From now on what a child, or one of its own, leaves behind comes to us. Returns false, and changes nothing, where we
 * have children by now that no one could tell from those (a shell had them and became us), or where the system cannot
 * do it. */
bool orphans_collect(void);

/* Waits until what came to us has ended, grace_s seconds at most, then as long again after SIGTERM and after SIGKILL.
 * A process that made a session of its own, as daemons do, is let live. Nothing comes to us any more. All our children
 * must be such. */
void orphans_end(double grace_s);

#endif
