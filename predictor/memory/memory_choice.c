/* A user asks by numbers that a table or a file may not have: the limits are checked and named here. Papers are named
 * as in share/doc/MODELS.md. */
#include "predictor/memory/memory_choice.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/error.h"

void memory_option_rows(struct memory_options *options, struct option_row rows[MEMORY_ROWS])
{
    *options = (struct memory_options){0};
    const struct option_row all[MEMORY_ROWS] = {
        {.help = "Memory bandwidth of computing cores of a socket and a message being received, in place of a trace or "
                 "a pattern:"},
        {0, "memory", NULL, "predict this; requires --machine", .flag = &options->asked},
        {0, "compute-cores", "N",
         "number of computing cores; default: a row for every number; MODEL+memory on a pattern requires it",
         .whole = &options->cores, .most = MEMORY_MAX_CORES, .given = &options->cores_given},
        {0, "comp-numa", "I",
         "NUMA node of the computation's data, from 0 on the computing socket; default: all that differ",
         .whole = &options->computation_numa, .most = MEMORY_MAX_CORES, .given = &options->computation_given},
        {0, "comm-numa", "J", "NUMA node of the message's data", .whole = &options->message_numa,
         .most = MEMORY_MAX_CORES, .given = &options->message_given},
        {0, "samples", "RAW.csv", "print the model's error on these samples, and that without contention",
         .text = &options->samples},
        {0, "plot", "FILE.html", "draw a picture per placement, with --samples also these", .text = &options->plot},
    };
    memcpy(rows, all, sizeof all);
}

int memory_options_check(const struct memory_options *options)
{
    bool own =
        options->computation_given || options->message_given || options->samples != NULL || options->plot != NULL;
    if (own && !options->asked)
        return wrong_usage("predict", "--comp-numa, --comm-numa, --samples and --plot require --memory");
    if (options->plot != NULL && options->cores_given)
        return wrong_usage("predict",
                           "--plot and --compute-cores exclude each other: a picture shows every number of cores");
    return 0;
}

/* Adds a placement that the model covers and that is not there. */
static void choice_add(const struct memory_model *model, uint32_t computation_numa, uint32_t message_numa,
                       struct memory_choice *choice)
{
    const struct memory_placement placement = {computation_numa, message_numa};
    if (memory_model_covers(model, "", computation_numa, message_numa, NULL) != 0 ||
        memory_choice_has(choice, &placement))
        return;
    array_grow(&choice->placements, choice->n_placements, sizeof *choice->placements);
    choice->placements[choice->n_placements++] = placement;
}

/* Adds the placements that the model tells apart (D7, D8): each side, and neighbours there. */
static void add_told_apart(const struct memory_model *model, struct memory_choice *choice)
{
    uint32_t remote = model->numa_nodes;
    const uint32_t all[6][2] = {{0, 0}, {0, 1}, {0, remote}, {remote, 0}, {remote, remote}, {remote, remote + 1}};
    for (size_t i = 0; i < 6; i++)
        if (remote > 1 || (i != 1 && i != 5))
            choice_add(model, all[i][0], all[i][1], choice);
}

/* Adds all pairs of the NUMA nodes that the options name, `nodes` being those of the machine. */
static int add_asked(const struct memory_model *model, const char *name, const struct memory_options *options,
                     uint32_t nodes, struct memory_choice *choice, struct error *error)
{
    uint32_t computation = (uint32_t)options->computation_numa, message = (uint32_t)options->message_numa;
    bool both = options->computation_given && options->message_given;
    for (uint32_t i = 0; i < (both ? 1 : nodes); i++)
        choice_add(model, options->computation_given ? computation : i, options->message_given ? message : i, choice);
    return choice->n_placements > 0
               ? 0
               : memory_model_covers(model, name, options->computation_given ? computation : message,
                                     options->message_given ? message : computation, error);
}

static int check_numa(const struct memory_model *model, const char *name, const char *option, bool given, uint64_t numa,
                      uint32_t nodes, struct error *error)
{
    if (!given || numa < nodes)
        return 0;
    return error_set(error, "%s %llu: machine '%s' has the NUMA nodes 0 to %u, %u on each socket", option,
                     (unsigned long long)numa, name, nodes - 1, model->numa_nodes);
}

static int check_nodes(const struct memory_model *model, const char *name, const struct memory_options *options,
                       uint32_t nodes, struct error *error)
{
    return check_numa(model, name, "--comp-numa", options->computation_given, options->computation_numa, nodes,
                      error) != 0 ||
                   check_numa(model, name, "--comm-numa", options->message_given, options->message_numa, nodes,
                              error) != 0
               ? -1
               : 0;
}

