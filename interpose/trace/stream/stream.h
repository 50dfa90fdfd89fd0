/* Reads all spools for the last time: operations and completion calls, in windows of time. */
#ifndef MPISTAIR_TRACE_STREAM_H
#define MPISTAIR_TRACE_STREAM_H

#include "share/base/error.h"
#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"

typedef void stream_message(void *context, const struct trace *trace, const struct trace_operation *send,
                            const struct trace_operation *receive);

/* Up to jobs - 1 threads read ahead; with any number the results are the same. */

/* Hands every matched pair to `message`; makes no rows. Needs trace_load. */
void stream_messages(struct trace *trace, size_t jobs, stream_message *message, void *context);

enum { STREAM_DATABASE = -2 };

/* Finds messages, steps, rounds and kinds, and writes the rows of all but the kinds. Needs clock_align, places_find and
 * marks_find; ends the sink. Returns 0, -1 with the reason, or STREAM_DATABASE: the database says why. */
int stream_run(struct trace *trace, struct sink *sink, size_t jobs, struct error *error);

#endif
