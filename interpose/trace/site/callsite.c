/* The copy of /proc/self/maps that a process left turns its addresses into (file, offset in the file), which is the
 * same in all processes whatever the kernel's address randomisation did. A process that was killed left no copy: its
 * call sites are of the module "?", apart per process, with the address as the offset. */
#include "interpose/trace/site/callsite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/trace/gather/beside.h"
#include "share/base/array.h"

struct mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t offset; /* place in the file */
    uint32_t module;
};

static const char unknown_module[] = "?";

/* Puts back the ends of lines of a path: the kernel writes \012 for each, and leaves a backslash as it is. So a name
 * that exists as it stands is taken so. */
static void restore_lines(char *path)
{
    static const char end_of_line[] = "\\012";
    if (strstr(path, end_of_line) == NULL || access(path, F_OK) == 0)
        return;
    for (char *at = path; (at = strstr(at, end_of_line)) != NULL;) {
        *at++ = '\n';
        memmove(at, at + strlen(end_of_line) - 1, strlen(at + strlen(end_of_line) - 1) + 1);
    }
}

/* Returns the module of a path, found by a hash of it. */
static uint32_t module_of(struct callsite_table *table, struct trace *trace, const char *path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = path; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    uint32_t *id = map_at(&table->modules, (struct map_key){hash, strlen(path), 0});
    if (id == NULL || *id != MAP_ABSENT)
        return id == NULL ? TRACE_NONE : *id;
    if (array_grow(&trace->modules, trace->n_modules, sizeof *trace->modules) != 0)
        return TRACE_NONE;
    char *copy = strdup(path);
    if (copy == NULL)
        return TRACE_NONE;
    restore_lines(copy);
    *id = (uint32_t)trace->n_modules;
    trace->modules[trace->n_modules] = (struct trace_module){.path = copy};
    return (uint32_t)trace->n_modules++;
}

static int add_mapping(struct callsite_table *table, struct trace *trace, const char *line)
{
    uint64_t begin, end, offset;
    char permissions[5];
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &begin, &end, permissions, &offset,
               &path_at) != 4 ||
        path_at == 0 || strchr(permissions, 'x') == NULL || line[path_at] != '/' || end <= begin)
        return 0;
    if (array_grow(&table->mappings, table->n_mappings, sizeof *table->mappings) != 0)
        return -1;
    uint32_t module = module_of(table, trace, line + path_at);
    if (module == TRACE_NONE)
        return -1;
    table->mappings[table->n_mappings++] = (struct mapping){begin, end, offset, module};
    return 0;
}

static int compare_mappings(const void *left, const void *right)
{
    const struct mapping *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

int callsites_of_process(struct callsite_table *table, struct trace *trace, const struct spool *spool)
{
    map_release(&table->addresses);
    table->n_mappings = 0;
    free(table->mappings);
    table->mappings = NULL;
    char *maps = beside_read(spool, spool->header.maps), *rest = maps;
    int result = 0;
    for (char *line; result == 0 && (line = strsep(&rest, "\n")) != NULL;)
        result = add_mapping(table, trace, line);
    if (table->n_mappings > 1)
        qsort(table->mappings, table->n_mappings, sizeof *table->mappings, compare_mappings);
    free(maps);
    return result;
}

/* Returns the mapping that holds the address, NULL if there is none. */
static const struct mapping *mapping_of(const struct callsite_table *table, uint64_t address)
{
    size_t low = 0, high = table->n_mappings;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->mappings[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < table->mappings[low - 1].end ? &table->mappings[low - 1] : NULL;
}

static uint32_t add_callsite(struct callsite_table *table, struct trace *trace, uint64_t address)
{
    const struct mapping *mapping = mapping_of(table, address - 1);
    uint32_t module = mapping != NULL ? mapping->module : module_of(table, trace, unknown_module);
    uint64_t offset = mapping != NULL ? address - mapping->begin + mapping->offset : address;
    uint32_t *id = map_at(&table->ids, (struct map_key){module, offset, 0});
    if (module == TRACE_NONE || id == NULL)
        return TRACE_NONE;
    if (*id == MAP_ABSENT) {
        if (array_grow(&trace->callsites, trace->n_callsites, sizeof *trace->callsites) != 0)
            return TRACE_NONE;
        *id = (uint32_t)trace->n_callsites;
        trace->callsites[trace->n_callsites++] = (struct trace_callsite){.module = module, .offset = offset};
    }
    return *id;
}

uint32_t callsite_of(struct callsite_table *table, struct trace *trace, uint64_t address)
{
    if (address == 0)
        return TRACE_NONE;
    uint32_t *id = map_at(&table->addresses, (struct map_key){address, 0, 0});
    if (id == NULL)
        return TRACE_NONE;
    if (*id == MAP_ABSENT)
        *id = add_callsite(table, trace, address);
    return *id;
}

void callsites_release(struct callsite_table *table)
{
    map_release(&table->ids);
    map_release(&table->modules);
    map_release(&table->addresses);
    free(table->mappings);
    *table = (struct callsite_table){0};
}
