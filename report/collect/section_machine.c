/* The machine is looked for in one order, so that sections speak of the same one. */
#include "report/collect/section_machine.h"

#include <string.h>

#include "calibrate/machine/machine_database.h"

/* Is where the first name goes. */
struct first {
    struct pool *pool;
    const char *name;
};

static void keep_first(void *context, const char *name, const char *source)
{
    struct first *first = context;
    (void)source;
    if (first->name[0] != '\0')
        return;
    const char *kept = pool_clean(first->pool, name, strlen(name));
    first->name = kept != NULL ? kept : "";
}

int section_machine_load(struct report *report, sqlite3 *database, const struct report_choice *choice,
                         const char **name, struct machine *machine, struct error *error)
{
    struct first first = {&report->pool, ""};
    size_t best = report_best_model(report);
    *name = "";
    if (choice->machine != NULL)
        *name = choice->machine;
    else if (best < report->n_models)
        *name = report->models[best].machine;
    else if (machine_each(database, report->path, keep_first, &first, error) != 0)
        return -1;
    else
        *name = first.name;
    int result = (*name)[0] == '\0' ? 1 : machine_load(database, report->path, *name, machine, error);
    if (result == 1)
        *name = "";
    return result;
}
