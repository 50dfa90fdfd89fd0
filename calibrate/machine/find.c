/* Finds the file that the user means by --machine. */
#include "calibrate/machine/machine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "share/base/installation.h"
#include "share/base/nearest.h"

enum { NAMES_BYTES = 512 };

/* Appends to a list, "a, b, c". */
static int add_name(void *context, const char *name, const char *path, struct error *error)
{
    (void)path, (void)error;
    char *names = context;
    size_t used = strlen(names);
    snprintf(names + used, NAMES_BYTES - used, "%s%s", used > 0 ? ", " : "", name);
    return 0;
}

int machine_find(const char *name_or_path, struct machine *machine, struct error *error)
{
    char path[PATH_MAX], names[NAMES_BYTES] = "";
    if (installation_named("machines", ".tbl", name_or_path, path, sizeof path) == 0)
        return machine_read(path, machine, error);
    struct nearest nearest = nearest_to(name_or_path);
    installation_each("machines", ".tbl", nearest_add_named, &nearest, NULL);
    if (nearest_hint(&nearest)[0] != '\0')
        return error_set(error, "machine '%.64s': not among the shipped ones, nor a .tbl file%s", name_or_path,
                         nearest_hint(&nearest));
    installation_each("machines", ".tbl", add_name, names, NULL);
    return error_set(error, "machine '%.64s': not among the shipped ones (%s), nor a .tbl file", name_or_path,
                     names[0] != '\0' ? names : "none");
}
