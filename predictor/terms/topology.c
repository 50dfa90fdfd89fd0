/* Reads the text form of a topology, where a line has a word and its numbers; computes how large the network is, where
 * its nodes are, and which links a message crosses. */
#include "predictor/terms/topology.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/number.h"
#include "share/base/order.h"
#include "share/base/text_file.h"

const char *const topology_kind_name[TOPOLOGY_KIND_COUNT] = {"torus", "mesh", "fat-tree", "dragonfly", "links", "tree"};

static int measure_grid(struct topology *topology, uint64_t *positions, uint64_t *links, struct error *error)
{
    if (topology->n_levels == 0)
        return error_set(error, "expected a line `dimensions K ...`, the routers along each dimension");
    *positions = topology->nodes_per_router;
    for (size_t d = 0; d < topology->n_levels && *positions <= TOPOLOGY_MAX_POSITIONS; d++) {
        *positions *= topology->size[d];
        topology->longest += topology->kind == TOPOLOGY_MESH ? topology->size[d] - 1 : topology->size[d] / 2;
    }
    *links = *positions / topology->nodes_per_router * topology->n_levels * 2;
    return 0;
}

static int measure_fat_tree(struct topology *topology, uint64_t *positions, uint64_t *links, struct error *error)
{
    if (topology->n_levels == 0 || topology->parents[topology->n_levels - 1] == 0 ||
        (topology->n_levels < TOPOLOGY_MAX_LEVELS && topology->parents[topology->n_levels] != 0))
        return error_set(error, "expected lines `children K ...` and `parents K ...` with a number a level each");
    *positions = 1;
    for (size_t l = 0; l < topology->n_levels && *positions <= TOPOLOGY_MAX_POSITIONS; l++)
        *positions *= topology->size[l];
    uint64_t switches = *positions;
    for (size_t l = 0; l + 1 < topology->n_levels && *links <= TOPOLOGY_MAX_LINKS; l++) {
        switches = switches / topology->size[l] * topology->parents[l];
        *links += 2 * switches * topology->parents[l + 1];
    }
    topology->longest = 2 * (topology->n_levels - 1);
    return 0;
}

static int measure_dragonfly(struct topology *topology, uint64_t *positions, uint64_t *links, struct error *error)
{
    uint64_t groups = topology->groups, routers = topology->routers, global = topology->global_links;
    if (groups == 0 || routers == 0 || global == 0)
        return error_set(error,
                         "expected lines `groups K`, `routers K` (of a group) and `global_links K` (of a router)");
    if (routers * global < groups - 1)
        return error_set(error, "%llu routers with %llu global links reach %llu groups, not the other %llu",
                         (unsigned long long)routers, (unsigned long long)global,
                         (unsigned long long)(routers * global), (unsigned long long)(groups - 1));
    if (groups > TOPOLOGY_MAX_LINKS || routers > TOPOLOGY_MAX_LINKS || global > TOPOLOGY_MAX_LINKS)
        *links = UINT64_MAX;
    else
        *links = groups * routers > TOPOLOGY_MAX_LINKS ? UINT64_MAX : groups * routers * (routers + global);
    *positions = *links == UINT64_MAX ? 1 : groups * routers * topology->nodes_per_router;
    topology->longest = 3;
    return 0;
}

int topology_measure(struct topology *topology, struct error *error)
{
    uint64_t positions = topology->n_positions, links = 0;
    int result = 0;
    if (topology->nodes_per_router == 0)
        topology->nodes_per_router = 1;
    if (topology->kind != TOPOLOGY_LINKS)
        topology->longest = 0;
    if (topology->kind == TOPOLOGY_LINKS)
        links = topology->n_links;
    else if (topology->kind == TOPOLOGY_DRAGONFLY)
        result = measure_dragonfly(topology, &positions, &links, error);
    else if (topology->kind == TOPOLOGY_FAT_TREE)
        result = measure_fat_tree(topology, &positions, &links, error);
    else
        result = measure_grid(topology, &positions, &links, error);
    if (result != 0)
        return -1;
    if (positions > TOPOLOGY_MAX_POSITIONS || links > TOPOLOGY_MAX_LINKS)
        return error_set(error, "more than %d positions for nodes or %d links", TOPOLOGY_MAX_POSITIONS,
                         TOPOLOGY_MAX_LINKS);
    topology->n_positions = (uint32_t)positions;
    topology->n_links = (size_t)links;
    return 0;
}

