/* What rows of a trace refer to by numbers: functions, forms of messages, call sites, communicators. */
#ifndef MPISTAIR_EXPORT_NAMES_H
#define MPISTAIR_EXPORT_NAMES_H

#include "interpose/database/cursor.h"
#include "report/export/trace_export.h"
#include "share/base/map.h"

#define NAME_NONE UINT32_MAX

struct name {
    const char *text;
    const char *json; /* the same with its quotes, as JSON has it */
};

struct named_function {
    struct name name;
    bool blocking; /* posts its operations and waits for them */
};

struct named_site {
    struct name place; /* "exchange halo.c:31" */
    struct name file;
    int64_t id, line; /* line -1: not known */
};

struct named_comm {
    struct name name;   /* what the program called it, else "communicator 3" */
    int64_t id, remote; /* remote -1: none */
};

struct form_side {
    uint32_t function, site; /* site NAME_NONE: not known */
    int64_t completed;       /* EXPORT_NOTHING: another operation stands for the call */
};

struct named_form {
    struct form_side side[2]; /* of the send, of the receive */
};

struct export_names {
    struct pool pool;
    struct named_function *functions;
    struct named_site *sites;
    struct named_comm *comms;
    struct named_form *forms;
    size_t n_functions, n_sites, n_comms, n_forms;
    struct map function_of_id, site_of_id, comm_of_id, form_of_id;
};

/* Reads them, and makes temp.export_function(id, name), id counting from 1 as functions do from 0. Returns 0, or -1
 * with the reason; export_names_release in either case. */
int export_names_read(struct export *export, struct export_names *names);
void export_names_release(struct export_names *names);

/* Return an index, or NAME_NONE where the trace has no such row. */
uint32_t names_site(const struct export_names *names, int64_t id);
uint32_t names_comm(const struct export_names *names, int64_t id);

/* Returns the name in a column of the present row, owned by pool. */
struct name name_of(struct cursor *rows, int column, struct pool *pool);

#endif
