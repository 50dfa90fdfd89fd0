/* A line has words KEY=VALUE and describes one switch; '#' starts a comment, and a '\' at its end joins it to the next
 * one. Switches may be named before their own line, so names are looked up once all lines are there. Where a node or a
 * switch is attached to several ones, as redundant networks have it, the first one counts: a tree has one way up. */
#include "predictor/terms/slurm_topology.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/array.h"
#include "share/base/hostlist.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/text_file.h"

enum { SLURM_LINE_BYTES = 1 << 16, SLURM_JOINED_BYTES = 1 << 22, SLURM_CHILDREN_MOST = 1 << 20 };

/* A switch that a line names as a child of its own. */
struct switch_child {
    char *name;
    uint32_t parent;
    size_t line;
};

struct slurm_reader {
    struct topology *topology;
    const char *path;
    struct switch_child *children; /* [n_children] */
    size_t n_children;
    char *joined; /* what '\' has joined so far; NULL: nothing */
    size_t line;  /* that is read, from 1 on */
    size_t n_second_ways;
};

static int take_host(void *context, const char *name, struct error *error)
{
    struct slurm_reader *reader = context;
    struct topology *topology = reader->topology;
    if (topology->n_hosts == TOPOLOGY_MAX_POSITIONS)
        return error_set(error, "more than %d nodes", TOPOLOGY_MAX_POSITIONS);
    array_grow(&topology->hosts, topology->n_hosts, sizeof *topology->hosts);
    topology->hosts[topology->n_hosts++] = (struct topology_host){xstrdup(name), (uint32_t)topology->n_switches - 1};
    return 0;
}

static int take_child(void *context, const char *name, struct error *error)
{
    struct slurm_reader *reader = context;
    if (reader->n_children == SLURM_CHILDREN_MOST)
        return error_set(error, "more than %d switches below others", SLURM_CHILDREN_MOST);
    array_grow(&reader->children, reader->n_children, sizeof *reader->children);
    reader->children[reader->n_children++] =
        (struct switch_child){xstrdup(name), (uint32_t)reader->topology->n_switches - 1, reader->line};
    return 0;
}

/* Takes the next word KEY=VALUE, or KEY="VALUE", with blanks allowed around '='. Returns 1, 0 at the end, or -1. */
static int next_pair(char **at, char **key, char **value, struct error *error)
{
    char *text = *at + strspn(*at, " \t");
    if (*text == '\0')
        return 0;
    *key = text;
    text += strcspn(text, " \t=");
    char *end = text;
    text += strspn(text, " \t");
    if (*text != '=' || end == *key)
        return error_set(error, "'%.40s', expected KEY=VALUE, such as SwitchName=s1 Nodes=n[1-16]", *key);
    text++;
    *end = '\0';
    text += strspn(text, " \t");
    bool is_quoted = *text == '"';
    *value = text += is_quoted;
    text += strcspn(text, is_quoted ? "\"" : " \t");
    if (is_quoted && *text == '\0')
        return error_set(error, "%.40s=\"%.40s without the second quotation mark", *key, *value);
    if (text == *value)
        return error_set(error, "%.40s= without a value", *key);
    *at = *text == '\0' ? text : text + 1;
    *text = '\0';
    return 1;
}

/* Reads the line of a switch. */
static int read_switch(struct slurm_reader *reader, char *line, struct error *error)
{
    enum { NAME, NODES, SWITCHES, SPEED, N_KEYS };
    static const char *const keys[N_KEYS] = {"SwitchName", "Nodes", "Switches", "LinkSpeed"};
    struct topology *topology = reader->topology;
    char *values[N_KEYS] = {NULL}, *key = NULL, *value = NULL;
    int more;
    while ((more = next_pair(&line, &key, &value, error)) > 0) {
        int known = 0;
        while (known < N_KEYS && strcasecmp(key, keys[known]) != 0)
            known++;
        if (known == N_KEYS)
            return error_set(error,
                             "'%.40s', expected SwitchName, Nodes, Switches or LinkSpeed (a tree of switches, as the "
                             "plugin topology/tree reads it)",
                             key);
        if (values[known] != NULL)
            return error_set(error, "a second %s= in this line", keys[known]);
        values[known] = value;
    }
    if (more < 0)
        return -1;
    if (values[NAME] == NULL)
        return error_set(error, "no SwitchName=");
    if (strpbrk(values[NAME], "[],") != NULL || strlen(values[NAME]) >= HOSTLIST_NAME_BYTES)
        return error_set(error, "SwitchName=%.60s, expected the name of one switch", values[NAME]);
    if ((values[NODES] == NULL) == (values[SWITCHES] == NULL))
        return error_set(error, "switch '%.60s' with %s, expected either Nodes=LIST or Switches=LIST", values[NAME],
                         values[NODES] == NULL ? "nothing below it" : "both Nodes and Switches");
    array_grow(&topology->switches, topology->n_switches, sizeof *topology->switches);
    topology->switches[topology->n_switches++] =
        (struct topology_switch){.name = xstrdup(values[NAME]), .parent = TOPOLOGY_TOP, .line = reader->line};
    return values[NODES] != NULL ? hostlist_each(values[NODES], take_host, reader, error)
                                 : hostlist_each(values[SWITCHES], take_child, reader, error);
}

