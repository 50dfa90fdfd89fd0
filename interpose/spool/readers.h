/* Who may read what is recorded: its owner alone, unless MPISTAIR_READERS says `group` or `all`. The umask takes
 * bits away as from any file's mode. */
#ifndef MPISTAIR_SPOOL_READERS_H
#define MPISTAIR_SPOOL_READERS_H

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "share/base/settings.h"

/* Returns the mode bits with which others than the owner may read; 0 also where the variable has a value that is
 * refused. */
static inline mode_t readers_of(mode_t group, mode_t all)
{
    const char *readers = setting("MPISTAIR_READERS");
    return !readers ? 0 : strcmp(readers, "group") == 0 ? group : strcmp(readers, "all") == 0 ? all : 0;
}

static inline mode_t readers_file_mode(void)
{
    return 0600 | readers_of(0040, 0044);
}

static inline mode_t readers_folder_mode(void)
{
    return 0700 | readers_of(0050, 0055);
}

/* Returns whether the variable has a value that is refused. */
static inline int readers_is_wrong(void)
{
    const char *readers = setting("MPISTAIR_READERS");
    return readers && *readers && strcmp(readers, "owner") != 0 && readers_of(1, 1) == 0;
}

#endif
