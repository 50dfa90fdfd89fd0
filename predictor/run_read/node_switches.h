/* Which switches are above the nodes of a trace: as the job's environment told (table node_switch), or by a topology
 * that the user names. */
#ifndef MPISTAIR_PREDICTOR_NODE_SWITCHES_H
#define MPISTAIR_PREDICTOR_NODE_SWITCHES_H

#include <sqlite3.h>

#include "predictor/terms/topology.h"
#include "share/base/error.h"

/* Places the nodes of the trace in a tree by the names of their hosts; nothing is done for networks of other kinds,
 * whose nodes have numbers. Returns 0, or -1 with the reason: a node that no switch has is one. */
int node_switches_place(sqlite3 *database, const char *path, struct topology *topology, struct error *error);

/* Puts temp.node_switch in front of the trace's table where a topology is named, or the trace has no such table, for
 * all that reads the trace through this connection, and makes the views switch_distance and switch_volume of it. To be
 * called once the trace was restricted to a part. topology is NAME or FILE, or NULL. Says on standard error that some
 * nodes have no place in it. Returns 0, or -1 with the reason: a topology without switches, or in which no node has a
 * place, is one.
 */
int node_switches_take(sqlite3 *database, const char *path, const char *topology, struct error *error);

#endif
