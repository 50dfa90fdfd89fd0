/* Tells the file of a module from any other that may have its name later. */
#ifndef MPISTAIR_BACKEND_MODULE_IDENTITY_H
#define MPISTAIR_BACKEND_MODULE_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "interpose/backend/site/module_look.h"

/* Writes what identifies the file of a range: "id=HEX", its build id, read from memory; else
 * "file=BYTES,MTIME_NS,DEVICE,INODE", which are those of the file `path` now; "deleted" where that is another one; "-"
 * where nothing can be known. `path` is that of the range without what the kernel adds to names of deleted files. */
void module_identity(char *text, size_t size, const struct module_range *range, const char *path, int memory);

/* Says whether the file of a range has a build id. */
int module_has_id(const struct module_range *range, int memory);

/* Opens this process's memory to be read without risk: what is unmapped meanwhile is an error and no fault. Returns a
 * descriptor that the caller closes, or -1. */
int module_memory_open(void);

#endif
