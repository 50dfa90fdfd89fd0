/* Remembers envelopes as posted that a step completed, and those whose receives are posted anew at once. */
#ifndef MPISTAIR_TRACE_STEP_ENVELOPE_H
#define MPISTAIR_TRACE_STEP_ENVELOPE_H

#include "interpose/trace/state/trace.h"
#include "interpose/trace/stream/timeline.h"
#include "share/base/map.h"

/* Describes one rank; starts as zeroes. */
struct step_envelopes {
    struct map_key *completed; /* [n_completed] as posted, from the present step in the order of completion */
    size_t n_completed;
    size_t completed_capacity;
    size_t n_known;      /* how many of them are in the map */
    struct map known;    /* envelopes that completed in the present step */
    struct map standing; /* envelopes whose receives are posted anew as soon as one completed */
};

void step_envelopes_release(struct step_envelopes *envelopes);

enum step_answer { STEP_NO, STEP_YES, STEP_NOT_KNOWN };

/* Notes that the operation completed in the step that is open. */
void step_note_completed(struct step_envelopes *envelopes, const struct trace_operation *operation);
/* Begins a step, in which nothing has completed. */
void step_forget_completed(struct step_envelopes *envelopes);
/* Tells whether one of the posts from the front of the timeline to the next completion repeats an envelope that
 * completed in this step. The map is only kept up where somebody asks. */
enum step_answer step_repeats(struct step_envelopes *envelopes, const struct trace *trace,
                              const struct timeline *timeline, bool all);

/* Note that the envelope of the operation, or of each receive that completed in this step, stands. */
void step_note_standing(struct step_envelopes *envelopes, const struct trace_operation *operation);
void step_note_all_standing(struct step_envelopes *envelopes);
/* True if the operation is a receive of an envelope that stands. */
bool step_is_standing(const struct step_envelopes *envelopes, const struct trace_operation *operation);

#endif
