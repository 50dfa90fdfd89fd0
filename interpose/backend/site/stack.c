/* Walks stacks by libunwind, which is loaded (RTLD_LOCAL) only for users who ask for stacks. Its function unw_backtrace
 * has no types of its own, so its header is not needed, and LLVM's library of the same name, which lacks it, is not
 * taken.
 *
 * A stack is stored once in the process. The table has a slot for each number, 1 to 65535: whoever first sets a slot to
 * the hash of a stack owns its number and stores the record; all others know the number from the slot, without waiting.
 * Slots are never freed. Where another module lies at an address by now, that makes another stack (modules.h). A stack
 * that finds no slot near its hash has no number: that begins with some 60,000 different ones.
 *
 * The recorder's own frames, and those of a Fortran layer, come before the application's; its call site tells where
 * that begins. */
#include "interpose/backend/site/stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/backend/site/modules.h"
#include "share/base/hash.h"
#include "share/base/one_of.h"
#include "share/base/settings.h"

#define STACK_SLOTS 65536U
#define TRIES       64
#define OWN_FRAMES  12 /* frames before the application's: the recorder's, a Fortran layer's, a tool's in front */

static int (*backtrace_of_thread)(void **addresses, int n);
static uint64_t *stack_slots; /* [SLOTS] hash of the stack with that number, 0: free */

#define X(name, family) family,
static const unsigned char families[FN_COUNT] = {MPISTAIR_FUNCTIONS(X)};
#undef X

/* Returns whether the records of a function have room for a stack: those of completion calls and probes have not. */
static int has_stack(enum mpistair_function function)
{
    return !IS_ONE_OF(families[function], FAMILY_WAIT, FAMILY_WAITALL, FAMILY_WAITANY, FAMILY_WAITSOME, FAMILY_TEST,
                      FAMILY_TESTALL, FAMILY_TESTANY, FAMILY_TESTSOME, FAMILY_CANCEL, FAMILY_REQUEST_FREE, FAMILY_PROBE,
                      FAMILY_IPROBE, FAMILY_MRECV, FAMILY_IMRECV, FAMILY_COMM_FREE, FAMILY_COMM_NAME, FAMILY_WIN_TEST);
}

static int load_unwinder(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "unw_backtrace") : NULL;
    memcpy(&backtrace_of_thread, &symbol, sizeof symbol);
    return symbol ? 0 : -1;
}

void stack_open(int rank)
{
    const char *text = setting("MPISTAIR_STACK");
    if (!text || !*text || strcmp(text, "0") == 0)
        return;
    char *end;
    errno = 0;
    long frames = strtol(text, &end, 10);
    const char *problem = NULL;
    if (text[0] < '0' || text[0] > '9' || *end || errno != 0 || frames > SPOOL_STACK_LIMIT)
        problem = "must be a number of frames from 0 to 63";
    else if (load_unwinder() != 0)
        problem = "needs libunwind (libunwind.so.8), which was not found";
    else if (!(stack_slots = calloc(STACK_SLOTS, sizeof *stack_slots)))
        problem = "needs more memory than there is";
    if (!problem)
        recorder.stack_frames = (int)frames;
    else if (rank == 0)
        fprintf(stderr, "mpistair: MPISTAIR_STACK=%s %s; no stacks are kept\n", text, problem);
}

static uint64_t hash_of(void *const addresses[], uint32_t n)
{
    uint64_t hash = HASH_BASIS + n;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t address = (uint64_t)(uintptr_t)addresses[i];
        hash = (hash ^ address ^ (uint64_t)module_version(address) << 48) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash ? hash : 1;
}

/* Returns the number of a hash, 0 without a slot; *is_new is set if the slot was free. */
static uint16_t number_of_stack(uint64_t hash, int *is_new)
{
    *is_new = 0;
    for (uint32_t try = 0; try < TRIES; try++) {
        uint32_t slot = (uint32_t)((hash >> 32) + try) % (STACK_SLOTS - 1) + 1;
        uint64_t found = __atomic_load_n(&stack_slots[slot], __ATOMIC_RELAXED);
        if (found == 0 &&
            __atomic_compare_exchange_n(&stack_slots[slot], &found, hash, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            *is_new = 1;
            return (uint16_t)slot;
        }
        if (found == hash)
            return (uint16_t)slot;
    }
    return 0;
}

static void store_stack(uint16_t number, void *const addresses[], uint32_t n)
{
    struct spool_stack *record = spool_definition_reserve(&recorder.spool, spool_stack_bytes(n, 1));
    if (!record)
        return;
    record->timed = 1;
    record->number = number;
    record->frames = n;
    for (uint32_t i = 0; i < n; i++)
        record->sites[i] = (uint64_t)(uintptr_t)addresses[i];
    record->sites[n] = now_ticks();
    spool_definition_publish(&recorder.spool, record, SPOOL_STACK);
}

void stack_note(struct recorder_thread *thread, enum mpistair_function function, uint64_t site)
{
    void *addresses[SPOOL_STACK_LIMIT + OWN_FRAMES];
    thread->stack = 0;
    if (!has_stack(function) || site == 0)
        return;
    int saved_errno = errno, wanted = recorder.stack_frames, is_new;
    modules_settle(); /* the same addresses may be another module's since the last call */
    int n = backtrace_of_thread(addresses, wanted + OWN_FRAMES), first = 0;
    while (first < n && (uint64_t)(uintptr_t)addresses[first] != site)
        first++;
    if (first >= n) { /* unwinding does not get there: only the site is known */
        addresses[0] = (void *)(uintptr_t)site;
        first = 0;
        n = 1;
    }
    uint32_t kept = (uint32_t)(n - first < wanted ? n - first : wanted);
    thread->stack = number_of_stack(hash_of(addresses + first, kept), &is_new);
    if (is_new) {
        modules_note(); /* it may be of a module that is new */
        store_stack(thread->stack, addresses + first, kept);
    }
    errno = saved_errno;
}
