/* A region is known by its name and by the region around it. Each process has numbers of its own for them, in the order
 * in which it met them, and a region is defined after the one around it. */
#include "interpose/trace/site/region_names.h"

#include <string.h>

#include "interpose/spool/reader.h"
#include "share/base/hash.h"
#include "share/base/memory.h"

/* Returns the region of a name within another one. */
static uint32_t find(struct trace *trace, uint32_t parent, const char *name, uint8_t way)
{
    struct map_key key = {hash_text(HASH_BASIS, name), strlen(name), parent};
    uint32_t id = map_number(&trace->region_ids, key, trace->n_regions);
    if (id == trace->n_regions)
        TRACE_ADD(trace->regions, trace->n_regions,
                  (struct trace_region){.name = xstrdup(name), .parent = parent, .way = way});
    return id;
}

/* Makes room for the process's numbers. */
static void reserve(struct trace_process *process)
{
    if (process->regions != NULL)
        return;
    process->regions = xcalloc(SPOOL_REGIONS, sizeof *process->regions);
    memset(process->regions, 0xff, SPOOL_REGIONS * sizeof *process->regions);
}

bool region_take(struct trace *trace, struct trace_process *process, const struct spool_region_name *record)
{
    char name[SPOOL_REGION_NAME_BYTES + 4];
    if (record->region == 0 || record->region >= SPOOL_REGIONS || record->parent >= SPOOL_REGIONS ||
        record->way >= SPOOL_WAYS || region_find(process, record->region) != TRACE_NONE)
        return false;
    memcpy(name, record->name, record->bytes);
    name[record->bytes] = '\0';
    if (record->bytes == SPOOL_REGION_NAME_BYTES)
        memcpy(name + record->bytes, "...", 4);
    spool_clean_text(name, strlen(name) + 1);
    for (char *line; (line = strchr(name, '\n')) != NULL;)
        *line = ' ';
    uint32_t parent = region_of_process(trace, process, record->parent);
    reserve(process);
    process->regions[record->region] = find(trace, parent, name, record->way);
    return true;
}

uint32_t region_of_process(struct trace *trace, struct trace_process *process, uint32_t number)
{
    if (number == 0)
        return TRACE_NONE;
    uint32_t known = region_find(process, number);
    if (known != TRACE_NONE)
        return known;
    uint32_t region = find(trace, TRACE_NONE, number == SPOOL_OTHER ? "(other regions)" : "(name lost)", SPOOL_WAY_OWN);
    reserve(process);
    if (number < SPOOL_REGIONS)
        process->regions[number] = region;
    return region;
}

uint32_t region_find(const struct trace_process *process, uint32_t number)
{
    return number > 0 && number < SPOOL_REGIONS && process->regions != NULL ? process->regions[number] : TRACE_NONE;
}
