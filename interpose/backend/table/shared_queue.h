/* Keeps what waits behind a request handle that MPI gives to many requests at once.
 *
 * Both MPIs hand out one request, complete from the start, for every small send that is done at once and for operations
 * with MPI_PROC_NULL. All operations behind such a handle are done, and any of them may be reported first. The newest
 * is taken: if one thread posts several and waits for them together, that makes no difference. An operation whose
 * request the program never waits for stays behind for good, instead of taking the completion of the next one, and so
 * on for ever.
 *
 * So every thread has a queue for each such handle, into which it alone puts and from whose end it takes. A thread
 * whose own queue is empty takes from the others', the oldest first (the queue of Chase and Lev, SPAA 2005). Queues
 * grow by rings of twice the size; smaller rings are kept, since another thread may still be reading. Queues of a
 * thread that ended, with what is in them, go to the next new thread. */
#ifndef MPISTAIR_BACKEND_SHARED_QUEUE_H
#define MPISTAIR_BACKEND_SHARED_QUEUE_H

#include "interpose/backend/recorder/state.h"

#define SHARED_HANDLES 16U /* how many a process can tell apart */

/* Puts what was posted behind the numbered handle into the thread's queue, flagged SPOOL_SHARED_HANDLE where others
 * live behind it. Returns 0, or -1 (no memory; not queued). */
int shared_queue_put(struct recorder_thread *thread, unsigned number, void *pending);

/* Takes out the newest of the thread's queue, else the oldest of another's; returns NULL if all are empty. */
void *shared_queue_take(struct recorder_thread *thread, unsigned number);

/* Returns the newest of the thread's own queue, and leaves it in; NULL if there is none. Not for MPI_THREAD_MULTIPLE.
 */
void *shared_queue_peek(struct recorder_thread *thread, unsigned number);

/* Ends a thread: its queues may go to another. */
void shared_queue_release(struct recorder_thread *thread);

#endif
