/* Finds where the application called. In C that is the wrapper's return address. In Fortran a layer of MPI lies
 * between; the preload library's Fortran stubs noted the application's address before (bind.h).
 *
 * Only a call that comes from a Fortran layer takes a note, and every call empties it, whoever makes it. So the note of
 * a call that never reached C (the layer found a mistake, or needed no C) is gone with the next call. */
#include "interpose/backend/call/site.h"

#include "interpose/backend/recorder/state.h"

struct mpistair_fortran_note *site_note(void)
{
    static struct mpistair_fortran_note none; /* serves a host without Fortran; stays empty */
    return recorder.host && recorder.host->fortran_note ? recorder.host->fortran_note() : &none;
}

static int is_fortran_layer(uintptr_t address)
{
    return recorder.host->is_fortran_layer((const void *)address);
}

uint64_t recorder_noted_site(const void *return_address)
{
    const struct recorder_thread *thread = recorder_thread;
    struct mpistair_fortran_note *note = thread ? thread->fortran_note : site_note();
    uintptr_t own = (uintptr_t)return_address, site = note->site, outer = note->outer;
    if (site == 0)
        return own;
    *note = (struct mpistair_fortran_note){0};
    if (!is_fortran_layer(own))
        return own;
    return outer && is_fortran_layer(site) ? outer : site;
}
