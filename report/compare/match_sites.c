/* A call site is known by its names: ids and addresses are others in each trace. A changed source moves lines, so that
 * sites that only one side has are matched once more without their line. */
#include <stdlib.h>
#include <string.h>

#include "report/compare/comparison.h"

#include "share/base/memory.h"
#include "share/base/order.h"

struct named {
    const struct profile_site *site;
    uint32_t *number; /* in the result */
    bool in_b;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Orders by all that is alike in both runs but lines: the call's own, and those of callers into which its function was
 * inlined. Without debugging information the address stands for the line. */
static int compare_names(const struct profile_site *a, const struct profile_site *b)
{
    return strcmp(a->function, b->function) ?: strcmp(base_name(a->file), base_name(b->file))
                                            ?: strcmp(a->symbol, b->symbol)
                                            ?: strcmp(base_name(a->module), base_name(b->module));
}

static int64_t line(const struct profile_site *site)
{
    return site->file[0] != '\0' ? site->line : site->offset;
}

static int compare_places(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    return compare_names(a->site, b->site) ?: ORDER(line(a->site), line(b->site))
                                           ?: strcmp(a->site->callers, b->site->callers);
}

/* Returns the end of the places of names from first on that have one name. */
static size_t end_of_name(const struct named *all, size_t first, size_t n)
{
    while (++first < n && compare_names(all[first - 1].site, all[first].site) == 0)
        ;
    return first;
}

/* Numbers equal places alike, from *next on. */
static void number_places(const struct named *all, size_t n, uint32_t *next)
{
    for (size_t i = 0; i < n; i++) {
        *all[i].number = i > 0 && compare_places(&all[i - 1], &all[i]) == 0 ? *all[i - 1].number : *next;
        *next += *all[i].number == *next;
    }
}

/* Collects the numbers of one side that the other lacks, among places of one name; they ascend with the lines. */
static size_t left_over(const struct named *all, size_t n, bool in_b, uint32_t *numbers)
{
    size_t found = 0;
    for (size_t i = 0, end; i < n; i = end) {
        bool has[2] = {false, false};
        for (end = i; end < n && *all[end].number == *all[i].number; end++)
            has[all[end].in_b] = true;
        if (has[in_b] && !has[!in_b])
            numbers[found++] = *all[i].number;
    }
    return found;
}

/* Gives what only B has of a name the numbers of what only A has, where that is as much. */
static void join_moved(const struct named *all, size_t n, uint32_t *of_a, uint32_t *of_b)
{
    size_t n_a = left_over(all, n, false, of_a), n_b = left_over(all, n, true, of_b);
    if (n_a != n_b)
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_b; k++)
            if (*all[i].number == of_b[k]) {
                *all[i].number = of_a[k];
                break;
            }
}

uint32_t **match_sites(const struct profile *profiles, size_t n_a, size_t n_b, size_t *n)
{
    size_t n_runs = n_a + n_b, n_sites = 0, filled = 0;
    for (size_t run = 0; run < n_runs; run++)
        n_sites += profiles[run].n_sites;
    uint32_t **numbers = xcalloc(n_runs, sizeof *numbers), *block = xcalloc(3 * n_sites, sizeof *block), next = 0;
    struct named *all = xcalloc(n_sites, sizeof *all);
    for (size_t run = 0; run < n_runs; run++) {
        numbers[run] = block + filled;
        for (size_t i = 0; i < profiles[run].n_sites; i++, filled++)
            all[filled] = (struct named){&profiles[run].sites[i], block + filled, run >= n_a};
    }
    qsort(all, n_sites, sizeof *all, compare_places);
    number_places(all, n_sites, &next);
    for (size_t i = 0, end; i < n_sites; i = end) {
        end = end_of_name(all, i, n_sites);
        join_moved(all + i, end - i, block + n_sites, block + 2 * n_sites);
    }
    free(all);
    *n = next;
    return numbers;
}