static int compare_topology_places(const void *a, const void *b)
{
    const struct topology_place *x = a, *y = b;
    return ORDER(x->node, y->node);
}

static int compare_routes(const void *a, const void *b)
{
    const struct topology_route *x = a, *y = b;
    return ORDER(x->src, y->src) ?: ORDER(x->dst, y->dst);
}

/* Returns whether two hosts have the same name up to the first '.'. */
static int compare_short_names(const char *a, const char *b)
{
    size_t length_a = strcspn(a, "."), length_b = strcspn(b, ".");
    return strncmp(a, b, length_a < length_b ? length_a : length_b) ?: ORDER(length_a, length_b);
}

static int compare_hosts(const void *a, const void *b)
{
    const struct topology_host *const *x = a, *const *y = b;
    return compare_short_names((*x)->name, (*y)->name) ?: strcmp((*x)->name, (*y)->name);
}

/* Finds a host among those in order: the one of that name, else the first that is called so up to the first '.'. */
static const struct topology_host *find_host(const struct topology_host *const *in_order, size_t n, const char *name)
{
    size_t first = 0;
    FIRST_BEYOND(first, n, compare_short_names(in_order[first]->name, name) < 0);
    const struct topology_host *found = NULL;
    for (size_t i = first; i < n && compare_short_names(in_order[i]->name, name) == 0; i++) {
        if (strcmp(in_order[i]->name, name) == 0)
            return in_order[i];
        found = found != NULL ? found : in_order[i];
    }
    return found;
}

size_t topology_place_hosts(struct topology *topology, const uint32_t *nodes, const char *const *hosts, size_t n)
{
    const struct topology_host **in_order = xcalloc(topology->n_hosts, sizeof *in_order);
    for (size_t i = 0; i < topology->n_hosts; i++)
        in_order[i] = &topology->hosts[i];
    qsort(in_order, topology->n_hosts, sizeof *in_order, compare_hosts);
    free(topology->places);
    topology->places = xcalloc(n, sizeof *topology->places);
    topology->n_places = 0;
    for (size_t i = 0; i < n; i++) {
        const struct topology_host *host = find_host(in_order, topology->n_hosts, hosts[i]);
        if (host != NULL)
            topology->places[topology->n_places++] =
                (struct topology_place){nodes[i], (uint32_t)(host - topology->hosts)};
    }
    free(in_order);
    qsort(topology->places, topology->n_places, sizeof *topology->places, compare_topology_places);
    return topology->n_places;
}

int topology_position(const struct topology *topology, uint32_t node, uint32_t *position)
{
    struct topology_place place = {.node = node, .position = node};
    if (topology->places != NULL) {
        const struct topology_place *found =
            bsearch(&place, topology->places, topology->n_places, sizeof place, compare_topology_places);
        if (found == NULL)
            return -1;
        place = *found;
    }
    if (place.position >= topology->n_positions)
        return -1;
    *position = place.position;
    return 0;
}

void topology_release(struct topology *topology)
{
    for (size_t i = 0; i < topology->n_switches; i++)
        free(topology->switches[i].name);
    for (size_t i = 0; i < topology->n_hosts; i++)
        free(topology->hosts[i].name);
    FREE_ALL(topology->routes, topology->route_links, topology->places, topology->switches, topology->hosts);
    *topology = (struct topology){0};
}

enum { MAX_LINE_BYTES = 1 << 16, MAX_ROUTE_LINKS = 1 << 26 };

struct topology_reader {
    struct topology topology;
    bool kind_known;
};

