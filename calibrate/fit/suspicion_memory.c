/* The ten parameters are points of two curves: what no two curves have, a table should not have either. */
#include "calibrate/fit/suspicion_memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/machine/memory_quantity.h"

#define LOSS_MAX 0.01 /* what a loss may be off from what follows for it */
#define SUM_MAX  0.05 /* what a maximum may be above what its cores and its message have alone, or another maximum */

/* Holds the rows of a level, and their values. */
struct side {
    struct suspicions *found;
    const struct machine_parameter *row[MEMORY_PARAMETER_COUNT];
    double value[MEMORY_PARAMETER_COUNT];
    double cores; /* of the socket; NaN: not known */
};

static int parameter_of(const struct machine_parameter *row)
{
    int i = 0;
    while (i < MEMORY_PARAMETER_COUNT && strcmp(row->quantity, memory_quantities[i].name) != 0)
        i++;
    return i;
}

bool suspicion_memory_excuses(const struct machine_parameter *row)
{
    static const enum memory_parameter excused[] = {MEMORY_CORES_PAR, MEMORY_CORES_SEQ, MEMORY_LOSS_LEFT,
                                                    MEMORY_LOSS_RIGHT};
    int parameter = parameter_of(row);
    for (size_t i = 0; i < sizeof excused / sizeof excused[0]; i++)
        if (parameter == (int)excused[i])
            return true;
    return false;
}

/* Collects the rows; returns their number. */
static int collect(struct side *side, enum level level)
{
    const struct machine *machine = side->found->machine;
    int n = 0;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        int parameter = row->level == level ? parameter_of(row) : MEMORY_PARAMETER_COUNT;
        if (parameter == MEMORY_PARAMETER_COUNT)
            continue;
        side->row[parameter] = row;
        side->value[parameter] = row->value;
        n++;
    }
    side->cores = machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "cores", NAN);
    return n;
}

/* Checks a loss against the totals that it leads from and to. */
static void check_loss_left(const struct side *side)
{
    const double *v = side->value;
    const struct machine_parameter *row = side->row[MEMORY_LOSS_LEFT];
    double cores = v[MEMORY_CORES_SEQ] - v[MEMORY_CORES_PAR], lost = v[MEMORY_TOTAL_PAR] - v[MEMORY_TOTAL_PAR2];
    double loss = v[MEMORY_LOSS_LEFT], expected = lost / cores, n_par = v[MEMORY_CORES_SEQ] - lost / loss;
    char instead[64] = "";
    if (!(fabs(cores) > 0)) {
        if (fabs(loss) > 0)
            suspicion_say(side->found, row, SUSPICION_ODD, 0,
                          "%.4g GB/s a core, but no core lies between memory_cores_par and memory_cores_seq, both %.0f",
                          loss * 1e-9, v[MEMORY_CORES_PAR]);
        if (fabs(lost) > LOSS_MAX * v[MEMORY_TOTAL_PAR])
            suspicion_say(side->found, side->row[MEMORY_TOTAL_PAR2], SUSPICION_ODD, 0,
                          "%.4g GB/s with %.0f cores, and memory_total_par has %.4g GB/s with as many",
                          v[MEMORY_TOTAL_PAR2] * 1e-9, v[MEMORY_CORES_PAR], v[MEMORY_TOTAL_PAR] * 1e-9);
        return;
    }
    if (fabs(loss - expected) <= LOSS_MAX * fabs(expected))
        return;
    if (n_par >= 0.5 && fabs(n_par - round(n_par)) < LOSS_MAX * fabs(lost / loss))
        snprintf(instead, sizeof instead, "; it would follow for memory_cores_par %.0f", n_par);
    suspicion_say(side->found, row, SUSPICION_ODD, 0,
                  "%.4g GB/s a core, but (memory_total_par - memory_total_par2) / (memory_cores_seq - "
                  "memory_cores_par) = (%.6g - %.6g) / (%.0f - %.0f) is %.4g GB/s%s%s",
                  loss * 1e-9, v[MEMORY_TOTAL_PAR] * 1e-9, v[MEMORY_TOTAL_PAR2] * 1e-9, v[MEMORY_CORES_SEQ],
                  v[MEMORY_CORES_PAR], expected * 1e-9, instead,
                  row->samples == 0 ? "; the table keeps what its source prints" : "");
}

