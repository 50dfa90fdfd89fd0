#include "sharing.h"

static size_t ranks_of_host(const struct sharing *ranks, size_t n, int host)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += ranks[i].host == host;
    return found;
}

bool sharing_found(const struct sharing *ranks, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct sharing *a = &ranks[i];
        for (size_t j = 0; j < i; j++) {
            const struct sharing *b = &ranks[j];
            if (a->host != b->host || (a->begin != b->begin && a->end != b->end))
                continue;
            size_t n_ranks = ranks_of_host(ranks, n, a->host);
            if (n_ranks <= (size_t)a->n_processors && n_ranks <= (size_t)b->n_processors)
                return true;
        }
    }
    return false;
}
