/* The state lies apart from what changes it, as the cells of every function are decided by it (look_up.c).
 */
#include "interpose/preload/recording.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/preload/cells.h"
#include "share/base/settings.h"

static _Atomic int state;
static const struct mpistair_backend *recording_backend;
static const struct mpistair_host *recording_host;

bool recording_is_disabled(void)
{
    const char *value = setting("MPISTAIR_DISABLE");
    return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

enum recording_state recording_state(void)
{
    return (enum recording_state)atomic_load(&state);
}

bool recording_claim(void)
{
    int idle = RECORDING_IDLE;
    return atomic_compare_exchange_strong(&state, &idle, RECORDING_BINDING);
}

bool recording_start(const struct mpistair_backend *backend, const struct mpistair_host *host)
{
    recording_backend = backend;
    recording_host = host;
    int binding = RECORDING_BINDING;
    return atomic_compare_exchange_strong(&state, &binding, RECORDING_ON);
}

mpistair_code *recording_wrapper(uint32_t function)
{
    return recording_state() == RECORDING_ON && recording_host->next[function] != NULL
               ? recording_backend->wrappers[function]
               : NULL;
}

void recording_note_modules(void)
{
    if (recording_state() == RECORDING_ON && recording_backend->note_modules != NULL)
        recording_backend->note_modules();
}

void recording_expect_change(void)
{
    if (recording_state() == RECORDING_ON && recording_backend->expect_change != NULL)
        recording_backend->expect_change();
}

void recording_stop(void)
{
    atomic_store(&state, RECORDING_STOPPED);
    for (uint32_t function = 0; function < FN_COUNT; function++) {
        mpistair_code *next = atomic_load(&mpistair_next[function]);
        mpistair_code *pnext = atomic_load(&mpistair_pnext[function]);
        if (next != NULL)
            atomic_store_explicit(&mpistair_cells[function], next, memory_order_release);
        if (pnext != NULL) {
            atomic_store_explicit(&mpistair_fcells[function], pnext, memory_order_release);
            atomic_store_explicit(&mpistair_front_cells[function], pnext, memory_order_release);
            atomic_store_explicit(&mpistair_behind_cells[function], pnext, memory_order_release);
            atomic_store_explicit(&mpistair_pcells[function], pnext, memory_order_release);
        }
    }
}

/* A call of MPI is known by its return address, and after dlclose another library may lie there. So the recorder looks
 * at what is loaded right before and right after each dlclose (backend/site/modules.c); in between the C library does
 * what it was asked. dlclose does not depend on who calls it. dlopen does, and therefore goes its own way: what it
 * loads is met at the next look. After a dlclose that is the first call of MPI that finds a change.
 *
 * UCX, below most MPIs of today, writes the address of its own dlclose into the tables of all modules, and that one
 * calls the C library's, past us. It asks dlinfo for the module before, of us: a look is taken then, and the next one
 * at the first call of MPI after the module is gone.
 *
 * A dlclose that comes through neither (of the C library itself, of a library that looked it up past us) is noticed
 * later; calls made meanwhile from addresses where another module lay before have an unknown call site. */

/* Returns the function of that name behind ours. It is looked up when it is needed, as others may call us before our
 * constructor. */
static void *find_next(_Atomic(void *) *next, const char *name)
{
    void *found = atomic_load_explicit(next, memory_order_relaxed);
    if (found == NULL) {
        found = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(next, found, memory_order_relaxed);
    }
    if (found == NULL) /* does not happen: who calls us could not be loaded without one */
        errno = ENOSYS;
    return found;
}

extern __attribute__((visibility("default"))) int dlclose(void *handle);
extern __attribute__((visibility("default"))) int dlinfo(void *handle, int request, void *argument);

int dlclose(void *handle)
{
    static _Atomic(void *) found;
    int (*next)(void *handle);
    *(void **)&next = find_next(&found, "dlclose");
    if (next == NULL)
        return -1;
    recording_note_modules();
    int result = next(handle);
    int error = errno;
    recording_expect_change();
    errno = error;
    return result;
}

int dlinfo(void *handle, int request, void *argument)
{
    static _Atomic(void *) found;
    int (*next)(void *handle, int request, void *argument);
    *(void **)&next = find_next(&found, "dlinfo");
    if (next == NULL)
        return -1;
    if (request == RTLD_DI_LINKMAP)
        recording_expect_change();
    return next(handle, request, argument);
}
