/* Which calls are for messages follows from the steps of the program; see run_messages.h. */
#include "predictor/run_study/run_messages.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"

/* Notes whether a step waits for ends of messages, and for a collective with them. */
static void note_wait(struct run_messages *messages, const struct run_program *program, const struct run_step *step)
{
    bool message = false, member = false;
    for (uint32_t i = step->object; i < step->object + step->count; i++) {
        bool is_member = run_operation_kind(program->waits[i]) == OPERATION_MEMBER;
        message = message || !is_member;
        member = member || is_member;
    }
    messages->is_message[step->place] |= message;
    messages->is_mixed[step->place] |= message && member;
}

static void note_step(struct run_messages *messages, const struct run_program *program, const struct run_step *step)
{
    switch ((enum run_step_kind)step->kind) {
    case STEP_SEND:
    case STEP_RECEIVE:
    case STEP_PROBE:
        messages->is_message[step->place] = true;
        break;
    case STEP_WAIT:
        note_wait(messages, program, step);
        break;
    case STEP_SPEND:
        messages->copied_s[step->place] += step->spent_s;
        break;
    case STEP_COLLECTIVE:
    case STEP_BEGIN:
        break;
    }
}

void run_messages_add(struct run_messages *messages, const struct run_program *program)
{
    size_t n = program->n_places;
    if (messages->is_message == NULL || messages->n_places < n) {
        array_reserve_zeroed(&messages->is_message, &messages->room[0], n + 1, sizeof *messages->is_message);
        array_reserve_zeroed(&messages->is_mixed, &messages->room[1], n + 1, sizeof *messages->is_mixed);
        array_reserve_zeroed(&messages->copied_s, &messages->room[2], n + 1, sizeof *messages->copied_s);
        messages->n_places = n;
    }
    for (; messages->n_steps < program->n_steps; messages->n_steps++)
        note_step(messages, program, &program->steps[messages->n_steps]);
}

void run_messages_release(struct run_messages *messages)
{
    FREE_ALL(messages->is_message, messages->is_mixed, messages->copied_s);
    *messages = (struct run_messages){0};
}

void run_messages_inside(const struct run_parts *parts, double inside_s[2])
{
    inside_s[0] = parts->part_s[RUN_OTHER];
    for (int part = RUN_MESSAGE_FIRST; part <= RUN_MESSAGE_LAST; part++)
        inside_s[0] += parts->part_s[part];
    inside_s[1] = inside_s[0] + parts->part_s[RUN_COLLECTIVE_WAIT] + parts->part_s[RUN_COLLECTIVE_TRANSFER];
}

double run_messages_s(const struct run_messages *messages, const struct run_parts *parts, size_t place)
{
    double inside_s[2];
    run_messages_inside(&parts[place], inside_s);
    return messages->is_message[place] ? fmax(inside_s[messages->is_mixed[place]] - messages->copied_s[place], 0) : 0;
}

struct run_error run_error_of(const struct run_program *program, const struct run_messages *messages,
                              const struct run_parts *predicted)
{
    double *measured_s = xcalloc(program->n_ranks + 1, sizeof *measured_s);
    double *modelled_s = xcalloc(program->n_ranks + 1, sizeof *modelled_s);
    for (size_t place = 0; place < program->n_places; place++) {
        measured_s[program->places[place].rank] += run_messages_s(messages, program->measured, place);
        modelled_s[program->places[place].rank] += run_messages_s(messages, predicted, place);
    }
    struct run_error error = {.worst_measured_s = NAN, .worst_modelled_s = NAN};
    double off_s = 0, over_s = 0, own = 0, most_s = -1;
    size_t n_own = 0;
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        double own_off_s = fabs(modelled_s[rank] - measured_s[rank]);
        error.measured_s += measured_s[rank];
        off_s += own_off_s;
        over_s += modelled_s[rank] - measured_s[rank];
        if (measured_s[rank] > 0) {
            own += own_off_s / measured_s[rank];
            n_own++;
        }
        if (own_off_s > most_s) {
            most_s = own_off_s;
            error.worst_rank = (uint32_t)rank;
            error.worst_measured_s = measured_s[rank];
            error.worst_modelled_s = modelled_s[rank];
        }
    }
    error.error = error.measured_s > 0 ? off_s / error.measured_s : (double)NAN;
    error.bias = error.measured_s > 0 ? over_s / error.measured_s : (double)NAN;
    error.mape = n_own > 0 ? own / (double)n_own : (double)NAN;
    FREE_ALL(measured_s, modelled_s);
    return error;
}

void run_halves_add(struct run_halves *halves, const struct run_call *call, const double inside_s[2])
{
    uint32_t number = map_number(&halves->of, (struct map_key){call->rank, call->site, 0}, halves->n);
    if (number == halves->n)
        ARRAY_ADD(halves->rows, halves->n, (struct run_half){.rank = call->rank, .site = call->site});
    struct run_half *half = &halves->rows[number];
    for (int mixed = 0; mixed < 2; mixed++) {
        half->odd_s[mixed] += half->has_last ? half->last_s[mixed] : 0;
        half->even_s[mixed] += half->has_last ? inside_s[mixed] : 0;
        half->last_s[mixed] = inside_s[mixed];
    }
    half->has_last = !half->has_last;
}

void run_halves_keep(struct run_halves *halves, const struct run_program *program, const struct run_messages *messages)
{
    size_t n = 0;
    bool *kept = xcalloc(halves->n + 1, sizeof *kept);
    for (size_t place = 0; place < program->n_places; place++) {
        const struct run_place *at = &program->places[place];
        uint32_t number = map_find(&halves->of, (struct map_key){at->rank, at->site, 0});
        if (number == MAP_ABSENT)
            continue;
        kept[number] = messages->is_message[place] && !(messages->copied_s[place] > 0);
        if (messages->is_mixed[place]) {
            halves->rows[number].odd_s[0] = halves->rows[number].odd_s[1];
            halves->rows[number].even_s[0] = halves->rows[number].even_s[1];
        }
    }
    for (size_t i = 0; i < halves->n; i++)
        if (kept[i])
            halves->rows[n++] = halves->rows[i];
    halves->n = n;
    free(kept);
}

double run_halves_error(const struct run_halves *halves, size_t n_ranks)
{
    double *off_s = xcalloc(n_ranks + 1, sizeof *off_s), sum_s = 0, all_s = 0;
    for (size_t i = 0; i < halves->n; i++) {
        off_s[halves->rows[i].rank] += halves->rows[i].odd_s[0] - halves->rows[i].even_s[0];
        all_s += halves->rows[i].odd_s[0] + halves->rows[i].even_s[0];
    }
    for (size_t rank = 0; rank < n_ranks; rank++)
        sum_s += fabs(off_s[rank]);
    free(off_s);
    return all_s > 0 ? sum_s / (all_s / 2) : (double)NAN;
}

void run_halves_release(struct run_halves *halves)
{
    map_release(&halves->of);
    free(halves->rows);
    *halves = (struct run_halves){0};
}
