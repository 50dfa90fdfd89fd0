/* Reads tables, patterns, placements and topologies by way of `mpistair predict` and what else reads them. */
#include "predictor/predict_commands.h"
#include "report/command/commands.h"
#include "tests/fuzz/fuzz_readers.h"

static const char table[] = "name m\nsource s\n"
                            "intra_socket eager tau - 1e-6 s\nintra_socket eager bw 1 1e9 B/s\n"
                            "intra_socket eager bw 4 3e9 B/s\nintra_socket rendezvous threshold - 4096 B\n"
                            "intra_socket rendezvous tau - 2e-6 s\nintra_socket rendezvous bw 1 2e9 B/s\n"
                            "inter_socket any tau - 2e-6 s\ninter_socket any bw 1 1e9 B/s\n"
                            "inter_node any tau - 5e-6 s\ninter_node any bw 1 1e9 B/s\n"
                            "inter_node any injection - 2e9 B/s\nany any gamma - 1e-8 s\nany any delta - 1e-10 s/B\n"
                            "any any cores - 4 1\n";
static const char pattern[] = "src,dst,bytes\n0,1,100\n1,2,8000\n2,3,100000\n3,0,0\n"
                              "0,2,5000,2e-6,0\n3,3,64,0,0\n";
static const char placement[] = "rank,node,socket\n0,0,0\n1,0,0\n2,0,1\n3,1,0\n";

/* Runs all models on one round; the files are those of the scratch folder. */
static int predict(void)
{
    return command(cmd_predict, "--pattern", scratch_path("p.csv"), "--placement", scratch_path("l.csv"), "--machine",
                   scratch_path("m.tbl"), "--model", "all", "--format", "csv", NULL);
}

void read_machine(const uint8_t *data, size_t size)
{
    scratch_text("p.csv", pattern);
    scratch_text("l.csv", placement);
    const char *path = scratch_file("m.tbl", data, size);
    if (command(cmd_machine, "show", path, NULL) != 0)
        return;
    command(cmd_machine, "check", path, NULL);
    command(cmd_predict, "--memory", "--machine", path, NULL);
    predict();
}

void read_pattern(const uint8_t *data, size_t size)
{
    const char *path = scratch_file("p.csv", data, size);
    const char *places = scratch_text("l.csv", placement);
    scratch_text("m.tbl", table);
    if (command(cmd_pattern, "--pattern", path, "--placement", places, "--json", NULL) == 0)
        predict();
}

void read_placement(const uint8_t *data, size_t size)
{
    const char *path = scratch_file("l.csv", data, size);
    const char *messages = scratch_text("p.csv", pattern);
    scratch_text("m.tbl", table);
    if (command(cmd_pattern, "--pattern", messages, "--placement", path, "--json", NULL) == 0)
        predict();
}

void read_topology(const uint8_t *data, size_t size)
{
    command(cmd_predict, "--pattern", scratch_text("p.csv", pattern), "--placement", scratch_text("l.csv", placement),
            "--machine", scratch_text("m.tbl", table), "--model", "postal+contention", "--topology",
            scratch_file("t.topo", data, size), NULL);
}
