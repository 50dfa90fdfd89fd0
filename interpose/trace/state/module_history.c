/* Two looks at the process bound the time in which a module came or went (`after` to `seen`, `last` to `gone`). A call
 * from an address belongs to the module that was there for sure; else to the only one that may have been, unless others
 * came and went unseen; else it is unknown. Ranges that overlap at some time make a group. Nearly all groups have one
 * stay, from the begin to the end of the process. */
#include "interpose/trace/state/module_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/order.h"

struct module_group {
    uint64_t begin, end;
    size_t first, n; /* its stays */
};

struct module_blur {
    uint64_t after, until;
};

struct history_reader {
    struct process_modules *modules;
    uint32_t (*module_of)(void *context, const char *path, const struct module_identity *identity);
    void *context;
    struct map here;         /* begin -> the last stay there */
    uint64_t checked, ticks; /* of the paragraph */
    bool is_whole;           /* the paragraph has ended */
    bool has_times;          /* it is a history */
    uint64_t unsure_from;    /* from then on changes are not known; UINT64_MAX: they are */
};

static void add_stay(struct history_reader *reading, struct module_stay stay, const char *path,
                     const struct module_identity *identity)
{
    struct process_modules *modules = reading->modules;
    if (stay.end <= stay.begin || path[0] != '/')
        return;
    stay.module = reading->module_of(reading->context, path, identity);
    array_grow(&modules->stays, modules->n_stays, sizeof *modules->stays);
    *map_at(&reading->here, (struct map_key){stay.begin, 0, 0}) = (uint32_t)modules->n_stays;
    modules->stays[modules->n_stays++] = stay;
}

static void end_stay(struct history_reader *reading, uint64_t begin)
{
    uint32_t here = map_find(&reading->here, (struct map_key){begin, 0, 0});
    if (here == MAP_ABSENT || reading->modules->stays[here].gone != UINT64_MAX)
        return;
    reading->modules->stays[here].last = reading->checked;
    reading->modules->stays[here].gone = reading->ticks;
}

static void add_blur(struct history_reader *reading, uint64_t after, uint64_t until)
{
    struct process_modules *modules = reading->modules;
    ARRAY_ADD(modules->blurs, modules->n_blurs, (struct module_blur){after, until});
}

/* Reads the word that tells the file from others: see module_look.h of the recorder. */
static void read_identity(char *word, struct module_identity *identity)
{
    *identity = (struct module_identity){.evidence = MODULE_UNKNOWN};
    if (strncmp(word, "id=", 3) == 0 && word[3] != '\0') {
        identity->evidence = MODULE_BUILD_ID;
        identity->build_id = word + 3;
    } else if (sscanf(word, "file=%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64, &identity->size, &identity->mtime_ns,
                      &identity->device, &identity->inode) == 4) {
        identity->evidence = MODULE_STATUS;
    } else if (strcmp(word, "deleted") == 0) {
        identity->evidence = MODULE_DELETED;
    }
}

static bool read_came(struct history_reader *reading, char *line)
{
    struct module_stay stay = {.after = reading->checked,
                               .seen = reading->ticks,
                               .last = UINT64_MAX,
                               .gone = UINT64_MAX,
                               .remains = line[0] == '*'};
    struct module_identity identity;
    int word_at = 0, path_at = 0;
    if (sscanf(line + 2, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %n%*255s%n", &stay.begin, &stay.end, &stay.offset,
               &word_at, &path_at) != 3 ||
        path_at == 0 || line[2 + path_at] != ' ')
        return false;
    line[2 + path_at] = '\0';
    read_identity(line + 2 + word_at, &identity);
    add_stay(reading, stay, line + 2 + path_at + 1, &identity);
    return true;
}

/* Reads a line of /proc/self/maps, which alone tells no times. */
static bool read_mapping(struct history_reader *reading, const char *line)
{
    const struct module_identity identity = {.evidence = MODULE_TRUSTED};
    struct module_stay stay = {.last = UINT64_MAX, .gone = UINT64_MAX};
    char permissions[5];
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &stay.begin, &stay.end, permissions,
               &stay.offset, &path_at) != 4)
        return false;
    if (path_at > 0 && strchr(permissions, 'x') != NULL)
        add_stay(reading, stay, line + path_at, &identity);
    return true;
}

/* Reads a line; returns false if it is none. */
static bool read_line(struct history_reader *reading, char *line)
{
    uint64_t begin, checked, ticks;
    if (line[0] == '.' || line[0] == '\0') {
        reading->is_whole = true;
        return true;
    }
    if (line[1] != ' ')
        return read_mapping(reading, line) || !reading->has_times;
    switch (line[0]) {
    case '=':
    case '?':
        if (!reading->is_whole || sscanf(line + 2, "%" SCNu64 " %" SCNu64, &checked, &ticks) != 2 || ticks < checked)
            return false;
        reading->checked = checked;
        reading->ticks = ticks;
        reading->is_whole = false;
        reading->has_times = true;
        reading->unsure_from = UINT64_MAX;
        if (line[0] == '?')
            add_blur(reading, checked, ticks);
        return true;
    case '+':
    case '*':
        return read_came(reading, line);
    case '-':
        if (sscanf(line + 2, "%" SCNx64, &begin) != 1)
            return false;
        end_stay(reading, begin);
        return true;
    case '!':
        reading->has_times = true;
        return sscanf(line + 2, "%" SCNu64, &reading->unsure_from) == 1;
    default:
        return false;
    }
}