static int take_slurm_line(void *context, char *line, struct error *error)
{
    struct slurm_reader *reader = context;
    reader->line++;
    line[strcspn(line, "#\r")] = '\0';
    size_t length = strlen(line);
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    bool goes_on = length > 0 && line[length - 1] == '\\';
    line[length - goes_on] = '\0';
    if (reader->joined != NULL || goes_on) {
        size_t before = reader->joined != NULL ? strlen(reader->joined) : 0;
        if (before + length > SLURM_JOINED_BYTES)
            return error_set(error, "lines that '\\' joins to more than %d bytes", SLURM_JOINED_BYTES);
        reader->joined = xreallocarray(reader->joined, before + length + 1, 1);
        strcpy(reader->joined + before, line);
    }
    if (goes_on)
        return 0;
    char *whole = reader->joined != NULL ? reader->joined : line;
    int result = whole[strspn(whole, " \t")] == '\0' ? 0 : read_switch(reader, whole, error);
    free(reader->joined);
    reader->joined = NULL;
    return result;
}

/* Of two numbers of elements with names, orders them by name, then by number. */
static int compare_switch_names(const void *a, const void *b, void *context)
{
    const struct topology_switch *all = context;
    const uint32_t *x = a, *y = b;
    return strcmp(all[*x].name, all[*y].name) ?: ORDER(*x, *y);
}

static int compare_host_names(const void *a, const void *b, void *context)
{
    const struct topology_host *all = context;
    const uint32_t *x = a, *y = b;
    return strcmp(all[*x].name, all[*y].name) ?: ORDER(*x, *y);
}

