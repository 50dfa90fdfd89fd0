/* Calls come rank by rank, so that the sums of one rank's places are held until all its steps are known: what a place
 * counts for follows from all of them. See run_windows.h. */
#include "predictor/run_study/run_windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"

double run_window_begin_s(const struct run_program *program, size_t window)
{
    return program->measured_begin_s + program->measured_run_s * (double)window / RUN_WINDOWS;
}

static uint32_t window_of(const struct run_program *program, double begin_s)
{
    double share = (begin_s - program->measured_begin_s) / program->measured_run_s;
    return share > 0 ? (uint32_t)fmin(share * RUN_WINDOWS, RUN_WINDOWS - 1) : 0;
}

/* Adds the places of the rank to its windows. */
static void end_rank(struct run_windows *windows, const struct run_messages *messages)
{
    size_t n_places = windows->end_place - windows->first_place;
    array_reserve_zeroed(&windows->measured_s, &windows->rank_room, ((size_t)windows->rank + 1) * RUN_WINDOWS,
                         sizeof *windows->measured_s);
    for (size_t i = 0; i < n_places; i++) {
        size_t place = windows->first_place + i;
        double *into_s = windows->measured_s + (size_t)windows->rank * RUN_WINDOWS;
        for (size_t w = 0; messages->is_message[place] && w < RUN_WINDOWS; w++)
            into_s[w] += windows->place_s[(i * RUN_WINDOWS + w) * 2 + messages->is_mixed[place]];
    }
    if (n_places > 0)
        memset(windows->place_s, 0, n_places * RUN_WINDOWS * 2 * sizeof *windows->place_s);
    windows->first_place = windows->end_place;
}

/* Notes in which window the steps from that one on are. */
static void mark_step(struct run_windows *windows, size_t step, uint32_t window, bool first_of_strand)
{
    size_t n = windows->simulated.n_marks;
    if (first_of_strand || windows->marks[n - 1].window != window)
        ARRAY_ADD(windows->marks, windows->simulated.n_marks, (struct simulation_mark){step, window});
}

void run_windows_add(struct run_windows *windows, const struct run_program *program, const struct run_call *call,
                     const double inside_s[2], const struct run_messages *messages)
{
    if (call->rank != windows->rank)
        end_rank(windows, messages);
    if (windows->end_place < program->n_places) {
        windows->rank = call->rank;
        windows->end_place = program->n_places;
        array_reserve_zeroed(&windows->place_s, &windows->place_room,
                             (windows->end_place - windows->first_place) * RUN_WINDOWS * 2, sizeof *windows->place_s);
    }
    bool first_of_strand = windows->n_strands < program->n_strands;
    windows->n_strands = program->n_strands;
    if (call->n_steps == windows->n_steps) /* behind the last call of a strand */
        return;
    const struct run_step *step = &program->steps[windows->n_steps];
    uint32_t window = window_of(program, call->begin_s);
    mark_step(windows, windows->n_steps, window, first_of_strand);
    windows->n_steps = call->n_steps;
    if (step->kind == STEP_SPEND) /* copied from the recording */
        return;
    double *into_s = windows->place_s + ((step->place - windows->first_place) * RUN_WINDOWS + window) * 2;
    into_s[0] += inside_s[0];
    into_s[1] += inside_s[1];
}

void run_windows_end(struct run_windows *windows, const struct run_program *program,
                     const struct run_messages *messages)
{
    end_rank(windows, messages);
    array_reserve_zeroed(&windows->measured_s, &windows->rank_room, program->n_ranks * RUN_WINDOWS,
                         sizeof *windows->measured_s);
    windows->simulated.n_windows = RUN_WINDOWS;
    windows->simulated.marks = windows->marks;
    windows->simulated.is_message = messages->is_message;
    windows->simulated.is_mixed = messages->is_mixed;
    free(windows->place_s);
    windows->place_s = NULL;
}

void run_windows_release(struct run_windows *windows)
{
    FREE_ALL(windows->marks, windows->measured_s, windows->place_s);
    *windows = (struct run_windows){0};
}

void run_window_errors(const struct run_program *program, const struct run_windows *windows, const double *modelled_s,
                       struct run_window_error *errors)
{
    for (size_t w = 0; w < RUN_WINDOWS; w++) {
        struct run_window_error *error = &errors[w];
        double most_s = -1;
        *error = (struct run_window_error){0};
        for (size_t rank = 0; rank < program->n_ranks; rank++) {
            double measured_s = windows->measured_s[rank * RUN_WINDOWS + w];
            double model_s = modelled_s[rank * RUN_WINDOWS + w], own_off_s = fabs(model_s - measured_s);
            error->measured_s += measured_s;
            error->modelled_s += model_s;
            error->off_s += own_off_s;
            if (own_off_s > most_s) {
                most_s = own_off_s;
                error->worst_rank = (uint32_t)rank;
            }
        }
    }
}
