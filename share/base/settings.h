/* The variables MPISTAIR_X that direct recording: the environment's, else the site's defaults, lines KEY=VALUE of
 * /etc/mpistair.conf or of the file that MPISTAIR_CONF names (empty: of none). mpistair(1) describes the file.
 *
 * It is read into memory of this library's own, whatever it is, without malloc, and errno is kept; nothing enters the
 * environment. The preload library, each recorder and the tool have a copy each. */
#ifndef MPISTAIR_SETTINGS_H
#define MPISTAIR_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the file. A relative name starts at `folder`; NULL or "": at the working directory. Values that setting()
 * returned before are no longer valid. No other thread may use settings meanwhile. */
void settings_read(const char *folder);

/* Returns the value of a variable, "" where the environment has it empty, NULL if neither has it. Reads the file if it
 * was not read yet. */
const char *setting(const char *name);

/* Returns the file in force, NULL if there is none. */
const char *settings_file(void);

/* Returns the value that the file gives the key number `at`, and its name, NULL if it gives it none. *name is NULL
 * behind the last key. */
const char *settings_default(size_t at, const char **name);

/* Writes what is wrong with the file, in one line with file and line number. Returns false if nothing is. */
bool settings_complaint(char *text, size_t size);

#endif
