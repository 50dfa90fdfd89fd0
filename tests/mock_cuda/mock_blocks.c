/* Memory of a GPU is a file without a name, which another process of the same user opens as /proc/PID/fd/N: nothing is
 * left behind where a process is killed. As with the driver, a process cannot open its own handle, and memory of
 * another one is not its own to free. */
#include "tests/mock_cuda/mock_blocks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INVALID = 1, NO_MEMORY = 2, NOT_SUPPORTED = 801, BLOCKS_MAX = 32 };

static struct block {
    char *data; /* NULL: the place is free */
    size_t bytes;
    int file; /* -1: another process has it */
} blocks[BLOCKS_MAX];

int mock_initialized;

int mock_is(const char *state)
{
    const char *wanted = getenv("MOCK_CUDA");
    return wanted != NULL && strcmp(wanted, state) == 0;
}

static struct block *find(uint64_t address)
{
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (blocks[i].data != NULL && (uint64_t)(uintptr_t)blocks[i].data == address)
            return &blocks[i];
    return NULL;
}

int mock_holds(uint64_t address, size_t bytes)
{
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (blocks[i].data != NULL && address >= (uint64_t)(uintptr_t)blocks[i].data &&
            address + bytes <= (uint64_t)(uintptr_t)blocks[i].data + blocks[i].bytes)
            return 1;
    return 0;
}

/* Maps the file into a free place, which then says whether it is this process's own. */
static int map(int file, size_t bytes, int is_own, uint64_t *address)
{
    struct block *block = blocks;
    while (block < blocks + BLOCKS_MAX && block->data != NULL)
        block++;
    if (block == blocks + BLOCKS_MAX)
        return NO_MEMORY;
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED)
        return NO_MEMORY;
    *block = (struct block){data, bytes, is_own ? file : -1};
    *address = (uint64_t)(uintptr_t)data;
    return 0;
}

static void forget(struct block *block)
{
    munmap(block->data, block->bytes);
    if (block->file >= 0)
        close(block->file);
    block->data = NULL;
}

int mock_allocate(uint64_t *address, size_t bytes)
{
    int file = mock_is("full") ? -1 : memfd_create("mock_cuda", MFD_CLOEXEC);
    if (file < 0)
        return NO_MEMORY;
    int code = ftruncate(file, (off_t)bytes) == 0 ? map(file, bytes, 1, address) : NO_MEMORY;
    if (code != 0)
        close(file);
    return code;
}

int mock_deallocate(uint64_t address)
{
    struct block *block = find(address);
    if (block == NULL || block->file < 0)
        return INVALID;
    forget(block);
    return 0;
}

int mock_get_handle(struct cuda_ipc_handle *handle, uint64_t address)
{
    struct block *block = find(address);
    if (block == NULL || block->file < 0)
        return INVALID;
    if (mock_is("no-ipc"))
        return NOT_SUPPORTED;
    snprintf(handle->reserved, sizeof handle->reserved, "/proc/%ld/fd/%d", (long)getpid(), block->file);
    return 0;
}

int mock_open_handle(uint64_t *address, struct cuda_ipc_handle handle, unsigned flags)
{
    char own[32];
    struct stat status;
    snprintf(own, sizeof own, "/proc/%ld/", (long)getpid());
    if (flags != CUDA_IPC_LAZY_ENABLE_PEER_ACCESS || strncmp(handle.reserved, own, strlen(own)) == 0)
        return INVALID;
    if (mock_is("no-ipc-open"))
        return NOT_SUPPORTED;
    int file = open(handle.reserved, O_RDWR | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        return INVALID;
    int code = map(file, (size_t)status.st_size, 0, address);
    close(file);
    return code;
}

int mock_close_handle(uint64_t address)
{
    struct block *block = find(address);
    if (block == NULL || block->file >= 0)
        return INVALID;
    forget(block);
    return 0;
}
