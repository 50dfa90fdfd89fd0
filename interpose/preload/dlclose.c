/* A call of MPI is known by its return address, and after dlclose another library may lie there. So the recorder looks
 * at what is loaded right before and right after each dlclose (backend/site/modules.c); in between the C library does
 * what it was asked. dlclose does not depend on who calls it, as dlopen does, which therefore goes its own way: what it
 * loads is met at the next look.
 *
 * A dlclose that does not come through here (of the C library itself, of a library that looked it up past us) is
 * noticed later, and what was called meanwhile from where something else lay before is said to be unknown. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "interpose/preload/recording.h"

typedef int close_function(void *handle);

/* Returns the dlclose behind ours. It is looked up when it is needed, as others may call us before our constructor. */
static close_function *find_next(void)
{
    static _Atomic(close_function *) next;
    close_function *found = atomic_load_explicit(&next, memory_order_relaxed);
    if (found == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "dlclose");
        memcpy(&found, &symbol, sizeof found);
        atomic_store_explicit(&next, found, memory_order_relaxed);
    }
    return found;
}

extern __attribute__((visibility("default"))) int dlclose(void *handle);

int dlclose(void *handle)
{
    close_function *next = find_next();
    if (next == NULL) { /* does not happen: who calls us could not be loaded without one */
        errno = ENOSYS;
        return -1;
    }
    recording_note_modules();
    int result = next(handle);
    int error = errno;
    recording_note_modules();
    errno = error;
    return result;
}
