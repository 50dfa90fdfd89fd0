/* The most that a link has held since a message began is found among its peaks: of all loads before, only those larger
 * than every later one can be that. They stand in order, so that the first one from then on is the largest: O(log n) a
 * message and link. A load counts once its moment is over, so that what ends and what begins at one moment do not meet,
 * whichever the replay comes to first. See run_links.h. */
#include "predictor/run/laws/run_links.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

int run_links_init(struct run_links *links, const struct machine *machine, const struct topology *topology,
                   const struct placement *placement, const struct grouping *nodes, double cube_hops,
                   struct error *error)
{
    *links = (struct run_links){.n_links = topology != NULL ? topology->n_links : 1};
    if (links_delta(machine, &links->delta_s_per_byte, error) != 0 ||
        (topology != NULL && links_init(&links->routes, topology, placement, nodes, error) != 0))
        return -1;
    links->links = xcalloc(links->n_links, sizeof *links->links);
    if (topology == NULL)
        links->delta_s_per_byte *= 2 * cube_hops * cube_hops * cube_hops / (double)nodes->n_groups;
    return 0;
}

void run_links_release(struct run_links *links)
{
    for (size_t i = 0; links->links != NULL && i < links->n_links; i++)
        free(links->links[i].peaks);
    free(links->links);
    links_release(&links->routes);
    *links = (struct run_links){0};
}

int run_links_check(struct run_links *links, uint32_t src, uint32_t dst, struct error *error)
{
    return links->routes.topology == NULL || links_route(&links->routes, src, dst, error) >= 0 ? 0 : -1;
}

/* Keeps what the link has held up to now. */
static void settle_link(struct run_link *link, double now_s)
{
    if (!(now_s > link->now.since_s))
        return;
    while (link->n_peaks > 0 && (link->n_messages == 0 || link->peaks[link->n_peaks - 1].bytes <= link->now.bytes))
        link->n_peaks--; /* nobody has been under way since before a moment without messages */
    if (link->n_messages > 0) {
        array_reserve(&link->peaks, &link->room, link->n_peaks + 1, sizeof *link->peaks);
        link->peaks[link->n_peaks++] = link->now;
    }
    link->now.since_s = now_s;
}

/* Returns the most that a link has held since then, up to now. */
static double most_bytes(struct run_link *link, double since_s, double now_s)
{
    size_t first = 0;
    settle_link(link, now_s);
    FIRST_BEYOND(first, link->n_peaks, link->peaks[first].since_s < since_s);
    return first < link->n_peaks ? link->peaks[first].bytes : link->now.bytes;
}

/* Finds the links between two nodes. Returns their number. */
static long find_route(struct run_links *links, uint32_t src, uint32_t dst, const uint32_t **route)
{
    static const uint32_t all[1];
    struct error error;
    bool is_cube = links->routes.topology == NULL;
    *route = is_cube ? all : links->routes.route;
    return is_cube ? 1 : links_route(&links->routes, src, dst, &error);
}

void run_links_begin(struct run_links *links, uint32_t src, uint32_t dst, double bytes, double now_s)
{
    const uint32_t *route;
    long n = find_route(links, src, dst, &route);
    for (long i = 0; i < n; i++) {
        struct run_link *link = &links->links[route[i]];
        settle_link(link, now_s);
        link->n_messages++;
        link->now.bytes += bytes;
    }
}

double run_links_end(struct run_links *links, uint32_t src, uint32_t dst, double bytes, double begun_s, double now_s)
{
    const uint32_t *route;
    double most = 0;
    long n = find_route(links, src, dst, &route);
    for (long i = 0; i < n; i++) {
        struct run_link *link = &links->links[route[i]];
        most = fmax(most, most_bytes(link, begun_s, now_s));
        link->n_messages--;
        link->now.bytes -= bytes;
    }
    return links->delta_s_per_byte * most;
}
