/* The names once, for the fit, the model, and what doubts a table. */
#include "calibrate/machine/memory_quantity.h"

const struct memory_quantity memory_quantities[MEMORY_PARAMETER_COUNT] = {
    [MEMORY_CORES_PAR] = {"memory_cores_par", "1"},     [MEMORY_TOTAL_PAR] = {"memory_total_par", "B/s"},
    [MEMORY_CORES_SEQ] = {"memory_cores_seq", "1"},     [MEMORY_TOTAL_SEQ] = {"memory_total_seq", "B/s"},
    [MEMORY_TOTAL_PAR2] = {"memory_total_par2", "B/s"}, [MEMORY_ALPHA] = {"memory_alpha", "1"},
    [MEMORY_LOSS_LEFT] = {"memory_loss_left", "B/s"},   [MEMORY_LOSS_RIGHT] = {"memory_loss_right", "B/s"},
    [MEMORY_ONE_CORE] = {"memory_computation", "B/s"},  [MEMORY_ONE_MESSAGE] = {"memory_message", "B/s"},
};
