/* Finds ranks whose threads of OpenMP have nothing to do for a part of their parallel regions, since the work is uneven
 * between them (interpose/preload/openmp.c). Even threads would do the same work in less time by the part that they
 * idle, and the computation of each rank would be shorter by that. A rank whose processor others had, which makes its
 * other threads wait as well, is left as it is. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"

/* Least share of the parallel regions' time that threads of the worst rank idle: work is never quite even. */
#define THREADS_IDLE 0.15
/* Part of what a rank would save that it may have waited for its processor. */
#define THREADS_DISTURBED 0.5

struct uneven_rank {
    double computed_s, idle, save_s;
};

/* Reads what even threads would save each rank. Returns 0 or -1. */
static int uneven_read(const struct diagnosis *diagnosis, struct uneven_rank *ranks)
{
    const struct run_program *program = &diagnosis->program;
    struct cursor rows;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT rank, sum(openmp_region_ns) * 1e-9, sum(openmp_thread_ns) * 1e-9, sum(openmp_idle_ns) * 1e-9 "
                "FROM counter GROUP BY rank HAVING sum(openmp_thread_ns) > 0",
                diagnosis->error);
    while (cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0);
        if (rank < 0 || rank >= (int64_t)program->n_ranks)
            continue;
        double idle = cursor_real(&rows, 3) / cursor_real(&rows, 2);
        double save_s = fmin(idle * cursor_real(&rows, 1), ranks[rank].computed_s);
        double waited_s = ranks[rank].computed_s * diagnosis->busy_share[rank];
        if (waited_s <= THREADS_DISTURBED * save_s) {
            ranks[rank].idle = idle;
            ranks[rank].save_s = save_s;
        }
    }
    return cursor_close(&rows);
}

int diagnose_uneven_threads(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct uneven_rank *ranks = xcalloc(program->n_ranks, sizeof *ranks);
    double sum_s = 0;
    size_t worst = 0;
    for (size_t i = 0; program->measured != NULL && i < program->n_places; i++)
        ranks[program->places[i].rank].computed_s += program->measured[i].part_s[RUN_COMPUTATION];
    int result = uneven_read(diagnosis, ranks);
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        sum_s += ranks[rank].save_s;
        worst = ranks[rank].save_s > ranks[worst].save_s ? rank : worst;
    }
    if (result == 0 && program->n_ranks > 0 && ranks[worst].idle >= THREADS_IDLE) {
        struct finding finding = diagnosis_finding(FINDING_UNEVEN_THREADS, sum_s);
        char saved[DIAGNOSIS_TEXT];
        finding.rank = (int64_t)worst;
        finding.mend = mend_new();
        for (uint32_t i = 0; i < program->n_places; i++) {
            const struct uneven_rank *rank = &ranks[program->places[i].rank];
            if (rank->save_s > 0)
                mend_scale(program, finding.mend, i, 1 - rank->save_s / rank->computed_s);
        }
        result = diagnosis_add(diagnosis, finding,
                               "threads idle %.0f %% of the parallel regions' time: work is uneven between threads of "
                               "rank %zu; even, it would take %s less",
                               100 * ranks[worst].idle, worst, diagnosis_seconds(saved, ranks[worst].save_s));
    }
    free(ranks);
    return result;
}
