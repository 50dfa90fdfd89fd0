/* Keeps what the sends of ranks cost, whole and in parts: ranks and rounds are many, ways of sending few. */
#ifndef MPISTAIR_REPORT_FINE_SHAPE_H
#define MPISTAIR_REPORT_FINE_SHAPE_H

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "predictor/finegrain/finegrain_costs.h"
#include "report/collect/report_fine_grained.h"

enum { FINE_INTERFACES = FINE_BY_BOUND };
/* Says which interface of the model stands behind one of the report. */
extern const enum finegrain_interface fine_interfaces[FINE_INTERFACES];

/* Holds the costs of ranks that send alike; threads and arrivals of the problems are not set. */
struct fine_shape {
    uint32_t peers, ppn;
    uint64_t bytes; /* to each peer */
    enum level level;
    bool known;
    struct finegrain_problem whole, parts[FINE_INTERFACES][REPORT_FINE_PARTS];
};

enum { FINE_SHAPES = 64 };

struct fine_shapes {
    struct machine machine;
    struct finegrain_notes notes;
    uint32_t *of_node, *of_socket; /* [n_ranks] ranks on the rank's node, and on its socket */
    size_t n_ranks;
    struct fine_shape shapes[FINE_SHAPES];
};

/* Reads which ranks share nodes and sockets; the machine is the caller's to set, and is released with the rest. Returns
 * 0, or -1 with the reason; fine_shapes_release in either case. */
int fine_shapes_init(struct fine_shapes *shapes, sqlite3 *database, const char *path, struct error *error);
void fine_shapes_release(struct fine_shapes *shapes);

/* Returns what a rank's sends of a round cost, valid until the next call; NULL with the reason where the table lacks
 * the level. */
const struct fine_shape *fine_shape_of(struct fine_shapes *shapes, const struct round_arrivals *round,
                                       struct error *error);

#endif
