/* The parameters of memory contention as a machine table has them: D's symbols stand in share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_QUANTITY_H
#define MPISTAIR_CALIBRATE_MEMORY_QUANTITY_H

/* Follows the order of the rows. Cores and alpha are in 1, bandwidths in B/s, losses in B/s a core. */
enum memory_parameter {
    MEMORY_CORES_PAR = 0,
    MEMORY_TOTAL_PAR,
    MEMORY_CORES_SEQ,
    MEMORY_TOTAL_SEQ,
    MEMORY_TOTAL_PAR2,
    MEMORY_ALPHA,
    MEMORY_LOSS_LEFT,
    MEMORY_LOSS_RIGHT,
    MEMORY_ONE_CORE,
    MEMORY_ONE_MESSAGE,
    MEMORY_PARAMETER_COUNT,
};

struct memory_quantity {
    const char *name; /* memory_cores_par, ... */
    const char *unit;
};
extern const struct memory_quantity memory_quantities[MEMORY_PARAMETER_COUNT];

#endif
