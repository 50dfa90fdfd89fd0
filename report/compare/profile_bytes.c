/* Adds up what each call site was asked to move. No clock is in it: where it differs, the program did other work. */
#include <stdlib.h>
#include <string.h>

#include "report/compare/profile.h"
#include "share/base/saturating.h"

static int compare_sites(const void *left, const void *right)
{
    const struct profile_site *a = *(struct profile_site *const *)left, *b = *(struct profile_site *const *)right;
    if (a->callsite != b->callsite)
        return a->callsite < b->callsite ? -1 : 1;
    return strcmp(a->function, b->function);
}

static int add_bytes(struct profile *profile, struct profile_site **by_id, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    struct pool names = {0};
    cursor_open(&rows, database, profile->path,
                "WITH form_bytes AS MATERIALIZED (SELECT form, total(bytes) AS bytes FROM message_row GROUP BY form) "
                "SELECT coalesce(f.send_callsite, -1), n.name, total(m.bytes) FROM form_bytes m "
                "JOIN form f ON f.id = m.form JOIN function n ON n.id = f.send_function GROUP BY 1, 2 "
                "UNION ALL SELECT coalesce(callsite, -1), function, total(bytes) FROM collective GROUP BY 1, 2 "
                "UNION ALL SELECT coalesce(callsite, -1), function, total(bytes) FROM rma GROUP BY 1, 2",
                error);
    while (cursor_next(&rows)) {
        struct profile_site key = {.callsite = cursor_integer(&rows, 0), .function = cursor_text(&rows, 1, &names)};
        const struct profile_site *wanted = &key;
        double bytes = cursor_real(&rows, 2);
        struct profile_site **site =
            bsearch(&wanted, by_id, profile->n_sites, sizeof(struct profile_site *), compare_sites);
        if (site != NULL && bytes > 0)
            (*site)->bytes =
                (uint64_t)saturating_add((int64_t)(*site)->bytes, bytes < 0x1p63 ? (int64_t)bytes : INT64_MAX);
    }
    pool_release(&names);
    return cursor_close(&rows);
}

int profile_read_bytes(struct profile *profile, sqlite3 *database, struct error *error)
{
    if (profile->n_sites == 0)
        return 0;
    struct profile_site **by_id = malloc(profile->n_sites * sizeof(struct profile_site *));
    if (by_id == NULL)
        return error_set(error, "%s: no memory for its call sites", profile->path);
    for (size_t i = 0; i < profile->n_sites; i++)
        by_id[i] = &profile->sites[i];
    qsort(by_id, profile->n_sites, sizeof(struct profile_site *), compare_sites);
    int result = add_bytes(profile, by_id, database, error);
    free(by_id);
    return result;
}
