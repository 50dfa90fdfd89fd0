/* Finds that ranks waited for processors that others had. Then what looks like a slow rank may be the scheduler.
 *
 * A trace says how long a rank waited so, not when. A rank that polls inside MPI loses nothing by it, so of the waiting
 * only the computation's share counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"

/* Fills the fullest machine that has more ranks than processors; ranks 0: there is none. */
static int read_crowd(struct diagnosis *diagnosis, int64_t *ranks, int64_t *processors)
{
    struct cursor rows;
    *ranks = *processors = 0;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT count(*), m.processors FROM process p JOIN node n ON n.id = p.node "
                "  JOIN (SELECT coalesce(machine, id) AS machine, max(coalesce(processors, cores)) AS processors "
                "    FROM node GROUP BY 1) m ON m.machine = coalesce(n.machine, n.id) "
                "GROUP BY m.machine HAVING count(*) > m.processors ORDER BY count(*) DESC LIMIT 1",
                diagnosis->error);
    if (cursor_next(&rows)) {
        *ranks = cursor_integer(&rows, 0);
        *processors = cursor_integer(&rows, 1);
    }
    return cursor_close(&rows);
}

int diagnose_busy_processors(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    double *waited_s = calloc(program->n_ranks + 1, sizeof *waited_s), sum_s = 0;
    int64_t ranks, processors;
    size_t worst = 0;
    char waited[DIAGNOSIS_TEXT], crowd[DIAGNOSIS_TEXT] = "";
    if (waited_s == NULL)
        return diagnosis_no_memory(diagnosis);
    for (size_t i = 0; i < program->n_places; i++) {
        uint32_t rank = program->places[i].rank;
        waited_s[rank] += program->measured[i].part_s[RUN_COMPUTATION] * diagnosis->busy_share[rank];
    }
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        sum_s += waited_s[rank];
        worst = waited_s[rank] > waited_s[worst] ? rank : worst;
    }
    struct finding finding = {.kind = FINDING_BUSY_PROCESSORS,
                              .rank = (int64_t)worst,
                              .partner = -1,
                              .cost_s = sum_s,
                              .function = "",
                              .place = ""};
    int result = read_crowd(diagnosis, &ranks, &processors);
    if (ranks > 0)
        snprintf(crowd, sizeof crowd, ": %" PRId64 " ranks share %" PRId64, ranks, processors);
    if (result == 0 && diagnosis->rank_s[worst] > 0)
        result = diagnosis_add(
            diagnosis, finding,
            "computation waited about %s for processors that others had, rank %zu %.0f %% of its time%s",
            diagnosis_seconds(waited, sum_s), worst, 100 * waited_s[worst] / diagnosis->rank_s[worst], crowd);
    free(waited_s);
    return result;
}
