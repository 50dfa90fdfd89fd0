/* Reads the text form of a topology: a line has a word and its numbers. Everything is checked against what a network
 * may be, and the message names the line. A list of routes and the nodes' places are sorted afterwards and checked for
 * repeats. */
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine.h"
#include "share/base/array.h"
#include "share/base/number.h"
#include "predictor/terms/topology.h"
#include "share/base/text_file.h"

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

static int grow(void *array, size_t n, size_t element_bytes, struct error *error)
{
    return array_grow(array, n, element_bytes) == 0 ? 0 : error_set(error, "no memory");
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
        read_number("position", position, 0, TOPOLOGY_MAX_POSITIONS - 1, &place.position, error) != 0 ||
        grow(&topology->places, topology->n_places, sizeof place, error) != 0)
        return -1;
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
        if (read_number("link", word, 0, TOPOLOGY_MAX_LINKS - 1, &link, error) != 0 ||
            grow(&topology->route_links, route.first + route.n_links, sizeof link, error) != 0)
            return -1;
        if (route.first + route.n_links == MAX_ROUTE_LINKS)
            return error_set(error, "the routes have more than %d links", MAX_ROUTE_LINKS);
        topology->route_links[route.first + route.n_links] = link;
        if (link >= topology->n_links)
            topology->n_links = link + 1;
    }
    if (grow(&topology->routes, topology->n_routes, sizeof route, error) != 0)
        return -1;
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
    for (int kind = 0; word != NULL && kind < TOPOLOGY_KIND_COUNT; kind++)
        if (strcmp(word, topology_kind_name[kind]) == 0) {
            reader->topology.kind = (enum topology_kind)kind;
            reader->kind_known = true;
        }
    return reader->kind_known ? 0
                              : error_set(error, "topology '%.40s', expected torus, mesh, fat-tree, dragonfly or links",
                                          word != NULL ? word : "");
}

/* Says whether a line of this word belongs to networks of that kind. */
static bool belongs(const char *word, enum topology_kind kind)
{
    bool grid = kind == TOPOLOGY_TORUS || kind == TOPOLOGY_MESH;
    if (strcmp(word, "dimensions") == 0)
        return grid;
    if (strcmp(word, "nodes_per_router") == 0)
        return grid || kind == TOPOLOGY_DRAGONFLY;
    if (strcmp(word, "children") == 0 || strcmp(word, "parents") == 0)
        return kind == TOPOLOGY_FAT_TREE;
    if (strcmp(word, "groups") == 0 || strcmp(word, "routers") == 0 || strcmp(word, "global_links") == 0)
        return kind == TOPOLOGY_DRAGONFLY;
    return strcmp(word, "node") == 0 || (strcmp(word, "route") == 0 && kind == TOPOLOGY_LINKS);
}

static int read_parameter(struct topology_reader *reader, const char *word, char **rest, struct error *error)
{
    struct topology *topology = &reader->topology;
    size_t n_parents;
    if (strcmp(word, "node") == 0)
        return read_node(reader, rest, error);
    if (strcmp(word, "route") == 0)
        return read_route(reader, rest, error);
    if (strcmp(word, "dimensions") == 0 || strcmp(word, "children") == 0)
        return read_levels(word, rest, topology->size, &topology->n_levels, error);
    if (strcmp(word, "parents") == 0)
        return read_levels(word, rest, topology->parents, &n_parents, error);
    if (strcmp(word, "nodes_per_router") == 0)
        return read_one(word, rest, &topology->nodes_per_router, error);
    if (strcmp(word, "groups") == 0)
        return read_one(word, rest, &topology->groups, error);
    if (strcmp(word, "routers") == 0)
        return read_one(word, rest, &topology->routers, error);
    return read_one(word, rest, &topology->global_links, error);
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
    if (!belongs(word, topology->kind))
        return error_set(error, "'%.40s' is not a parameter of a topology %s", word,
                         topology_kind_name[topology->kind]);
    return read_parameter(reader, word, &rest, error);
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
        qsort(topology->routes, topology->n_routes, sizeof *topology->routes, topology_compare_routes);
    for (size_t i = 1; i < topology->n_routes; i++)
        if (topology_compare_routes(&topology->routes[i - 1], &topology->routes[i]) == 0)
            return error_set(error, "the route from position %u to %u is there twice", topology->routes[i].src,
                             topology->routes[i].dst);
    if (topology->n_places > 0)
        qsort(topology->places, topology->n_places, sizeof *topology->places, topology_compare_places);
    for (size_t i = 0; i < topology->n_places; i++) {
        const struct topology_place *place = &topology->places[i];
        if (i > 0 && place[-1].node == place->node)
            return error_set(error, "node %u is there twice", place->node);
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
