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

bool gpu_word_next(const char **list, char word[GPU_WORD_BYTES])
{
    if (*list == NULL)
        return false;
    size_t length = strcspn(*list, ","), kept = length < GPU_WORD_BYTES ? length : GPU_WORD_BYTES - 1;
    memcpy(word, *list, kept);
    word[kept] = '\0';
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

bool gpu_word_listed(const char *list, const char *word)
{
    char found[GPU_WORD_BYTES];
    const char *at = list;
    while (gpu_word_next(&at, found))
        if (strcmp(found, word) == 0)
            return true;
    return list == NULL;
}