static uint32_t *numbers_up_to(size_t n)
{
    uint32_t *numbers = xcalloc(n, sizeof *numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = (uint32_t)i;
    return numbers;
}

/* Finds the switch of a name among those in order. */
static uint32_t find_switch(const struct topology *topology, const uint32_t *in_order, const char *name)
{
    size_t first = 0;
    FIRST_BEYOND(first, topology->n_switches, strcmp(topology->switches[in_order[first]].name, name) < 0);
    return first < topology->n_switches && strcmp(topology->switches[in_order[first]].name, name) == 0 ? in_order[first]
                                                                                                       : TOPOLOGY_TOP;
}

/* Sets the parents of all switches. */
static int join_switches(struct slurm_reader *reader, const uint32_t *in_order, struct error *error)
{
    struct topology *topology = reader->topology;
    for (size_t i = 1; i < topology->n_switches; i++) {
        const struct topology_switch *one = &topology->switches[in_order[i - 1]],
                                     *other = &topology->switches[in_order[i]];
        if (strcmp(one->name, other->name) == 0)
            return error_set(error, "%s:%zu: switch '%.60s' a second time, line %zu has it already", reader->path,
                             other->line, other->name, one->line);
    }
    for (size_t i = 0; i < reader->n_children; i++) {
        const struct switch_child *child = &reader->children[i];
        uint32_t found = find_switch(topology, in_order, child->name);
        if (found == TOPOLOGY_TOP)
            return error_set(error, "%s:%zu: switch '%.60s' has no line of its own; expected SwitchName=%.60s ...",
                             reader->path, child->line, child->name, child->name);
        if (topology->switches[found].parent != TOPOLOGY_TOP)
            reader->n_second_ways++;
        else
            topology->switches[found].parent = child->parent;
    }
    for (size_t i = 0; i < topology->n_switches; i++) {
        size_t height = 0;
        for (uint32_t at = (uint32_t)i; at != TOPOLOGY_TOP; at = topology->switches[at].parent, height++)
            if (height == TOPOLOGY_TREE_LEVELS)
                return error_set(error, "%s:%zu: switch '%.60s' is below itself, or more than %d switches above it",
                                 reader->path, topology->switches[i].line, topology->switches[i].name,
                                 TOPOLOGY_TREE_LEVELS - 1);
        topology->longest = 2 * (height - 1) > topology->longest ? 2 * (height - 1) : topology->longest;
    }
    return 0;
}

/* Leaves out nodes that were named before: the first switch counts. */
static void leave_out_doubles(struct slurm_reader *reader)
{
    struct topology *topology = reader->topology;
    uint32_t *in_order = numbers_up_to(topology->n_hosts);
    qsort_r(in_order, topology->n_hosts, sizeof *in_order, compare_host_names, topology->hosts);
    for (size_t i = topology->n_hosts; i-- > 1;) {
        struct topology_host *host = &topology->hosts[in_order[i]], *before = &topology->hosts[in_order[i - 1]];
        if (strcmp(host->name, before->name) != 0)
            continue;
        reader->n_second_ways += host->leaf != before->leaf;
        free(host->name);
        host->name = NULL;
    }
    size_t n = 0;
    for (size_t i = 0; i < topology->n_hosts; i++)
        if (topology->hosts[i].name != NULL)
            topology->hosts[n++] = topology->hosts[i];
    topology->n_hosts = n;
    free(in_order);
}

static int finish_tree(struct slurm_reader *reader, struct error *error)
{
    struct topology *topology = reader->topology;
    if (reader->joined != NULL)
        return error_set(error, "%s:%zu: ends behind '\\'", reader->path, reader->line);
    if (topology->n_switches == 0)
        return error_set(error, "%s: no line SwitchName=NAME Nodes=LIST", reader->path);
    if (topology->n_hosts == 0)
        return error_set(error, "%s: no switch has Nodes=", reader->path);
    uint32_t *in_order = numbers_up_to(topology->n_switches);
    qsort_r(in_order, topology->n_switches, sizeof *in_order, compare_switch_names, topology->switches);
    int result = join_switches(reader, in_order, error);
    free(in_order);
    if (result != 0)
        return -1;
    leave_out_doubles(reader);
    topology->n_positions = (uint32_t)topology->n_hosts;
    topology->n_links = 2 * topology->n_switches;
    if (reader->n_second_ways > 0)
        inform("%s: %zu nodes or switches are attached to several switches; the first one counts", reader->path,
               reader->n_second_ways);
    return 0;
}

/* Writes the file's name as the name of the topology. */
static void name_after(const char *path, char name[static sizeof(((struct topology *)NULL)->name)])
{
    const char *slash = strrchr(path, '/'), *from = slash != NULL ? slash + 1 : path;
    size_t length = strnlen(from, sizeof(((struct topology *)NULL)->name) - 1);
    for (size_t i = 0; i < length; i++)
        name[i] = (char)(isalnum((unsigned char)from[i]) || strchr("._-", from[i]) != NULL ? from[i] : '_');
    name[length] = '\0';
}

int slurm_topology_read(const char *path, struct topology *topology, struct error *error)
{
    struct slurm_reader reader = {.topology = topology, .path = path};
    *topology = (struct topology){.kind = TOPOLOGY_TREE};
    name_after(path, topology->name);
    int result = text_file_lines(path, SLURM_LINE_BYTES - 1, take_slurm_line, &reader, error);
    if (result == 0)
        result = finish_tree(&reader, error);
    for (size_t i = 0; i < reader.n_children; i++)
        free(reader.children[i].name);
    FREE_ALL(reader.children, reader.joined);
    return result;
}

/* Ends the reading at the first line that says something: whether it begins with KEY=. */
static int look_at_line(void *context, char *line, struct error *error)
{
    bool *is_slurm = context;
    (void)error;
    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#')
        return 0;
    size_t key = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    *is_slurm = key > 0 && line[key + strspn(line + key, " \t")] == '=';
    return -1;
}

bool slurm_topology_is(const char *path)
{
    struct error error;
    bool is_slurm = false;
    text_file_lines(path, SLURM_LINE_BYTES - 1, look_at_line, &is_slurm, &error);
    return is_slurm;
}
