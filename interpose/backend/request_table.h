/* What a request handle stands for (see pending.h).
 *
 * Handles repeat among live requests: both MPIs hand out one pre-completed request for every small send that is done
 * at once, and for operations with MPI_PROC_NULL. Operations of one handle therefore form a queue, first in, first
 * out, and are flagged SPOOL_SHARED_HANDLE; since all of them were complete at their post, only which of them is
 * reported first is a guess. A handle that comes back while an operation of it is still here, and that MPI then says
 * is not complete, cannot be such a request: the older operation was freed where we could not see it, and is dropped.
 *
 * Under MPI_THREAD_MULTIPLE a completion call takes its operations out before it calls MPI (another thread may be
 * given a freed handle at once) and puts back those that were not completed; else it takes them out afterwards.
 * A lock is taken only under MPI_THREAD_MULTIPLE.
 */
#ifndef MPISTAIR_BACKEND_REQUEST_TABLE_H
#define MPISTAIR_BACKEND_REQUEST_TABLE_H

#include <stdint.h>

/* Sets up the empty table; locked: every call takes the lock. Returns 0, or -1 (no memory). */
int request_table_init(int locked);

/* Adds what was posted behind those of the same handle. is_complete(handle), which may be NULL, tells whether
 * MPI holds the request for complete; it is asked, without the lock, only where the handle is not new. */
void request_table_add(uint64_t handle, void *pending, int (*is_complete)(uint64_t handle));

/* Takes out the oldest of the handle; NULL: none is known. */
void *request_table_take(uint64_t handle);

/* Puts back, as the oldest of its handle, what request_table_take gave. */
void request_table_put_back(uint64_t handle, void *pending);

#endif