/* Reads a word of the line as a number from `least` to `most`. Returns 0 or -1. */
static int read_number(const char *what, const char *word, uint32_t least, uint32_t most, uint32_t *value,
                       struct error *error)
{
    uint64_t number = 0;
    const char *wrong = number_u64(word, &number);
    if (wrong != NULL)
        return error_set(error, "%s '%.40s' %s", what, word, wrong);
    if (number < least || number > most)
        return error_set(error, "%s %llu, expected %u to %u", what, (unsigned long long)number, least, most);
    *value = (uint32_t)number;
    return 0;
}

static char *next_word(char **rest)
{
    return strtok_r(NULL, " \t\r\n", rest);
}

static int read_levels(const char *what, char **rest, uint32_t *levels, size_t *n_levels, struct error *error)
{
    if (levels[0] != 0)
        return error_set(error, "a second line `%s`", what);
    *n_levels = 0;
    for (char *word; (word = next_word(rest)) != NULL; (*n_levels)++) {
        if (*n_levels == TOPOLOGY_MAX_LEVELS)
            return error_set(error, "%s: more than %d numbers", what, TOPOLOGY_MAX_LEVELS);
        if (read_number(what, word, 1, TOPOLOGY_MAX_POSITIONS, &levels[*n_levels], error) != 0)
            return -1;
    }
    return *n_levels > 0 ? 0 : error_set(error, "%s without a number", what);
}

static int read_one(const char *what, char **rest, uint32_t *value, struct error *error)
{
    const char *word = next_word(rest);
    if (*value != 0)
        return error_set(error, "a second line `%s`", what);
    if (word == NULL || next_word(rest) != NULL)
        return error_set(error, "expected one number behind %s", what);
    return read_number(what, word, 1, TOPOLOGY_MAX_POSITIONS, value, error);
}

static int read_node(struct topology_reader *reader, char **rest, struct error *error)
{
    struct topology *topology = &reader->topology;
    struct topology_place place;
    const char *node = next_word(rest), *position = next_word(rest);
    if (position == NULL || next_word(rest) != NULL)
        return error_set(error, "expected `node NODE POSITION`");
    if (read_number("node", node, 0, UINT32_MAX - 1, &place.node, error) != 0 ||
        read_number("position", position, 0, TOPOLOGY_MAX_POSITIONS - 1, &place.position, error) != 0)
        return -1;
    array_grow(&topology->places, topology->n_places, sizeof place);
    topology->places[topology->n_places++] = place;
    return 0;
}

static int read_route(struct topology_reader *reader, char **rest, struct error *error)
{
    struct topology *topology = &reader->topology;
    struct topology_route route = {.first = topology->n_routes > 0
                                                ? topology->routes[topology->n_routes - 1].first +
                                                      topology->routes[topology->n_routes - 1].n_links
                                                : 0};
    const char *src = next_word(rest), *dst = next_word(rest);
    if (dst == NULL)
        return error_set(error, "expected `route FROM TO [LINK ...]`");
    if (read_number("position", src, 0, TOPOLOGY_MAX_POSITIONS - 1, &route.src, error) != 0 ||
        read_number("position", dst, 0, TOPOLOGY_MAX_POSITIONS - 1, &route.dst, error) != 0)
        return -1;
    if (route.src == route.dst)
        return error_set(error, "a route from position %u to itself, which needs none", route.src);
    for (char *word; (word = next_word(rest)) != NULL; route.n_links++) {
        uint32_t link;
        if (read_number("link", word, 0, TOPOLOGY_MAX_LINKS - 1, &link, error) != 0)
            return -1;
        if (route.first + route.n_links == MAX_ROUTE_LINKS)
            return error_set(error, "the routes have more than %d links", MAX_ROUTE_LINKS);
        array_grow(&topology->route_links, route.first + route.n_links, sizeof link);
        topology->route_links[route.first + route.n_links] = link;
        if (link >= topology->n_links)
            topology->n_links = link + 1;
    }
    array_grow(&topology->routes, topology->n_routes, sizeof route);
    topology->routes[topology->n_routes++] = route;
    uint32_t last = route.src > route.dst ? route.src : route.dst;
    if (last >= topology->n_positions)
        topology->n_positions = last + 1;
    if (route.n_links > topology->longest)
        topology->longest = route.n_links;
    return 0;
}

