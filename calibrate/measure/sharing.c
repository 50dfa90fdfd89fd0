/* Two ranks on one processor show only if both tell where they ran during a sample, so the processors of all ranks are
 * compared once a series. */
#include "calibrate/measure/sharing.h"

#include <stdio.h>

#include "share/base/hash.h"

/* A hash of the text that the kernel draws at boot. */
uint64_t sharing_machine(void)
{
    char boot_id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL && fgets(boot_id, sizeof boot_id, file) == NULL)
        boot_id[0] = '\0';
    if (file != NULL)
        fclose(file);
    return hash_text(HASH_BASIS, boot_id);
}

static size_t ranks_of_machine(const struct sharing *ranks, size_t n, uint64_t machine)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += ranks[i].machine == machine;
    return found;
}

bool sharing_found(const struct sharing *ranks, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct sharing *a = &ranks[i];
        for (size_t j = 0; j < i; j++) {
            const struct sharing *b = &ranks[j];
            if (a->machine != b->machine || (a->begin != b->begin && a->end != b->end))
                continue;
            size_t n_ranks = ranks_of_machine(ranks, n, a->machine);
            if (n_ranks <= (size_t)a->n_processors && n_ranks <= (size_t)b->n_processors)
                return true;
        }
    }
    return false;
}
