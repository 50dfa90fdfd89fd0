/* Every benchmark is a program of its own under the launcher of the MPI that is measured, and has its MPI_Init,
 * options, places and clock from here. */
#include "calibrate/measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/binding.h"
#include "calibrate/measure/shared_clock.h"
#include "calibrate/measure/levels.h"
#include "calibrate/measure/mpi_job.h"
#include "calibrate/measure/program_options.h"
#include "calibrate/measure/rank_place.h"
#include "calibrate/measure/schedule.h"
#include "calibrate/measure/sharing.h"
#include "calibrate/measure/thresholds_mpit.h"
#include "calibrate/measure/machine_probe.h"

enum { PARTS_MAX = 16 };

#define LEAD_S 5e-3 /* at first */

static void program_lead(struct measure *measure, const struct benchmark_program *program)
{
    puts(MEASURE_CSV_HEADER);
    measure->begin_s = clock_now_s() - measure->resume.spent_s;
    (void)probe_take(measure);
    (program->lead != NULL ? program->lead : schedule_lead)(measure, program);
    if (measure->n_series > 0)
        (void)probe_take(measure);
    measure_end(measure);
    fflush(stdout);
}

static void note_levels(const struct measure *measure)
{
    for (int level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct pair pair;
        const char *variable = "";
        if (levels_pairs(&measure->placement, (enum level)level, 1, &pair) == 0) {
            fprintf(stderr, MEASURE_NOTE "left_out %s: no two of the %d ranks are at this level\n", level_name[level],
                    measure->size);
            continue;
        }
        double bytes = thresholds_rendezvous_bytes((enum level)level, &variable);
        if (bytes > 0)
            fprintf(stderr, MEASURE_NOTE "rendezvous %s %.0f %s\n", level_name[level], bytes, variable);
    }
}

/* Collective: rank 0 alone reads, as the file may be on its node only. */
static int read_resumed(struct measure *measure, const struct benchmark_program *program)
{
    struct error error;
    const char *names[PARTS_MAX];
    size_t n_names = 0;
    int code = 0;
    do {
        names[n_names] = benchmark_of(program, (int)n_names)->name;
        n_names++;
    } while ((int)n_names < program->n_parts && n_names < PARTS_MAX);
    if (measure->rank == 0 && measure->resume_path != NULL &&
        resume_read(measure->resume_path, names, n_names, measure->launch, &measure->resume, &error) != 0)
        code = error_report(&error);
    MPI_Bcast(&code, 1, MPI_INT, 0, measure->control);
    return code;
}

int measure_main(int argc, char **argv, const struct benchmark_program *program)
{
    mpi_job_init(&argc, &argv, program->is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    struct measure measure = {.program = program,
                              .lead_s = LEAD_S,
                              .machine = sharing_machine(),
                              .n_processors = binding_processors(&measure.cpus)};
    struct error error;
    MPI_Comm_rank(MPI_COMM_WORLD, &measure.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &measure.size);
    MPI_Comm_dup(MPI_COMM_WORLD, &measure.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &measure.control);
    bool leads = measure.rank == 0, hello = false;
    if (leads)
        mpi_job_note(measure.size);
    int code = options_parse(argc, argv, program, &measure, &hello);
    if (code == 0 && !hello)
        code = read_resumed(&measure, program);
    if (code == 0 && !hello) {
        if (place_find(measure.control, stderr, &measure.placement, &measure.host, &error) != 0) {
            code = leads ? error_report(&error) : EXIT_WORK_FAILED;
        } else if (program->prepare == NULL || (code = program->prepare(&measure, leads)) == 0) {
            measure.offset_s = clock_offset_s(measure.control, measure.host);
            probe_prepare(&measure);
            if (leads) {
                note_levels(&measure);
                program_lead(&measure, program);
            } else {
                measure_follow(&measure, program);
            }
            if (program->release != NULL)
                program->release(&measure);
        }
        placement_release(&measure.placement);
        free(measure.host);
    }
    resume_release(&measure.resume);
    free(measure.send_buffer);
    free(measure.recv_buffer);
    MPI_Comm_free(&measure.comm);
    MPI_Comm_free(&measure.control);
    MPI_Finalize();
    return code < 0 ? EXIT_DONE : code;
}
