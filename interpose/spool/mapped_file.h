/* Maps files for reading that somebody else may cut meanwhile. The system ends a process by SIGBUS that touches a page
 * behind a mapped file's end. Here the rest reads as zeroes from then on, and the reader asks, in the end, whether the
 * file was whole all the time. */
#ifndef MPISTAIR_SPOOL_MAPPED_FILE_H
#define MPISTAIR_SPOOL_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapped_file;

/* Maps the first `bytes` of an open file; the caller closes the mapping. Returns NULL with errno on failure. One thread
 * opens and closes. */
struct mapped_file *mapped_file_open(int descriptor, size_t bytes);
void mapped_file_close(struct mapped_file *file);
/* Returns the bytes, which stay until it is closed. */
const uint8_t *mapped_file_data(const struct mapped_file *file);
/* Takes that many whole pages at the front out of the process: they must not be read again. */
void mapped_file_drop_front(struct mapped_file *file, size_t bytes);
/* Returns whether a read found the file shorter than it was when it was mapped. */
bool mapped_file_is_cut(const struct mapped_file *file);

#endif
