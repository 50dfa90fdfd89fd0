/* Keeps the forms of messages: what many have in common (functions, call sites, level, flags) is stored once. */
#ifndef MPISTAIR_TRACE_FORM_H
#define MPISTAIR_TRACE_FORM_H

#include <sqlite3.h>

#include "share/base/map.h"
#include "interpose/trace/state/trace.h"

struct form {
    int32_t level; /* enum level, -1: not known */
    uint32_t send_callsite;
    uint32_t recv_callsite;
    uint16_t send_function;
    uint16_t recv_function;
    int8_t send_completed; /* operations that the posting call completed, -1: another operation stands for the call */
    int8_t recv_completed;
    bool any_source;
    bool any_tag;
    uint8_t uncertain;   /* enum trace_doubt */
    uint8_t send_memory; /* enum spool_memory */
    uint8_t recv_memory;
};

struct form_table {
    struct form *forms; /* [n_forms], the row's id is the index plus one */
    size_t n_forms;
    struct map index;
};

/* Returns the id of the form, from 1. */
int64_t form_of(struct form_table *table, const struct form *form);
/* Writes the rows of `form` and `function`. Returns 0, or -1: the database says why. */
int forms_write(const struct form_table *table, sqlite3 *database);
int functions_write(sqlite3 *database);
void forms_release(struct form_table *table);

/* Returns a function's id in the database, in which 0 is no id. */
static inline int64_t function_id(uint16_t function)
{
    return (int64_t)function + 1;
}

#endif