/* Lets nothing be known from a time on but of what cannot be unloaded. */
static void end_knowledge(struct history_reader *reading)
{
    struct process_modules *modules = reading->modules;
    for (size_t i = 0; i < modules->n_stays; i++) {
        struct module_stay *stay = &modules->stays[i];
        if (stay->gone == UINT64_MAX && !stay->remains)
            stay->last = reading->unsure_from > stay->seen ? reading->unsure_from : stay->seen;
    }
    add_blur(reading, reading->unsure_from, UINT64_MAX);
}

static int by_begin(const void *left, const void *right)
{
    const struct module_stay *a = left, *b = right;
    return ORDER(a->begin, b->begin) ?: ORDER(a->seen, b->seen);
}

static int by_gone(const void *left, const void *right)
{
    const struct module_stay *a = left, *b = right;
    return ORDER(a->gone, b->gone) ?: by_begin(left, right);
}

static void add_group(struct process_modules *modules, size_t first, size_t n, uint64_t end)
{
    struct module_stay *stays = modules->stays + first;
    ARRAY_ADD(modules->groups, modules->n_groups, (struct module_group){stays[0].begin, end, first, n});
    if (n > 1)
        qsort(stays, n, sizeof *stays, by_gone);
    uint64_t least = UINT64_MAX;
    for (size_t i = n; i-- > 0;) {
        least = stays[i].after < least ? stays[i].after : least;
        modules->first_after[first + i] = least;
    }
}

static void find_groups(struct process_modules *modules)
{
    if (modules->n_stays == 0)
        return;
    modules->first_after = xcalloc(modules->n_stays, sizeof *modules->first_after);
    qsort(modules->stays, modules->n_stays, sizeof *modules->stays, by_begin);
    for (size_t first = 0, next; first < modules->n_stays; first = next) {
        uint64_t end = modules->stays[first].end;
        for (next = first + 1; next < modules->n_stays && modules->stays[next].begin < end; next++)
            end = modules->stays[next].end > end ? modules->stays[next].end : end;
        add_group(modules, first, next - first, end);
    }
}

void modules_read(struct process_modules *modules, char *text,
                  uint32_t (*module_of)(void *context, const char *path, const struct module_identity *identity),
                  void *context)
{
    struct history_reader reading = {
        .modules = modules, .module_of = module_of, .context = context, .is_whole = true, .unsure_from = UINT64_MAX};
    bool is_sound = true;
    while (text != NULL && *text != '\0' && is_sound) {
        char *end = strchr(text, '\n');
        if (end != NULL)
            *end = '\0';
        is_sound = (end != NULL || !reading.has_times) && read_line(&reading, text);
        text = end != NULL ? end + 1 : NULL;
    }
    if (reading.has_times && (!is_sound || !reading.is_whole)) { /* cut off, or damaged */
        uint64_t known_until = reading.is_whole ? reading.ticks : reading.checked;
        reading.unsure_from = known_until < reading.unsure_from ? known_until : reading.unsure_from;
    }
    if (reading.unsure_from != UINT64_MAX)
        end_knowledge(&reading);
    map_release(&reading.here);
    find_groups(modules);
}

static const struct module_group *group_of(const struct process_modules *modules, uint64_t address)
{
    size_t at = 0;
    FIRST_BEYOND(at, modules->n_groups, modules->groups[at].begin <= address);
    return at > 0 && address < modules->groups[at - 1].end ? &modules->groups[at - 1] : NULL;
}

/* Returns the first stay of a group that ends after a time. */
static size_t first_until(const struct process_modules *modules, const struct module_group *group, uint64_t ticks)
{
    size_t at = group->first;
    FIRST_BEYOND(at, group->first + group->n, modules->stays[at].gone <= ticks);
    return at;
}

static bool is_blurred(const struct process_modules *modules, uint64_t ticks)
{
    size_t at = 0;
    FIRST_BEYOND(at, modules->n_blurs, modules->blurs[at].until <= ticks);
    return at < modules->n_blurs && modules->blurs[at].after < ticks;
}

/* True if an address in both stays means the same place of the same file. */
static bool is_same_code(const struct module_stay *a, const struct module_stay *b)
{
    return a->module == b->module && a->begin - a->offset == b->begin - b->offset;
}

const struct module_stay *module_at(const struct process_modules *modules, uint64_t address, uint64_t ticks,
                                    bool *settled)
{
    const struct module_group *group = group_of(modules, address);
    const struct module_stay *first = group == NULL ? NULL : &modules->stays[group->first], *found = NULL;
    *settled = group == NULL || (group->n == 1 && first->after == 0 && first->last == UINT64_MAX);
    if (*settled)
        return first;
    bool agree = true;
    for (size_t i = first_until(modules, group, ticks); i < group->first + group->n && modules->first_after[i] < ticks;
         i++) {
        const struct module_stay *stay = &modules->stays[i];
        if (address < stay->begin || address >= stay->end || stay->after >= ticks)
            continue;
        if (stay->seen <= ticks && ticks <= stay->last)
            return stay;
        agree = agree && (found == NULL || is_same_code(found, stay));
        found = stay;
    }
    return found != NULL && agree && !is_blurred(modules, ticks) ? found : NULL;
}

const struct module_stay *module_only(const struct process_modules *modules, uint64_t address)
{
    const struct module_group *group = group_of(modules, address);
    const struct module_stay *found = NULL;
    for (size_t i = 0; group != NULL && i < group->n; i++) {
        const struct module_stay *stay = &modules->stays[group->first + i];
        if (address < stay->begin || address >= stay->end)
            continue;
        if (found != NULL && !is_same_code(found, stay))
            return NULL;
        found = stay;
    }
    return found;
}

void modules_release(struct process_modules *modules)
{
    free(modules->stays);
    free(modules->first_after);
    free(modules->groups);
    free(modules->blurs);
    *modules = (struct process_modules){0};
}
