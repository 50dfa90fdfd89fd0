/* Finds the file that the user means by --machine. */
#include "calibrate/machine/machine.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/installation.h"

static bool has_table_suffix(const char *name)
{
    static const char suffix[] = ".tbl";
    size_t length = strlen(name);
    return length > sizeof suffix - 1 && strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

static int is_table(const struct dirent *entry)
{
    return has_table_suffix(entry->d_name);
}

/* Lists the shipped names, "a, b, c", for an error; "none" if there are none. */
static void shipped_names(char *names, size_t size)
{
    char folder[PATH_MAX];
    struct dirent **entries = NULL;
    int n = installation_find(INSTALLATION_SHARE, "machines", folder, sizeof folder, NULL) == 0
                ? scandir(folder, &entries, is_table, alphasort)
                : 0;
    snprintf(names, size, "none");
    for (int i = 0, used = 0; i < n; i++) {
        if (used >= 0 && (size_t)used < size)
            used += snprintf(names + used, size - (size_t)used, "%s%.*s", i > 0 ? ", " : "",
                             (int)strlen(entries[i]->d_name) - 4, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

int machine_find(const char *name_or_path, struct machine *machine, struct error *error)
{
    if (strchr(name_or_path, '/') != NULL || has_table_suffix(name_or_path))
        return machine_read(name_or_path, machine, error);
    char name[sizeof machine->name + 16];
    char path[PATH_MAX];
    snprintf(name, sizeof name, "machines/%.*s.tbl", (int)sizeof machine->name, name_or_path);
    if (!machine_name_valid(name_or_path) ||
        installation_find(INSTALLATION_SHARE, name, path, sizeof path, NULL) != 0) {
        char names[512];
        shipped_names(names, sizeof names);
        return error_set(error, "machine '%.64s': not among the shipped ones (%s), nor a .tbl file", name_or_path,
                         names);
    }
    return machine_read(path, machine, error);
}
