/* Keeps what a GPU has in its own memory where this process finds one, else in an MPI window that the processes of the
 * group share. */
#include "tests/apps/device_memory.h"

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/gpu/gpu_memory.h"
#include "tests/apps/app.h"

#include <stdio.h>
#include <string.h>

/* Tells the group what its first process has. */
struct told {
    int is_real;
    char bus_id[GPU_BUS_ID_BYTES];
    struct cuda_ipc_handle handle;
};

static void open_window(struct device_memory *memory, size_t bytes)
{
    int member, unit;
    MPI_Aint size;
    MPI_Comm_rank(memory->group, &member);
    int code = MPI_Win_allocate_shared(member == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, memory->group,
                                       &memory->base, &memory->window);
    if (code != MPI_SUCCESS || MPI_Win_shared_query(memory->window, 0, &size, &unit, &memory->base) != MPI_SUCCESS)
        app_fail("no window of %zu bytes shared by the processes of a GPU", bytes);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, memory->window);
}

/* Takes memory of a GPU as the first process of the group, if there is one. */
static void take(struct device_memory *memory, int number, size_t bytes, int n_members, struct told *told)
{
    struct gpu *gpu = &memory->gpu, all;
    struct error error;
    if (gpu_open(&all, NULL, &error) != 0)
        return;
    int result = gpu_bus_id(&all, number % all.driver.n_devices, told->bus_id, &error);
    gpu_close(&all);
    if (result != 0 || gpu_open(gpu, told->bus_id, &error) != 0 || gpu_take(gpu, bytes, &error) != 0 ||
        (n_members > 1 && gpu_share(gpu, &told->handle, &error) != 0))
        app_fail("%s", error.text);
    told->is_real = 1;
}

void device_open(struct device_memory *memory, MPI_Comm group, int number, size_t bytes)
{
    struct told told = {0};
    struct error error;
    int member, n_members;
    *memory = (struct device_memory){.group = group, .window = MPI_WIN_NULL};
    MPI_Comm_rank(group, &member);
    MPI_Comm_size(group, &n_members);
    bytes = (bytes / GPU_SHARED_UNIT_BYTES + 1) * GPU_SHARED_UNIT_BYTES;
    if (member == 0)
        take(memory, number, bytes, n_members, &told);
    MPI_Bcast(&told, sizeof told, MPI_BYTE, 0, group);
    if (!told.is_real)
        open_window(memory, bytes);
    else if (member > 0 && (gpu_open(&memory->gpu, told.bus_id, &error) != 0 ||
                            gpu_take_shared(&memory->gpu, &told.handle, bytes, &error) != 0))
        app_fail("%s", error.text);
}

bool device_is_real(const struct device_memory *memory)
{
    return memory->gpu.driver.library != NULL;
}

void *device_address(const struct device_memory *memory)
{
    return device_is_real(memory) ? (char *)(uintptr_t)memory->gpu.side[0].data : memory->base;
}

void device_release(struct device_memory *memory)
{
    if (device_is_real(memory)) {
        int member;
        MPI_Comm_rank(memory->group, &member);
        if (member > 0)
            gpu_close(&memory->gpu);
        MPI_Barrier(memory->group); /* the memory is closed before its owner frees it */
        gpu_close(&memory->gpu);
        return;
    }
    MPI_Win_unlock_all(memory->window);
    MPI_Win_free(&memory->window);
}

/* Copies a piece between the device and the host. */
static void copy(struct device_memory *memory, enum gpu_copy_way way, const struct device_piece *piece, char *host)
{
    struct error error;
    double seconds;
    if (!device_is_real(memory) && way == GPU_TO)
        memcpy(memory->base + piece->offset, host, piece->bytes);
    else if (!device_is_real(memory))
        memcpy(host, memory->base + piece->offset, piece->bytes);
    else if (piece->bytes > 0 &&
             (gpu_enter(&memory->gpu, &error) != 0 ||
              gpu_copy(&memory->gpu, way, false, host, piece->offset, piece->bytes, 1, &seconds, &error) != 0))
        app_fail("%s", error.text);
}

void device_pull(struct device_memory *memory, const struct device_piece *pieces, size_t n, void *host)
{
    char *to = host;
    for (size_t i = 0; i < n; i++) {
        copy(memory, GPU_FROM, &pieces[i], to);
        to += pieces[i].bytes;
    }
}

void device_push(struct device_memory *memory, const struct device_piece *pieces, size_t n, void *host)
{
    char *from = host;
    for (size_t i = 0; i < n; i++) {
        copy(memory, GPU_TO, &pieces[i], from);
        from += pieces[i].bytes;
    }
}

void device_settle(struct device_memory *memory)
{
    if (!device_is_real(memory))
        MPI_Win_sync(memory->window);
    MPI_Barrier(memory->group);
    if (!device_is_real(memory))
        MPI_Win_sync(memory->window);
}

const char *device_refused_by_mpi(void)
{
    static struct error error;
    struct cuda_driver driver;
    if (cuda_driver_open(&driver, &error) != CUDA_DRIVER_FOUND)
        return error.text;
    cuda_driver_close(&driver);
    return gpu_mpi_is_aware() ? NULL : "MPI not CUDA-aware, as far as it says";
}
