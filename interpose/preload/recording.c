/* The state lies apart from what changes it, as the cells of every function are decided by it (look_up.c).
 */
#include "interpose/preload/recording.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/preload/cells.h"

enum recording_state { RECORDING_IDLE, RECORDING_BINDING, RECORDING_ON, RECORDING_STOPPED };

static _Atomic int state;
static const struct mpistair_backend *recording_backend;
static const struct mpistair_host *recording_host;

bool recording_is_disabled(void)
{
    const char *value = getenv("MPISTAIR_DISABLE");
    return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

bool recording_is_idle(void)
{
    return atomic_load(&state) == RECORDING_IDLE;
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
    return atomic_load(&state) == RECORDING_ON && recording_host->next[function] != NULL
               ? recording_backend->wrappers[function]
               : NULL;
}

void recording_note_modules(void)
{
    if (atomic_load(&state) == RECORDING_ON && recording_backend->note_modules != NULL)
        recording_backend->note_modules();
}

void recording_expect_change(void)
{
    if (atomic_load(&state) == RECORDING_ON && recording_backend->expect_change != NULL)
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

bool recording_is_on(void)
{
    return atomic_load(&state) == RECORDING_ON;
}

bool recording_is_stopped(void)
{
    return atomic_load(&state) == RECORDING_STOPPED;
}
