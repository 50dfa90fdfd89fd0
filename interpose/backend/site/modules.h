/* Keeps a history of the code that is mapped into this process, for the call sites: an address belongs to one file now
 * and to another one after dlclose and dlopen.
 *
 * The history is the process's file run->maps, written as it grows (section SPOOL of mpistair(5) describes it). Its
 * looks are taken before and after each dlclose, and at other rare events; what the loader did between two looks ingest
 * reconstructs, or it stays unknown. No call runs through this code. */
#ifndef MPISTAIR_BACKEND_MODULES_H
#define MPISTAIR_BACKEND_MODULES_H

#include "interpose/backend/run/run.h"

/* Begins the history with what is mapped now. Where the file cannot be made, run->maps is empty and there is none. */
void modules_open(struct run *run);

/* Notes what changed since the last look, if the loader loaded or unloaded anything. Threads may call it at any time;
 * keeps errno. */
void modules_note(void);

/* Takes a look as modules_note() does, and another one at the first call of MPI that finds the generation changed: a
 * module came after a dlclose, or went by one that the recorder cannot see. */
void modules_expect_change(void);
/* Takes that look. Returns 1 where it was taken, 0 where nothing is awaited or nothing changed yet. */
int modules_settle(void);
int modules_are_awaited(void);

/* Ends the history with a last look. Returns 0, or -1 where there is no file. */
int modules_close(struct run *run);

/* For 64 KiB of addresses each: how many modules that lay there went. Stacks of equal addresses are
 * equal as long as these are. */
enum { MODULE_BLOCKS = 256 };
extern uint32_t module_versions[MODULE_BLOCKS];
static inline uint32_t module_version(uint64_t address)
{
    return __atomic_load_n(&module_versions[(address >> 16) % MODULE_BLOCKS], __ATOMIC_RELAXED);
}

#endif
