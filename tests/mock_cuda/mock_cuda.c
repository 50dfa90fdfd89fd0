/* Stands in for NVIDIA's driver in tests of what is said about it: MOCK_CUDA says what is wrong with it (old, mute,
 * lacking, refused, unnamed, none), or ok for two devices
 * (mock_copies.c has what more there is). Its mark tells a benchmark that nothing here is a machine. */
#include "tests/mock_cuda/mock_blocks.h"
#include "tests/mock_cuda/mock_copies.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern const int mpistair_mock_cuda;
const int mpistair_mock_cuda = 1;
int cuDriverGetVersion(int *version);
int cuInit(unsigned flags);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);

int cuDriverGetVersion(int *version)
{
    *version = mock_is("old") ? 11020 : 12040;
    return mock_is("mute") ? 1 : 0;
}

int cuInit(unsigned flags)
{
    if (flags != 0 || mock_is("refused") || mock_is("unnamed"))
        return flags != 0 ? 1 : 999;
    mock_initialized = 1;
    return 0;
}

static int count_devices(int *count)
{
    *count = mock_is("none") ? 0 : mock_is("one") ? 1 : 2;
    return 0;
}

static int device(int *found, int ordinal)
{
    *found = ordinal;
    return 0;
}

static int device_name(char *name, int size, int which)
{
    snprintf(name, (size_t)size, "mock %d", which);
    return 0;
}

static int error_name(int error, const char **name)
{
    *name = mock_is("unnamed") ? NULL : "CUDA_ERROR_UNKNOWN";
    return error == 999 && !mock_is("unnamed") ? 0 : 1;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    typedef void any(void);
    static const struct {
        const char *name;
        any *function;
    } known[] = {{"cuInit", (any *)cuInit},
                 {"cuDeviceGetCount", (any *)count_devices},
                 {"cuDeviceGet", (any *)device},
                 {"cuDeviceGetName", (any *)device_name},
                 {"cuGetErrorName", (any *)error_name}};
    *function = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0 && !(mock_is("lacking") && i == 3))
            memcpy(function, &known[i].function, sizeof *function);
    mock_function *copies = mock_copies_find(name);
    if (*function == NULL && copies != NULL)
        memcpy(function, &copies, sizeof *function);
    return version > 12040 || flags != 0 ? 1 : 0;
}