static int read_kind(struct topology_reader *reader, char **rest, struct error *error)
{
    const char *word = next_word(rest);
    if (reader->kind_known)
        return error_set(error, "a second line `topology`");
    for (int kind = 0; word != NULL && kind < TOPOLOGY_TREE; kind++)
        if (strcmp(word, topology_kind_name[kind]) == 0) {
            reader->topology.kind = (enum topology_kind)kind;
            reader->kind_known = true;
        }
    return reader->kind_known ? 0
                              : error_set(error, "topology '%.40s', expected torus, mesh, fat-tree, dragonfly or links",
                                          word != NULL ? word : "");
}

/* Reads a line of a network whose kind is known. */
static int read_kind_line(struct topology_reader *reader, const char *word, char **rest, struct error *error)
{
    enum {
        GRID = 1U << TOPOLOGY_TORUS | 1U << TOPOLOGY_MESH,
        TREE = 1U << TOPOLOGY_FAT_TREE,
        FLY = 1U << TOPOLOGY_DRAGONFLY
    };
    struct topology *topology = &reader->topology;
    size_t n_parents;
    const struct {
        const char *word;
        unsigned kinds;
        uint32_t *values;
        size_t *n_levels; /* NULL: one number */
    } parameters[] = {
        {"dimensions", GRID, topology->size, &topology->n_levels},
        {"children", TREE, topology->size, &topology->n_levels},
        {"parents", TREE, topology->parents, &n_parents},
        {"nodes_per_router", GRID | FLY, &topology->nodes_per_router, NULL},
        {"groups", FLY, &topology->groups, NULL},
        {"routers", FLY, &topology->routers, NULL},
        {"global_links", FLY, &topology->global_links, NULL},
    };
    if (strcmp(word, "node") == 0)
        return read_node(reader, rest, error);
    if (strcmp(word, "route") == 0 && topology->kind == TOPOLOGY_LINKS)
        return read_route(reader, rest, error);
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++)
        if (strcmp(word, parameters[i].word) == 0 && (parameters[i].kinds & 1U << topology->kind) != 0)
            return parameters[i].n_levels != NULL
                       ? read_levels(word, rest, parameters[i].values, parameters[i].n_levels, error)
                       : read_one(word, rest, parameters[i].values, error);
    return error_set(error, "'%.40s' is not a parameter of a topology %s", word, topology_kind_name[topology->kind]);
}

static int read_line(void *context, char *line, struct error *error)
{
    struct topology_reader *reader = context;
    struct topology *topology = &reader->topology;
    line[strcspn(line, "#")] = '\0';
    char *rest = line, *word = strtok_r(line, " \t\r\n", &rest);
    if (word == NULL)
        return 0;
    if (strcmp(word, "name") == 0) {
        const char *name = next_word(&rest);
        if (topology->name[0] != '\0' || name == NULL || !machine_name_valid(name) || next_word(&rest) != NULL)
            return error_set(error, "expected one line `name N`, N of letters, digits, '.', '_', '-', at most %zu",
                             sizeof topology->name - 1);
        strcpy(topology->name, name);
        return 0;
    }
    if (strcmp(word, "topology") == 0)
        return read_kind(reader, &rest, error);
    if (!reader->kind_known)
        return error_set(error, "'%.40s' before a line `topology torus|mesh|fat-tree|dragonfly|links`", word);
    return read_kind_line(reader, word, &rest, error);
}

