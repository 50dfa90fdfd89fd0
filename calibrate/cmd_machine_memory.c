/* Runs `mpistair machine memory`: says what computing cores and messages leave each other, by their number and where
 * the data are. */
#include <stdlib.h>
#include <string.h>

#include "calibrate/cmd_machine.h"
#include "calibrate/machine/memory_contention.h"
#include "share/base/options.h"
#include "calibrate/table_print.h"
#include "share/base/text_table.h"

struct request {
    const char *database;
    uint64_t computing; /* 0: all numbers of cores */
    bool json;
};

static int parse(int *argc, char ***argv, struct request *request)
{
    *request = (struct request){0};
    const struct option_row rows[] = {
        {0, "computing", "N", "for so many cores; default: every number of them", .whole = &request->computing,
         .least = 1, .most = UINT32_MAX},
        {0, "database", "trace.db", "where the machine is looked for first", .text = &request->database},
        {0, "json", NULL, "as JSON", .flag = &request->json},
    };
    const struct option_table table = {
        .command = "machine memory",
        .words = {WORDS_MACHINE, WORDS_NONE},
        .usage = "usage: mpistair machine memory NAME|FILE.tbl [OPTIONS]\n\n"
                 "The memory bandwidth that N computing cores of a socket and a message that is received leave each "
                 "other, by\nwhere their data are.\n",
        .rows = rows,
        .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, argc, argv);
    return code == OPTIONS_READ && *argc != 1 ? wrong_usage("machine memory", "expected one NAME or FILE.tbl") : code;
}

/* Lists where the data may be, as far as the model tells it apart. */
static size_t placements(const struct memory_model *model, uint32_t numa[6][2])
{
    uint32_t remote = model->numa_nodes;
    bool several = model->numa_nodes > 1;
    const uint32_t all[6][2] = {{0, 0}, {0, 1}, {0, remote}, {remote, 0}, {remote, remote}, {remote, remote + 1}};
    size_t n = 0;
    for (size_t i = 0; i < 6; i++)
        if (several || (i != 1 && i != 5)) {
            memcpy(numa[n], all[i], sizeof all[i]);
            n++;
        }
    return n;
}

static struct text_table *text_new(void)
{
    static const char *const titles[] = {"cores", "computed on", "received in", "computation",
                                         "alone", "message",     "alone"};
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        text_table_column(table, titles[i], i == 1 || i == 2 ? TEXT_LEFT : TEXT_RIGHT);
    return table;
}

static void text_row(struct text_table *table, const struct memory_model *model, uint32_t n, const uint32_t numa[2],
                     const struct memory_bandwidth *b)
{
    bool remote = numa[1] >= model->numa_nodes, same_side = remote == (numa[0] >= model->numa_nodes);
    const double rates[] = {b->computation, b->computation_alone, b->message, b->message_alone};
    text_table_cell(table, "%u", n);
    text_table_text(table, numa[0] >= model->numa_nodes ? "remote" : "local");
    text_table_text(table, numa[0] == numa[1] ? "the same" : same_side ? "its neighbour" : remote ? "remote" : "local");
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        text_table_cell(table, "%.1f", rates[i] * 1e-6);
}

static json_t *json_row(uint32_t n, const uint32_t numa[2], const struct memory_bandwidth *b)
{
    return json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "computing_cores", (int)n, "computation_numa", (int)numa[0],
                     "message_numa", (int)numa[1], "computation_bytes_per_s", b->computation,
                     "computation_alone_bytes_per_s", b->computation_alone, "message_bytes_per_s", b->message,
                     "message_alone_bytes_per_s", b->message_alone);
}

static int show(const struct memory_model *model, const char *name, const struct request *request)
{
    uint32_t first = request->computing > 0 ? (uint32_t)request->computing : 1;
    uint32_t last = request->computing > 0 ? first : model->cores, numa[6][2];
    size_t n_placements = placements(model, numa);
    json_t *rows = request->json ? json_array() : NULL;
    struct text_table *table = request->json ? NULL : text_new();
    struct error error;
    for (uint32_t n = first; n <= last; n++)
        for (size_t i = 0; i < n_placements; i++) {
            struct memory_bandwidth bandwidth;
            memory_predict(model, n, numa[i][0], numa[i][1], &bandwidth);
            if (request->json)
                json_array_append_new(rows, json_row(n, numa[i], &bandwidth));
            else
                text_row(table, model, n, numa[i], &bandwidth);
        }
    if (request->json)
        return table_print_value(stdout, rows);
    printf("machine %s: memory bandwidth, MB/s, of cores and of a message\n", name);
    return text_table_end(table, stdout, &error) == 0 ? EXIT_DONE : error_report(&error);
}

int machine_command_memory(int argc, char **argv)
{
    struct request request;
    struct error error;
    struct machine machine;
    struct memory_model model;
    int code = parse(&argc, &argv, &request);
    if (code != OPTIONS_READ)
        return code;
    if (machine_command_find(argv[0], request.database, &machine, &error) != 0)
        return error_report(&error);
    if (memory_model_read(&machine, &model, &error) != 0)
        code = error_report(&error);
    else if (request.computing == 0 && model.cores == 0)
        code = fail("machine '%s' has no row `any any cores - N 1`: give a number with --computing N", machine.name);
    else if (request.computing > MEMORY_MAX_CORES || (model.cores > 0 && request.computing > model.cores))
        code = fail("--computing %llu: the model covers the cores of one socket, of which machine '%s' has %u",
                    (unsigned long long)request.computing, machine.name, model.cores);
    else
        code = show(&model, machine.name, &request);
    machine_release(&machine);
    return code;
}
