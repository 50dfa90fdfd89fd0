/* Finds how much worse the network between nodes may be until the run is so much longer, the question of LLAMP
 * (share/doc/MODELS.md, Whole run, Tolerance). The run grows with what is changed in pieces that are nearly straight,
 * so few replays find it: the secant of two that have it between them, and their middle where that is slow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run_study/run_side.h"
#include "predictor/what_if/arrange.h"
#include "share/base/memory.h"

static const double longer_by[RUN_TOLERANCES] = {0.01, 0.05, 0.10};
/* Part of a run's growth, or of what is found, that does not matter. */
static const double NEAR = 1e-4;
enum { MOST_STEPS = 40 };

/* Holds a change, which is 0 for the run as it is, and how much longer the run is with it, as a share. */
struct point {
    double change, longer;
};

struct finding {
    struct run_study *study;
    bool latency;
    double most; /* change that is tried: seconds, or factor - 1 */
};

static int try(const struct finding *finding, double change, struct point *point, struct error *error)
{
    const struct run_side *before = &finding->study->before;
    struct machine machine = before->machine;
    double length_s, run_s = run_side_s(before);
    machine.parameters = xmalloc((machine.n_parameters + 1) * sizeof *machine.parameters);
    memcpy(machine.parameters, before->machine.parameters, machine.n_parameters * sizeof *machine.parameters);
    machine_change_network(&machine, finding->latency ? change : 0, finding->latency ? 1 : 1 + change);
    int code =
        simulate_length(&finding->study->program, &machine, &before->placement, &before->options, &length_s, error);
    *point = (struct point){change, (length_s - run_s) / run_s};
    free(machine.parameters);
    return code;
}

/* Goes up from low, which is too little, until the run is longer by the share or nothing larger is tried. */
static int go_up(const struct finding *finding, double share, struct point *low, struct point *high,
                 struct error *error)
{
    double change = fmax(2 * low->change, finding->most * 1e-6);
    for (;;) {
        if (try(finding, fmin(change, finding->most), high, error) != 0)
            return -1;
        if (high->longer >= share || change >= finding->most)
            return 0;
        *low = *high;
        change *= high->longer > 0 ? fmin(fmax(1.1 * share / high->longer, 2), 100) : 100;
    }
}

/* Narrows low and high, between which the run is longer by the share; *found is it. */
static int narrow(const struct finding *finding, double share, struct point low, struct point high, struct point *found,
                  struct error *error)
{
    *found = high;
    for (int step = 0; step < MOST_STEPS && fabs(found->longer - share) > NEAR * share &&
                       high.change - low.change > NEAR * high.change;
         step++) {
        double part = step % 3 == 2 ? 0.5 : (share - low.longer) / (high.longer - low.longer);
        if (try(finding, low.change + part * (high.change - low.change), found, error) != 0)
            return -1;
        if (found->longer < share)
            low = *found;
        else
            high = *found;
    }
    return 0;
}

/* Says whether messages go between nodes, and collectives. */
static void look_between(struct run_study *study)
{
    const struct run_program *program = &study->program;
    const struct placement *placement = &study->before.placement;
    bool collectives = false;
    for (size_t i = 0; !study->between_nodes && i < program->n_messages; i++)
        study->between_nodes =
            placement_level(placement, program->messages[i].src, program->messages[i].dst) == LEVEL_INTER_NODE;
    for (size_t i = 0; !collectives && i < program->n_collectives; i++) {
        const struct run_collective *collective = &program->collectives[i];
        const struct run_member *members = &program->members[collective->first_member];
        for (uint32_t m = 1; m < collective->n_members; m++)
            collectives =
                collectives || placement_level(placement, members[0].rank, members[m].rank) == LEVEL_INTER_NODE;
    }
    bool modelled = study->before.options.model_collectives;
    study->between_nodes = study->between_nodes || (collectives && modelled);
    study->recorded_between = collectives && !modelled;
}

int run_tolerance(struct run_study *study, struct error *error)
{
    bool latency = study->options->tolerance == TOLERANCE_LATENCY;
    const struct finding finding = {study, latency, latency ? 1 : 1e6};
    double run_s = run_side_s(&study->before);
    struct point low = {0, 0}, high = {0, 0};
    look_between(study);
    for (size_t i = 0; i < RUN_TOLERANCES; i++) {
        struct run_tolerance *tolerance = &study->tolerances[i];
        double share = longer_by[i];
        *tolerance = (struct run_tolerance){share, NAN, NAN};
        if (!study->between_nodes || !(run_s > 0) || low.change >= finding.most)
            continue;
        if (high.longer < share && go_up(&finding, share, &low, &high, error) != 0)
            return -1;
        if (high.longer < share) {
            low = high;
            continue;
        }
        struct point found;
        if (narrow(&finding, share, low, high, &found, error) != 0)
            return -1;
        tolerance->change = latency ? found.change : 1 + found.change;
        tolerance->on_path = latency ? found.longer * run_s / found.change : NAN;
        low = found;
    }
    return 0;
}
