/* Writes the sections on other ways to send: what it would have given to send the buffers of recorded rounds in parts,
 * and which way the data between GPUs should take. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/render/sections.h"

static bool has_values(const double saved[REPORT_FINE_PARTS])
{
    for (size_t k = 0; k < REPORT_FINE_PARTS; k++)
        if (!isnan(saved[k]))
            return true;
    return false;
}

/* Adds a row an interface; what they share stands in the first one. */
static void present_grained_kind(struct document *document, const struct report_fine_kind *kind)
{
    for (size_t by = 0; by < FINE_BY_COUNT; by++) {
        if (by == FINE_BY_P2P) {
            document_cells(document, "ii", kind->kind, kind->threads);
            document_cell(document, "%.3g", kind->peers);
            document_cells(document, "bs", kind->bytes, kind->late_s);
        } else if (has_values(kind->saved[by])) {
            document_cells(document, "ttttt", "", "", "", "", "");
        } else {
            continue;
        }
        document_cell(document, "%s", report_fine_by_name[by]);
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++)
            document_cells(document, "c", kind->saved[by][k]);
    }
}

void present_fine_grained(struct document *document, const struct report *report)
{
    const struct report_fine_grained *fine = &report->fine_grained;
    if (fine->machine[0] == '\0')
        return;
    if (fine->unknown != NULL)
        document_line(document, "not known: %s", fine->unknown);
    if (fine->n > 0) {
        document_line(document, "buffers sent in parts as threads get done, by the model on %s:", fine->machine);
        document_table(document, "kind>|threads>|peers>|bytes>|late>|parts by|2>|4>|8>");
        for (size_t i = 0; i < fine->n; i++)
            present_grained_kind(document, &fine->rows[i]);
        document_line(document,
                      "late: from the first thread that was done to the last; parts: time saved from the begin of the "
                      "computation until all is sent, + less time, - more; at most: what no interface can pass");
        if (fine->one_thread)
            document_line(document,
                          "where one thread posts, all parts are ready at once: all that can be gained is that another "
                          "interface costs less");
        if (fine->tau_missing)
            document_line(document, "%s has no tau_p2p: its tau stands for what a part costs", fine->machine);
        if (fine->all > fine->n)
            document_line(document, "and %zu more kinds that take less time", fine->all - fine->n);
    }
    if (fine->unseen > 0)
        document_line(document,
                      "%" PRId64 " round%s of ranks left out: MPISTAIR_PARTITIONS=1 keeps when partitions were ready",
                      fine->unseen, words_plural(fine->unseen));
    if (fine->left_out > 0)
        document_line(document, "%" PRId64 " round%s of ranks left out: places or times of the sends are not known",
                      fine->left_out, words_plural(fine->left_out));
}

static const char *level_word(enum level level)
{
    return level == LEVEL_INTRA_SOCKET ? "on socket" : level == LEVEL_INTER_SOCKET ? "on node" : "off node";
}

/* Adds a row a path; what they share stands in the first one. Without more processes than GPUs those that divide the
 * data of a GPU are 3-step. */
static void present_gpu_kind(struct document *document, const struct report_gpu_kind *kind)
{
    for (int path = 0; path < (kind->ppn > kind->gpus ? GPU_PATH_COUNT : GPU_3_STEP + 1); path++) {
        if (path == 0) {
            document_cells(document, "iti", kind->kind, level_word(kind->level), (int64_t)kind->gpus);
            document_cell(document, "%.4g", kind->messages);
            document_cells(document, "b", kind->bytes);
        } else {
            document_cells(document, "ttttt", "", "", "", "", "");
        }
        document_cells(document, "tss", gpu_path_name[path], kind->path_s[path],
                       kind->path_s[path] * (double)kind->rounds);
    }
}

/* Shows why a path has no time: once for all that share the reason. */
static void present_reasons(struct document *document, const struct report_gpu_kind *kind)
{
    const char *before = NULL;
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        if (kind->reason[path] == NULL || (before != NULL && strcmp(before, kind->reason[path]) == 0))
            continue;
        before = kind->reason[path];
        document_line(document, "kind %" PRId64 ", %s: %s is not available: %s", kind->kind, level_word(kind->level),
                      gpu_path_name[path], kind->reason[path]);
    }
}

static void present_advice(struct document *document, const struct report_gpu_kind *kind)
{
    enum gpu_path best = report_gpu_fastest(kind);
    double direct_s = kind->path_s[GPU_DIRECT];
    char site[256] = "";
    if (kind->file[0] != '\0')
        snprintf(site, sizeof site, " (%.200s:%" PRId64 ")", kind->file, kind->line);
    else if (kind->caller[0] != '\0')
        snprintf(site, sizeof site, " (%.200s)", kind->caller);
    if (best == GPU_PATH_COUNT || isnan(direct_s))
        return;
    if (best == GPU_DIRECT)
        document_line(document, "kind %" PRId64 ", %s: leave %s%s to the MPI, which is the fastest way", kind->kind,
                      level_word(kind->level), kind->function, site);
    else
        document_line(document,
                      "kind %" PRId64
                      ", %s: %s instead of %s%s of the GPU's memory saves %.3g us of %.3g us a round (%.0f %%)",
                      kind->kind, level_word(kind->level), gpu_path_name[best], kind->function, site,
                      (direct_s - kind->path_s[best]) * 1e6, direct_s * 1e6, 100 * (1 - kind->path_s[best] / direct_s));
}

void present_gpu(struct document *document, const struct report *report)
{
    const struct report_gpu *gpu = &report->gpu;
    if (gpu->machine[0] == '\0')
        return;
    if (gpu->unknown != NULL)
        document_line(document, "not known: %s", gpu->unknown);
    if (gpu->n > 0) {
        document_line(document, "ways of the data between GPUs, by the model on %s:", gpu->machine);
        document_table(document, "kind>|level|GPUs>|sends>|bytes>|way|a round>|in all>");
        for (size_t i = 0; i < gpu->n; i++)
            present_gpu_kind(document, &gpu->rows[i]);
        for (size_t i = 0; i < gpu->n; i++) {
            present_advice(document, &gpu->rows[i]);
            present_reasons(document, &gpu->rows[i]);
        }
        document_line(
            document,
            "GPUs: ranks of a node that send at once, each counts as one; sends, bytes: of the one that takes "
            "longest; no byte is taken for sent twice");
        if (gpu->all > gpu->n)
            document_line(document, "and %zu more that another way helps less", gpu->all - gpu->n);
    }
    if (gpu->one_side > 0)
        document_line(document, "%" PRId64 " message%s between a GPU and a host's memory left out", gpu->one_side,
                      words_plural(gpu->one_side));
}
