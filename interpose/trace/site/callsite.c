/* The history of its modules that a process left turns its addresses into (file, offset in the file), which is the same
 * in all processes whatever the kernel's address randomisation did. A process that left none has call sites of the
 * module "?", apart per process, with the address as the offset; so have calls of which it is unknown what lay at their
 * address at that time.
 *
 * An address that one module had all the time is looked up once. Others are looked up by time each time they come. */
#include "interpose/trace/site/callsite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/trace/gather/spools.h"
#include "interpose/trace/site/region_names.h"
#include "share/base/hash.h"
#include "share/base/memory.h"

/* Stands for a number where the address alone does not tell it. */
#define BY_TIME (MAP_ABSENT - 1)

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

struct reading {
    struct callsite_table *table;
    struct trace *trace;
};

/* Returns the key of a module: its path, and what tells its file from others. */
static struct map_key module_key(const char *path, const struct module_identity *identity)
{
    struct map_key status = {identity->size ^ identity->device << 32, identity->mtime_ns, identity->inode};
    uint64_t hash = hash_text(HASH_BASIS, path);
    return (struct map_key){hash, strlen(path),
                            identity->build_id != NULL ? hash_text(hash, identity->build_id)
                                                       : map_hash(status) + identity->evidence};
}

/* Returns the module of a path, which is another one for each file that the path has named. */
static uint32_t find_module(struct callsite_table *table, struct trace *trace, const char *path,
                            const struct module_identity *identity)
{
    uint32_t id = map_number(&table->modules, module_key(path, identity), trace->n_modules);
    if (id != trace->n_modules)
        return id;
    char *copy = xstrdup(path), *build_id = identity->build_id != NULL ? xstrdup(identity->build_id) : NULL;
    restore_lines(copy);
    if (build_id != NULL)
        spool_clean_text(build_id, strlen(build_id) + 1);
    TRACE_ADD(trace->modules, trace->n_modules,
              (struct trace_module){.path = copy, .build_id = build_id, .identity = *identity});
    trace->modules[id].identity.build_id = build_id;
    return id;
}

static uint32_t module_of_stay(void *context, const char *path, const struct module_identity *identity)
{
    const struct reading *reading = context;
    return find_module(reading->table, reading->trace, path, identity);
}

static void release_process(struct process_callsites *process)
{
    map_release(&process->sites);
    modules_release(&process->modules);
    process->by_time = false;
}

void callsites_of_process(struct callsite_table *table, struct trace *trace, struct trace_process *process)
{
    struct reading reading = {table, trace};
    const struct spool *spool = process->spool;
    release_process(&table->process);
    table->owner = process;
    char *text = companion_read(spool, spool->header.maps);
    modules_read(&table->process.modules, text, module_of_stay, &reading);
    free(text);
}

static uint32_t add_callsite(struct callsite_table *table, struct trace *trace, uint64_t address,
                             const struct module_stay *stay, bool by_time)
{
    const struct module_identity nothing = {.evidence = MODULE_TRUSTED};
    uint32_t module = stay != NULL ? stay->module : find_module(table, trace, unknown_module, &nothing);
    uint64_t place = spool_site_address(address);
    uint64_t offset = stay != NULL ? place - stay->begin + stay->offset : place;
    uint32_t region = region_of_process(trace, table->owner, spool_site_region(address));
    if (stay == NULL && by_time && trace->modules[module].reason == NULL)
        trace->modules[module].reason =
            xstrdup("other modules came and went at their addresses, and which was called from is not known");
    uint32_t id = map_number(&table->ids, (struct map_key){module, offset, region + UINT64_C(1)}, trace->n_callsites);
    if (id == trace->n_callsites)
        TRACE_ADD(trace->callsites, trace->n_callsites,
                  (struct trace_callsite){.module = module, .offset = offset, .region = region});
    return id;
}

/* Finds what lay at a call's address all the time between two times: the instruction of the call lies before the return
 * address. */
static const struct module_stay *stay_of(const struct process_modules *modules, uint64_t address, uint64_t first_ticks,
                                         uint64_t last_ticks, bool *settled)
{
    const struct module_stay *first = module_at(modules, spool_site_address(address) - 1, first_ticks, settled);
    if (*settled || last_ticks == first_ticks)
        return first;
    bool last_settled;
    const struct module_stay *last = module_at(modules, spool_site_address(address) - 1, last_ticks, &last_settled);
    return last == first ? first : NULL;
}

