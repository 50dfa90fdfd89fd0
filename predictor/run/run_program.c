/* Builds, checks and releases programs of runs. The arrays grow at the powers of two; pages that nobody writes cost
 * no memory. What is checked here the engine and the algorithms of collectives rely on. */
#include "predictor/run/run_program.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"

const char *const run_part_name[RUN_PART_COUNT] = {
    [RUN_COMPUTATION] = "computation",
    [RUN_LATE_SENDER] = "late_sender",
    [RUN_LATE_RECEIVER] = "late_receiver",
    [RUN_LATENCY] = "latency",
    [RUN_BANDWIDTH] = "bandwidth",
    [RUN_CONTENTION] = "contention",
    [RUN_QUEUE] = "queue",
    [RUN_PROGRESS] = "progress",
    [RUN_COLLECTIVE_WAIT] = "collective_wait",
    [RUN_COLLECTIVE_TRANSFER] = "collective_transfer",
    [RUN_OTHER] = "other",
};

void run_program_swap_shared(struct run_program *program)
{
    for (size_t i = 0; i < program->n_shared; i++) {
        struct run_shared *shared = &program->shared[i];
        double *at = shared->is_tail ? &program->strands[shared->of].tail_s : &program->steps[shared->of].compute_s;
        double seconds = *at;
        *at = shared->seconds;
        shared->seconds = seconds;
    }
}

void run_program_release(struct run_program *program)
{
    free(program->ranks);
    free(program->strands);
    free(program->steps);
    free(program->messages);
    free(program->waits);
    free(program->collectives);
    free(program->members);
    free(program->places);
    free(program->sites);
    free(program->measured);
    free(program->between_polls_s);
    free(program->moved_polls_s);
    free(program->shared);
    if (program->release_texts != NULL)
        program->release_texts(program->texts);
    *program = (struct run_program){.measured_run_s = NAN};
}

void run_program_ranks(struct run_program *program, size_t n_ranks)
{
    struct run_rank *ranks = xmalloc((n_ranks + 1) * sizeof *ranks);
    for (size_t rank = 0; rank < n_ranks; rank++)
        ranks[rank] = (struct run_rank){.run_s = NAN, .wait_s = NAN};
    free(program->ranks);
    program->ranks = ranks;
    program->n_ranks = n_ranks;
    program->measured_run_s = NAN;
}

bool run_strand_follows(const struct run_program *program, size_t strand)
{
    uint32_t rank = program->strands[strand].rank;
    return program->ranks[rank].follows > 0 && (strand == 0 || program->strands[strand - 1].rank != rank);
}

void run_program_strand(struct run_program *program, uint32_t rank, double begin_s)
{
    array_grow(&program->strands, program->n_strands, sizeof *program->strands);
    program->strands[program->n_strands++] =
        (struct run_strand){.first_step = program->n_steps, .begin_s = begin_s, .rank = rank};
}

int run_program_step(struct run_program *program, const struct run_step *step)
{
    if (program->n_strands == 0)
        return -1;
    array_grow(&program->steps, program->n_steps, sizeof *step);
    program->steps[program->n_steps++] = *step;
    program->strands[program->n_strands - 1].n_steps++;
    return 0;
}

int run_program_message(struct run_program *program, const struct run_message *message)
{
    if (program->n_messages == RUN_MAX_OBJECTS)
        return -1;
    array_grow(&program->messages, program->n_messages, sizeof *message);
    program->messages[program->n_messages++] = *message;
    return 0;
}

void run_program_wait(struct run_program *program, uint32_t operation)
{
    array_grow(&program->waits, program->n_waits, sizeof operation);
    program->waits[program->n_waits++] = operation;
}

void run_program_collective(struct run_program *program, const struct run_collective *collective)
{
    array_grow(&program->collectives, program->n_collectives, sizeof *collective);
    program->collectives[program->n_collectives++] = *collective;
}

int run_program_member(struct run_program *program, const struct run_member *member)
{
    if (program->n_members == RUN_MAX_OBJECTS)
        return -1;
    array_grow(&program->members, program->n_members, sizeof *member);
    program->members[program->n_members++] = *member;
    return 0;
}

void run_program_site(struct run_program *program, const char *function, int64_t callsite)
{
    array_grow(&program->sites, program->n_sites, sizeof *program->sites);
    program->sites[program->n_sites++] = (struct run_site){.function = function, .callsite = callsite};
}

void run_program_place(struct run_program *program, uint32_t rank, uint32_t site)
{
    array_grow(&program->places, program->n_places, sizeof *program->places);
    program->places[program->n_places++] = (struct run_place){.rank = rank, .site = site};
}