static int check_memory_cores(const struct memory_model *model, const char *name, const struct memory_options *options,
                              struct error *error)
{
    if (!options->cores_given ||
        (options->cores <= MEMORY_MAX_CORES && (model->cores == 0 || options->cores <= model->cores)))
        return 0;
    return error_set(error,
                     "--compute-cores %llu: the model covers the cores of one socket, of which machine '%s' has %u",
                     (unsigned long long)options->cores, name, model->cores);
}

/* Takes the number of cores that the options say, else 1 to all. */
static int choose_cores(const struct memory_model *model, const char *name, const struct memory_options *options,
                        struct memory_choice *choice, struct error *error)
{
    if (!options->cores_given && model->cores == 0)
        return error_set(
            error, "machine '%s' has no row `any any cores - N 1`: add it, or give a number with --compute-cores N",
            name);
    choice->least_cores = options->cores_given ? (uint32_t)options->cores : 1;
    choice->most_cores = options->cores_given ? choice->least_cores : model->cores;
    return check_memory_cores(model, name, options, error);
}

int memory_choice_make(const struct memory_model *model, const char *name, const struct memory_options *options,
                       struct memory_choice *choice, struct error *error)
{
    uint32_t nodes = 2 * model->numa_nodes;
    *choice = (struct memory_choice){0};
    if (choose_cores(model, name, options, choice, error) != 0 || check_nodes(model, name, options, nodes, error) != 0)
        return -1;
    if (options->computation_given || options->message_given)
        return add_asked(model, name, options, nodes, choice, error);
    add_told_apart(model, choice);
    return 0;
}

static bool is_asked(const struct memory_options *options, const struct memory_place *place)
{
    return (!options->cores_given || options->cores == place->n) &&
           (!options->computation_given || options->computation_numa == place->computing_numa) &&
           (!options->message_given || options->message_numa == place->message_numa);
}

int memory_choice_measured(const struct memory_model *model, const char *name, const struct memory_options *options,
                           const char *path, const struct memory_samples *samples, struct memory_choice *choice,
                           struct error *error)
{
    *choice = (struct memory_choice){.least_cores = UINT32_MAX};
    if (samples->numa_nodes != model->numa_nodes || (model->cores > 0 && samples->cores != model->cores))
        return error_set(error,
                         "%s: sockets of %u cores and %u NUMA nodes, but machine '%s' has %u and %u: expected the "
                         "samples of that machine",
                         path, samples->cores, samples->numa_nodes, name, model->cores, model->numa_nodes);
    if (samples->cpu_copy != model->cpu_copy)
        return error_set(error,
                         "%s: method %s, but the table of machine '%s' is of %s: expected the samples of that table",
                         path, samples->cpu_copy ? "cpu-copy" : "nic", name,
                         model->cpu_copy ? "copies by a processor (cpu-copy)" : "messages from the network (nic)");
    if (check_memory_cores(model, name, options, error) != 0 ||
        check_nodes(model, name, options, samples->numa_all, error) != 0)
        return -1;
    for (size_t i = 0; i < samples->n_points; i++) {
        const struct memory_place *place = &samples->points[i].place;
        if ((place->variant != MEMORY_COMPUTATION && place->variant != MEMORY_MESSAGE) || !is_asked(options, place))
            continue;
        if (memory_model_covers(model, name, place->computing_numa, place->message_numa, NULL) != 0) {
            choice->n_left_out++;
            continue;
        }
        choice_add(model, place->computing_numa, place->message_numa, choice);
        choice->least_cores = place->n < choice->least_cores ? place->n : choice->least_cores;
        choice->most_cores = place->n > choice->most_cores ? place->n : choice->most_cores;
    }
    if (choice->n_placements == 0)
        return error_set(error,
                         "%s: nothing was measured together (computation, message) that was asked for and that machine "
                         "'%s' covers",
                         path, name);
    return 0;
}

bool memory_choice_has(const struct memory_choice *choice, const struct memory_placement *placement)
{
    bool has = false;
    for (size_t i = 0; !has && i < choice->n_placements; i++)
        has = choice->placements[i].computation_numa == placement->computation_numa &&
              choice->placements[i].message_numa == placement->message_numa;
    return has;
}

void memory_choice_release(struct memory_choice *choice)
{
    free(choice->placements);
    *choice = (struct memory_choice){0};
}
