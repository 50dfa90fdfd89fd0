/* Says which file an address of a process belonged to at a time, by the history of its modules
 * (interpose/backend/site/modules.c writes it; mpistair(5), SPOOL, describes it). */
#ifndef MPISTAIR_TRACE_MODULE_HISTORY_H
#define MPISTAIR_TRACE_MODULE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identity of a file, which distinguishes it from a later one of the same name. */
enum module_evidence {
    MODULE_TRUSTED = 0,  /* by its name, as the spool says no more */
    MODULE_BUILD_ID = 1, /* by its build id */
    MODULE_STATUS = 2,   /* by the length, time of change and inode of the file of its name */
    MODULE_DELETED = 3,  /* it has no build id, and its name was gone already while it ran */
    MODULE_UNKNOWN = 4,  /* by nothing */
};

struct module_identity {
    enum module_evidence evidence;
    uint64_t size, mtime_ns, device, inode; /* MODULE_STATUS */
    const char *build_id;                   /* MODULE_BUILD_ID: hexadecimal; else NULL */
};

/* A range of code and when it was there: not yet at `after`, from `seen` to `last`, no more at `gone`. */
struct module_stay {
    uint64_t begin, end;
    uint64_t offset; /* place of begin in the file */
    uint64_t after, seen, last, gone;
    uint32_t module;
    bool remains; /* it cannot be unloaded */
};

struct process_modules {
    struct module_stay *stays; /* [n_stays] a group behind the other, in a group by `gone` */
    uint64_t *first_after;     /* [n_stays] the least `after` of those from here on in the group */
    size_t n_stays;
    struct module_group *groups; /* [n_groups] ascending */
    size_t n_groups;
    struct module_blur *blurs; /* [n_blurs] times in which modules came and went unseen, ascending */
    size_t n_blurs;
};

/* Reads a history, or a copy of /proc/self/maps; the text is cut into pieces. module_of gives the number that a stay
 * gets for a path and what tells its file from others. */
void modules_read(struct process_modules *modules, char *text,
                  uint32_t (*module_of)(void *context, const char *path, const struct module_identity *identity),
                  void *context);

/* Returns the stay that holds the address at a time, NULL where there is none or it is not known which. *settled says
 * whether it is the same at all times. */
const struct module_stay *module_at(const struct process_modules *modules, uint64_t address, uint64_t ticks,
                                    bool *settled);

/* Returns a stay of the module that held the address whenever one did; NULL where none did, or several. */
const struct module_stay *module_only(const struct process_modules *modules, uint64_t address);

void modules_release(struct process_modules *modules);

#endif
