/* Reads files that a spool's header names: the copy of the process's memory map, the node's topology. */
#ifndef MPISTAIR_TRACE_COMPANION_H
#define MPISTAIR_TRACE_COMPANION_H

#include <stddef.h>

#include "interpose/spool/reader.h"

/* Longer files are none of ours: a process has at most 65,530 mappings, and a topology is a few MiB. */
#define COMPANION_LIMIT_BYTES ((size_t)1 << 24)

/* Returns the text of the file whose name is the last part of `named`, ended by 0; the caller frees it. The file must
 * lie in the spool's own folder, where the recorder puts all of a job's files, and be a plain file of at most
 * COMPANION_LIMIT_BYTES: a header is not trusted to name any other. Returns NULL if named is empty or there is no such
 * file. */
char *companion_read(const struct spool *spool, const char *named);

#endif
