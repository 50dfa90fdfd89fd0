/* Plays the memory of a GPU in an MPI window that the processes of its group share. */
#include "tests/apps/device_memory.h"

#include "calibrate/gpu/cuda_driver.h"
#include "tests/apps/app.h"

#include <stdio.h>
#include <string.h>

void device_open(struct device_memory *memory, MPI_Comm group, size_t bytes)
{
    int member, unit;
    MPI_Aint size;
    MPI_Comm_rank(group, &member);
    memory->group = group;
    int code = MPI_Win_allocate_shared(member == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, group, &memory->base,
                                       &memory->window);
    if (code != MPI_SUCCESS || MPI_Win_shared_query(memory->window, 0, &size, &unit, &memory->base) != MPI_SUCCESS)
        app_fail("no window of %zu bytes shared by the processes of a GPU", bytes);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, memory->window);
}

void device_release(struct device_memory *memory)
{
    MPI_Win_unlock_all(memory->window);
    MPI_Win_free(&memory->window);
}

void device_pull(const struct device_memory *memory, const struct device_piece *pieces, size_t n, void *host)
{
    char *to = host;
    for (size_t i = 0; i < n; i++) {
        memcpy(to, memory->base + pieces[i].offset, pieces[i].bytes);
        to += pieces[i].bytes;
    }
}

void device_push(struct device_memory *memory, const struct device_piece *pieces, size_t n, const void *host)
{
    const char *from = host;
    for (size_t i = 0; i < n; i++) {
        memcpy(memory->base + pieces[i].offset, from, pieces[i].bytes);
        from += pieces[i].bytes;
    }
}

void device_settle(struct device_memory *memory)
{
    MPI_Win_sync(memory->window);
    MPI_Barrier(memory->group);
    MPI_Win_sync(memory->window);
}

const char *device_refused_by_mpi(void)
{
    static struct error error;
    struct cuda_driver driver;
    if (cuda_driver_open(&driver, &error) != CUDA_DRIVER_FOUND)
        return error.text;
    cuda_driver_close(&driver);
    return "there is a GPU, but this program plays its memory in the host's";
}
