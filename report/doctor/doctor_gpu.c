/* Looks at GPUs. A job is recorded without them, so that what is missing is said and takes nothing from the result. */
#include <stdio.h>

#include "calibrate/gpu/cuda_driver.h"
#include "report/doctor/doctor.h"

static void list_devices(const struct cuda_driver *driver, struct doctor_check *check)
{
    int used = snprintf(check->found, sizeof check->found, "%d of NVIDIA (driver of CUDA %d.%d)", driver->n_devices,
                        driver->version / 1000, driver->version % 1000 / 10);
    for (int ordinal = 0; ordinal < driver->n_devices && (size_t)used < sizeof check->found; ordinal++) {
        char name[64] = "";
        int device;
        if (driver->cuDeviceGet(&device, ordinal) != 0 || driver->cuDeviceGetName(name, sizeof name, device) != 0)
            snprintf(name, sizeof name, "without a name");
        used +=
            snprintf(check->found + used, sizeof check->found - (size_t)used, "%s%s", ordinal == 0 ? ": " : ", ", name);
    }
}

void doctor_look_at_gpus(struct doctor *doctor)
{
    struct cuda_driver driver;
    struct error error;
    enum cuda_driver_state state = cuda_driver_open(&driver, &error);
    bool usual = state == CUDA_DRIVER_FOUND || state == CUDA_DRIVER_ABSENT;
    struct doctor_check *check = doctor_add(doctor, "GPUs", usual ? DOCTOR_OK : DOCTOR_NOTE);
    if (state == CUDA_DRIVER_FOUND) {
        list_devices(&driver, check);
        cuda_driver_close(&driver);
        return;
    }
    snprintf(check->found, sizeof check->found, "%.500s", error.text);
    if (!usual)
        snprintf(check->advice, sizeof check->advice, "recording needs no GPU; what measures GPUs does");
}
