/* Scotch maps onto a complete graph whose vertices weigh as much as the parts may. One thread and a fixed seed make the
 * same parts every time. */
#include "predictor/pattern/graph_cut.h"

/* How uneven parts may be. */
#define IMBALANCE 0.01

bool graph_cut_is_built(void)
{
    return true;
}

static int cut_onto(SCOTCH_Graph *graph, SCOTCH_Strat *strategy, SCOTCH_Num n_parts, const SCOTCH_Num *capacity,
                    SCOTCH_Num *part)
{
    SCOTCH_Arch arch;
    if (SCOTCH_archInit(&arch) != 0)
        return -1;
    int result = SCOTCH_archCmpltw(&arch, n_parts, capacity) != 0 ||
                         SCOTCH_stratGraphMapBuild(strategy, SCOTCH_STRATQUALITY, n_parts, IMBALANCE) != 0 ||
                         SCOTCH_graphMap(graph, &arch, strategy, part) != 0
                     ? -1
                     : 0;
    SCOTCH_archExit(&arch);
    return result;
}

int graph_cut(const struct graph *graph, size_t n_parts, const SCOTCH_Num *capacity, SCOTCH_Num seed, SCOTCH_Num *part)
{
    SCOTCH_Context context;
    SCOTCH_Graph whole, bound;
    SCOTCH_Strat strategy;
    if (SCOTCH_contextInit(&context) != 0 || SCOTCH_graphInit(&whole) != 0 || SCOTCH_graphInit(&bound) != 0 ||
        SCOTCH_stratInit(&strategy) != 0)
        return -1;
    SCOTCH_contextRandomSeed(&context, seed);
    int result = -1;
    if (SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
        SCOTCH_contextThreadSpawn(&context, 1, NULL) == 0 &&
        SCOTCH_graphBuild(&whole, 0, graph->n, graph->first, NULL, NULL, NULL, graph->first[graph->n], graph->to,
                          graph->weight) == 0 &&
        SCOTCH_contextBindGraph(&context, &whole, &bound) == 0)
        result = capacity != NULL ? cut_onto(&bound, &strategy, (SCOTCH_Num)n_parts, capacity, part)
                                  : SCOTCH_graphPart(&bound, (SCOTCH_Num)n_parts, &strategy, part);
    SCOTCH_stratExit(&strategy);
    SCOTCH_graphExit(&bound);
    SCOTCH_graphExit(&whole);
    SCOTCH_contextExit(&context);
    return result == 0 ? 0 : -1;
}
