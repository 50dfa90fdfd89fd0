/* The loader's list has what it loaded in our namespace, oldest first. It counts all that it ever loaded and unloaded,
 * in all namespaces: where the list accounts for what was counted, nothing happened but what it shows. */
#include "interpose/backend/site/module_changes.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/backend/site/module_identity.h"

static int is_same_object(const struct module_object *a, const struct module_object *b)
{
    return a->begin == b->begin && a->end == b->end && a->headers == b->headers;
}

void module_find_new(struct module_look *look, const struct module_look *other)
{
    look->n_new = 0;
    for (size_t i = 0, from = 0; i < look->n_objects; i++) { /* most stand in the same order in both */
        size_t j = from, seen = 0;
        while (seen < other->n_objects && !is_same_object(&look->objects[i], &other->objects[j % other->n_objects])) {
            seen++;
            j++;
        }
        look->objects[i].is_new = seen == other->n_objects;
        look->n_new += seen == other->n_objects;
        from = seen == other->n_objects ? from : j + 1;
    }
}

/* Where more was loaded than is new, something was unloaded in between. What is loaded stands at the list's end. */
size_t module_first_uncertain(const struct module_look *look, const struct module_look *last)
{
    uint64_t loads = look->generation.adds - last->generation.adds;
    int only_loads = look->generation.subs == last->generation.subs || last->n_objects == 0;
    if (only_loads || loads <= look->n_new)
        return look->n_objects;
    return loads < look->n_objects ? look->n_objects - loads : 1;
}

/* Says whether the list has all that the loader counts: it has not where there are further namespaces. */
static int is_whole(const struct module_look *look)
{
    return look->generation.adds - look->generation.subs == look->n_objects;
}

/* Says whether the range belongs to an object that went since the last look. */
static int is_gone(const struct module_look *last, const struct module_range *range)
{
    for (size_t i = 0; i < last->n_objects && last->n_new > 0; i++)
        if (last->objects[i].is_new && range->begin >= last->objects[i].begin && range->begin < last->objects[i].end)
            return 1;
    return 0;
}

static int keep_ranges(struct module_look *look, struct module_look *last)
{
    module_find_new(last, look); /* those that the look has not any more */
    for (size_t i = 0; i < last->n_ranges; i++) {
        struct module_range range = last->ranges[i];
        range.path = NULL;
        if (!is_gone(last, &range) && module_look_add(look, range) != 0)
            return -1;
    }
    return 0;
}

/* Adds the range of a new object. Its name may be relative to a folder that the program has left since, and a file
 * without build id may be another one by now: then only the kernel knows the file. */
static int add_code(struct module_look *look, const struct module_object *object, char *path, int memory)
{
    const char *name = look->names + object->name_at;
    struct module_range range = object->code;
    if (object->n_codes == 0)
        return 0;
    if (object->n_codes > 1 || name[0] != '/' || !realpath(name, path) || !module_has_id(&range, memory))
        return -1;
    range.path = path;
    return module_look_add(look, range);
}

static int add_codes(struct module_look *look)
{
    size_t n = 0;
    int memory = module_memory_open(), result = 0;
    if (module_make_room(&look->text, &look->text_room, look->n_new * PATH_MAX, 1) != 0)
        result = -1;
    for (size_t i = 0; i < look->n_objects && result == 0; i++)
        if (look->objects[i].is_new)
            result = add_code(look, &look->objects[i], look->text + n++ * PATH_MAX, memory);
    if (memory >= 0)
        close(memory);
    return result;
}

static int by_begin(const void *left, const void *right)
{
    const struct module_range *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

int module_apply_changes(struct module_look *look, struct module_look *last)
{
    module_find_new(look, last);
    if (last->n_objects == 0 || !is_whole(last) || !is_whole(look) ||
        module_first_uncertain(look, last) < look->n_objects || keep_ranges(look, last) != 0 || add_codes(look) != 0)
        return -1;
    if (look->n_ranges > 1)
        qsort(look->ranges, look->n_ranges, sizeof *look->ranges, by_begin);
    return 0;
}
