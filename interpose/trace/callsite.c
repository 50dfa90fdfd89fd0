/* The copy of /proc/self/maps that a process left turns its addresses into (file, offset in the file), which is the
 * same in all processes whatever the kernel's address randomisation did. A process that was killed left none: its call
 * sites are of the module "?", apart per process, with the address as the offset.
 */
#include "callsite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t offset; /* in the file */
    uint32_t module;
};

static const char unknown_module[] = "?";

static uint32_t module_of(struct trace *trace, const char *path)
{
    for (size_t i = 0; i < trace->n_modules; i++)
        if (strcmp(trace->modules[i].path, path) == 0)
            return (uint32_t)i;
    struct trace_module *grown = trace_grow(trace->modules, trace->n_modules, sizeof *grown);
    if (grown == NULL)
        return TRACE_NONE;
    trace->modules = grown;
    char *copy = strdup(path);
    if (copy == NULL)
        return TRACE_NONE;
    trace->modules[trace->n_modules] = (struct trace_module){.path = copy};
    return (uint32_t)trace->n_modules++;
}

/* The copy where the process wrote it, or beside its spool where both were copied. */
static FILE *open_maps(const struct spool *spool)
{
    const char *path = spool->header.maps;
    if (path[0] == '\0')
        return NULL;
    FILE *file = fopen(path, "re");
    const char *folder_end = strrchr(spool->path, '/');
    const char *name = strrchr(path, '/');
    if (file != NULL || folder_end == NULL)
        return file;
    char beside[4096];
    snprintf(beside, sizeof beside, "%.*s/%s", (int)(folder_end - spool->path), spool->path,
             name != NULL ? name + 1 : path);
    return fopen(beside, "re");
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
    struct mapping *grown = trace_grow(table->mappings, table->n_mappings, sizeof *grown);
    if (grown == NULL)
        return -1;
    table->mappings = grown;
    uint32_t module = module_of(trace, line + path_at);
    if (module == TRACE_NONE)
        return -1;
    table->mappings[table->n_mappings++] = (struct mapping){begin, end, offset, module};
    return 0;
}

int callsites_of_process(struct callsite_table *table, struct trace *trace, const struct spool *spool)
{
    map_release(&table->addresses);
    table->n_mappings = 0;
    free(table->mappings);
    table->mappings = NULL;
    FILE *file = open_maps(spool);
    if (file == NULL)
        return 0;
    char line[4352];
    int result = 0;
    while (result == 0 && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        result = add_mapping(table, trace, line);
    }
    fclose(file);
    return result;
}

static uint32_t add_callsite(struct callsite_table *table, struct trace *trace, uint64_t address)
{
    uint32_t module = TRACE_NONE;
    uint64_t offset = address;
    for (size_t i = 0; i < table->n_mappings; i++) {
        const struct mapping *mapping = &table->mappings[i];
        if (address - 1 >= mapping->begin && address - 1 < mapping->end) {
            module = mapping->module;
            offset = address - mapping->begin + mapping->offset;
            break;
        }
    }
    if (module == TRACE_NONE)
        module = module_of(trace, unknown_module);
    uint32_t *id = map_at(&table->ids, (struct map_key){module, offset, 0});
    if (module == TRACE_NONE || id == NULL)
        return TRACE_NONE;
    if (*id == MAP_ABSENT) {
        struct trace_callsite *grown = trace_grow(trace->callsites, trace->n_callsites, sizeof *grown);
        if (grown == NULL)
            return TRACE_NONE;
        trace->callsites = grown;
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
    map_release(&table->addresses);
    free(table->mappings);
    *table = (struct callsite_table){0};
}