/* Checks what no single line shows. */
static int finish(struct topology *topology, struct error *error)
{
    if (topology->name[0] == '\0')
        return error_set(error, "no line `name N`, not a topology");
    if (topology_measure(topology, error) != 0)
        return -1;
    if (topology->kind == TOPOLOGY_LINKS && topology->n_routes == 0)
        return error_set(error, "no routes; expected lines `route FROM TO [LINK ...]`");
    if (topology->n_routes > 0)
        qsort(topology->routes, topology->n_routes, sizeof *topology->routes, compare_routes);
    for (size_t i = 1; i < topology->n_routes; i++)
        if (compare_routes(&topology->routes[i - 1], &topology->routes[i]) == 0)
            return error_set(error, "the route from position %u to %u appears twice", topology->routes[i].src,
                             topology->routes[i].dst);
    if (topology->n_places > 0)
        qsort(topology->places, topology->n_places, sizeof *topology->places, compare_topology_places);
    for (size_t i = 0; i < topology->n_places; i++) {
        const struct topology_place *place = &topology->places[i];
        if (i > 0 && place[-1].node == place->node)
            return error_set(error, "node %u appears twice", place->node);
        if (place->position >= topology->n_positions)
            return error_set(error, "node %u at position %u, but there are %u positions", place->node, place->position,
                             topology->n_positions);
    }
    return 0;
}

int topology_read(const char *path, struct topology *topology, struct error *error)
{
    struct topology_reader reader = {.topology = {.name = ""}};
    struct error reason = {.text = ""};
    int result = text_file_lines(path, MAX_LINE_BYTES - 1, read_line, &reader, error);
    if (result == 0 && finish(&reader.topology, &reason) != 0)
        result = error_set(error, "%s: %s", path, reason.text);
    if (result == 0)
        *topology = reader.topology;
    else
        topology_release(&reader.topology);
    return result;
}

/* Finds which links a message crosses: each pair has one minimal route, as the static routing of each network has it.
 *
 *   torus, mesh  Routes go in dimension order: along the first dimension to the target's coordinate, then the second,
 *                ...; in a ring the shorter way, upwards where both are alike. A link is router, dimension, direction.
 *   fat-tree     It is an extended generalised fat tree, XGFT(h; m_1 .. m_h; w_1 .. w_h) (S. Ohring, M. Ibel,
 *                S. K. Das and M. J. Kumar, On Generalized Fat Trees, IPPS 1995): a switch of level l has m_l children,
 *                and w_(l+1) parents. Routes go up to the lowest common level, then down, by destination (D-mod-K:
 *                E. Zahavi, Concurrency and Computation 24(5), 2012): the parent number of level l+1 is
 *                floor(dst / (w_1 .. w_l)) mod w_(l+1). A link is switch, parent number, up or down.
 *   dragonfly    J. Kim, W. J. Dally, S. Scott and D. Abts, Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA
 *                2008: g groups of a routers, all joined within a group, h links of each to other groups. Minimal
 *                routes have at most one link within the source's group, one between groups, one within the target's.
 *                Port k of group i (router k / h) leads to group k mod (g-1), numbered without i; where two groups
 *                share several links, the target's position chooses. A link is a pair of routers of a group in order,
 *                or group and port.
 *   links        Routes are as listed.
 *   tree         Routes go up to the lowest switch above both, then down. A link is a switch, up or down.
 *
 * Limits: adaptive routing (Aries, Slingshot) spreads what is taken here as one route. */
static size_t torus_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    uint32_t here = src / topology->nodes_per_router, there = dst / topology->nodes_per_router, stride = 1;
    size_t n = 0;
    for (size_t d = 0; d < topology->n_levels; d++) {
        uint32_t size = topology->size[d], at = here / stride % size, to = there / stride % size;
        uint32_t up = (to + size - at) % size;
        bool upwards = topology->kind == TOPOLOGY_MESH ? to > at : up <= size - up;
        for (; at != to; n++) {
            links[n] = (uint32_t)((here * topology->n_levels + d) * 2 + !upwards);
            uint32_t next = upwards ? (at + 1 < size ? at + 1 : 0) : (at > 0 ? at : size) - 1;
            here = here + next * stride - at * stride;
            at = next;
        }
        stride *= size;
    }
    return n;
}

