/* Finds the machine with which `mpistair predict` predicts, and says what to know of a prediction. */
#ifndef MPISTAIR_PREDICTOR_PREDICT_MACHINE_H
#define MPISTAIR_PREDICTOR_PREDICT_MACHINE_H

#include <sqlite3.h>

#include "predictor/models/model.h"

/* Finds the machine of that name in the trace, a shipped one, or a .tbl file; wanted NULL means the only machine of the
 * trace. Returns 0, or -1 with the reason. */
int predict_machine_find(const char *trace, sqlite3 *database, const char *wanted, struct machine *machine,
                         struct error *error);
/* Prints lines on stderr: extrapolated values were read beyond the ends of a table; the model infers what was not
 * recorded. */
void predict_note(const struct model_choice *model, const struct machine *machine, size_t extrapolated);
/* Prints, of a model with +memory: nothing contends, since no message is of a level that the table is for; messages are
 * smaller than what was measured. */
void predict_note_memory(const struct model_choice *model, const struct machine *machine,
                         const struct prediction_memory *memory);

#endif
