/* What is mended by a finding, for a replay of the run (predictor/run/engine/run_retime.h): built line by line. Of what
 * is lowered twice the lower value holds. */
#ifndef MPISTAIR_REPORT_MEND_H
#define MPISTAIR_REPORT_MEND_H

#include "predictor/run/engine/run_retime.h"

struct run_mend *mend_new(void);
void mend_release(struct run_mend *mend);
/* how: set of enum run_mending. */
void mend_site(const struct run_program *program, struct run_mend *mend, uint32_t site, uint8_t how);
/* What calls take behind what they wait for, of a place, or of all places of a site. */
void mend_rest(const struct run_program *program, struct run_mend *mend, uint32_t place, double factor);
void mend_rests(const struct run_program *program, struct run_mend *mend, uint32_t site, double factor);
/* The computation before calls of a place: scaled, or so long at most. */
void mend_scale(const struct run_program *program, struct run_mend *mend, uint32_t place, double factor);
void mend_most(const struct run_program *program, struct run_mend *mend, uint32_t place, double most_s);
/* One call alone, behind all those added so: how long the computation before it, and what it takes behind what it waits
 * for, last at most; INFINITY: as recorded. */
void mend_call(struct run_mend *mend, size_t call, double compute_most_s, double rest_most_s);
/* Adds what another one mends. */
void mend_join(const struct run_program *program, struct run_mend *mend, const struct run_mend *other);

#endif