/* Finds a route in a fat tree. Going up, a switch of level l is known by the parents chosen so far (digits of base w_1,
 * w_2, ...) and by the subtree of its level that it serves; going down the subtree is the target's. */
static size_t fat_tree_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    size_t top = 0;
    for (uint32_t a = src, b = dst; a != b; top++) {
        a /= topology->size[top];
        b /= topology->size[top];
    }
    size_t n = 0, base = 0, switches = topology->n_positions, choices = 1, chosen = 0;
    uint32_t from = src, to = dst;
    for (size_t level = 0; level < top; level++) { /* the link from level to level + 1 */
        uint32_t parents = topology->parents[level];
        uint32_t parent = (uint32_t)(dst / choices % parents);
        if (level > 0) {
            links[n] = (uint32_t)(base + 2 * ((from * choices + chosen) * parents + parent));
            links[2 * top - 3 - n] = (uint32_t)(base + 2 * ((to * choices + chosen) * parents + parent) + 1);
            n++;
            base += 2 * switches * parents;
        }
        chosen += parent * choices;
        choices *= parents;
        from /= topology->size[level];
        to /= topology->size[level];
        switches = switches / topology->size[level] * parents;
    }
    return 2 * n;
}

static size_t dragonfly_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    uint32_t a = topology->routers, h = topology->global_links, others = topology->groups - 1;
    uint32_t from = src / topology->nodes_per_router, to = dst / topology->nodes_per_router;
    uint32_t i = from / a, j = to / a, leave = to % a;
    size_t n = 0;
    from %= a;
    to %= a;
    if (i != j) {
        uint32_t copy = dst % (a * h / others) * others;
        uint32_t out = (j < i ? j : j - 1) + copy, in = (i < j ? i : i - 1) + copy;
        leave = out / h;
        if (from != leave)
            links[n++] = (i * a + from) * a + leave;
        links[n++] = topology->groups * a * a + i * a * h + out;
        from = in / h;
    }
    if (from != to)
        links[n++] = (j * a + from) * a + to;
    return n;
}

/* Goes up from both leaves; returns -1 where no switch is above both. */
static long tree_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    const struct topology_switch *switches = topology->switches;
    uint32_t up[TOPOLOGY_TREE_LEVELS], down[TOPOLOGY_TREE_LEVELS];
    size_t n_up = 0, n_down = 0;
    for (uint32_t at = topology->hosts[src].leaf; at != TOPOLOGY_TOP; at = switches[at].parent)
        up[n_up++] = at;
    for (uint32_t at = topology->hosts[dst].leaf; at != TOPOLOGY_TOP; at = switches[at].parent)
        down[n_down++] = at;
    if (up[n_up - 1] != down[n_down - 1])
        return -1;
    while (n_up > 0 && n_down > 0 && up[n_up - 1] == down[n_down - 1]) {
        n_up--;
        n_down--;
    }
    for (size_t i = 0; i < n_up; i++)
        links[i] = 2 * up[i];
    for (size_t i = 0; i < n_down; i++)
        links[n_up + i] = 2 * down[n_down - 1 - i] + 1;
    return (long)(n_up + n_down);
}

size_t topology_above(const struct topology *topology, uint32_t position,
                      struct topology_above above[TOPOLOGY_TREE_LEVELS])
{
    size_t n = 0;
    uint32_t number = position;
    switch (topology->kind) {
    case TOPOLOGY_TREE:
        for (uint32_t at = topology->hosts[position].leaf; at != TOPOLOGY_TOP; at = topology->switches[at].parent)
            above[n++] = (struct topology_above){"switch", topology->switches[at].name, at};
        return n;
    case TOPOLOGY_FAT_TREE:
        for (; n < topology->n_levels; n++) {
            number /= topology->size[n];
            above[n] = (struct topology_above){"switch", NULL, number};
        }
        return n;
    case TOPOLOGY_TORUS:
    case TOPOLOGY_MESH:
    case TOPOLOGY_DRAGONFLY:
        number /= topology->nodes_per_router;
        above[n++] = (struct topology_above){"router", NULL, number};
        if (topology->kind == TOPOLOGY_DRAGONFLY)
            above[n++] = (struct topology_above){"group", NULL, number / topology->routers};
        above[n++] = (struct topology_above){"network", topology->name, 0};
        return n;
    default:
        return 0;
    }
}

