/* The table of sections. A new section is a row here and a function of a file present_NAME.c. */
#include "report/render/sections.h"

#include <stdio.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/terminal.h"
#include "share/base/nearest.h"

static const struct section sections[] = {
    {"summary", NULL, "the first screen, printed by default", "", present_summary, true},
    {"findings", "Findings", "what costs the ranks time, in sentences", "nothing costs 3 % of the ranks' time or more",
     present_findings, false},
    {"evidence", "Evidence", "each finding with the calls of its line, by rank and over the run",
     "nothing costs 3 % of the ranks' time or more", present_evidence, false},
    {"run", "Run", "command, MPI, ranks, time, waiting for processors", "", present_run, true},
    {"whole-run", "Whole run", "the stored replay: blame, critical path, efficiencies",
     "no replay is stored; run 'mpistair replay TRACE --machine NAME'", present_replay, false},
    {"completeness", "Completeness", "what is missing in the recording, and why", "", present_completeness, true},
    {"collectives", "Collectives", "call sites of collectives, and for which rank they wait",
     "no collective was recorded", present_collectives, false},
    {"rma", "One-sided communication", "call sites of transfers and synchronisations", "no one-sided call was recorded",
     present_rma, false},
    {"partitions", "Partitioned messages", "call sites of partitioned messages, and what arrived early",
     "no partitioned message was recorded", present_partitions, false},
    {"fine-grained", "Fine-grained messages", "time saved by sending parts of buffers as threads finish",
     "the trace has no machine table, or no rank sent in a round; 'mpistair predict TRACE --machine NAME' stores a "
     "table",
     present_fine_grained, false},
    {"gpu", "GPUs", "the best path for data between GPUs, by kind of round",
     "no message between GPUs was recorded, or the trace has no machine table; 'mpistair predict TRACE --machine NAME' "
     "stores a table",
     present_gpu, false},
    {"files", "Files", "call sites of file calls: bytes, time, rate", "no call on a file was recorded", present_files,
     false},
    {"call-sites", "Call sites", "time inside MPI by call site, and what it waits for",
     "when ranks were inside MPI is not known", present_call_sites, true},
    {"regions", "Regions", "time by the regions that the program marks, and slow occurrences",
     "the program marks no regions (man mpistair-run, REGIONS)", present_regions, true},
    {"levels", "Levels", "messages inside sockets, between them, between nodes", "", present_levels, true},
    {"rounds", "Rounds", "kinds of rounds of messages, and their time", "", present_rounds, false},
    {"models", "Models", "errors of the models, and the replicate error", "", present_models, false},
    {"ranks", "Ranks", "measured and modelled time of ranks", "", present_ranks, false},
    {"overlap", "Overlap", "communication while ranks compute", "no rank computes long between post and wait",
     present_overlap, false},
    {"why", "Why", "parts of the modelled time, partners, waits", "no rank spends time in messages", present_why,
     false},
};
enum { N_SECTIONS = sizeof sections / sizeof sections[0] };

section_set sections_summary(void)
{
    return 1;
}

section_set sections_all(void)
{
    return (UINT64_C(1) << N_SECTIONS) - 1;
}

bool sections_need_details(section_set set)
{
    static const char *const without[] = {"summary", "run", "completeness", "call-sites", "levels"};
    for (size_t i = 0; i < N_SECTIONS; i++)
        for (size_t k = 0; k < sizeof without / sizeof *without; k++)
            if (strcmp(sections[i].name, without[k]) == 0)
                set &= ~(UINT64_C(1) << i);
    return set != 0;
}

/* Reports which names there are. */
static int unknown(const char *command, const char *name, size_t length)
{
    char names[512] = "", wanted[48];
    snprintf(wanted, sizeof wanted, "%.*s", length < 40 ? (int)length : 40, name);
    struct nearest nearest = nearest_to(wanted);
    for (size_t i = 0; i < N_SECTIONS; i++)
        nearest_add(&nearest, sections[i].name);
    const char *hint = nearest_hint(&nearest);
    if (hint[0] != '\0')
        return wrong_usage(command, "--section %s: no such section%s", wanted, hint);
    for (size_t i = 0, used = 0; i < N_SECTIONS && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 i == 0               ? ""
                                 : i + 1 < N_SECTIONS ? ", "
                                                      : " or ",
                                 sections[i].name);
    return wrong_usage(command, "--section %s: expected %s", wanted, names);
}

int sections_read(section_set *set, const char *command, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ","), at = 0;
        while (at < N_SECTIONS && (strlen(sections[at].name) != length || memcmp(sections[at].name, text, length) != 0))
            at++;
        if (at == N_SECTIONS)
            return unknown(command, text, length);
        *set |= UINT64_C(1) << at;
        if (text[length] == '\0')
            return 0;
        text += length + 1;
    }
}

bool sections_has(section_set set, const char *name)
{
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (strcmp(sections[i].name, name) == 0)
            return (set >> i & 1) != 0;
    return false;
}

void sections_list(void)
{
    help_text_line("\nSections:");
    for (size_t i = 0; i < N_SECTIONS; i++)
        help_text_line("  %-13s  %s", sections[i].name, sections[i].holds);
}

void sections_present(struct document *document, const struct report *report, section_set set, bool by_name)
{
    document->whole_percents = report->replicate_error > 0.01;
    document->all_sections = set == sections_all();
    document->partial = !report->whole.is_whole;
    for (size_t i = 0; i < N_SECTIONS; i++) {
        if ((set >> i & 1) == 0)
            continue;
        if (sections[i].heading != NULL)
            document_heading(document, "%s", sections[i].heading);
        size_t heading = document->n_blocks;
        sections[i].present(document, report);
        if (document->n_blocks == heading && by_name)
            document_line(document, "%s", sections[i].empty);
        else if (document->n_blocks == heading)
            document->n_blocks--;
        if (document->n_blocks > heading && !sections[i].of_all && report->whole.of_bursts[0] != '\0')
            document_line(document, "of %s", report->whole.of_bursts);
        if (document->n_first == 0) {
            document_explain_mark(document, report->whole.reason);
            document->n_first = document->n_blocks;
        }
    }
    document_explain_mark(document, report->whole.reason);
}
