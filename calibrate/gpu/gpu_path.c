/* The names are in one place, so that measured and predicted paths have the same ones. */
#include "calibrate/gpu/gpu_path.h"

#include <string.h>

#include "share/base/one_of.h"

const char *const gpu_path_name[GPU_PATH_COUNT] = {"gpudirect", "3-step", "extra-message", "duplicate-pointer"};

int gpu_path_parse(const char *name, enum gpu_path *found)
{
    int place = place_in_names(name, gpu_path_name, GPU_PATH_COUNT);
    if (place >= 0)
        *found = (enum gpu_path)place;
    return place >= 0 ? 0 : -1;
}

bool gpu_word_listed(const char *list, const char *word)
{
    char found[GPU_WORD_BYTES];
    const char *at = list;
    while (word_next(&at, found, sizeof found))
        if (strcmp(found, word) == 0)
            return true;
    return list == NULL;
}
