/* The library is asked for its version first, which every version answers; one that is too old is refused before
 * functions are looked up. */
#include "calibrate/gpu/cuda_driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* First version with cuGetProcAddress, whose functions are asked for as that version had them. */
enum { OLDEST_VERSION = 11030 };

typedef int get_version(int *version);
typedef int get_address(const char *name, void **function, int version, uint64_t flags);

/* Finds a function by the loader. memcpy, since C has no cast from data to functions. */
static int look_up(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL ? 0 : -1;
}

/* Asks the driver for a function as the oldest version had it. */
static int ask(const struct cuda_driver *driver, const char *name, void *function)
{
    get_address *address;
    void *found = NULL;
    if (look_up(driver->library, "cuGetProcAddress", &address) != 0 || address(name, &found, OLDEST_VERSION, 0) != 0 ||
        found == NULL)
        return -1;
    memcpy(function, &found, sizeof found);
    return 0;
}

static int driver_find_functions(struct cuda_driver *driver, const char **missing)
{
    const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define DRIVER_ROW(name, type, ...) {#name, offsetof(struct cuda_driver, name)},
        CUDA_DRIVER_FUNCTIONS(DRIVER_ROW)
#undef DRIVER_ROW
    };
    get_address *address;
    *missing = "cuGetProcAddress";
    if (look_up(driver->library, *missing, &address) != 0)
        return -1;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *missing = functions[i].name;
        if (ask(driver, functions[i].name, (char *)driver + functions[i].offset) != 0)
            return -1;
    }
    return 0;
}

static enum cuda_driver_state old(const struct cuda_driver *driver, const char *missing, struct error *error)
{
    error_set(error, "the NVIDIA driver is of CUDA %d.%d%s%s: expected %d.%d or later, update it",
              driver->version / 1000, driver->version % 1000 / 10, missing != NULL ? " and lacks " : "",
              missing != NULL ? missing : "", OLDEST_VERSION / 1000, OLDEST_VERSION % 1000 / 10);
    return CUDA_DRIVER_OLD;
}

int cuda_driver_find(const struct cuda_driver *driver, const char *name, void *function, struct error *error)
{
    if (ask(driver, name, function) == 0)
        return 0;
    (void)old(driver, name, error);
    return -1;
}

int cuda_driver_refusal(const struct cuda_driver *driver, const char *call, int code, struct error *error)
{
    const char *name = NULL;
    if (driver->cuGetErrorName(code, &name) != 0 || name == NULL)
        name = "an unknown error";
    return error_set(error, "the NVIDIA driver refuses %s with %s (%d): 'nvidia-smi' and the kernel's log may say more",
                     call, name, code);
}

static enum cuda_driver_state refused(const struct cuda_driver *driver, const char *call, int code, struct error *error)
{
    (void)cuda_driver_refusal(driver, call, code, error);
    return CUDA_DRIVER_REFUSED;
}

static enum cuda_driver_state driver_start(struct cuda_driver *driver, struct error *error)
{
    get_version *version;
    const char *missing;
    driver->is_mock = dlsym(driver->library, "mpistair_mock_cuda") != NULL;
    if (look_up(driver->library, "cuDriverGetVersion", &version) != 0 || version(&driver->version) != 0) {
        error_set(error, CUDA_LIBRARY " does not report its version: expected that of an NVIDIA driver");
        return CUDA_DRIVER_ABSENT;
    }
    if (driver->version < OLDEST_VERSION)
        return old(driver, NULL, error);
    if (driver_find_functions(driver, &missing) != 0)
        return old(driver, missing, error);
    int code = driver->cuInit(0);
    if (code != 0)
        return refused(driver, "cuInit", code, error);
    code = driver->cuDeviceGetCount(&driver->n_devices);
    if (code != 0)
        return refused(driver, "cuDeviceGetCount", code, error);
    if (driver->n_devices > 0)
        return CUDA_DRIVER_FOUND;
    error_set(error, "the NVIDIA driver sees no GPU: CUDA_VISIBLE_DEVICES may hide it, or the job has none");
    return CUDA_DRIVER_NO_DEVICE;
}

enum cuda_driver_state cuda_driver_open(struct cuda_driver *driver, struct error *error)
{
    *driver = (struct cuda_driver){.library = dlopen(CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    if (driver->library == NULL) {
        error_set(error, "no NVIDIA driver: %s", dlerror());
        return CUDA_DRIVER_ABSENT;
    }
    enum cuda_driver_state state = driver_start(driver, error);
    if (state != CUDA_DRIVER_FOUND)
        cuda_driver_close(driver);
    return state;
}

void cuda_driver_close(struct cuda_driver *driver)
{
    dlclose(driver->library);
    driver->library = NULL;
}