static void check_cores(const struct side *side)
{
    static const enum memory_parameter counts[] = {MEMORY_CORES_PAR, MEMORY_CORES_SEQ};
    const double *v = side->value;
    for (int i = 0; i < 2; i++)
        if (v[counts[i]] > side->cores)
            suspicion_say(side->found, side->row[counts[i]], SUSPICION_ODD, 0, "%.0f, but a socket has %.0f cores",
                          v[counts[i]], side->cores);
    if (v[MEMORY_CORES_SEQ] < v[MEMORY_CORES_PAR])
        suspicion_say(
            side->found, side->row[MEMORY_CORES_SEQ], SUSPICION_ODD, 0,
            "%.0f is below memory_cores_par, %.0f: with a message besides, no more cores should be needed for the "
            "maximum than without; memory_loss_left serves no number of cores",
            v[MEMORY_CORES_SEQ], v[MEMORY_CORES_PAR]);
}

/* Checks each maximum against what is its part, and against what its parts can have at most. */
static void check_totals(const struct side *side)
{
    const double *v = side->value;
    const struct {
        enum memory_parameter row;
        double least;
        const char *what;
    } least[] = {
        {MEMORY_TOTAL_PAR, v[MEMORY_ONE_CORE], "one core has alone (memory_computation)"},
        {MEMORY_TOTAL_SEQ, v[MEMORY_ONE_CORE], "one core has alone (memory_computation)"},
        {MEMORY_TOTAL_PAR, v[MEMORY_TOTAL_PAR2], "memory_total_par2, though it is the maximum"},
        {MEMORY_TOTAL_PAR2, v[MEMORY_ALPHA] * v[MEMORY_ONE_MESSAGE], "a message keeps of it (memory_alpha)"},
    };
    const struct {
        enum memory_parameter row;
        double most;
        const char *what;
    } most[] = {
        {MEMORY_TOTAL_SEQ, v[MEMORY_CORES_SEQ] * v[MEMORY_ONE_CORE], "memory_cores_seq times one core"},
        {MEMORY_TOTAL_PAR, v[MEMORY_CORES_PAR] * v[MEMORY_ONE_CORE] + v[MEMORY_ONE_MESSAGE],
         "memory_cores_par times one core and the message"},
    };
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++)
        if (v[least[i].row] * (1 + LOSS_MAX) < least[i].least)
            suspicion_say(side->found, side->row[least[i].row], SUSPICION_ODD, 0,
                          "%.4g GB/s is less than what %s, %.4g GB/s", v[least[i].row] * 1e-9, least[i].what,
                          least[i].least * 1e-9);
    for (size_t i = 0; i < sizeof most / sizeof most[0]; i++)
        if (v[most[i].row] > most[i].most * (1 + SUM_MAX))
            suspicion_say(side->found, side->row[most[i].row], SUSPICION_ODD, 0, "%.4g GB/s is more than %s, %.4g GB/s",
                          v[most[i].row] * 1e-9, most[i].what, most[i].most * 1e-9);
}

/* Follows the total to the last core. */
static void check_last(const struct side *side)
{
    const double *v = side->value;
    const struct machine_parameter *row = side->row[MEMORY_LOSS_RIGHT];
    double last = v[MEMORY_TOTAL_PAR2] - v[MEMORY_LOSS_RIGHT] * (side->cores - v[MEMORY_CORES_SEQ]);
    double kept = v[MEMORY_ALPHA] * v[MEMORY_ONE_MESSAGE];
    if (last < kept)
        suspicion_say(
            side->found, row, SUSPICION_ODD, 0,
            "%.4g GB/s a core leaves %.4g GB/s to all %.0f cores and the message, which keeps %.4g GB/s of it",
            v[MEMORY_LOSS_RIGHT] * 1e-9, last * 1e-9, side->cores, kept * 1e-9);
    else if (last > v[MEMORY_TOTAL_PAR] * (1 + SUM_MAX))
        suspicion_say(side->found, row, SUSPICION_ODD, 0,
                      "%.4g GB/s a core gives all %.0f cores and the message %.4g GB/s, more than memory_total_par, "
                      "%.4g GB/s",
                      v[MEMORY_LOSS_RIGHT] * 1e-9, side->cores, last * 1e-9, v[MEMORY_TOTAL_PAR] * 1e-9);
}

void suspicion_find_memory(struct suspicions *found, enum level level)
{
    struct side side = {.found = found};
    int n = collect(&side, level), first = 0, lacking = 0;
    if (n == 0)
        return;
    while (side.row[first] == NULL)
        first++;
    while (lacking < MEMORY_PARAMETER_COUNT && side.row[lacking] != NULL)
        lacking++;
    if (lacking < MEMORY_PARAMETER_COUNT) {
        suspicion_say(found, side.row[first], SUSPICION_ODD, 0,
                      "no %s beside it: without all %d values of a level there is no model of memory contention",
                      memory_quantities[lacking].name, MEMORY_PARAMETER_COUNT);
        return;
    }
    check_cores(&side);
    check_loss_left(&side);
    check_totals(&side);
    check_last(&side);
}
