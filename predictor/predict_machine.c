/* A name may mean a machine of the trace, a shipped one or a file: the trace's own comes first. */
#include "predictor/predict_machine.h"

#include <stdio.h>
#include <string.h>

#include "calibrate/machine/machine_database.h"
#include "share/base/installation.h"
#include "share/base/nearest.h"

/* Lists the machines of a trace: how many, and "a, b". */
struct machine_names {
    size_t n;
    char first[64];
    char text[512];
};

static void add_name(void *context, const char *name, const char *source)
{
    (void)source;
    struct machine_names *names = context;
    size_t length = strlen(names->text);
    if (names->n++ == 0)
        snprintf(names->first, sizeof names->first, "%s", name);
    snprintf(names->text + length, sizeof names->text - length, "%s%s", length > 0 ? ", " : "", name);
}

/* Joins why no machine of that name was found and those that the trace has. */
static void say_unknown(const char *wanted, const struct machine_names *names, const struct error *reason,
                        struct error *error)
{
    struct nearest nearest = nearest_to(wanted);
    for (const char *at = names->text; names->n > 0 && at != NULL;
         at = strstr(at, ", ") != NULL ? strstr(at, ", ") + 2 : NULL) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        nearest_add(&nearest, name);
    }
    installation_each("machines", ".tbl", nearest_add_named, &nearest, NULL);
    const char *hint = nearest_hint(&nearest);
    if (hint[0] != '\0')
        error_set(error, "machine '%.64s': not in the trace, nor among the shipped ones%s", wanted, hint);
    else
        error_set(error, "%s%s%s", reason->text, names->n > 0 ? "; the trace has: " : "", names->text);
}

int predict_machine_find(const char *trace, sqlite3 *database, const char *wanted, struct machine *machine,
                         struct error *error)
{
    struct machine_names names = {0};
    struct error reason = {.text = ""};
    if (machine_each(database, trace, add_name, &names, error) != 0)
        return -1;
    if (wanted == NULL && names.n != 1)
        return error_set(error,
                         "%s: %s: choose with --machine NAME|FILE ('mpistair machine list' shows those shipped)%s%s",
                         trace, names.n == 0 ? "holds no machine" : "holds several machines",
                         names.n > 0 ? ", of the trace: " : "", names.text);
    const char *name = wanted != NULL ? wanted : names.first;
    int result = machine_load(database, trace, name, machine, error);
    if (result == 1) {
        result = machine_find(name, machine, &reason);
        if (result != 0)
            say_unknown(wanted, &names, &reason, error);
    }
    if (result == 0 && !machine_name_valid(machine->name)) { /* it goes into CSV and JSON as it is */
        machine_release(machine);
        result = error_set(error, "%s: '%.64s' is not a valid name of a machine", trace, name);
    }
    return result;
}

void predict_note(const struct model_choice *model, const struct machine *machine, size_t extrapolated)
{
    if (extrapolated > 0)
        fprintf(stderr,
                "mpistair: note: %s: %zu bandwidths lie beyond the ends of the table of '%s'; its end values were "
                "taken, or n BW(1) where it has that and injection limits alone\n",
                model->name, extrapolated, machine->name);
    if (model_choice_inferred(model))
        fprintf(stderr, "mpistair: note: %s: when messages arrived is inferred from when they were sent\n",
                model->name);
}

void predict_note_memory(const struct model_choice *model, const struct machine *machine,
                         const struct prediction_memory *memory)
{
    if (!model_choice_computing(model))
        return;
    if (memory->n_messages == 0 && memory->n_other > 0)
        fprintf(
            stderr,
            "mpistair: note: %s: nothing changes: the memory_... rows of '%s' are for messages between nodes, which "
            "a NIC writes, and all messages are within a node\n",
            model->name, machine->name);
    if (memory->n_small > 0)
        fprintf(stderr, "mpistair: note: %s: outside the calibrated range: %zu of %zu messages are smaller than 1 MB\n",
                model->name, memory->n_small, memory->n_messages);
}
