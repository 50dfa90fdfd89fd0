/* Stands in for NVIDIA's driver in tests of what is said about it: MOCK_CUDA says what is wrong with it (old, mute,
 * lacking, refused, unnamed, none), or ok for two devices
 * (mock_copies.c has what more there is). Its mark tells a benchmark that nothing here is a machine. */
#include "tests/mock_cuda/mock_copies.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const int mpistair_mock_cuda;
const int mpistair_mock_cuda = 1;
int cuDriverGetVersion(int *version);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);

static int is(const char *state)
{
    const char *wanted = getenv("MOCK_CUDA");
    return wanted != NULL && strcmp(wanted, state) == 0;
}

int cuDriverGetVersion(int *version)
{
    *version = is("old") ? 11020 : 12040;
    return is("mute") ? 1 : 0;
}

static int init(unsigned flags)
{
    return flags != 0 ? 1 : is("refused") || is("unnamed") ? 999 : 0;
}

static int count_devices(int *count)
{
    *count = is("none") ? 0 : is("one") ? 1 : 2;
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
    *name = is("unnamed") ? NULL : "CUDA_ERROR_UNKNOWN";
    return error == 999 && !is("unnamed") ? 0 : 1;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    typedef void any(void);
    static const struct {
        const char *name;
        any *function;
    } known[] = {{"cuInit", (any *)init},
                 {"cuDeviceGetCount", (any *)count_devices},
                 {"cuDeviceGet", (any *)device},
                 {"cuDeviceGetName", (any *)device_name},
                 {"cuGetErrorName", (any *)error_name}};
    *function = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0 && !(is("lacking") && i == 3))
            memcpy(function, &known[i].function, sizeof *function);
    mock_function *copies = mock_copies_find(name);
    if (*function == NULL && copies != NULL)
        memcpy(function, &copies, sizeof *function);
    return version > 12040 || flags != 0 ? 1 : 0;
}
