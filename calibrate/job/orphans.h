/* Finds and ends processes that a child of ours left behind, which otherwise go to init and run on. */
#ifndef MPISTAIR_CALIBRATE_ORPHANS_H
#define MPISTAIR_CALIBRATE_ORPHANS_H

#include <stdbool.h>

/* Makes the processes that a child, or one of its own, leaves behind our children. Returns false and changes nothing
 * where we have children already, which nobody could tell from those (a shell may start some and then become us), or
 * where the system cannot do it. */
bool orphans_collect(void);

/* Waits until those processes have ended, grace_s seconds at most, then as long again after SIGTERM and after SIGKILL.
 * Lets those live that made a session of their own, as daemons do. Undoes orphans_collect(), which must have returned
 * true. */
void orphans_end(double grace_s);

#endif
