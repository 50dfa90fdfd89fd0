/* All ranks of a node, or of a socket, share the bandwidth of their level, as they mostly send at one time. */
#include "report/collect/fine_shape.h"

#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "share/base/array.h"

const uint32_t report_parts[REPORT_FINE_PARTS] = {2, 4, 8};
const char *const report_fine_by_name[FINE_BY_COUNT] = {"p2p", "rma", "partitioned", "at most"};
const enum finegrain_interface fine_interfaces[FINE_INTERFACES] = {FINEGRAIN_P2P, FINEGRAIN_RMA, FINEGRAIN_PARTITIONED};

int fine_shapes_init(struct fine_shapes *shapes, sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    size_t capacity = 0, socket_capacity = 0;
    cursor_open(&rows, database, path,
                "SELECT rank, count(*) OVER (PARTITION BY node), count(*) OVER (PARTITION BY node, socket) FROM process"
                " WHERE node IS NOT NULL ORDER BY rank",
                error);
    while (cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0);
        if (rank < (int64_t)shapes->n_ranks || rank > INT32_MAX)
            continue;
        if (array_reserve_zeroed(&shapes->of_node, &capacity, (size_t)rank + 1, sizeof *shapes->of_node) != 0 ||
            array_reserve_zeroed(&shapes->of_socket, &socket_capacity, (size_t)rank + 1, sizeof *shapes->of_socket) !=
                0) {
            cursor_no_memory(&rows);
            break;
        }
        shapes->of_node[rank] = (uint32_t)cursor_integer(&rows, 1);
        shapes->of_socket[rank] = (uint32_t)cursor_integer(&rows, 2);
        shapes->n_ranks = (size_t)rank + 1;
    }
    return cursor_close(&rows);
}

void fine_shapes_release(struct fine_shapes *shapes)
{
    free(shapes->of_node);
    free(shapes->of_socket);
    machine_release(&shapes->machine);
    *shapes = (struct fine_shapes){0};
}

static uint32_t ranks_that_share(const struct fine_shapes *shapes, const struct round_arrivals *round)
{
    uint32_t n = 0;
    if (round->rank < shapes->n_ranks)
        n = round->level == LEVEL_INTRA_SOCKET ? shapes->of_socket[round->rank] : shapes->of_node[round->rank];
    return n > 0 ? n : 1;
}

const struct fine_shape *fine_shape_of(struct fine_shapes *shapes, const struct round_arrivals *round,
                                       struct error *error)
{
    struct fine_shape asked = {.peers = round->peers,
                               .ppn = ranks_that_share(shapes, round),
                               .bytes = round->bytes / round->peers,
                               .level = round->level,
                               .known = true};
    struct fine_shape *kept = &shapes->shapes[(asked.bytes + 31 * asked.peers + 7 * asked.ppn) % FINE_SHAPES];
    if (kept->known && kept->peers == asked.peers && kept->ppn == asked.ppn && kept->bytes == asked.bytes &&
        kept->level == asked.level)
        return kept;
    asked.whole = (struct finegrain_problem){.peers = asked.peers, .bytes = asked.bytes, .parts = 1};
    if (finegrain_costs(&shapes->machine, asked.level, FINEGRAIN_P2P, asked.ppn, &asked.whole, &shapes->notes, error) !=
        0)
        return NULL;
    for (size_t by = 0; by < FINE_INTERFACES; by++)
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++) {
            asked.parts[by][k] = asked.whole;
            asked.parts[by][k].parts = report_parts[k];
            if (finegrain_costs(&shapes->machine, asked.level, fine_interfaces[by], asked.ppn, &asked.parts[by][k],
                                &shapes->notes, error) != 0)
                return NULL;
        }
    *kept = asked;
    return kept;
}
