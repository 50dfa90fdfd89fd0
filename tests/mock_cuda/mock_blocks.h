/* Holds the memory of the mock's GPUs that copies go to, which processes share by a handle. */
#ifndef MPISTAIR_TESTS_MOCK_BLOCKS_H
#define MPISTAIR_TESTS_MOCK_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/cuda_functions.h"

/* Each returns 0, or the number of an error, as the driver's functions do. */
int mock_allocate(uint64_t *address, size_t bytes);
int mock_deallocate(uint64_t address);
int mock_get_handle(struct cuda_ipc_handle *handle, uint64_t address);
int mock_open_handle(uint64_t *address, struct cuda_ipc_handle handle, unsigned flags);
int mock_close_handle(uint64_t address);

/* Returns whether all of these bytes are in memory of a GPU. */
int mock_holds(uint64_t address, size_t bytes);
/* Is set once cuInit has been called; where memory is asked about, and contexts are, before that, they are refused. */
extern int mock_initialized;
/* Returns whether MOCK_CUDA is that word. */
int mock_is(const char *state);

#endif
