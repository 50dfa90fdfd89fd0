/* A law is a row here and its rates in run_law.c. See run_choice.h; papers are named as in share/doc/MODELS.md. */
#include "predictor/run/laws/run_choice.h"

#include <stdio.h>
#include <string.h>

#include "share/base/terminal.h"
#include "share/base/nearest.h"

const struct run_choice_row run_law_table[LAW_COUNT] = {
    [LAW_POSTAL] = {"postal", "the rate of a single pair, always: no contention (T1)"},
    [LAW_MAX_RATE] = {"max-rate", "receivers share BW(n), n those with messages when the message began (T10)"},
    [LAW_NODE_AWARE] = {"node-aware", "what a node sends to others has a limit, within a node one by one (B1, B2)"},
    [LAW_STAIRCASE] = {"staircase", "receivers of a socket or node share BW(n), n those with messages now (T7 to T17)"},
    [LAW_SERIAL] = {"serial", "staircase, but within a node a receiver takes one message after another"},
    [LAW_FLOW] = {"flow", "both network cards of a message share BW(n), within a node as staircase"},
    [LAW_FLOW_WINDOW] = {"flow-window", "flow with the send buffers and windows of TCP, within a node as serial"},
    [LAW_FAIR] = {"fair", "messages share BW_max evenly, none is faster than BW(1)"},
};
const struct run_choice_row run_term_table[RUN_TERM_COUNT] = {
    {"queue", "search of the posted receives and of the messages that wait for theirs (B3, B section 4.1)"},
    {"contention", "load of the links by what is under way, of the topology, else of a cube of nodes (B5, B7)"},
    {"memory", "computation takes memory bandwidth from messages (D1 to D6)"},
};

/* Returns the row of that name, or -1. */
static int find_choice(const struct run_choice_row *rows, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return i;
    return -1;
}

static int unknown(const char *what, const char *name, size_t length, const struct run_choice_row *rows, int n,
                   struct error *error)
{
    char wanted[48], known[256] = "";
    snprintf(wanted, sizeof wanted, "%.*s", length < sizeof wanted ? (int)length : 0, name);
    struct nearest nearest = nearest_to(wanted);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(known);
        nearest_add(&nearest, rows[i].name);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", rows[i].name);
    }
    const char *hint = nearest_hint(&nearest);
    if (hint[0] != '\0')
        return error_set(error, "no %s '%.*s'%s", what, (int)(length < 40 ? length : 40), name, hint);
    return error_set(error, "no %s '%.*s': expected %s", what, (int)(length < 40 ? length : 40), name, known);
}

int run_law_choose(const char *name, struct run_law_choice *choice, struct error *error)
{
    size_t length = strcspn(name, "+");
    int law = find_choice(run_law_table, LAW_COUNT, name, length);
    *choice = (struct run_law_choice){0};
    if (law < 0)
        return unknown("law", name, length, run_law_table, LAW_COUNT, error);
    choice->law = (enum run_law)law;
    for (const char *at = name + length; *at == '+'; at += 1 + length) {
        length = strcspn(at + 1, "+");
        int term = find_choice(run_term_table, RUN_TERM_COUNT, at + 1, length);
        if (term < 0)
            return unknown("term", at + 1, length, run_term_table, RUN_TERM_COUNT, error);
        if ((choice->terms & 1U << term) != 0)
            return error_set(error, "the term '%s' comes twice in '%.60s'", run_term_table[term].name, name);
        choice->terms |= 1U << term;
    }
    snprintf(choice->name, sizeof choice->name, "%s", name);
    return 0;
}

void run_law_add_term(struct run_law_choice *choice, enum run_term term)
{
    if ((choice->terms & term) != 0)
        return;
    choice->terms |= term;
    for (int i = 0; i < RUN_TERM_COUNT; i++)
        if (term == 1U << i) {
            size_t used = strlen(choice->name);
            snprintf(choice->name + used, sizeof choice->name - used, "+%s", run_term_table[i].name);
        }
}

void run_choice_list(void)
{
    help_text_line("\nlaws of the whole run:");
    for (int i = 0; i < LAW_COUNT; i++)
        help_text_line("  %-15s  %s", run_law_table[i].name, run_law_table[i].summary);
    help_text_line("terms, added to any law as LAW+TERM:");
    for (int i = 0; i < RUN_TERM_COUNT; i++)
        help_text_line("  %-15s  %s", run_term_table[i].name, run_term_table[i].summary);
}