/* Returns the key of an address that the stay (NULL: unknown) had at some time. */
static struct map_key key_by_time(uint64_t address, const struct module_stay *stay)
{
    return stay == NULL ? (struct map_key){address, 0, 1}
                        : (struct map_key){address, (uint64_t)stay->module + 1, stay->begin - stay->offset};
}

/* Returns the call site of an address that the stay (NULL: unknown) had, at all times where that is settled. */
static uint32_t site_in(struct callsite_table *table, struct trace *trace, uint64_t address,
                        const struct module_stay *stay, bool settled)
{
    struct process_callsites *process = &table->process;
    uint32_t *id = map_at(&process->sites, (struct map_key){address, 0, 0});
    if (!settled) {
        *id = BY_TIME;
        process->by_time = true;
        id = map_at(&process->sites, key_by_time(address, stay));
    }
    if (*id == MAP_ABSENT)
        *id = add_callsite(table, trace, address, stay, !settled);
    return *id;
}

uint32_t callsite_of_sum(struct callsite_table *table, struct trace *trace, uint64_t address, uint64_t first_ticks,
                         uint64_t last_ticks)
{
    bool settled;
    uint32_t id = map_find(&table->process.sites, (struct map_key){address, 0, 0});
    bool is_known = spool_site_address(address) != 0;
    if (!is_known || (id != MAP_ABSENT && id != BY_TIME))
        return !is_known ? TRACE_NONE : id;
    const struct module_stay *stay = stay_of(&table->process.modules, address, first_ticks, last_ticks, &settled);
    return site_in(table, trace, address, stay, settled);
}

void callsite_of_any(struct callsite_table *table, struct trace *trace, uint64_t address)
{
    bool settled;
    uint32_t id = map_find(&table->process.sites, (struct map_key){address, 0, 0});
    uint64_t place = spool_site_address(address);
    if (place == 0 || (id != MAP_ABSENT && id != BY_TIME))
        return;
    const struct module_stay *stay = module_at(&table->process.modules, place - 1, 0, &settled);
    if (!settled)
        stay = module_only(&table->process.modules, place - 1);
    if (settled || stay != NULL)
        site_in(table, trace, address, stay, settled);
}

bool callsite_is_settled(const struct callsite_table *table, uint64_t address)
{
    uint64_t place = spool_site_address(address);
    bool settled = true;
    if (place != 0)
        module_at(&table->process.modules, place - 1, 0, &settled);
    return settled;
}

struct process_callsites callsites_take(struct callsite_table *table)
{
    struct process_callsites process = table->process;
    table->process = (struct process_callsites){0};
    if (!process.by_time)
        modules_release(&process.modules);
    return process;
}

uint32_t callsite_of(struct callsite_table *table, struct trace *trace, uint64_t address, uint64_t ticks)
{
    return callsite_of_sum(table, trace, address, ticks, ticks);
}

uint32_t callsite_find_sum(const struct process_callsites *process, uint64_t address, uint64_t first_ticks,
                           uint64_t last_ticks)
{
    bool settled;
    if (spool_site_address(address) == 0)
        return TRACE_NONE;
    uint32_t id = map_find(&process->sites, (struct map_key){address, 0, 0});
    if (id != BY_TIME)
        return id;
    const struct module_stay *stay = stay_of(&process->modules, address, first_ticks, last_ticks, &settled);
    return map_find(&process->sites, key_by_time(address, stay));
}

uint32_t callsite_find(const struct process_callsites *process, uint64_t address, uint64_t ticks)
{
    return callsite_find_sum(process, address, ticks, ticks);
}

uint32_t callsite_find_any(const struct process_callsites *process, uint64_t address)
{
    if (spool_site_address(address) == 0)
        return TRACE_NONE;
    uint32_t id = map_find(&process->sites, (struct map_key){address, 0, 0});
    if (id != BY_TIME)
        return id;
    const struct module_stay *stay = module_only(&process->modules, spool_site_address(address) - 1);
    return stay == NULL ? TRACE_NONE : map_find(&process->sites, key_by_time(address, stay));
}

void callsites_release(struct callsite_table *table)
{
    map_release(&table->ids);
    map_release(&table->modules);
    release_process(&table->process);
    *table = (struct callsite_table){0};
}