long topology_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    if (src == dst)
        return 0;
    switch (topology->kind) {
    case TOPOLOGY_TORUS:
    case TOPOLOGY_MESH:
        return (long)torus_route(topology, src, dst, links);
    case TOPOLOGY_FAT_TREE:
        return (long)fat_tree_route(topology, src, dst, links);
    case TOPOLOGY_DRAGONFLY:
        return (long)dragonfly_route(topology, src, dst, links);
    case TOPOLOGY_TREE:
        return tree_route(topology, src, dst, links);
    default:
        break;
    }
    const struct topology_route wanted = {.src = src, .dst = dst};
    const struct topology_route *route =
        topology->n_routes > 0 ? bsearch(&wanted, topology->routes, topology->n_routes, sizeof wanted, compare_routes)
                               : NULL;
    if (route == NULL)
        return -1;
    for (size_t i = 0; i < route->n_links; i++)
        links[i] = topology->route_links[route->first + i];
    return (long)route->n_links;
}

int links_delta(const struct machine *machine, double *delta_s_per_byte, struct error *error)
{
    *delta_s_per_byte = machine_value(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "delta",
                                      machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "delta", NAN));
    return isnan(*delta_s_per_byte)
               ? error_set(error,
                           "machine '%s' has no delta, which +contention needs: add a row `any any delta - VALUE s/B`, "
                           "or calibrate it over a shared link",
                           machine->name)
               : 0;
}

int links_init(struct links *links, const struct topology *topology, const struct placement *placement,
               const struct grouping *nodes, struct error *error)
{
    *links = (struct links){.topology = topology,
                            .position = xcalloc(nodes->n_groups, sizeof *links->position),
                            .route = xcalloc(topology->longest, sizeof *links->route)};
    for (size_t group = 0; group < nodes->n_groups; group++) {
        uint32_t node = placement->node[nodes->member[nodes->first[group]]];
        if (topology_position(topology, node, &links->position[group]) == 0)
            continue;
        if (topology->kind == TOPOLOGY_TREE)
            return error_set(error, "node %u is at no switch of '%s', which has %zu nodes: add its host to that file",
                             node, topology->name, topology->n_hosts);
        else
            return error_set(error,
                             "node %u has no place in topology '%s' of %u positions: add a line `node %u POSITION` for "
                             "every node, or number the nodes of the placement from 0",
                             node, topology->name, topology->n_positions, node);
    }
    return 0;
}

void links_release(struct links *links)
{
    FREE_ALL(links->position, links->route);
    *links = (struct links){0};
}

long links_route(struct links *links, uint32_t src, uint32_t dst, struct error *error)
{
    uint32_t from = links->position[src], to = links->position[dst];
    long n = topology_route(links->topology, from, to, links->route);
    if (n < 0 && links->topology->kind == TOPOLOGY_TREE)
        error_set(error, "'%s' has no switch above both node '%s' and node '%s'", links->topology->name,
                  links->topology->hosts[from].name, links->topology->hosts[to].name);
    else if (n < 0)
        error_set(error,
                  "topology '%s' has no route from position %u to %u, which the messages need: add `route %u %u ...`",
                  links->topology->name, from, to, from, to);
    return n;
}

uint32_t cube_edge(size_t n_nodes)
{
    uint32_t edge = 1;
    while ((size_t)edge * edge * edge < (n_nodes + 1) / 2)
        edge++;
    return edge;
}

uint32_t cube_hops(uint32_t edge, uint32_t src, uint32_t dst)
{
    uint32_t a = src / 2, b = dst / 2, hops = 0;
    for (int d = 0; d < 3; d++, a /= edge, b /= edge)
        hops += (uint32_t)abs((int)(a % edge) - (int)(b % edge));
    return hops;
}
